//! The one connection of a worker to one place: made by whichever call needs it first, and again when it was lost. Asks nothing itself.
//! Rule: calls that wait for an attempt share its outcome, so that a server that is gone is tried once, not once for each of them.

use std::cell::RefCell;
use std::rc::Rc;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::link::{Link, Refusal};

/// A connection, or none at the moment.
#[derive(Default)]
pub(super) struct SharedLink {
    current: RefCell<Option<Rc<Link>>>,
    /// Held by the call that connects.
    turn: Mutex<()>,
    failed: RefCell<Option<(Instant, Refusal)>>,
}

impl SharedLink {
    /// The connection, made by `connect` if there is none.
    pub(super) async fn open(
        &self,
        connect: impl AsyncFnOnce() -> Result<Link, Refusal>,
    ) -> Result<Rc<Link>, Refusal> {
        if let Some(link) = self.current() {
            return Ok(link);
        }
        let since = Instant::now();
        let _turn = self.turn.lock().await;
        if let Some(link) = self.current() {
            return Ok(link);
        }
        if let Some(refusal) = self.failed_since(since) {
            return Err(refusal);
        }
        match connect().await {
            Ok(link) => {
                let link = Rc::new(link);
                *self.current.borrow_mut() = Some(Rc::clone(&link));
                Ok(link)
            }
            Err(refusal) => {
                *self.failed.borrow_mut() = Some((Instant::now(), refusal.clone()));
                Err(refusal)
            }
        }
    }

    /// The connection, if one is open.
    pub(super) fn current(&self) -> Option<Rc<Link>> {
        let mut current = self.current.borrow_mut();
        if current.as_ref().is_some_and(|link| !link.is_open()) {
            *current = None;
        }
        current.clone()
    }

    fn failed_since(&self, since: Instant) -> Option<Refusal> {
        let failed = self.failed.borrow();
        let (at, refusal) = failed.as_ref()?;
        (*at >= since).then(|| refusal.clone())
    }
}
