//! Asks a running server to reload, to drain or to end, from any thread. Does none of it itself.
//! Requests are flags and numbers, never a queue: any number of them before the server looks is one.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use crate::reload_log::{ReloadLog, ReloadRecord, ReloadTrigger};
use crate::shared::ServerShared;
use crate::{Error, ListeningSocket, LoadFailure, Result, ServerSnapshot};

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
    /// Whether another process accepts from the sockets.
    handed_over: AtomicBool,
    has_begun: AtomicBool,
    /// Number of the last reload asked for.
    reload: AtomicU64,
    /// What listens, until a drain begins.
    sockets: Mutex<Vec<ListeningSocket>>,
    /// Processes that were given the sockets and may take over.
    loans: AtomicUsize,
    /// Tells the control thread to look.
    pub changed: Notify,
    outcome: watch::Sender<Outcome>,
    /// What became of reloads.
    pub reload_log: ReloadLog,
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
                handed_over: AtomicBool::new(false),
                has_begun: AtomicBool::new(false),
                reload,
                sockets: Mutex::default(),
                loans: AtomicUsize::new(0),
                changed: Notify::new(),
                outcome,
                reload_log: ReloadLog::default(),
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
        self.reload_for(ReloadTrigger::Program)
    }

    /// The same, with what it is for.
    ///
    /// # Errors
    /// See [`reload`](Self::reload).
    pub fn reload_for(
        &self,
        trigger: ReloadTrigger,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        self.state.reload_log.ask(trigger);
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

    /// The same for a server whose sockets another process accepts from: what waits in their backlog is that one's, and so are the files
    /// of UNIX sockets.
    pub fn hand_over(&self) {
        self.state.handed_over.store(true, Ordering::Release);
        self.drain();
    }

    /// Ends the server at once, whatever runs.
    pub fn abort(&self) {
        self.state.request(ServerCommand::Abort);
    }

    /// Whether the server was asked to drain or to end.
    pub fn is_ending(&self) -> bool {
        self.state.command() != ServerCommand::Serve
    }

    /// Whether another process accepts from the server's sockets.
    pub fn is_handed_over(&self) -> bool {
        self.state.is_handed_over()
    }

    /// Whether the server has begun to serve, and has told so to whoever follows its phases.
    pub fn has_begun(&self) -> bool {
        self.state.has_begun.load(Ordering::Acquire)
    }

    /// Whether the applications of all workers have retired in a drain: no request of the server runs any more, though clients may still be
    /// sent answers.
    pub fn has_retired(&self) -> bool {
        self.state.shared.has_retired()
    }

    /// The sockets that the server listens on, for a process that may take over; none once a drain has begun. This server goes on
    /// accepting from them. While the loan lasts, a drain leaves the files of UNIX sockets where they are.
    ///
    /// # Errors
    /// When the limit of open files is reached.
    pub fn lend_sockets(&self) -> io::Result<(Vec<ListeningSocket>, SocketLoan)> {
        let loan = SocketLoan::new(&self.state);
        let sockets = self.state.sockets();
        let sockets: io::Result<Vec<_>> = sockets.iter().map(ListeningSocket::try_clone).collect();
        Ok((sockets?, loan))
    }

    /// What became of the last reloads, the latest last.
    pub fn reloads(&self) -> Vec<ReloadRecord> {
        self.state.reload_log.records()
    }

    /// Figures of this moment.
    pub fn snapshot(&self) -> ServerSnapshot {
        self.state.shared.snapshot()
    }
}

/// Keeps the files of UNIX sockets for the process that was given the sockets.
#[derive(Debug)]
pub struct SocketLoan(Arc<State>);

impl SocketLoan {
    fn new(state: &Arc<State>) -> Self {
        state.loans.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(state))
    }
}

impl Drop for SocketLoan {
    fn drop(&mut self) {
        self.0.loans.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What can be lent, for as long as this lives: a socket listens until its last descriptor is closed.
#[derive(Debug)]
pub(crate) struct LendableSockets(Arc<State>);

impl LendableSockets {
    pub fn new(handle: &Handle, sockets: Vec<ListeningSocket>) -> Self {
        *handle.state.sockets() = sockets;
        Self(Arc::clone(&handle.state))
    }
}

impl Drop for LendableSockets {
    fn drop(&mut self) {
        self.0.sockets().clear();
    }
}

impl State {
    fn sockets(&self) -> MutexGuard<'_, Vec<ListeningSocket>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another process accepts from the sockets.
    pub fn is_handed_over(&self) -> bool {
        self.handed_over.load(Ordering::Acquire)
    }

    /// Whether the files of UNIX sockets may be another process's.
    pub fn leaves_files(&self) -> bool {
        self.is_handed_over() || self.loans.load(Ordering::Acquire) > 0
    }

    /// Notes that the server serves.
    pub fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
    }

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
        self.shared.leaving.store(true, Ordering::Relaxed);
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

    /// Answers every reload that will not happen, and notes that the server ends, also where nobody has asked for it.
    pub fn end(&self) {
        self.request(ServerCommand::Drain);
        self.outcome.send_modify(|outcome| outcome.ended = true);
    }
}
