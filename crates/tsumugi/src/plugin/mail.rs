//! The mails of a worker. Where they go by the environment, and how they are sent, is the mail crate's.

use std::rc::Rc;

use tsumugi_mail::{Mail, MailContext, MailSettings, Mailer, TestMails};

use super::Worker;
use crate::error::Result;

impl Worker {
    /// Sends a mail to the server of `SMTP_URL`; its id. Other requests run meanwhile. In tests mails are collected for the test's client, in
    /// development without a server they are written to the folder `mail` of [`Worker::data_dir`]. Needs the feature `mail`.
    ///
    /// # Errors
    /// [`Error::Mail`](crate::Error::Mail), whose `is_transient` says whether another attempt may help.
    pub async fn mail(&self, mail: Mail) -> Result<String> {
        Ok(self.mailer()?.send(mail).await?)
    }

    /// What sends the mails of this worker, to where its environment says.
    pub(crate) fn mailer(&self) -> Result<&Rc<Mailer>> {
        if let Some(mailer) = self.0.mailer.get() {
            return Ok(mailer);
        }
        let settings = self.settings();
        let app = MailContext {
            calls: settings.calls,
            development_data: settings.mode.development_data(&settings.data_dir),
            mails: &self.0.mails,
            certificates: settings.certificates.as_deref(),
            limits: &settings.limits.mail,
        };
        let variable = |name: &str| self.env(name).ok();
        let mail = MailSettings::from_environment(variable, &app)?;
        let mailer = Mailer::new(&self.0.inner, mail);
        Ok(self.0.mailer.get_or_init(|| mailer))
    }

    /// The mails of a test.
    pub(crate) fn mails(&self) -> &TestMails {
        &self.0.mails
    }
}
