//! Governs the workers of one server: start, reload, drain, end. Runs on the thread that called `BoundServer::run` and
//! serves no connection itself. What one worker did is known from its reports only.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nix::sys::signal::{SigSet, Signal};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::handle::{LendableSockets, ServerCommand, State};
use crate::lifecycle::{Command, WorkerEvent, WorkerReport};
use crate::limits::STOP_GRACE;
use crate::listen::SocketFile;
use crate::phase::{PhaseObserver, ServerPhase};
use crate::reload_log::{ReloadRecord, ReloadTrigger};
use crate::shared::ServerShared;
use crate::{DrainReason, Error, Handle, LoadFailure, Result};

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "the process should end with its code"]
pub enum Exit {
    /// Every connection finished and every application was retired.
    Drained,
    /// `drain_ms_max` was over; what still ran was dropped.
    Forced {
        /// Connections that were open then.
        connections: usize,
    },
    /// A second signal, or [`Handle::abort`](crate::Handle::abort). Worker threads may still be running: end the
    /// process without waiting for anything.
    Aborted,
}

impl Exit {
    /// The exit code for the process: 0 when drained, 1 otherwise.
    pub fn code(self) -> u8 {
        match self {
            Self::Drained => 0,
            Self::Forced { .. } | Self::Aborted => 1,
        }
    }

    /// The exit code for the process of this server: [`code`](Self::code), but 0 where another process has taken over, however long the drain
    /// took. Nothing has failed then that starting this process again would mend; it would take the service away from the other one.
    pub fn code_of(self, server: &Handle) -> u8 {
        match server.is_handed_over() {
            true => 0,
            false => self.code(),
        }
    }
}

pub(crate) struct Control {
    pub state: Arc<State>,
    pub shared: Arc<ServerShared>,
    pub commands: Vec<mpsc::Sender<Command>>,
    pub reports: mpsc::Receiver<WorkerReport>,
    pub stop: watch::Sender<bool>,
    pub files: Vec<SocketFile>,
    /// Until a drain begins.
    pub sockets: Option<LendableSockets>,
    pub drain_delay: Duration,
    pub observer: PhaseObserver,
    /// Workers whose threads have not ended.
    pub alive: usize,
    /// Why a worker ended although it was not asked to.
    pub lost: Option<Error>,
}

/// How a round of loading went.
enum Round {
    Loaded,
    Failed(LoadFailure),
    /// The server is to end, or has lost a worker.
    Interrupted,
}

/// Why the workers end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopCause {
    /// The first application was not loaded, or it was stopped before: nothing was served, and there is nothing to drain.
    NeverServed,
    /// A signal, a hand-over, or a worker that was lost.
    Request,
}

impl Control {
    /// Starts the workers, serves until asked to end, ends them.
    pub async fn govern(mut self) -> Result<Exit> {
        let (failure, cause) = match self.load().await {
            Round::Loaded => {
                self.observer.tell(ServerPhase::Loaded);
                self.files.iter_mut().for_each(SocketFile::take_over);
                self.send_to_all(Command::Commit);
                tracing::info!(workers = self.commands.len(), "serving");
                self.observer.tell(ServerPhase::Serving);
                self.state.begin();
                self.serve().await;
                self.observer.tell(ServerPhase::Ending);
                self.linger().await;
                (None, StopCause::Request)
            }
            Round::Failed(failure) => (Some(Error::Load(failure)), StopCause::NeverServed),
            Round::Interrupted => {
                // What a lost worker means is said by its error.
                if self.lost.is_none() {
                    tracing::info!("stopped before the application was loaded");
                }
                (None, StopCause::NeverServed)
            }
        };
        self.state.end();
        let deadline = Instant::now() + Duration::from_millis(self.shared.limits.drain_ms_max);
        let exit = self.drain(deadline, cause).await;
        // A server that never served has no answer to save, and its end should not wait for a job that hangs.
        let rest = match cause {
            StopCause::NeverServed => Instant::now() + STOP_GRACE,
            StopCause::Request => deadline,
        };
        let exit = self.finish(exit, rest, cause).await;
        match failure.or(self.lost) {
            Some(error) => Err(error),
            None => Ok(exit),
        }
    }

