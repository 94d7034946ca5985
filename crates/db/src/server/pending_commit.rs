//! A commit from when it is sent until it is known what has become of it. Knows no database and asks no server.
//! Rule: it does not need its caller. One that is given up goes on in a task of its own, and the log says what has become of it.
//!
//! There are as many of them at most as the pool has connections, and for each of those one more that was lost within `acquire_timeout`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::limits::COMMIT_GRACE;
use crate::route_scope;

/// The transaction of a commit, as far as the log names it.
pub(crate) trait CommitSubject: Clone + 'static {
    /// Its number, where the server has given it one and says so.
    fn xid(&self) -> Option<u64> {
        None
    }
}

/// A database whose transactions have no numbers.
impl CommitSubject for () {}

type Call = Pin<Box<dyn Future<Output = Result<()>>>>;

/// A commit under way.
pub(crate) struct PendingCommit<S: CommitSubject> {
    /// None once it is known what has become of it.
    call: Option<Call>,
    subject: S,
    database: Arc<str>,
    route: Option<Arc<str>>,
}

impl<S: CommitSubject> PendingCommit<S> {
    /// `call` commits, and finds out what has become of that where it is not answered.
    pub(crate) fn new(
        database: &Arc<str>,
        subject: S,
        call: impl Future<Output = Result<()>> + 'static,
    ) -> PendingCommit<S> {
        PendingCommit {
            call: Some(Box::pin(call)),
            subject,
            database: Arc::clone(database),
            route: route_scope::current(),
        }
    }

    /// What has become of it.
    pub(crate) async fn outcome(mut self) -> Result<()> {
        let Some(call) = &mut self.call else {
            unreachable!("it is there until this has ended")
        };
        let outcome = call.await;
        self.call = None;
        outcome
    }
}

impl<S: CommitSubject> Drop for PendingCommit<S> {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        // What has panicked is not polled again.
        if std::thread::panicking() {
            return;
        }
        let follower = CommitFollower {
            subject: self.subject.clone(),
            database: Arc::clone(&self.database),
            route: self.route.take(),
            is_known: false,
        };
        if tokio::runtime::Handle::try_current().is_ok() {
            tokio::task::spawn_local(follower.follow(call));
        }
    }
}

/// Waits for what becomes of a commit whose caller has left. Dropped before, as when its worker ends, it says so.
struct CommitFollower<S: CommitSubject> {
    subject: S,
    database: Arc<str>,
    route: Option<Arc<str>>,
    is_known: bool,
}

impl<S: CommitSubject> CommitFollower<S> {
    async fn follow(mut self, mut call: Call) {
        let soon = timeout(COMMIT_GRACE, &mut call).await;
        let is_late = soon.is_err();
        let outcome = match soon {
            Ok(outcome) => outcome,
            Err(_) => {
                self.warn("a commit was given up by its caller before it was answered; another line will say what has become of it");
                call.await
            }
        };
        self.is_known = true;
        let what = match outcome {
            Ok(()) => "it was committed".to_owned(),
            Err(error @ Error::CommitUnknown { .. }) => error.to_string(),
            Err(error) => format!("it was not committed: {error}"),
        };
        match is_late {
            true => self.warn(&format!("a commit that was given up: {what}")),
            false => {
                tracing::debug!(target: "tsumugi_db", database = %self.database, "a commit that was given up: {what}");
            }
        }
    }

    fn warn(&self, what: &str) {
        let (xid, route) = (self.subject.xid(), self.route.as_deref());
        tracing::warn!(target: "tsumugi_db", database = %self.database, route, xid, "{what}");
    }
}

impl<S: CommitSubject> Drop for CommitFollower<S> {
    fn drop(&mut self) {
        if !self.is_known {
            self.warn("a commit was given up, and its worker ends before it is known what has become of it");
        }
    }
}
