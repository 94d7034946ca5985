//! Binds and runs a server: a thread per worker and the control loop on the caller's thread.
//! Knows what is started and in which order, not what the parts do.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

use crate::arrival::Arrival;
use crate::control::{Control, Exit, handle_signals};
use crate::handle::LendableSockets;
use crate::host::{Cores, ThreadClock, raise_open_files};
use crate::lifecycle::{self, Command, Reports, ThreadSetup, WorkerReport};
use crate::limits::{COMMANDS_MAX, STACK_BYTES_MIN};
use crate::listen::{self, BoundListeners, WorkerListener};
use crate::phase::{PhaseObserver, ServerPhase};
use crate::shared::ServerShared;
use crate::watchdog::Watchdog;
use crate::{
    Config, Error, Handle, ListenAddress, ListeningSocket, Pinning, Result, Scheduling, Signals,
    WorkerHandle, WorkerLimits, WorkerService,
};

/// A server that is bound and not yet running. Connections wait in its backlog.
#[derive(Debug)]
pub struct BoundServer {
    config: Config,
    bound: BoundListeners,
    shared: Arc<ServerShared>,
    arrivals: Vec<mpsc::Receiver<Arrival>>,
    handle: Handle,
    sockets: LendableSockets,
    observer: PhaseObserver,
}

impl BoundServer {
    /// Binds every address for every worker, and raises the soft limit of open files to the hard one.
    ///
    /// # Errors
    /// [`Error::Listen`], [`Error::SocketInUse`], [`Error::NotASocket`] or [`Error::NoAddress`]; nothing stays bound.
    pub fn bind(config: Config) -> Result<Self> {
        Self::bind_with(config, Vec::new())
    }

    /// The same with sockets that were bound by something else: an address that one of `given` has is not bound again. What is given for
    /// an address that is not configured is closed, with a warning.
    ///
    /// # Errors
    /// As [`BoundServer::bind`].
    pub fn bind_with(config: Config, given: Vec<ListeningSocket>) -> Result<Self> {
        raise_open_files();
        let mut bound = listen::bind(&config, given)?;
        let cores = match config.pinning {
            Pinning::Off => Cores::any(),
            Pinning::Cores => Cores::allowed(),
        };
        let (shared, arrivals) = ServerShared::new(config.workers.get(), config.limits, cores);
        let handle = Handle::new(Arc::clone(&shared));
        let sockets = LendableSockets::new(&handle, std::mem::take(&mut bound.sockets));
        Ok(Self {
            config,
            bound,
            shared,
            arrivals,
            handle,
            sockets,
            observer: PhaseObserver::default(),
        })
    }

    /// Calls `observer` whenever the server begins to do something else as a whole, on the thread of [`BoundServer::run`].
    pub fn on_phase(&mut self, observer: impl FnMut(ServerPhase) + Send + 'static) {
        self.observer.add(Box::new(observer));
    }

    /// The addresses as they are, in the order of the configuration: port 0 is replaced by the kernel's choice.
    pub fn addresses(&self) -> &[ListenAddress] {
        &self.bound.addresses
    }

    /// A handle to control the server with while it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs the server on this thread until it is asked to end. `make` is called once on every worker's thread.
    ///
    /// Every worker loads the application first; nothing is accepted before all have.
    ///
    /// # Errors
    /// [`Error::Load`] when a worker could not load the application at start, [`Error::WorkerLost`] when a
    /// service's own code panicked outside a task, [`Error::Start`] when the system gave no thread.
    ///
    /// # Panics
    /// Inside an asynchronous runtime, because it blocks.
    pub fn run<S, F>(self, make: F) -> Result<Exit>
    where
        S: WorkerService,
        F: Fn(&WorkerHandle) -> S + Send + Sync + 'static,
    {
        let Self {
            config,
            bound,
            shared,
            arrivals,
            handle,
            sockets,
            observer,
        } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(Error::start("the control loop"))?;
        let _watchdog = Watchdog::start(Arc::clone(&shared))?;
        let workers = arrivals.len();
        let (sender, reports) = mpsc::channel(workers * COMMANDS_MAX);
        let start = Start {
            shared: &shared,
            scheduling: config.scheduling,
            sender,
            stop: watch::Sender::new(false),
            make: Arc::new(make),
        };
        let mut commands = Vec::with_capacity(workers);
        for (id, (listeners, arrivals)) in bound.workers.into_iter().zip(arrivals).enumerate() {
            commands.push(start.worker(id, listeners, arrivals)?);
        }
        let Start { stop, sender, .. } = start;
        // The reports end when the last worker has.
        drop(sender);
        let control = Control {
            state: Arc::clone(handle.state()),
            shared,
            commands,
            reports,
            stop,
            files: bound.files,
            sockets: Some(sockets),
            drain_delay: config.drain_delay,
            observer,
            alive: workers,
            lost: None,
        };
        runtime.block_on(async {
            if config.signals == Signals::Handle {
                handle_signals(&handle)?;
            }
            control.govern().await
        })
    }
}