    /// Returns when the server is to end.
    async fn serve(&mut self) {
        while !self.ending() {
            match self.state.requested_reload() {
                Some(number) => self.reload(number).await,
                None => drop(self.next().await),
            }
        }
    }

    /// Goes on for `drain_delay`, unless another process has taken over or the server is to end at once.
    async fn linger(&mut self) {
        if self.drain_delay.is_zero() {
            return;
        }
        let deadline = Instant::now() + self.drain_delay;
        tracing::info!("serving on for the drain delay of {:?}", self.drain_delay);
        while self.state.command() == ServerCommand::Drain
            && !self.state.is_handed_over()
            && self.lost.is_none()
            && self.alive == self.commands.len()
        {
            tokio::select! {
                report = self.next() => drop(report),
                () = sleep_until(deadline) => return,
            }
        }
    }

    async fn load(&mut self) -> Round {
        self.send_to_all(Command::Load);
        let mut missing = self.commands.len();
        while missing > 0 {
            if self.ending() {
                return Round::Interrupted;
            }
            match self.next().await {
                Some((_, WorkerEvent::Loaded(Ok(())))) => missing -= 1,
                Some((worker, WorkerEvent::Loaded(Err(cause)))) => {
                    let cause = cause.into();
                    return Round::Failed(LoadFailure { worker, cause });
                }
                _ => {}
            }
        }
        Round::Loaded
    }

    /// One reload for all requests made before it began.
    async fn reload(&mut self, number: u64) {
        tracing::info!("reloading");
        self.observer.tell(ServerPhase::Reloading);
        let trigger = self.state.reload_log.begin();
        let (at, since) = (SystemTime::now(), Instant::now());
        let record = |failure| ReloadRecord {
            at,
            took: since.elapsed(),
            trigger,
            failure,
        };
        match self.load().await {
            Round::Loaded => {
                self.send_to_all(Command::Commit);
                tracing::info!("reloaded");
                self.state.reload_log.add(record(None));
                self.state.reloaded(number, Ok(()));
            }
            Round::Failed(failure) => {
                self.state.reload_log.add(record(Some(failure.clone())));
                tracing::error!(worker = failure.worker, cause = %failure.cause, "not reloaded; requests are answered as before");
                self.state.reloaded(number, Err(failure));
                self.discard().await;
            }
            Round::Interrupted => return,
        }
        self.observer.tell(ServerPhase::Serving);
    }

    /// Waits until every worker has given up what it loaded, so that no late report meets the next reload.
    async fn discard(&mut self) {
        self.send_to_all(Command::Discard);
        let mut missing = self.commands.len();
        while missing > 0 && !self.ending() {
            if let Some((_, WorkerEvent::Discarded)) = self.next().await {
                missing -= 1;
            }
        }
    }

    async fn drain(&mut self, deadline: Instant, cause: StopCause) -> Exit {
        let reason = match self.state.is_handed_over() {
            true => DrainReason::HandedOver,
            false => DrainReason::Ending,
        };
        if cause == StopCause::Request {
            tracing::info!(connections = self.connections(), "draining");
        }
        self.sockets = None;
        self.send_to_all(Command::Drain(reason));
        let mut listening = self.commands.len();
        while self.alive > 0 {
            if self.state.command() == ServerCommand::Abort {
                return Exit::Aborted;
            }
            let report = tokio::select! {
                report = self.next() => report,
                () = sleep_until(deadline) => return Exit::Forced { connections: self.connections() },
            };
            if let Some((_, WorkerEvent::Closed)) = report {
                listening -= 1;
                if listening == 0 {
                    // Removed as soon as no listener is left, so that a successor's socket is never mistaken for ours.
                    self.release_files();
                }
            }
        }
        Exit::Drained
    }

