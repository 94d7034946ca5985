//! What an application in Rust sends to others: calls that a test answers, and mails that it collects. Ruby's tests of the same are in
//! `crates/cli/tests/outgoing.rs`.

use std::time::Duration;

use http::{Method, StatusCode};
use tsumugi::prelude::*;
use tsumugi::{Mail, StubOutcome, StubReply, trial};

async fn user(worker: Worker, Path(id): Path<u32>) -> Result<Json<serde_json::Value>> {
    let http = worker.http().public_only();
    let url = format!("https://api.example.org/users/{id}");
    let call = http.get(&url).query(&[("full", "1")]).header("x-key", "k");
    let reply = call.timeout(Duration::from_millis(200)).await?;
    reply.json().map(Json)
}

async fn hook(worker: Worker) -> Result<String> {
    let call = worker.http().post("https://hooks.example.org/x");
    let reply = call.json(&serde_json::json!({ "text": "hi" })).await?;
    Ok(reply.status.to_string())
}

async fn inside(worker: Worker) -> Result<String> {
    let reply = worker.http().public_only().get("http://127.0.0.1:1/").await;
    Ok(reply
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default())
}

async fn invite(worker: Worker, Path(name): Path<String>) -> Result<String> {
    let mail = Mail::new()
        .to("ann@example.org")
        .subject(format!("Hello {name}"));
    worker.mail(mail.text("come")).await
}

fn routes() -> Router<()> {
    Router::new()
        .route("/users/{id}", get(user))
        .route("/hook", get(hook))
        .route("/inside", get(inside))
        .route("/invite/{name}", get(invite))
}

const USERS: &str = "https://api.example.org/users/:id";

#[test]
fn call_is_answered_by_the_stub_and_can_be_looked_at() {
    trial::run(routes, async |client| {
        client.stub_http(Method::GET, USERS, |call| {
            let (_, id) = &call.captures[0];
            StubOutcome::Reply(StubReply::new(
                "application/json",
                format!("{{\"id\":{id}}}"),
            ))
        });
        let hooks = "https://hooks.example.org/*rest";
        client.stub_http(Method::POST, hooks, |_| {
            StubOutcome::Reply(StubReply::status(StatusCode::ACCEPTED))
        });
        let reply = client.get("/users/7").await;
        assert_eq!(reply.text(), "{\"id\":7}");
        assert_eq!(client.get("/hook").await.text(), "202 Accepted");
        let calls = client.http_calls();
        assert_eq!(calls[0].url, "https://api.example.org/users/7?full=1");
        assert_eq!(calls[0].headers["x-key"], "k");
        assert_eq!(calls[1].body, "{\"text\":\"hi\"}");
    });
}

#[test]
fn call_without_a_stub_fails_and_failures_can_be_played() {
    trial::run(routes, async |client| {
        assert_eq!(
            client.get("/users/7").await.status,
            StatusCode::INTERNAL_SERVER_ERROR
        );
        assert_eq!(client.http_calls().len(), 1);
        for outcome in [
            StubOutcome::Refused,
            StubOutcome::BrokenOff,
            StubOutcome::Silence,
        ] {
            client.stub_http(Method::GET, USERS, move |_| outcome.clone());
            assert_eq!(
                client.get("/users/7").await.status,
                StatusCode::INTERNAL_SERVER_ERROR
            );
        }
        client.allow_http();
        let text = client.get("/inside").await;
        assert!(text.text().contains("no public address"), "{}", text.text());
    });
}

#[test]
fn mail_is_collected_and_cannot_begin_a_header_field() {
    trial::run(routes, async |client| {
        assert_eq!(client.get("/invite/Ann").await.status, StatusCode::OK);
        let mails = client.mails();
        assert_eq!(mails[0].subject, "Hello Ann");
        assert_eq!(mails[0].to, ["ann@example.org"]);
        let evil = client.get("/invite/x%0D%0ABcc:%20eve@example.org").await;
        assert_eq!(evil.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(client.mails().len(), 1);
    });
}
