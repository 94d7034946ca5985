//! Where the mails of an application go and who sends them, by the variables of its environment. Reads no environment itself and opens nothing.
//! Rule: a wrong variable is an error here, before the first mail; errors do not show its text, which may hold a password.

use std::path::{Path, PathBuf};

use tsumugi_client::CallMode;

use crate::address::SmtpUrl;
use crate::error::Error;
use crate::limits::MailLimits;
use crate::message::mailbox;
use crate::test_mails::TestMails;

/// Where an application's mails go.
#[derive(Clone, Debug, Default)]
pub enum MailTarget {
    /// Nowhere: each is an error that says what to set.
    #[default]
    Nowhere,
    /// To this server.
    Server(SmtpUrl),
    /// Into files of this folder, for development.
    Folder(PathBuf),
    /// Into this list, for tests.
    Collected(TestMails),
}

/// How mails are sent from one worker.
#[derive(Clone, Debug, Default)]
pub struct MailSettings {
    /// Where they go.
    pub target: MailTarget,
    /// Who sends a mail that does not say it.
    pub from: Option<String>,
    /// A PEM file of the certificates that servers are to have; none takes `SSL_CERT_FILE`, else the system's.
    pub certificates: Option<PathBuf>,
    /// The limits.
    pub limits: MailLimits,
}

/// What an application's settings say of its mails; its environment says the rest.
#[derive(Clone, Debug)]
pub struct MailContext<'a> {
    /// Who answers its calls to other servers.
    pub calls: CallMode,
    /// Its data, in development only.
    pub development_data: Option<&'a Path>,
    /// The list for a test's mails.
    pub mails: &'a TestMails,
    /// The certificates of its settings.
    pub certificates: Option<&'a Path>,
    /// Its limits of mails.
    pub limits: &'a MailLimits,
}

impl MailSettings {
    /// The target by `SMTP_URL` and the sender by `MAIL_FROM`; an empty variable is as one that is not set. Where calls are stubbed, mails are collected,
    /// whatever the URL. Without a URL they go into the folder `mail` of the application's data in development.
    ///
    /// # Errors
    /// [`Error::Url`] or [`Error::Sender`], where a variable cannot be used.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<String>,
        app: &MailContext<'_>,
    ) -> Result<MailSettings, Error> {
        let variable = |name| variable(name).filter(|text| !text.is_empty());
        let from = variable("MAIL_FROM");
        if let Some(address) = &from {
            mailbox("from", address).map_err(|_| Error::Sender)?;
        }
        let target = match (app.calls, variable("SMTP_URL"), app.development_data) {
            (CallMode::Stubbed, _, _) => MailTarget::Collected(app.mails.clone()),
            (CallMode::Network, Some(url), _) => MailTarget::Server(url.parse()?),
            (CallMode::Network, None, Some(data)) => MailTarget::Folder(data.join("mail")),
            (CallMode::Network, None, None) => MailTarget::Nowhere,
        };
        Ok(MailSettings {
            target,
            from,
            certificates: app.certificates.map(Path::to_owned),
            limits: app.limits.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: [&str; 2], calls: CallMode, data: Option<&str>, expected: &str) {
        let [url, from] = variables;
        let variable = |name: &str| match name {
            "SMTP_URL" => Some(url.to_owned()),
            "MAIL_FROM" => Some(from.to_owned()),
            _ => None,
        };
        let app = MailContext {
            calls,
            development_data: data.map(Path::new),
            mails: &TestMails::default(),
            certificates: None,
            limits: &MailLimits::default(),
        };
        let found = match MailSettings::from_environment(variable, &app) {
            Ok(settings) => format!("{:?} {:?}", settings.target, settings.from),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected), "{found}");
        assert!(!found.contains("secret"), "{found}");
    }

    #[test]
    fn mails_go_to_the_server_or_where_an_application_without_one_has_them() {
        let network = CallMode::Network;
        let both = ["smtp://localhost", "App <a@example.org>"];
        let server = r#"Server(SmtpUrl(localhost:25, None)) Some("App <a@example.org>")"#;
        check(both, network, None, server);
        check(both, network, Some("data"), server);
        check(
            ["", ""],
            network,
            Some("data"),
            r#"Folder("data/mail") None"#,
        );
        check(["", ""], network, None, "Nowhere None");
        for url in ["", "smtp://localhost", "no URL"] {
            let collected = r#"Collected(TestMails(0)) Some("a@example.org")"#;
            check([url, "a@example.org"], CallMode::Stubbed, None, collected);
        }
    }

    #[test]
    fn wrong_variable_is_named_without_its_text() {
        let url = "smtp://user:secret@host/path";
        check([url, ""], CallMode::Network, None, "SMTP_URL must be");
        for from in [
            "secret",
            "secret <a@example.org>, b@example.org",
            "secret\n",
        ] {
            for calls in [CallMode::Network, CallMode::Stubbed] {
                check(["", from], calls, None, "MAIL_FROM is no address");
            }
        }
    }
}
