//! What an application on the web needs beyond a request: what signs its cookies, its sessions, the client for other servers.
//! Knows no Ruby. One value per VM, made when the VM is, filled when the application asks for it.

pub(crate) mod incoming;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use tsumugi_client::{CallMode, HttpClient, HttpStubs};
use tsumugi_http::secret::{SecretError, Signer};
use tsumugi_mail::{MailContext, MailSettings, Mailer, TestMails};
use tsumugi_server::environment_variable;
use tsumugi_server::session::SessionStore;
use tsumugi_shapes::MessageCatalog;
use tsumugi_worker::WorkerHandle;

use crate::settings::Settings;

/// The state of one VM.
#[derive(Default)]
pub(crate) struct Web {
    signer: OnceCell<Rc<Signer>>,
    /// Set by the word `sessions`.
    pub sessions: OnceCell<Rc<SessionStore>>,
    /// Words of messages, filled by the word `messages`.
    pub messages: RefCell<MessageCatalog>,
    client: OnceCell<Rc<HttpClient>>,
    mailer: OnceCell<Rc<Mailer>>,
    /// What answers the client's calls in tests.
    pub stubs: Rc<HttpStubs>,
    /// The mails of tests.
    pub mails: TestMails,
}

impl Web {
    /// Nothing made yet; calls and mails of tests go to these.
    pub fn new(stubs: Rc<HttpStubs>, mails: TestMails) -> Web {
        Web {
            stubs,
            mails,
            ..Web::default()
        }
    }

    /// What signs cookies: made from the settings, else from the environment, else (in development) made up.
    pub fn signer(&self, settings: &Settings) -> Result<Rc<Signer>, SecretError> {
        if let Some(signer) = self.signer.get() {
            return Ok(Rc::clone(signer));
        }
        let signer = Rc::new(settings.mode.signer(settings.secret.as_ref())?);
        Ok(Rc::clone(self.signer.get_or_init(|| signer)))
    }

    /// What sends the mails of this VM, to where its environment says.
    pub fn mailer(
        &self,
        worker: &WorkerHandle,
        settings: &Settings,
    ) -> Result<Rc<Mailer>, tsumugi_mail::Error> {
        if let Some(mailer) = self.mailer.get() {
            return Ok(Rc::clone(mailer));
        }
        let app = MailContext {
            calls: settings.calls,
            development_data: settings.mode.development_data(&settings.data_dir),
            mails: &self.mails,
            certificates: settings.certificates.as_deref(),
            limits: &settings.limits.mail,
        };
        let variable = |name: &str| environment_variable(&settings.environment, name);
        let mailer = Mailer::new(worker, MailSettings::from_environment(variable, &app)?);
        Ok(Rc::clone(self.mailer.get_or_init(|| mailer)))
    }

    /// The HTTP client of this VM.
    pub fn client(&self, worker: &WorkerHandle, settings: &Settings) -> Rc<HttpClient> {
        let make = || {
            let limits = settings.limits.client.clone();
            let certificates = settings.certificates.clone();
            match settings.calls {
                CallMode::Network => HttpClient::new(worker, limits, certificates),
                CallMode::Stubbed => {
                    HttpClient::stubbed(worker, limits, certificates, Rc::clone(&self.stubs))
                }
            }
        };
        Rc::clone(self.client.get_or_init(make))
    }
}
