//! One loaded application's VM on one worker: its fibres, and the single entry `resume`. Its jobs are in `jobs`, what it has opened in
//! `resources`. Rule: it knows no request; a fibre is resumed with its job, which natives see until the fibre stops.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tsumugi_mruby::{
    ExceptionReport, Interrupter, Kind, Options, Raise, Result, Root, Scope, Value, Vm,
};
use tsumugi_server::{ErrorReport, report_error};
use tsumugi_stores::StoreOpener;
use tsumugi_worker::{Observer, ObserverGuard, Sample, WorkerHandle};

use crate::admission::Admission;
use crate::answer::Operation;
use crate::error::Error;
use crate::frames;
use crate::jobs::{CurrentJob, FibreJob, JobTable};
use crate::natives::standard::last_match::LastMatch;
use crate::resources::Resources;
use crate::settings::{Settings, SharedResources};
use crate::web::Web;

/// The VM of one application on one worker.
pub(crate) struct Host {
    pub vm: Vm,
    pub worker: WorkerHandle,
    pub settings: Rc<Settings>,
    /// What the native that has just yielded wants to wait for.
    pub pending: RefCell<Option<Operation>>,
    /// Set by `Tsumugi.finish`: the fibre's job is done and it is idle.
    pub finished: Cell<bool>,
    /// Fibres between jobs.
    idle: RefCell<Vec<Root>>,
    pub known: RefCell<Option<WellKnownObjects>>,
    pub jobs: JobTable,
    /// The job whose step runs now.
    pub job: CurrentJob,
    pub resources: Resources,
    pub stores: StoreOpener,
    /// `$~` of every job.
    pub last_match: LastMatch,
    pub web: Web,
    pub admission: Admission,
    /// The turn that the watchdog has reported last.
    pub stall: Arc<StalledTurn>,
    _watch: ObserverGuard,
}

/// How long a turn had lasted when it was reported, in milliseconds.
#[derive(Default)]
pub(crate) struct StalledTurn {
    elapsed: AtomicU64,
    cpu: AtomicU64,
}

impl std::fmt::Display for StalledTurn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let elapsed = self.elapsed.load(Ordering::Relaxed);
        let cpu = self.cpu.load(Ordering::Relaxed);
        write!(f, "{elapsed} ms so far, {cpu} ms of CPU time")
    }
}

/// Ruby objects that are needed too often to be looked up by their names.
pub(crate) struct WellKnownObjects {
    pub tsumugi: Root,
    pub thrown: Root,
    /// `DB::Rows`.
    pub rows: Root,
}

/// What a fibre did until it stopped.
pub(crate) enum Step<T> {
    /// It waits for this.
    Wait(Operation),
    /// Its job is done; this is what became of the result.
    Done(T),
    /// The same, but the fibre has ended with it and works no more.
    Lost(T),
}

/// How a job ended, in the scope of its last step.
pub(crate) type JobResult<'s> = Result<'s, Value<'s>>;

impl Host {
    /// Opens a VM and loads the prelude into it.
    pub fn open(
        worker: &WorkerHandle,
        settings: Rc<Settings>,
        shared: SharedResources,
    ) -> std::result::Result<Rc<Host>, Error> {
        let memory_bytes_max = settings.limits.vm_bytes_max;
        let vm = Vm::open(Options {
            memory_bytes_max,
            eval_bytes_max: settings.limits.eval_bytes_max,
            ..Options::default()
        })?;
        let stall = Arc::default();
        let access = settings.access.stores(&settings.data_dir);
        let certificates = settings.certificates.clone();
        let stores = StoreOpener::new(worker.pool().clone(), access, certificates);
        let watchdog = Arc::new(Watchdog {
            interrupter: vm.interrupter(),
            stall: Arc::clone(&stall),
            turn_cpu: Duration::from_millis(worker.limits().turn_cpu_ms_max),
            seen: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
        });
        let loaded = settings.loaded.clone();
        let SharedResources {
            databases,
            cluster,
            stubs,
            mails,
        } = shared;
        Ok(Rc::new(Host {
            vm,
            worker: worker.clone(),
            settings,
            pending: RefCell::default(),
            finished: Cell::new(false),
            idle: RefCell::default(),
            known: RefCell::default(),
            jobs: JobTable::default(),
            job: CurrentJob::default(),
            resources: Resources::new(databases, cluster, loaded),
            stores,
            last_match: LastMatch::default(),
            web: Web::new(stubs, mails),
            admission: Admission::default(),
            stall,
            _watch: worker.watch(watchdog),
        }))
    }

    /// An idle fibre, or a new one; the exception when there is no memory for one.
    pub fn fibre(&self) -> std::result::Result<Root, Root> {
        let idle = self.idle.borrow_mut().pop();
        let new = || {
            self.vm.enter(|scope| {
                let tsumugi = scope.rooted(&self.known().tsumugi);
                let fibre = scope.call(tsumugi, "fibre", &[]);
                fibre
                    .and_then(|fibre| scope.root(fibre))
                    .map_err(|raised| scope.root_raised(raised))
            })
        };
        idle.map_or_else(new, Ok)
    }

