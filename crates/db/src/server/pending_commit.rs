//! A commit from when it is sent until it is known what has become of it. Knows no database and asks no server.
//! Rule: it does not need its caller. One that is given up goes on in a task of its own, and the log says what has become of it.
//!
//! There are as many of them at most as the pool has connections, and for each of those one more that was lost within `acquire_timeout`.

use std::borrow::Cow;
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
        // Without a runtime, as when a process ends, nothing can go on; and what has panicked is not polled again.
        if std::thread::panicking() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (subject, database) = (self.subject.clone(), Arc::clone(&self.database));
        let route = self.route.take();
        tokio::task::spawn_local(follow(call, subject, database, route));
    }
}

/// Waits for what becomes of a commit whose caller has left.
async fn follow(
    mut call: Call,
    subject: impl CommitSubject,
    database: Arc<str>,
    route: Option<Arc<str>>,
) {
    let route = route.as_deref();
    if let Ok(outcome) = timeout(COMMIT_GRACE, &mut call).await {
        let (xid, what) = (subject.xid(), summary(&outcome));
        tracing::debug!(target: "tsumugi_db", %database, route, xid, "a commit that was not waited for: {what}");
        return;
    }
    tracing::warn!(
        target: "tsumugi_db", %database, route, xid = subject.xid(),
        "a commit was given up by its caller before it was answered; another line will say what has become of it"
    );
    let outcome = call.await;
    let (xid, what) = (subject.xid(), summary(&outcome));
    tracing::warn!(target: "tsumugi_db", %database, route, xid, "a commit that was given up: {what}");
}

fn summary(outcome: &Result<()>) -> Cow<'static, str> {
    match outcome {
        Ok(()) => "it was committed".into(),
        Err(error @ Error::CommitUnknown { .. }) => error.to_string().into(),
        Err(error) => format!("it was not committed: {error}").into(),
    }
}
