//! Mails over real sockets: to a small server that may misbehave, and to aiosmtpd, which asks for TLS and a password.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use tsumugi_mail::{Error, Mail, MailLimits, MailSettings, MailTarget, Mailer, TestMails};
use tsumugi_testkit::smtp::{AioSmtpd, AioSmtpdTls, SmtpFault, SmtpServer};
use tsumugi_worker::WorkerLimits;

fn alone(settings: MailSettings, run: impl AsyncFnOnce(Rc<Mailer>)) {
    let outcome = tsumugi_worker::alone(WorkerLimits::default(), async |worker| {
        run(Mailer::new(&worker, settings)).await;
    });
    outcome.unwrap();
}

fn over(url: &str, certificates: Option<&Path>) -> MailSettings {
    MailSettings {
        target: MailTarget::Server(url.parse().unwrap()),
        from: Some("App <app@example.org>".to_owned()),
        certificates: certificates.map(PathBuf::from),
        limits: MailLimits::default(),
    }
}

fn mail() -> Mail {
    Mail::new()
        .to("Ann <ann@example.org>")
        .bcc("bob@example.org")
        .subject("Grüße")
        .text("first line\n.\n..dots\nlast line")
}

#[test]
fn mail_arrives_whole_at_all_of_its_recipients() {
    let server = SmtpServer::start();
    alone(over(&server.url(), None), async |mailer| {
        let id = mailer.send(mail()).await.unwrap();
        let mails = server.mails();
        assert_eq!(mails.len(), 1);
        let taken = &mails[0];
        assert_eq!(taken.from, "app@example.org");
        assert_eq!(taken.to, ["ann@example.org", "bob@example.org"]);
        assert!(
            taken.text.contains(&format!("Message-ID: {id}\r\n")),
            "{}",
            taken.text
        );
        assert!(
            taken
                .text
                .contains("first line\r\n.\r\n..dots\r\nlast line"),
            "{}",
            taken.text
        );
        assert!(!taken.text.contains("bob@"), "{}", taken.text);
    });
}

#[test]
fn connection_is_used_again_while_the_server_keeps_it() {
    let server = SmtpServer::start();
    alone(over(&server.url(), None), async |mailer| {
        for _ in 0..3 {
            mailer.send(mail()).await.unwrap();
        }
        assert_eq!((server.mails().len(), server.connections()), (3, 1));
        server.hang_up();
        mailer.send(mail()).await.unwrap();
        assert_eq!((server.mails().len(), server.connections()), (4, 2));
    });
}

#[test]
fn no_more_connections_than_the_limit_are_used_at_once() {
    let server = SmtpServer::start();
    let mut settings = over(&server.url(), None);
    settings.limits.connections_max = 2;
    settings.limits.idle_max = 2;
    alone(settings, async |mailer| {
        let (a, b, c) = tokio::join!(
            mailer.send(mail()),
            mailer.send(mail()),
            mailer.send(mail())
        );
        assert!(a.is_ok() && b.is_ok() && c.is_ok());
        assert_eq!(server.mails().len(), 3);
        assert!(server.connections() <= 2, "{}", server.connections());
    });
}

/// What comes of a mail to a server that does this, with a limit of time that only what is silent reaches.
#[track_caller]
fn check_fault(command: &'static str, fault: SmtpFault, expected: &str, is_transient: bool) {
    let server = SmtpServer::with_fault(command, fault);
    let mut settings = over(&server.url(), None);
    if fault == SmtpFault::IsSilent {
        settings.limits.send_ms_max = 300;
    }
    alone(settings, async |mailer| {
        let error = mailer.send(mail()).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{command} {fault:?}: {text}");
        assert_eq!(
            error.is_transient(),
            is_transient,
            "{command} {fault:?}: {text}"
        );
        assert_eq!(server.mails(), []);
    });
}

#[test]
fn refusal_is_told_with_the_words_of_the_server() {
    let gone = SmtpFault::Answers("550 5.1.1 no such mailbox");
    check_fault(
        "RCPT",
        gone,
        "refuses the mail: permanent error (550): 5.1.1 no such mailbox",
        false,
    );
    let later = SmtpFault::Answers("451 4.3.0 try later");
    check_fault(
        "MAIL",
        later,
        "transient error (451): 4.3.0 try later",
        true,
    );
    check_fault(
        ".",
        SmtpFault::Answers("554 5.7.1 looks like spam"),
        "looks like spam",
        false,
    );
}

#[test]
fn server_that_misbehaves_fails_the_mail_within_the_limits() {
    for command in ["EHLO", "MAIL", "DATA", "."] {
        check_fault(
            command,
            SmtpFault::IsSilent,
            "mail.send_ms_max (300 ms)",
            true,
        );
        check_fault(command, SmtpFault::Leaves, "127.0.0.1", true);
        check_fault(command, SmtpFault::Floods, "REPLY_BYTES_MAX (65536)", true);
        check_fault(
            command,
            SmtpFault::Answers("no SMTP at all"),
            "127.0.0.1",
            true,
        );
    }
}

