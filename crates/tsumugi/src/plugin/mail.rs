//! The mails of a worker. Where they go by the environment, and how they are sent, is the mail crate's.

use std::rc::Rc;

use tsumugi_mail::{Mail, MailSettings, Mailer};
use tsumugi_server::Mode;

use super::Worker;
use crate::error::Result;

impl Worker {
    /// Sends a mail to the server of `SMTP_URL`; its id. Other requests run meanwhile. In tests mails are collected for the test's client, in
    /// development without a server they are written to the folder `mail` of [`Worker::data_dir`].
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
        let variable = |name: &str| self.env(name).ok();
        let is_development = settings.mode == Mode::Development;
        let development_data = is_development.then_some(settings.data_dir.as_path());
        let mail = MailSettings {
            certificates: settings.certificates.clone(),
            limits: settings.limits.mail.clone(),
            ..MailSettings::from_environment(variable, settings.calls, development_data)?
        };
        let mailer = Mailer::new(&self.0.inner, mail);
        Ok(self.0.mailer.get_or_init(|| mailer))
    }
}
