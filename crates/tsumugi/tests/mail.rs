//! The mails of an application in Rust: where they go by its environment, which is looked at when it loads, and that a trial collects them. Ruby's tests
//! of the same are in `crates/ruby/tests/web/mail.rs` and `crates/cli/tests/outgoing.rs`.

#![cfg(feature = "mail")]

use http::StatusCode;
use tsumugi::prelude::*;
use tsumugi::{Mail, Settings, trial};
use tsumugi_testkit::smtp::SmtpServer;

async fn invite(worker: Worker, Path(name): Path<String>) -> Result<String> {
    let mail = Mail::new()
        .to("ann@example.org")
        .subject(format!("Hello {name}"));
    worker.mail(mail.text("come")).await
}

fn routes() -> Router<()> {
    Router::new().route("/invite/{name}", get(invite))
}

/// Settings with both variables, whatever the process has; mails are sent.
fn settings(url: &str, from: &str) -> Settings {
    let pairs = [("SMTP_URL", url), ("MAIL_FROM", from)];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Settings {
        mode: Mode::Development,
        environment: pairs.into(),
        ..Settings::default()
    }
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

#[test]
fn mail_goes_where_the_environment_of_the_settings_says() {
    let server = SmtpServer::start();
    let settings = settings(&server.url(), "App <app@example.org>");
    trial::run_with(settings, routes, async |client| {
        assert_eq!(client.get("/invite/Ann").await.status, StatusCode::OK);
        let mails = server.mails();
        assert_eq!(mails.len(), 1);
        assert_eq!(mails[0].from, "app@example.org");
    });
}

#[test]
fn empty_variable_is_as_one_that_is_not_set() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        data_dir: folder.path().to_owned(),
        ..settings("", "")
    };
    trial::run_with(settings, routes, async |client| {
        assert_eq!(client.get("/invite/Ann").await.status, StatusCode::OK);
        let written = std::fs::read_dir(folder.path().join("mail")).unwrap();
        assert_eq!(written.count(), 1);
    });
}

#[test]
fn application_whose_environment_is_wrong_for_mails_does_not_load() {
    for (url, from, expected) in [
        ("smtp://user:secret@host/path", "", "SMTP_URL must be"),
        ("smtp://localhost", "secret", "MAIL_FROM is no address"),
        ("", "secret", "MAIL_FROM is no address"),
    ] {
        let settings = settings(url, from);
        let load = move || trial::run_with(settings, routes, async |_| ());
        let panic = std::panic::catch_unwind(load).expect_err("it loads");
        let error = panic.downcast_ref::<String>().expect("a text");
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
