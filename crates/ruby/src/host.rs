//! One loaded application's VM on one worker: its fibres, its natives' shared state, and the single entry `resume`.
//! Knows no request; what a fibre works on is the business of whoever drives it.

use std::cell::{Cell, Ref, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tsumugi_db::{Database, Watched};
use tsumugi_kv::single_flight::Runner;
use tsumugi_mruby::{ExceptionReport, Interrupter, Kind, Options, Result, Root, Scope, Value, Vm};
use tsumugi_worker::{Observer, ObserverGuard, Sample, WorkerHandle};

use crate::admission::Admission;
use crate::answer::Operation;
use crate::error::Error;
use crate::exchange::Exchange;
use crate::frames;
use crate::natives::kv::KvStore;
use crate::natives::standard::last_match::LastMatch;
use crate::settings::{Settings, SharedDatabases};
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
    pub known: RefCell<Option<Known>>,
    /// Jobs in Ruby now: requests, timers, streams, branches.
    pub running: Cell<usize>,
    pub requests: Cell<usize>,
    /// Told whenever `running` falls.
    pub ended: tokio::sync::Notify,
    /// Texts of the files that were loaded, for error pages.
    sources: RefCell<HashMap<String, Rc<str>>>,
    /// The request that the running fibre works on, for names that have no context as receiver.
    pub subject: RefCell<Option<Rc<Exchange>>>,
    /// The job that runs now; natives identify a fibre by it.
    pub job: Cell<u64>,
    /// The jobs that have a transaction, once for each, and of which database.
    pub transactions: RefCell<Vec<(u64, Database)>>,
    /// `$~` of every job.
    pub last_match: LastMatch,
    jobs: Cell<u64>,
    /// The VM among those of the process.
    runner: Runner,
    /// The jobs that wait for branches of theirs, by branch.
    parents: RefCell<HashMap<u64, u64>>,
    /// Names that JSON made Symbols of.
    pub json_symbols: RefCell<HashSet<String>>,
    /// Key-value stores that the application opened.
    stores: RefCell<Vec<Weak<KvStore>>>,
    /// Databases that the application connected to.
    databases: RefCell<Vec<Watched>>,
    /// What `DB.shared` finds.
    pub shared: RefCell<SharedDatabases>,
    pub web: Web,
    pub admission: Admission,
    _watch: ObserverGuard,
}

/// Ruby objects that are needed too often to be looked up by their names.
pub(crate) struct Known {
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
pub(crate) enum Ended<'s> {
    /// It returned a value.
    Value(Value<'s>),
    /// It raised.
    Raised(Value<'s>),
}

impl Host {
    /// The application has connected to one more database.
    pub fn watch(&self, database: Watched) {
        let mut databases = self.databases.borrow_mut();
        databases.retain(|known| known.snapshot().is_some() && !known.is(&database));
        databases.push(database);
    }

    /// The databases that the application connected to and may still have.
    pub fn databases(&self) -> Ref<'_, Vec<Watched>> {
        self.databases.borrow()
    }

    /// The application has opened one more key-value store.
    pub fn keep_store(&self, store: &Rc<KvStore>) {
        let mut stores = self.stores.borrow_mut();
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Rc::downgrade(store));
    }

    /// The stores that the application still has.
    pub fn stores(&self) -> Vec<Rc<KvStore>> {
        self.stores
            .borrow()
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// The job that runs now and those that wait for it, itself first.
    pub fn lineage(&self) -> Vec<Runner> {
        let parents = self.parents.borrow();
        let jobs = std::iter::successors(Some(self.job.get()), |job| parents.get(job).copied());
        jobs.map(|job| self.runner.member(job)).collect()
    }

    /// Opens a VM, with nothing loaded into it.
    pub fn open(
        worker: &WorkerHandle,
        settings: Rc<Settings>,
    ) -> std::result::Result<Rc<Host>, Error> {
        let memory_bytes_max = settings.limits.vm_bytes_max;
        let vm = Vm::open(Options {
            memory_bytes_max,
            ..Options::default()
        })?;
        let watchdog = Arc::new(Watchdog {
            interrupter: vm.interrupter(),
            turn_cpu: Duration::from_millis(worker.limits().turn_cpu_ms_max),
            seen: AtomicU64::new(0),
            stopped: AtomicU64::new(0),
        });
        Ok(Rc::new(Host {
            vm,
            worker: worker.clone(),
            settings,
            pending: RefCell::default(),
            finished: Cell::new(false),
            idle: RefCell::default(),
            known: RefCell::default(),
            running: Cell::new(0),
            requests: Cell::new(0),
            ended: tokio::sync::Notify::new(),
            sources: RefCell::default(),
            subject: RefCell::default(),
            job: Cell::new(0),
            transactions: RefCell::default(),
            last_match: LastMatch::default(),
            jobs: Cell::new(0),
            runner: Runner::unique(),
            parents: RefCell::default(),
            json_symbols: RefCell::default(),
            stores: RefCell::default(),
            databases: RefCell::default(),
            shared: RefCell::default(),
            web: Web::default(),
            admission: Admission::default(),
            _watch: worker.watch(watchdog),
        }))
    }

    /// An idle fibre, or a new one; the exception when there is no memory for one.
    pub fn fibre(&self) -> std::result::Result<Root, Root> {
        let idle = self.idle.borrow_mut().pop();
        idle.map_or_else(
            || {
                self.vm.enter(|scope| {
                    let tsumugi = scope.rooted(&self.known().tsumugi);
                    let fibre = scope.call(tsumugi, "fibre", &[]);
                    fibre
                        .and_then(|fibre| scope.root(fibre))
                        .map_err(|raised| scope.root_raised(raised))
                })
            },
            Ok,
        )
    }

    /// Gives a fibre back whose job is done.
    pub fn release(&self, fibre: Root) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < self.settings.limits.idle_fibres_max {
            idle.push(fibre);
        }
    }

