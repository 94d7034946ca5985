//! How a request to cancel reaches the server of a connection: over a socket of its own, and it names the session, not the statement.
//! Rule: it is over when its socket has closed; until then it may hit whatever the session runs.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use tsumugi_wire::CancelOutcome;
use tsumugi_wire::limits::CANCEL_TIMEOUT;

type Request = Pin<Box<dyn Future<Output = io::Result<()>>>>;

/// Sends requests to cancel.
#[derive(Clone)]
pub struct Cancel(Option<Rc<dyn Fn() -> Request>>);

impl Cancel {
    /// `request` opens a socket, sends the request, and resolves when the server has closed the socket. It says `TimedOut` when it
    /// gave up waiting for that.
    pub fn new<F>(request: impl Fn() -> F + 'static) -> Cancel
    where
        F: Future<Output = io::Result<()>> + 'static,
    {
        Cancel(Some(Rc::new(move || Box::pin(request()))))
    }

    /// For a server that gave no key: statements run to their end.
    pub fn impossible() -> Cancel {
        Cancel(None)
    }

    pub(super) fn is_possible(&self) -> bool {
        self.0.is_some()
    }

    /// Sends one for a session whose connection is lost, and waits for nothing: what the session runs would go on without its client, which a wait for
    /// a synchronous standby that is gone does for ever.
    pub(super) fn send_unawaited(&self) {
        if !self.is_possible() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let cancel = self.clone();
        tokio::task::spawn_local(async move {
            let sent = tokio::time::timeout(CANCEL_TIMEOUT, cancel.send()).await;
            tracing::debug!(target: "tsumugi_pg", ?sent, "the server of a lost connection was asked to cancel");
        });
    }

    /// Whether a request may reach the server later, and hit what runs then.
    pub(super) async fn send(&self) -> CancelOutcome {
        let Some(request) = &self.0 else {
            return CancelOutcome::Over;
        };
        match request().await {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => CancelOutcome::Uncertain,
            Ok(()) | Err(_) => CancelOutcome::Over,
        }
    }
}
