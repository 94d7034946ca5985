//! Asking the server to stop what nobody waits for any more. The request goes over a socket of its own and names the session,
//! not the statement. Rule: it is sent only when no live statement is under way on the connection, and nothing is written there
//! until its socket has closed; so it cannot hit a statement that somebody wants.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use tokio::time::error::Elapsed;
use tsumugi_pg_proto::backend::TransactionStatus;
use tsumugi_pg_proto::connection::Shape;

use super::{CANCEL_AFTER, CANCEL_AGAIN_AFTER, FlushMode, Lost, Shared};
use crate::limits;

type Request = Pin<Box<dyn Future<Output = io::Result<()>>>>;

/// How a request to cancel reaches the server of a connection.
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
}

/// A caller left before its answer came. If the server does not answer soon, and nobody else waits, it is asked to stop.
pub(super) fn abandoned(shared: &Rc<Shared>) {
    shared.press();
    let Some(request) = shared.cancel.0.clone() else {
        return;
    };
    let idle = shared.watching_abandoned.replace(true);
    if idle || tokio::runtime::Handle::try_current().is_err() {
        return;
    }
    let shared = Rc::clone(shared);
    tokio::task::spawn_local(async move {
        loop {
            tokio::time::sleep(CANCEL_AFTER).await;
            if shared.protocol.borrow().awaited() == 0 || shared.lost.borrow().is_some() {
                break;
            }
            if shared.slots.borrow().has_callers() || !shared.out.borrow().bytes.is_empty() {
                continue;
            }
            shared.held.set(true);
            let asked = tokio::time::timeout(limits::CANCEL_TIMEOUT, request()).await;
            tracing::debug!(target: "tsumugi_pg", ok = matches!(asked, Ok(Ok(()))), "asked the server to cancel");
            shared.held.set(false);
            if may_still_come(&asked) {
                shared.lose(Lost::aborted(
                    "the server took no request to cancel in time, and might cancel what comes next",
                ));
                break;
            }
            shared.slots.borrow_mut().wake_watchers();
            shared.ring();
            let _ = tokio::time::timeout(CANCEL_AGAIN_AFTER, shared.quiet()).await;
            leave_orphaned_transaction(&shared);
        }
        shared.watching_abandoned.set(false);
        // The pump may have been waiting for this task to let go.
        shared.let_go(2);
    });
}

/// Whether a request to cancel may reach the server later, and hit whatever runs then.
fn may_still_come(asked: &Result<io::Result<()>, Elapsed>) -> bool {
    match asked {
        Ok(asked) => matches!(asked, Err(error) if error.kind() == io::ErrorKind::TimedOut),
        Err(_) => true,
    }
}

/// The request to cancel may have hit the very ROLLBACK of a transaction that was dropped. Then it is still open.
fn leave_orphaned_transaction(shared: &Rc<Shared>) {
    let failed = shared.protocol.borrow().status() == TransactionStatus::Failed;
    if !failed || !shared.orphaned.get() || shared.protocol.borrow().awaited() > 0 {
        return;
    }
    let again = shared.write(1, FlushMode::Now, |request, ticket| {
        Ok(request.query("ROLLBACK", ticket, Shape::Whole)?)
    });
    if let Ok(ticket) = again {
        shared.slots.borrow_mut().leave(ticket);
    }
}
