//! What an application on the web needs beyond a request: what signs its cookies, its sessions, the client for other servers.
//! Knows no Ruby. One value per VM, made when the VM is, filled when the application asks for it.

pub(crate) mod incoming;

use std::cell::OnceCell;
use std::rc::Rc;

use tsumugi_client::HttpClient;
use tsumugi_http::secret::{SecretError, Signer};
use tsumugi_server::session::SessionStore;
use tsumugi_worker::WorkerHandle;

use crate::settings::Settings;

/// The state of one VM.
#[derive(Default)]
pub(crate) struct Web {
    signer: OnceCell<Rc<Signer>>,
    /// Set by the word `sessions`.
    pub sessions: OnceCell<Rc<SessionStore>>,
    client: OnceCell<Rc<HttpClient>>,
}

impl Web {
    /// What signs cookies: made from the settings, else from the environment, else (in development) made up.
    pub fn signer(&self, settings: &Settings) -> Result<Rc<Signer>, SecretError> {
        if let Some(signer) = self.signer.get() {
            return Ok(Rc::clone(signer));
        }
        let signer = Rc::new(settings.mode.signer(settings.secret.as_ref())?);
        Ok(Rc::clone(self.signer.get_or_init(|| signer)))
    }

    /// The HTTP client of this VM.
    pub fn client(&self, worker: &WorkerHandle, settings: &Settings) -> Rc<HttpClient> {
        let make = || {
            HttpClient::new(
                worker,
                settings.limits.client.clone(),
                settings.certificates.clone(),
            )
        };
        Rc::clone(self.client.get_or_init(make))
    }
}