#[test]
fn server_that_is_not_there_is_named_without_the_password() {
    let port = tsumugi_testkit::free_port();
    let settings = over(&format!("smtp://user:secret@127.0.0.1:{port}"), None);
    alone(settings, async |mailer| {
        let error = mailer.send(mail()).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("cannot connect to 127.0.0.1:{port}")),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
        assert!(error.is_transient());
    });
}

#[test]
fn real_server_takes_mails_over_tls_from_its_user_only() {
    for tls in [AioSmtpdTls::Implicit, AioSmtpdTls::StartTls] {
        let server = AioSmtpd::start(tls);
        alone(
            over(&server.url(None), Some(server.authority())),
            async |mailer| {
                let whole = mail()
                    .html("<p>ö</p>")
                    .attach("日.csv", "text/csv", "a,b\r\n");
                for mail in [whole, mail()] {
                    let sent = mailer.send(mail).await;
                    sent.unwrap_or_else(|error| panic!("{tls:?}: {error}"));
                }
                let mails = server.mails();
                assert_eq!(mails.len(), 2, "{tls:?}");
                assert!(
                    mails[0].starts_with(
                        "envelope: app@example.org ann@example.org bob@example.org\r\n"
                    ),
                    "{}",
                    mails[0]
                );
                assert!(mails[0].contains("multipart/mixed"), "{}", mails[0]);
                assert!(
                    mails[1].contains("first line\r\n.\r\n..dots\r\nlast line"),
                    "{}",
                    mails[1]
                );
            },
        );
        let wrong = over(&server.url(Some("wrong")), Some(server.authority()));
        alone(wrong, async |mailer| {
            let error = mailer.send(mail()).await.unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Refused {
                        is_transient: false,
                        ..
                    }
                ),
                "{tls:?}: {error}"
            );
        });
        // The system's authorities have not signed its certificate.
        alone(over(&server.url(None), None), async |mailer| {
            let error = mailer.send(mail()).await.unwrap_err();
            assert!(!matches!(error, Error::Refused { .. }), "{tls:?}: {error}");
        });
        assert_eq!(server.mails().len(), 2, "{tls:?}");
    }
}

#[test]
fn server_without_starttls_gets_neither_password_nor_mail() {
    let server = SmtpServer::start();
    let url = server.url().replace("smtp://", "smtp://user:secret@") + "?tls=starttls";
    alone(over(&url, None), async |mailer| {
        let error = mailer.send(mail()).await.unwrap_err().to_string();
        assert!(error.contains("STARTTLS is not supported"), "{error}");
        assert_eq!(server.mails(), []);
    });
}

#[test]
fn answers_that_somebody_has_put_behind_that_to_starttls_are_refused() {
    for (command, injected) in [
        ("STARTTLS", "220 go\r\n250-here\r\n250 AUTH PLAIN"),
        // Read with the answer to EHLO, the rest would be taken for what comes over TLS.
        (
            "EHLO",
            "250-here\r\n250 STARTTLS\r\n220 go\r\n250 AUTH PLAIN",
        ),
    ] {
        let server = SmtpServer::with_fault(command, SmtpFault::Answers(injected));
        let url = server.url().replace("smtp://", "smtp://user:secret@") + "?tls=starttls";
        alone(over(&url, None), async |mailer| {
            let error = mailer.send(mail()).await.unwrap_err().to_string();
            let expected = "more than one answer before TLS has begun";
            assert!(error.contains(expected), "{command}: {error}");
            assert_eq!(server.mails(), []);
        });
    }
}

#[test]
fn mails_are_collected_written_or_refused_as_the_target_says() {
    let with = |target| MailSettings {
        target,
        ..MailSettings::default()
    };
    let mails = TestMails::default();
    alone(with(MailTarget::Collected(mails.clone())), async |mailer| {
        mailer.send(mail()).await.unwrap();
        let collected = mails.list();
        assert_eq!(collected[0].subject, "Grüße");
        assert_eq!(collected[0].from.as_deref(), Some("app@localhost"));
        let evil = mail().subject("x\r\nBcc: eve@example.org");
        assert!(matches!(mailer.send(evil).await, Err(Error::Mail(_))));
        assert_eq!(mails.list().len(), 1);
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail");
    alone(with(MailTarget::Folder(path.clone())), async |mailer| {
        mailer.send(mail()).await.unwrap();
        let files: Vec<_> = std::fs::read_dir(&path).unwrap().flatten().collect();
        assert_eq!(files.len(), 1);
        let text = std::fs::read_to_string(files[0].path()).unwrap();
        assert!(text.contains("first line"), "{text}");
    });
    alone(with(MailTarget::Nowhere), async |mailer| {
        let error = mailer.send(mail().from("a@example.org")).await.unwrap_err();
        assert!(error.to_string().contains("set SMTP_URL"), "{error}");
    });
}

#[test]
fn mail_more_than_a_test_may_collect_is_refused() {
    let settings = MailSettings {
        target: MailTarget::Collected(TestMails::default()),
        ..MailSettings::default()
    };
    alone(settings, async |mailer| {
        for _ in 0..1_000 {
            mailer
                .send(Mail::new().to("a@example.org").text("t"))
                .await
                .unwrap();
        }
        let error = mailer.send(mail()).await.unwrap_err().to_string();
        assert!(error.contains("COLLECTED_MAX (1000)"), "{error}");
    });
}
