//! The life of one worker: load, serve, reload, drain. Decides nothing about the other workers: the control thread
//! gives the commands, and every command is answered by one report.

use std::future::pending;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle, JoinSet};

use crate::accept::ConnectionGate;
use crate::arrival::Arrival;
use crate::error::panic_message;
use crate::host::{ThreadClock, work_in_batches};
use crate::limits::RUNTIME_THREADS_MAX;
use crate::listen::WorkerListener;
use crate::shared::ServerShared;
use crate::{BoxError, Current, DrainReason, LocalTask, Scheduling, WorkerHandle, WorkerService};

/// What the control thread tells a worker.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    /// Load the application beside the present one. Answered by `Loaded`.
    Load,
    /// Serve with what was loaded. The first one opens the listeners.
    Commit,
    /// Give up what was loaded or is loading. Answered by `Discarded`.
    Discard,
    /// Close the listeners (`Closed`), finish, retire, end (`Ended`).
    Drain(DrainReason),
}

/// What a worker tells the control thread.
#[derive(Debug)]
pub(crate) enum WorkerEvent {
    Loaded(Result<(), BoxError>),
    Discarded,
    Closed,
    /// The event loop could not be made; `Ended` follows.
    Unstarted(io::Error),
    Ended,
    Panicked,
}

/// The number of a worker, and what it tells.
pub(crate) type WorkerReport = (usize, WorkerEvent);

/// Everything that a worker's thread is given.
pub(crate) struct ThreadSetup {
    pub id: usize,
    pub shared: Arc<ServerShared>,
    pub scheduling: Scheduling,
    pub listeners: Vec<WorkerListener>,
    pub arrivals: mpsc::Receiver<Arrival>,
    pub commands: mpsc::Receiver<Command>,
    pub reports: Reports,
    pub stop: watch::Receiver<bool>,
}

/// Sends one worker's reports. Dropping it reports the end of the thread, however that came.
pub(crate) struct Reports {
    pub worker: usize,
    pub sender: mpsc::Sender<WorkerReport>,
}

impl Reports {
    fn send(&self, event: WorkerEvent) {
        // There is room for an answer to every command that can be on its way. Nobody listens only when the
        // server has ended without waiting for this thread.
        let _ = self.sender.try_send((self.worker, event));
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.send(if thread::panicking() {
            WorkerEvent::Panicked
        } else {
            WorkerEvent::Ended
        });
    }
}

/// A runtime for futures that stay on this thread. `LocalRuntime` rather than a `LocalSet` inside a runtime: both cost
/// the same per wake and per message (measured), but this is one scheduler instead of two, and `spawn_local` works in
/// whatever code runs on the thread.
pub(crate) fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(RUNTIME_THREADS_MAX)
        .build_local(LocalOptions::default())
}

/// The body of a worker's thread.
pub(crate) fn run<S: WorkerService>(setup: ThreadSetup, make: &dyn Fn(&WorkerHandle) -> S) {
    let ThreadSetup {
        id,
        shared,
        scheduling,
        listeners,
        arrivals,
        commands,
        reports,
        mut stop,
    } = setup;
    shared.cores.pin(id);
    if scheduling == Scheduling::Batches {
        work_in_batches();
    }
    let _ = shared.lanes[id].clock.set(ThreadClock::here());
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return reports.send(WorkerEvent::Unstarted(error)),
    };
    let worker = WorkerHandle::new(id, shared);
    runtime.block_on(async {
        let service = Rc::new(make(&worker));
        let life = Life {
            worker,
            service,
            listeners,
            reports: &reports,
            door: None,
            loading: None,
            candidate: None,
            accepting: JoinSet::new(),
            retiring: JoinSet::new(),
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {}
            () = life.run(commands, arrivals) => {}
        }
    });
    // Name lookups that still run are not worth waiting for.
    runtime.shutdown_background();
}

struct Life<'a, S: WorkerService> {
    worker: WorkerHandle,
    service: Rc<S>,
    listeners: Vec<WorkerListener>,
    reports: &'a Reports,
    /// Open once the first application has been committed.
    door: Option<ConnectionGate<S>>,
    loading: Option<Loading<S>>,
    candidate: Option<Rc<S::App>>,
    accepting: JoinSet<io::Result<()>>,
    retiring: JoinSet<()>,
}

type Loading<S> = JoinHandle<Result<Rc<<S as WorkerService>::App>, BoxError>>;

/// A boxed edge: services are of many types.
fn spawn_accepting(
    tasks: &mut JoinSet<io::Result<()>>,
    worker: &WorkerHandle,
    accepting: LocalTask<io::Result<()>>,
) {
    tasks.spawn_local(worker.watched(accepting));
}

