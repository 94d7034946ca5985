//! A lease that is held: its renewal, its loss, its end. Decides nothing of times, which `state.rs` does.
//! Rule: at each look the deadline comes first: what runs under a lease is not run on once it has passed, whatever has happened meanwhile.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::clock::BootTime;
use crate::engine::{ClusterEngine, LeaseClaim, ReleaseKind};
use crate::error::{Error, Result};
use crate::limits::RELEASE_MAX;
use crate::state::LeaseState;

/// A lease in hand. Cheap to clone; when the last clone is dropped it is given back, if it has not been.
#[derive(Clone, Debug)]
pub struct Lease(Rc<LeaseInner>);

#[derive(Debug)]
struct LeaseInner {
    engine: Rc<dyn ClusterEngine>,
    /// What was held, as callers name it.
    label: String,
    claim: LeaseClaim,
    ttl: Duration,
    state: RefCell<LeaseState>,
    /// What the engine said to the last renewal that failed.
    reason: RefCell<Option<String>>,
    /// Notified when it is lost or was given back.
    changed: Notify,
    released: Cell<bool>,
}

impl Lease {
    pub(crate) fn new(
        engine: &Rc<dyn ClusterEngine>,
        label: &str,
        claim: LeaseClaim,
        ttl: Duration,
        state: LeaseState,
    ) -> Lease {
        Lease(Rc::new(LeaseInner {
            engine: Rc::clone(engine),
            label: label.to_owned(),
            claim,
            ttl,
            state: RefCell::new(state),
            reason: RefCell::default(),
            changed: Notify::new(),
            released: Cell::new(false),
        }))
    }

    /// The fencing token: greater than that of every holder before. It says nothing of whether the lease is still held; see [`Lease::check`].
    #[must_use]
    pub fn token(&self) -> i64 {
        self.0.claim.token
    }

    /// Whether it was lost: its deadline has passed, or another one has it. One that was given back is not.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.state.borrow_mut().is_lost(BootTime::now())
    }

    /// How long it is held unless it is renewed.
    #[must_use]
    pub fn left(&self) -> Duration {
        let deadline = self.0.state.borrow().deadline();
        deadline.map_or(Duration::ZERO, |deadline| BootTime::now().until(deadline))
    }

    /// The token, if the lease is held now.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub fn check(&self) -> Result<i64> {
        match self.is_lost() {
            true => Err(self.loss()),
            false => Ok(self.token()),
        }
    }

    /// What a holder that lost it is told.
    #[must_use]
    pub fn loss(&self) -> Error {
        Error::Lost {
            name: self.0.label.clone(),
            reason: self.0.reason.borrow().clone(),
        }
    }

    /// Resolves when it is lost, never when it was given back. [`Lease::keeper`] has to run meanwhile.
    pub async fn lost(&self) {
        while !self.is_lost() {
            // One thread: nothing happens between the look and the registration.
            self.0.changed.notified().await;
        }
    }

    /// Renews it until it is lost, given back or dropped.
    pub fn keeper(&self) -> LocalBoxFuture<'static, ()> {
        let lease = Rc::downgrade(&self.0);
        async move {
            loop {
                let next = lease.upgrade().and_then(|lease| lease.next_event());
                let Some(next) = next else { return };
                sleep(BootTime::now().until(next)).await;
                let Some(lease) = lease.upgrade() else { return };
                lease.renew().await;
            }
        }
        .boxed_local()
    }

    /// Runs this while the lease is held and renews it meanwhile. When it is lost, what runs is dropped where it waits.
    ///
    /// # Errors
    /// [`Error::Lost`], also where the work had just ended when the deadline had passed.
    pub async fn hold<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let mut keeper = self.keeper();
        let mut work = pin!(work);
        let mut is_kept = true;
        poll_fn(|cx| {
            if self.is_lost() {
                return Poll::Ready(Err(self.loss()));
            }
            if is_kept && keeper.as_mut().poll(cx).is_ready() {
                is_kept = false;
                if self.is_lost() {
                    return Poll::Ready(Err(self.loss()));
                }
            }
            match work.as_mut().poll(cx) {
                Poll::Ready(value) => Poll::Ready(self.check().map(|_| value)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Gives it back, so that others need not wait for the end of its time. Does nothing more than once, and nothing where it was lost.
    pub fn release(&self, kind: ReleaseKind) -> LocalBoxFuture<'_, ()> {
        self.give_back(kind).boxed_local()
    }

    async fn give_back(&self, kind: ReleaseKind) {
        let lease = &self.0;
        if lease.released.get() || self.is_lost() {
            return;
        }
        lease.state.borrow_mut().end();
        lease.changed.notify_waiters();
        let claim = &lease.claim;
        let released = lease.engine.release(&claim.name, &claim.holder, kind);
        match timeout(RELEASE_MAX, released).await {
            Ok(Ok(())) => lease.released.set(true),
            Ok(Err(error)) => {
                tracing::debug!(%error, "the lock {} was not given back: its time ends it", lease.label);
            }
            Err(_) => {
                tracing::debug!("the lock {} was not given back: no answer", lease.label);
            }
        }
    }
}

impl LeaseInner {
    /// When something is to be done about it; nothing once it is lost or was given back.
    fn next_event(&self) -> Option<BootTime> {
        let mut state = self.state.borrow_mut();
        let is_lost = state.is_lost(BootTime::now());
        let next = state.next_event();
        drop(state);
        if is_lost {
            self.changed.notify_waiters();
        }
        next
    }

    /// Renews it if that is due.
    async fn renew(&self) {
        let sent = BootTime::now();
        if !self.state.borrow_mut().renew_sent(sent) {
            return;
        }
        // After the deadline an answer is worth nothing.
        let deadline = self.state.borrow().deadline();
        let patience = deadline.map_or(Duration::ZERO, |deadline| sent.until(deadline));
        let answer = timeout(patience, self.engine.renew(&self.claim, self.ttl)).await;
        let now = BootTime::now();
        let mut state = self.state.borrow_mut();
        let reason = match answer {
            Ok(Ok(true)) => return state.renewed(now),
            Ok(Ok(false)) => {
                state.renew_refused();
                "it had run out".to_owned()
            }
            Ok(Err(error)) => {
                state.renew_unanswered(now);
                error.to_string()
            }
            Err(_) => {
                state.renew_unanswered(now);
                "its renewal was not answered".to_owned()
            }
        };
        tracing::debug!("the lock {} was not renewed: {reason}", self.label);
        self.reason.replace(Some(reason));
    }
}

impl Drop for LeaseInner {
    fn drop(&mut self) {
        if !self.released.get() {
            let LeaseClaim { name, holder, .. } = &self.claim;
            self.engine.abandon(name.clone(), holder.clone());
        }
    }
}
