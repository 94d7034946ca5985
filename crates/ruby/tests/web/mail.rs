//! Where the mails of an application go: what its environment says, which is looked at when it loads. What a mail may be is the mail crate's.

use tsumugi_ruby::Settings;
use tsumugi_testkit::smtp::SmtpServer;

use crate::rig::Rig;

const APP: &str = "get('/') { mail to: 'ann@example.org', subject: 'Hello', text: 'come' }";

/// Sets both variables, whatever the process has.
fn variables(url: &str, from: &str) -> impl FnOnce(&mut Settings) {
    let pairs = [("SMTP_URL", url), ("MAIL_FROM", from)];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    |settings| settings.environment.extend(pairs)
}

#[test]
fn mail_goes_where_the_environment_of_the_settings_says() {
    let server = SmtpServer::start();
    let rig = Rig::with(APP, variables(&server.url(), "App <app@example.org>"));
    let answer = rig.get("/");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].from, "app@example.org");
    assert_eq!(mails[0].to, ["ann@example.org"]);
}

#[test]
fn empty_variable_is_as_one_that_is_not_set() {
    let rig = Rig::with(APP, variables("", ""));
    let answer = rig.get("/");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let written = std::fs::read_dir(rig.path().join("mail")).unwrap();
    assert_eq!(written.count(), 1);
}

#[test]
fn application_whose_environment_is_wrong_for_mails_does_not_load() {
    for (url, from, expected) in [
        ("smtp://user:secret@host/path", "", "SMTP_URL must be"),
        ("smtp://localhost", "secret", "MAIL_FROM is no address"),
        ("", "secret", "MAIL_FROM is no address"),
    ] {
        let error = Rig::refused(APP, variables(url, from));
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