/// The same for what retires.
fn spawn_retiring(tasks: &mut JoinSet<()>, worker: &WorkerHandle, retiring: LocalTask<()>) {
    tasks.spawn_local(worker.watched(retiring));
}

impl<S: WorkerService> Life<'_, S> {
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut arrivals: mpsc::Receiver<Arrival>,
    ) {
        let reason = loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(Command::Load) => self.load(),
                    Some(Command::Commit) => self.commit(),
                    Some(Command::Discard) => self.discard().await,
                    Some(Command::Drain(reason)) => break reason,
                    None => break DrainReason::Ending,
                },
                outcome = finished(&mut self.loading) => self.loaded(outcome),
                Some(arrival) = arrivals.recv(), if self.door.is_some() => self.admit(arrival),
            }
        };
        self.drain(arrivals, reason).await;
    }

    fn load(&mut self) {
        let service = Rc::clone(&self.service);
        let load_ms_max = self.worker.limits().load_ms_max;
        self.loading = Some(self.worker.spawn(async move {
            match tokio::time::timeout(Duration::from_millis(load_ms_max), service.load()).await {
                Ok(outcome) => outcome,
                Err(_) => Err(format!("it took longer than load_ms_max = {load_ms_max}").into()),
            }
        }));
    }

    fn loaded(&mut self, outcome: Result<Result<Rc<S::App>, BoxError>, JoinError>) {
        self.loading = None;
        let outcome = outcome.unwrap_or_else(|error| {
            Err(match error.try_into_panic() {
                Ok(payload) => format!("a panic: {}", panic_message(&*payload)).into(),
                Err(error) => error.into(),
            })
        });
        self.reports.send(WorkerEvent::Loaded(
            outcome.map(|app| self.candidate = Some(app)),
        ));
    }

    fn commit(&mut self) {
        let Some(app) = self.candidate.take() else {
            return;
        };
        if let Some(door) = &self.door {
            let old = door.app.swap(app);
            return self.retire(old);
        }
        let door = ConnectionGate {
            worker: self.worker.clone(),
            service: Rc::clone(&self.service),
            app: Current::new(app),
        };
        for listener in self.listeners.drain(..) {
            let accepting = Box::pin(door.clone().accept(listener));
            spawn_accepting(&mut self.accepting, &self.worker, accepting);
        }
        self.door = Some(door);
        self.worker.begin_serving();
    }

    async fn discard(&mut self) {
        self.abandon().await;
        self.reports.send(WorkerEvent::Discarded);
    }

    /// Ends the load that runs, or retires what it brought.
    async fn abandon(&mut self) {
        if let Some(loading) = self.loading.take() {
            if loading.is_finished() {
                // It loaded just now: what its plugins hold must be given back.
                self.candidate = loading.await.ok().and_then(Result::ok);
            } else {
                loading.abort();
            }
        }
        if let Some(app) = self.candidate.take() {
            self.retire(app);
        }
    }

    fn retire(&mut self, app: Rc<S::App>) {
        while self.retiring.try_join_next().is_some() {}
        let service = Rc::clone(&self.service);
        let retiring = Box::pin(async move { service.retire(app).await });
        spawn_retiring(&mut self.retiring, &self.worker, retiring);
    }

    fn admit(&self, arrival: Arrival) {
        if let Some(door) = &self.door {
            door.admit(arrival);
        }
    }

    async fn drain(mut self, mut arrivals: mpsc::Receiver<Arrival>, reason: DrainReason) {
        self.worker.begin_drain(reason);
        arrivals.close();
        self.abandon().await;
        self.listeners.clear();
        while let Some(outcome) = self.accepting.join_next().await {
            if let Ok(Err(error)) = outcome {
                tracing::error!(worker = self.worker.id(), %error, "a listener had failed");
            }
        }
        self.reports.send(WorkerEvent::Closed);
        while let Some(arrival) = arrivals.recv().await {
            self.admit(arrival);
        }
        let last_requests = async {
            match reason {
                DrainReason::Ending => pending().await,
                DrainReason::HandedOver => self.service.last_requests().await,
            }
        };
        tokio::select! {
            () = self.worker.idle() => {}
            () = last_requests => {}
        }
        if let Some(door) = self.door.take() {
            // Nothing is served any more: the application leaves with its last owner, after `retire`.
            self.retire(door.app.current());
        }
        while self.retiring.join_next().await.is_some() {}
        self.worker.note_retired();
        self.worker.idle().await;
    }
}

/// Resolves when the load that runs has finished; never when none runs.
async fn finished<T>(loading: &mut Option<JoinHandle<T>>) -> Result<T, JoinError> {
    match loading {
        Some(loading) => loading.await,
        None => pending().await,
    }
}