    /// Gives a fibre back whose job is done.
    pub fn release(&self, fibre: Root) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < self.settings.limits.idle_fibres_max {
            idle.push(fibre);
        }
    }

    pub fn known(&self) -> std::cell::Ref<'_, WellKnownObjects> {
        std::cell::Ref::map(self.known.borrow(), |known| {
            known.as_ref().expect("the prelude is loaded")
        })
    }

    /// Runs a fibre until it waits or its job is done. `start` makes what it is resumed with, or what is raised where it
    /// waits; `finish` takes the job's result while its values live.
    pub fn resume<T>(
        &self,
        job: &mut FibreJob,
        fibre: &Root,
        start: impl for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>>,
        finish: impl FnOnce(&Scope<'_>, JobResult<'_>) -> T,
    ) -> Step<T> {
        let number = job.number;
        self.job.enter(job);
        let step = self.vm.enter(|scope| {
            self.last_match.switch(scope, number);
            let fibre = scope.rooted(fibre);
            let resumed = match start(scope) {
                Ok(value) => scope.resume(fibre, value),
                Err(raised) => scope.resume_raising(fibre, raised),
            };
            match resumed {
                Ok(output) => self.after(scope, fibre, output, finish),
                // What was raised in the fibre's own loop ends the fibre, for instance Overrun at an unlucky moment.
                Err(raised) => Step::Lost(finish(scope, Err(raised))),
            }
        });
        self.job.leave(job);
        step
    }

    fn after<T>(
        &self,
        scope: &Scope<'_>,
        fibre: Value<'_>,
        output: Value<'_>,
        finish: impl FnOnce(&Scope<'_>, JobResult<'_>) -> T,
    ) -> Step<T> {
        if let Some(operation) = self.pending.take() {
            return Step::Wait(operation);
        }
        if !self.finished.take() {
            // A fibre yields for a wait or at the end of its job: nothing may leave it otherwise. The request is answered all the same.
            let left = scope.error("FiberError", "its fibre was left before its end");
            return Step::Lost(finish(scope, Err(left)));
        }
        // Or each idle fibre would keep its last result.
        scope.forget(fibre);
        let thrown = scope.rooted(&self.known().thrown);
        if output.kind() == Kind::Object && scope.is_a(output, thrown) {
            let exception = scope.ivar(output, scope.intern("@exception"));
            return Step::Done(finish(scope, Err(Raise(exception))));
        }
        Step::Done(finish(scope, Ok(output)))
    }

    /// Collects once what is ready now has run, if nothing runs then: what large requests left is not kept for want of others.
    #[cold]
    fn collect_idle(self: &Rc<Self>) {
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let host = Rc::downgrade(self);
        drop(self.worker.spawn(async move {
            tokio::task::yield_now().await;
            if let Some(host) = host.upgrade().filter(|host| host.jobs.running() == 0) {
                host.admission.collect(&host.vm, 0);
            }
        }));
    }

    /// Logs an exception with its frames.
    pub fn log_exception(&self, what: &str, report: &ExceptionReport) {
        tracing::error!("{what}: {}", self.note_exception(what, report));
    }

    /// Shows operators an exception, and gives its text with its frames, for who logs it.
    pub fn note_exception(&self, what: &str, report: &ExceptionReport) -> String {
        let frames = frames::shown(report);
        let mut text = report.to_string();
        for frame in &frames {
            text.push_str("\n    from ");
            text.push_str(frame);
        }
        report_error(|| ErrorReport {
            class: report.class.clone(),
            message: report.message.clone(),
            backtrace: frames,
            subject: what.to_owned(),
            ..ErrorReport::default()
        });
        text
    }
}

/// A job that counts as running until this is dropped.
pub(crate) struct RunningJob {
    host: Rc<Host>,
    pub job: FibreJob,
}

impl RunningJob {
    /// Of a job that has been begun.
    pub fn new(host: &Rc<Host>, job: FibreJob) -> RunningJob {
        RunningJob {
            host: Rc::clone(host),
            job,
        }
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let host = &self.host;
        host.last_match.ended(self.job.number);
        host.jobs.end(&self.job);
        if host.jobs.running() == 0 && host.admission.should_collect(&host.vm) {
            host.collect_idle();
        }
    }
}

/// Passes the worker's watchdog on to the VM.
struct Watchdog {
    interrupter: Arc<Interrupter>,
    stall: Arc<StalledTurn>,
    turn_cpu: Duration,
    /// The entry into the VM that was running at the last look.
    seen: AtomicU64,
    /// The entry that has to stop.
    stopped: AtomicU64,
}

impl Observer for Watchdog {
    fn stalled(&self, sample: &Sample) {
        if let Some(entry) = self.interrupter.entry() {
            let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            let elapsed = milliseconds(sample.elapsed);
            self.stall.elapsed.store(elapsed, Ordering::Relaxed);
            self.stall
                .cpu
                .store(milliseconds(sample.cpu), Ordering::Relaxed);
            self.seen.store(entry, Ordering::Relaxed);
            self.interrupter.report(entry);
        }
    }

    fn overran(&self, sample: &Sample) {
        let Some(entry) = self.interrupter.entry() else {
            return;
        };
        // A turn can hold several entries; only one that was running at the last look too is long.
        if self.seen.swap(entry, Ordering::Relaxed) != entry {
            return;
        }
        // `ensure` gets as much again to end by itself; then nothing gets any more.
        if self.stopped.swap(entry, Ordering::Relaxed) != entry {
            self.interrupter.stop(entry);
        } else if sample.cpu > 2 * self.turn_cpu {
            self.interrupter.insist(entry);
        }
    }
}