    /// Ends what still runs; offloaded jobs have until `rest`.
    async fn finish(&mut self, exit: Exit, rest: Instant, cause: StopCause) -> Exit {
        self.stop.send_replace(true);
        self.release_files();
        match exit {
            Exit::Drained => {
                let pool = self.shared.pool.clone();
                tokio::select! {
                    outcome = timeout_at(rest, pool.close()) => match outcome {
                        Ok(()) if cause == StopCause::NeverServed => {}
                        Ok(()) => tracing::info!("drained"),
                        Err(_) => tracing::warn!("offloaded jobs were still running at the end"),
                    },
                    () = self.aborted() => return Exit::Aborted,
                }
            }
            Exit::Forced { connections } => {
                let drain_ms_max = self.shared.limits.drain_ms_max;
                tracing::warn!(
                    connections,
                    drain_ms_max,
                    "not drained in time (drain_ms_max); dropping what still runs"
                );
                let _ = timeout(STOP_GRACE, self.all_ended()).await;
            }
            Exit::Aborted => tracing::warn!(connections = self.connections(), "ending at once"),
        }
        exit
    }

    /// Removes the files of UNIX sockets, unless they are another process's now.
    fn release_files(&mut self) {
        if self.state.leaves_files() {
            self.files.iter_mut().for_each(SocketFile::leave);
        }
        self.files.clear();
    }

    async fn all_ended(&mut self) {
        while self.alive > 0 {
            self.next().await;
        }
    }

    async fn aborted(&mut self) {
        while self.state.command() != ServerCommand::Abort {
            self.state.changed.notified().await;
        }
    }

    /// The next report, or nothing when the command may have changed.
    async fn next(&mut self) -> Option<WorkerReport> {
        let report = tokio::select! {
            report = self.reports.recv() => report,
            () = self.state.changed.notified() => return None,
        };
        let Some((worker, event)) = report else {
            // The last thread has ended.
            self.alive = 0;
            return None;
        };
        match &event {
            WorkerEvent::Ended => self.alive -= 1,
            WorkerEvent::Panicked => {
                self.alive -= 1;
                self.lost.get_or_insert(Error::WorkerLost { worker });
            }
            WorkerEvent::Unstarted(error) => {
                let source = io::Error::new(error.kind(), error.to_string());
                self.lost
                    .get_or_insert(Error::start("a worker's event loop")(source));
            }
            WorkerEvent::Loaded(_) | WorkerEvent::Discarded | WorkerEvent::Closed => {}
        }
        Some((worker, event))
    }

    fn ending(&self) -> bool {
        self.lost.is_some()
            || self.alive < self.commands.len()
            || self.state.command() != ServerCommand::Serve
    }

    fn connections(&self) -> usize {
        self.shared
            .snapshot()
            .workers
            .iter()
            .map(|worker| worker.open)
            .sum()
    }

    fn send_to_all(&self, command: Command) {
        for commands in &self.commands {
            // Fails only for a worker that has ended. Full it cannot be: a round is answered before the next.
            let _ = commands.try_send(command);
        }
    }
}

/// Lets the signals through that end a server or have it load anew, on this thread and those that it starts: a process begins with what its parent blocked.
///
/// # Errors
/// Of the system.
pub fn unblock_signals() -> io::Result<()> {
    let handled = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
    let handled: SigSet = handled.into_iter().collect();
    handled.thread_unblock().map_err(io::Error::from)
}

/// Answers the process's signals through `handle` from now on.
pub(crate) fn handle_signals(handle: &Handle) -> Result<()> {
    let install = |kind| signal(kind).map_err(Error::start("signal handling"));
    let mut terminate = install(SignalKind::terminate())?;
    let mut interrupt = install(SignalKind::interrupt())?;
    let mut hangup = install(SignalKind::hangup())?;
    // What waits is answered as one that comes now.
    unblock_signals().map_err(Error::start("signal handling"))?;
    let handle = handle.clone();
    tokio::spawn(async move {
        let mut asked = false;
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hangup.recv() => {
                    // The control thread logs how it went.
                    drop(handle.reload_for(ReloadTrigger::Signal));
                    continue;
                }
            }
            if asked {
                handle.abort();
            } else {
                handle.drain();
            }
            asked = true;
        }
    });
    Ok(())
}