/// What every worker's thread is started with.
struct Start<'a, F> {
    shared: &'a Arc<ServerShared>,
    scheduling: Scheduling,
    sender: mpsc::Sender<WorkerReport>,
    stop: watch::Sender<bool>,
    make: Arc<F>,
}

impl<F> Start<'_, F> {
    /// Starts one worker's thread. When that fails, the workers before it end because their commands end.
    fn worker<S>(
        &self,
        id: usize,
        listeners: Vec<WorkerListener>,
        arrivals: mpsc::Receiver<Arrival>,
    ) -> Result<mpsc::Sender<Command>>
    where
        S: WorkerService,
        F: Fn(&WorkerHandle) -> S + Send + Sync + 'static,
    {
        let (sender, commands) = mpsc::channel(COMMANDS_MAX);
        let setup = ThreadSetup {
            id,
            shared: Arc::clone(self.shared),
            scheduling: self.scheduling,
            listeners,
            arrivals,
            commands,
            reports: Reports {
                worker: id,
                sender: self.sender.clone(),
            },
            stop: self.stop.subscribe(),
        };
        let make = Arc::clone(&self.make);
        thread::Builder::new()
            .name(format!("tsumugi-worker-{id}"))
            .stack_size(self.shared.limits.stack_bytes_max.max(STACK_BYTES_MIN))
            .spawn(move || lifecycle::run(setup, &*make))
            .map_err(Error::start("a worker thread"))?;
        Ok(sender)
    }
}

/// Runs `program` on this thread as the only worker of no server: tasks, timers, offload and the watchdog work,
/// nothing listens. For consoles, checks and tests.
///
/// # Errors
/// [`Error::Start`] when the system gives no thread or event loop.
///
/// # Panics
/// Inside an asynchronous runtime, because it blocks.
pub fn alone<T, P, R>(limits: WorkerLimits, program: P) -> Result<T>
where
    P: FnOnce(WorkerHandle) -> R,
    R: Future<Output = T>,
{
    let mut value = None;
    let place = &mut value;
    let program = |worker| -> Pin<Box<dyn Future<Output = ()> + '_>> {
        let program = program(worker);
        Box::pin(async move { *place = Some(program.await) })
    };
    run_program(limits, Box::new(program))?;
    match value {
        Some(value) => Ok(value),
        None => unreachable!("the program has run to its end"),
    }
}

type BoxedProgram<'p> =
    Box<dyn FnOnce(WorkerHandle) -> Pin<Box<dyn Future<Output = ()> + 'p>> + 'p>;

/// The same for programs of all types.
fn run_program(limits: WorkerLimits, program: BoxedProgram<'_>) -> Result<()> {
    let (shared, _arrivals) = ServerShared::new(1, limits, Cores::any());
    let _ = shared.lanes[0].clock.set(ThreadClock::here());
    let _watchdog = Watchdog::start(Arc::clone(&shared))?;
    let runtime = lifecycle::runtime().map_err(Error::start("the event loop"))?;
    let worker = WorkerHandle::new(0, Arc::clone(&shared));
    worker.begin_serving();
    runtime.block_on(async {
        let program = program(worker.clone());
        worker.watched(program).await;
    });
    let rest = Duration::from_millis(limits.drain_ms_max);
    // Jobs that still run then are left to the end of the process.
    let _ = runtime.block_on(async { tokio::time::timeout(rest, shared.pool.close()).await });
    runtime.shutdown_background();
    Ok(())
}
