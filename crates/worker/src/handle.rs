//! Asks a running server to reload, to drain or to end, from any thread. Does none of it itself.
//! Requests are flags and numbers, never a queue: any number of them before the server looks is one.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tokio::sync::{Notify, watch};

use crate::shared::ServerShared;
use crate::{Error, LoadFailure, Result, ServerSnapshot};

/// Controls a running server. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct Handle {
    state: Arc<State>,
}

/// What the server was asked for last. The greater one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ServerCommand {
    Serve = 0,
    Drain = 1,
    Abort = 2,
}

#[derive(Debug)]
pub(crate) struct State {
    shared: Arc<ServerShared>,
    command: AtomicU8,
    /// Number of the last reload asked for.
    reload: AtomicU64,
    /// Tells the control thread to look.
    pub changed: Notify,
    outcome: watch::Sender<Outcome>,
}

#[derive(Clone, Debug)]
struct Outcome {
    /// Number of the last reload asked for before the latest one began.
    reload: u64,
    result: Result<(), LoadFailure>,
    ended: bool,
}

impl Handle {
    pub(crate) fn new(shared: Arc<ServerShared>) -> Self {
        let outcome = watch::Sender::new(Outcome {
            reload: 0,
            result: Ok(()),
            ended: false,
        });
        let (command, reload) = (AtomicU8::new(ServerCommand::Serve as u8), AtomicU64::new(0));
        Self {
            state: Arc::new(State {
                shared,
                command,
                reload,
                changed: Notify::new(),
                outcome,
            }),
        }
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// Asks for a reload, at once; the future tells how it went and may be dropped. Requests that come while a
    /// reload runs are answered together by the one after it.
    ///
    /// # Errors
    /// [`Error::Load`] when a worker could not load the new application, and the old one goes on;
    /// [`Error::Stopped`] when the server ends first.
    pub fn reload(&self) -> impl Future<Output = Result<()>> + Send + 'static {
        let mut outcome = self.state.outcome.subscribe();
        let number = self.state.reload.fetch_add(1, Ordering::AcqRel) + 1;
        self.state.changed.notify_one();
        async move {
            let known = outcome
                .wait_for(|outcome| outcome.ended || outcome.reload >= number)
                .await;
            let known = known.map_err(|_| Error::Stopped)?;
            if known.reload < number {
                Err(Error::Stopped)
            } else {
                known.result.clone().map_err(Error::Load)
            }
        }
    }

    /// Stops accepting, lets running connections finish, then ends the server. Asking twice is asking once.
    pub fn drain(&self) {
        self.state.request(ServerCommand::Drain);
    }

    /// Ends the server at once, whatever runs.
    pub fn abort(&self) {
        self.state.request(ServerCommand::Abort);
    }

    /// Figures of this moment.
    pub fn snapshot(&self) -> ServerSnapshot {
        self.state.shared.snapshot()
    }
}

impl State {
    /// What was asked for last.
    pub fn command(&self) -> ServerCommand {
        match self.command.load(Ordering::Acquire) {
            0 => ServerCommand::Serve,
            1 => ServerCommand::Drain,
            _ => ServerCommand::Abort,
        }
    }

    fn request(&self, command: ServerCommand) {
        self.command.fetch_max(command as u8, Ordering::AcqRel);
        self.changed.notify_one();
    }

    /// The number of the last reload asked for, when no later one has been answered.
    pub fn requested_reload(&self) -> Option<u64> {
        let number = self.reload.load(Ordering::Acquire);
        (number > self.outcome.borrow().reload).then_some(number)
    }

    /// Answers every reload up to `number`.
    pub fn reloaded(&self, number: u64, result: Result<(), LoadFailure>) {
        self.outcome
            .send_modify(|outcome| (outcome.reload, outcome.result) = (number, result));
    }

    /// Answers every reload that will not happen.
    pub fn end(&self) {
        self.outcome.send_modify(|outcome| outcome.ended = true);
    }
}
