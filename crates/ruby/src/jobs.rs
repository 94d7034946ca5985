//! The jobs of one VM: what a fibre works on, how many run, which waits for which. Knows no fibre, no VM and no future.
//! Rule: a native finds what it works for in the [`CurrentJob`], and nowhere else; between two steps of a job that is with its driver.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tokio::sync::Notify;
use tsumugi_db::{Database, RowStream};
use tsumugi_kv::single_flight::Runner;
use tsumugi_trace::{Span, SpanId};

use crate::exchange::Exchange;
use crate::held_streams::{HeldStream, HeldStreams};
use crate::job_lock::JobLock;

/// What a fibre works on from its first step to its last.
pub(crate) struct FibreJob {
    /// Which of the VM's jobs it is; they begin at 1.
    pub number: u64,
    /// The request that it belongs to, if there is one.
    pub exchange: Option<Rc<Exchange>>,
    /// The databases that it has transactions on, once for each.
    transactions: Vec<Database>,
    /// The streams that it has opened, where they are not those of a request.
    streams: Option<Rc<HeldStreams>>,
    /// The locks whose blocks it is in, innermost last.
    pub locks: Vec<Rc<JobLock>>,
    /// The spans that its author's code is in, innermost last.
    spans: Vec<Span>,
    is_branch: bool,
}

/// The jobs that run.
pub(crate) struct JobTable {
    running: Cell<usize>,
    last: Cell<u64>,
    /// Notified when `running` falls to nothing.
    ended: Notify,
    /// The VM among those of the process.
    runner: Runner,
    /// The jobs that wait for branches of theirs, by branch.
    parents: RefCell<HashMap<u64, u64>>,
}

impl Default for JobTable {
    fn default() -> JobTable {
        JobTable {
            running: Cell::new(0),
            last: Cell::new(0),
            ended: Notify::new(),
            runner: Runner::unique(),
            parents: RefCell::default(),
        }
    }
}

impl JobTable {
    /// Jobs in Ruby now: requests, timers, streams, branches.
    pub fn running(&self) -> usize {
        self.running.get()
    }

    /// One more job. `parent` is the job that waits for it, if one does; `streams` are those of what outlives it.
    pub fn begin(
        &self,
        exchange: Option<Rc<Exchange>>,
        parent: Option<u64>,
        streams: Option<Rc<HeldStreams>>,
    ) -> FibreJob {
        self.running.set(self.running.get() + 1);
        let number = self.last.get() + 1;
        self.last.set(number);
        if let Some(parent) = parent {
            self.parents.borrow_mut().insert(number, parent);
        }
        FibreJob {
            number,
            exchange,
            transactions: Vec::new(),
            streams,
            locks: Vec::new(),
            spans: Vec::new(),
            is_branch: parent.is_some(),
        }
    }

    /// The job is over.
    pub fn end(&self, job: &FibreJob) {
        if job.is_branch {
            self.parents.borrow_mut().remove(&job.number);
        }
        self.running.set(self.running.get() - 1);
        if self.running.get() == 0 {
            self.ended.notify_waiters();
        }
    }

    /// This job and those that wait for it, itself first.
    pub fn lineage(&self, job: u64) -> Vec<Runner> {
        let parents = self.parents.borrow();
        let jobs = std::iter::successors(Some(job), |job| parents.get(job).copied());
        jobs.map(|job| self.runner.member(job)).collect()
    }

    /// Resolves when no job runs any more.
    pub async fn idle(&self) {
        while self.running.get() > 0 {
            self.ended.notified().await; // nothing awaits between the check and the registration: one thread
        }
    }
}

/// The job whose step runs now, as natives see it.
#[derive(Default)]
pub(crate) struct CurrentJob {
    number: Cell<u64>,
    exchange: RefCell<Option<Rc<Exchange>>>,
    transactions: RefCell<Vec<Database>>,
    streams: RefCell<Option<Rc<HeldStreams>>>,
    locks: RefCell<Vec<Rc<JobLock>>>,
    spans: RefCell<Vec<Span>>,
}

impl CurrentJob {
    /// Its number, by which natives tell fibres apart.
    pub fn number(&self) -> u64 {
        self.number.get()
    }

    /// The request that it belongs to, for what has no context as receiver.
    pub fn exchange(&self) -> Option<Rc<Exchange>> {
        self.exchange.borrow().clone()
    }

    /// The databases that it has transactions on.
    pub fn transactions(&self) -> &RefCell<Vec<Database>> {
        &self.transactions
    }

    /// A stream that it has opened: its request's, or else its own.
    pub fn hold(&self, stream: RowStream) -> Rc<HeldStream> {
        match &*self.exchange.borrow() {
            Some(exchange) => exchange.streams.hold(stream),
            None => self.streams().hold(stream),
        }
    }

    /// The streams that it has opened outside of a request.
    pub fn streams(&self) -> Rc<HeldStreams> {
        Rc::clone(self.streams.borrow_mut().get_or_insert_default())
    }

    /// It enters the block of a lock.
    pub fn enter_lock(&self, lock: &Rc<JobLock>) {
        self.locks.borrow_mut().push(Rc::clone(lock));
    }

    /// It leaves that.
    pub fn leave_lock(&self, lock: &Rc<JobLock>) {
        let mut locks = self.locks.borrow_mut();
        locks.retain(|held| !Rc::ptr_eq(held, lock));
    }

    /// The innermost span that it is in.
    pub fn span(&self) -> Option<SpanId> {
        self.spans.borrow().last().and_then(Span::id)
    }

    /// It enters a span; how many it is in then.
    pub fn enter_span(&self, span: Span) -> usize {
        let mut spans = self.spans.borrow_mut();
        spans.push(span);
        spans.len()
    }

    /// It leaves the span of this number, and those within it.
    pub fn leave_span(&self, number: usize, failure: Option<&str>) {
        let left = {
            let mut spans = self.spans.borrow_mut();
            let at = number.saturating_sub(1).min(spans.len());
            spans.split_off(at)
        };
        if let (Some(failure), Some(span)) = (failure, left.first()) {
            span.fail(failure);
        }
    }

    /// A step of this job begins.
    pub fn enter(&self, job: &mut FibreJob) {
        self.number.set(job.number);
        self.exchange.replace(job.exchange.take());
        let transactions = std::mem::take(&mut job.transactions);
        self.transactions.replace(transactions);
        self.streams.replace(job.streams.take());
        self.locks.replace(std::mem::take(&mut job.locks));
        self.spans.replace(std::mem::take(&mut job.spans));
    }

    /// The step has ended.
    pub fn leave(&self, job: &mut FibreJob) {
        job.exchange = self.exchange.take();
        job.transactions = self.transactions.take();
        job.streams = self.streams.take();
        job.locks = self.locks.take();
        job.spans = self.spans.take();
    }
}