    pub fn known(&self) -> std::cell::Ref<'_, Known> {
        std::cell::Ref::map(self.known.borrow(), |known| {
            known.as_ref().expect("the prelude is loaded")
        })
    }

    /// Runs a fibre until it waits or its job is done. `start` makes what it is resumed with, or what is raised where it
    /// waits; `finish` takes the job's result while its values live.
    pub fn resume<T>(
        &self,
        job: u64,
        fibre: &Root,
        start: impl for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>>,
        finish: impl FnOnce(&Scope<'_>, Ended<'_>) -> T,
    ) -> Step<T> {
        self.job.set(job);
        self.vm.enter(|scope| {
            self.last_match.switch(scope, job);
            let fibre = scope.rooted(fibre);
            let resumed = match start(scope) {
                Ok(value) => scope.resume(fibre, value),
                Err(raised) => scope.resume_raising(fibre, raised),
            };
            match resumed {
                Ok(output) => self.after(scope, fibre, output, finish),
                // What was raised in the fibre's own loop ends the fibre, for instance Overrun at an unlucky moment.
                Err(raised) => Step::Lost(finish(scope, Ended::Raised(raised.0))),
            }
        })
    }

    fn after<T>(
        &self,
        scope: &Scope<'_>,
        fibre: Value<'_>,
        output: Value<'_>,
        finish: impl FnOnce(&Scope<'_>, Ended<'_>) -> T,
    ) -> Step<T> {
        if let Some(operation) = self.pending.take() {
            return Step::Wait(operation);
        }
        if !self.finished.take() {
            // A fibre yields for a wait or at the end of its job: nothing may leave it otherwise. The request is answered all the same.
            let left = scope.error("FiberError", "its fibre was left before its end");
            return Step::Lost(finish(scope, Ended::Raised(left.0)));
        }
        // Or each idle fibre would keep its last result.
        scope.forget(fibre);
        let thrown = scope.rooted(&self.known().thrown);
        if output.kind() == Kind::Object && scope.is_a(output, thrown) {
            let exception = scope.ivar(output, scope.intern("@exception"));
            return Step::Done(finish(scope, Ended::Raised(exception)));
        }
        Step::Done(finish(scope, Ended::Value(output)))
    }

    /// Counts a job as running until the guard is dropped. `parent` is the job that waits for it, if one does.
    pub fn begin_job(self: &Rc<Self>, parent: Option<u64>) -> Job {
        self.running.set(self.running.get() + 1);
        let number = self.jobs.get() + 1;
        self.jobs.set(number);
        if let Some(parent) = parent {
            self.parents.borrow_mut().insert(number, parent);
        }
        Job {
            host: Rc::clone(self),
            number,
            is_branch: parent.is_some(),
        }
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
            if let Some(host) = host.upgrade().filter(|host| host.running.get() == 0) {
                host.admission.collect(&host.vm, 0);
            }
        }));
    }

    /// Keeps the text of a loaded file.
    pub fn remember(&self, file: &str, text: &str) {
        self.sources
            .borrow_mut()
            .insert(file.to_owned(), Rc::from(text));
    }

    /// The text of a loaded file.
    pub fn source(&self, file: &str) -> Option<Rc<str>> {
        self.sources.borrow().get(file).cloned()
    }

    /// Resolves when no job runs any more.
    pub async fn idle(&self) {
        while self.running.get() > 0 {
            self.ended.notified().await; // nothing awaits between the check and the registration: one thread
        }
    }

    /// Logs an exception with its frames.
    pub fn log_exception(&self, what: &str, report: &ExceptionReport) {
        let mut text = format!("{what}: {report}");
        for frame in frames::shown(report) {
            text.push_str("\n    from ");
            text.push_str(&frame);
        }
        tracing::error!("{text}");
    }
}

/// A running job; see [`Host::begin_job`].
pub(crate) struct Job {
    host: Rc<Host>,
    pub number: u64,
    is_branch: bool,
}

impl Drop for Job {
    fn drop(&mut self) {
        self.host.last_match.ended(self.number);
        if self.is_branch {
            self.host.parents.borrow_mut().remove(&self.number);
        }
        self.host.running.set(self.host.running.get() - 1);
        if self.host.running.get() == 0 {
            self.host.ended.notify_waiters();
            if self.host.admission.should_collect(&self.host.vm) {
                self.host.collect_idle();
            }
        }
    }
}

/// Passes the worker's watchdog on to the VM.
struct Watchdog {
    interrupter: Arc<Interrupter>,
    turn_cpu: Duration,
    /// The entry into the VM that was running at the last look.
    seen: AtomicU64,
    /// The entry that was told to stop.
    stopped: AtomicU64,
}

impl Observer for Watchdog {
    fn stalled(&self, _: &Sample) {
        if let Some(entry) = self.interrupter.entry() {
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
