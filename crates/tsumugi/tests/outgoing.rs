//! What a trial of an application in Rust keeps apart from others: calls that a test answers, its data and its database; of mails see
//! `mail.rs` beside it. Ruby's tests of the same are in `crates/cli/tests/outgoing.rs` and `crates/cli/tests/databases/test_runs.rs`.

use std::process::Command;
use std::time::Duration;

use http::{Method, StatusCode};
use tsumugi::prelude::*;
use tsumugi::{StubOutcome, StubReply, trial};

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

fn routes() -> Router<()> {
    Router::new()
        .route("/users/{id}", get(user))
        .route("/hook", get(hook))
        .route("/inside", get(inside))
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

/// The process that a test starts of itself, and what becomes of the trial in it.
const TRIAL: &str = "TSUMUGI_TEST_TRIAL";

struct Notes {
    db: Db,
    worker: Worker,
}

impl Plugin for Notes {
    async fn start(worker: &Worker) -> Result<Notes> {
        let db = Db::connect(&worker.env("DATABASE_URL")?, Options::default()).await?;
        db.execute("create table notes (n integer)", []).await?;
        let worker = worker.clone();
        Ok(Notes { db, worker })
    }
}

async fn note(notes: State<Notes>) -> Result<String> {
    notes
        .db
        .execute("insert into notes (n) values (1)", [])
        .await?;
    Ok(notes.db.table("notes").count().await?.to_string())
}

/// In a process with a `DATABASE_URL`: several trials of it at once, or one that panics.
#[test]
fn trial_in_a_process_of_its_own() {
    let Ok(ending) = std::env::var(TRIAL) else {
        return;
    };
    let one = move || {
        let routes = || Router::<Notes>::new().route("/", post(note));
        trial::run(routes, async |client: &trial::Client<Notes>| {
            assert_eq!(client.post("/").await.text(), "1");
            let worker = &client.state().worker;
            assert!(worker.is_test());
            assert!(worker.data_dir().is_dir());
            println!("at {} end", worker.data_dir().display());
        });
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(one);
        }
    });
    if ending == "panics" {
        let routes = || Router::<Notes>::new().route("/", post(note));
        trial::run(routes, async |_: &trial::Client<Notes>| {
            panic!("on purpose")
        });
    }
}

/// Trials in a process with this `DATABASE_URL`: whether they passed, and what was printed.
fn trials(url: &str, ending: &str) -> (bool, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trial_in_a_process_of_its_own", "--nocapture"])
        .env("DATABASE_URL", url)
        .env(TRIAL, ending)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.success(), text.concat())
}

#[test]
fn trials_have_databases_and_folders_of_their_own_that_go_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("named.db");
    let postgres = tsumugi_testkit::postgres::Server::shared().database();
    let firebird = tsumugi_testkit::firebird::Server::shared().database();
    let left = |url: &str| match url.split(':').next() {
        Some("postgres") => postgres.psql(
            "select count(*) from pg_database where datname like 'tsumugi_test_' || \
             (select oid from pg_database where datname = current_database()) || '_%'",
        ),
        Some("firebird") => {
            firebird.isql("set heading off; select count(*) from tsumugi_test_databases;")
        }
        _ => i32::from(file.exists()).to_string(),
    };
    let sqlite = format!("sqlite:{}", file.display());
    for url in [sqlite, postgres.url(), firebird.url()] {
        let (has_passed, text) = trials(&url, "ends");
        assert!(has_passed, "{url}: {text}");
        let folders = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once("at ")?;
            rest.strip_suffix(" end")
        });
        let folders: Vec<&str> = folders.collect();
        assert_eq!(folders.len(), 4, "{text}");
        for folder in folders {
            assert!(!std::path::Path::new(folder).exists(), "{folder}");
        }
        assert_eq!(left(&url).trim(), "0", "{url}: {text}");
        let (has_passed, text) = trials(&url, "panics");
        assert!(!has_passed && text.contains("on purpose"), "{url}: {text}");
        assert_eq!(left(&url).trim(), "0", "{url}: {text}");
    }
}

#[test]
fn trial_on_a_database_with_tables_is_refused() {
    let database = tsumugi_testkit::postgres::Server::shared().database();
    database.psql("create table users (n integer)");
    let (has_passed, text) = trials(&database.url(), "ends");
    assert!(!has_passed, "{text}");
    assert!(
        text.contains("has tables that no test has made (public.users)"),
        "{text}"
    );
}
