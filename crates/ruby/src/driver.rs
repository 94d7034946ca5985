//! The driver: turns a fibre that waits into an awaited future. The one place where Ruby waits.
//! Whatever ends a job early (client gone, deadline, a sibling's error) resumes its fibre with `Cancelled`, so that
//! `ensure` runs; the operation it waited for is dropped first, which releases what it holds. A lost lock ends its block alone. That a client
//! has gone is noticed by the connection, which drops the request's future: see `Drop` of [`ParkedFibre`].

use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tsumugi_cluster::Lease;
use tsumugi_db::Recency;
use tsumugi_mruby::{ExceptionReport, Raise, Result, Root, Scope, Value};
use tsumugi_server::dispatch::StopSignal;
use tsumugi_trace::Activity;

use crate::answer::{Answer, Operation, answer, raise};
use crate::exchange::Exchange;
use crate::held_streams::HeldStreams;
use crate::host::{Host, JobResult, RunningJob, Step};
use crate::job_lock::{JobLock, first_loss};
use crate::limits::CANCELS_MAX;

/// Until when a job may run, and what else may end it.
#[derive(Clone, Default)]
pub(crate) struct Bounds {
    pub deadline: Option<Instant>,
    pub signal: Option<Rc<StopSignal>>,
    /// The request that the job belongs to.
    pub subject: Option<Rc<Exchange>>,
    /// The job that waits for this one.
    pub parent: Option<u64>,
    /// The streams of what outlives the job, which those of the job belong to.
    pub streams: Option<Rc<HeldStreams>>,
    /// The lease that it runs under, which is renewed elsewhere.
    pub lease: Option<Lease>,
}

impl Bounds {
    fn are_over(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
            || self.signal.as_ref().is_some_and(|signal| signal.is_given())
            || self.lease.as_ref().is_some_and(Lease::is_lost)
    }
}

/// A fibre that parked in the middle of its job. Dropping it cancels the job in a task of its own.
pub(crate) struct ParkedFibre {
    host: Rc<Host>,
    fibre: Option<Root>,
    operation: Option<Operation>,
    /// `None` once the job has ended.
    job: Option<RunningJob>,
    /// Its task that cancels is this one: who drops it drops the worker.
    cancelling: bool,
}

/// A job's first step.
pub(crate) enum FirstStep<T> {
    Done(T),
    Parked(ParkedFibre),
}

/// Starts a job on a fibre of [`Host::fibre`].
pub(crate) fn start<T>(
    host: &Rc<Host>,
    fibre: Root,
    bounds: &Bounds,
    job: impl for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>>,
    finish: impl FnOnce(&Scope<'_>, JobResult<'_>) -> T,
) -> FirstStep<T> {
    let (subject, streams) = (bounds.subject.clone(), bounds.streams.clone());
    let mut running = RunningJob::new(host, host.jobs.begin(subject, bounds.parent, streams));
    let step = host.resume(&mut running.job, &fibre, job, finish);
    match step {
        Step::Done(result) => {
            host.release(fibre);
            FirstStep::Done(result)
        }
        Step::Lost(result) => FirstStep::Done(result),
        Step::Wait(operation) => FirstStep::Parked(ParkedFibre {
            host: Rc::clone(host),
            fibre: Some(fibre),
            operation: Some(operation),
            job: Some(running),
            cancelling: false,
        }),
    }
}

/// Runs a job to its end. One that gets no fibre has raised.
pub(crate) async fn run<T>(
    host: &Rc<Host>,
    job: impl for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>>,
    bounds: &Bounds,
    finish: impl Fn(&Scope<'_>, JobResult<'_>) -> T,
) -> T {
    let fibre = match host.fibre() {
        Ok(fibre) => fibre,
        Err(exception) => {
            return host
                .vm
                .enter(|scope| finish(scope, Err(Raise(scope.rooted(&exception)))));
        }
    };
    match start(host, fibre, bounds, job, &finish) {
        FirstStep::Done(result) => result,
        FirstStep::Parked(mut parked) => parked.drive(bounds, finish).await,
    }
}

impl ParkedFibre {
    /// The VM that the fibre is in.
    pub fn host(&self) -> Rc<Host> {
        Rc::clone(&self.host)
    }

    /// What the reads of its request have to have seen; none where no database has replicas.
    fn recency(&self) -> Option<Rc<Recency>> {
        if !tsumugi_db::has_replicas() {
            return None;
        }
        let exchange = self.job.as_ref()?.job.exchange.as_ref()?;
        let recency = exchange.recency.get_or_init(|| {
            match self.host.web.sessions.get() {
                Some(sessions) => sessions.recency(&exchange.request.headers),
                // Mounted in an application that knows the user.
                None => Recency::current().unwrap_or_default(),
            }
        });
        Some(Rc::clone(recency))
    }

    /// The loop: await what the fibre waits for, resume it with the answer, until its job is done.
    pub async fn drive<T>(
        &mut self,
        bounds: &Bounds,
        finish: impl Fn(&Scope<'_>, JobResult<'_>) -> T,
    ) -> T {
        let grace = Duration::from_millis(self.host.settings.limits.cancel_ms_max);
        loop {
            let Some(mut operation) = self.operation.take() else {
                unreachable!("a parked fibre waits for an operation")
            };
            // What is ready at once, again and again, must neither hold the worker nor outlive its deadline.
            tokio::task::consume_budget().await;
            let locks = self.locks();
            let input = tokio::select! {
                biased;
                () = std::future::ready(()), if bounds.are_over(Instant::now()) => {
                    drop(operation);
                    return self.cancel(finish).await;
                }
                // Before the operation: who was stopped for longer than its lock lasts begins nothing more.
                loss = first_loss(&locks, grace), if !locks.is_empty() => loss,
                input = AwaitedOperation { parked: self, operation: &mut operation } => input,
                () = over(bounds) => {
                    drop(operation);
                    return self.cancel(finish).await;
                }
            };
            drop(operation);
            if let Some(result) = self.resume(input, &finish) {
                return result;
            }
        }
    }

    fn locks(&self) -> Vec<Rc<JobLock>> {
        let running = self.job.as_ref();
        running.map_or_else(Vec::new, |running| running.job.locks.clone())
    }

    fn resume<T>(
        &mut self,
        input: Answer,
        finish: impl FnOnce(&Scope<'_>, JobResult<'_>) -> T,
    ) -> Option<T> {
        let (Some(fibre), Some(running)) = (self.fibre.take(), &mut self.job) else {
            unreachable!("the job has not ended")
        };
        let step = self.host.resume(&mut running.job, &fibre, input, finish);
        match step {
            Step::Done(result) => {
                self.host.release(fibre);
                self.job = None;
                Some(result)
            }
            Step::Lost(result) => {
                self.job = None;
                Some(result)
            }
            Step::Wait(operation) => {
                self.operation = Some(operation);
                self.fibre = Some(fibre);
                None
            }
        }
    }

    /// Resumes with `Cancelled`; what `ensure` waits for gets `cancel_ms_max`, then each wait is cancelled at once. A
    /// job that goes on after `CANCELS_MAX` of those is given up: its fibre is never resumed again.
    async fn cancel<T>(&mut self, finish: impl Fn(&Scope<'_>, JobResult<'_>) -> T) -> T {
        let grace = Duration::from_millis(self.host.settings.limits.cancel_ms_max);
        let until = tokio::time::Instant::now() + grace;
        let mut input = cancelled();
        let mut insisted = 0;
        loop {
            tokio::task::consume_budget().await;
            if let Some(result) = self.resume(input, &finish) {
                return result;
            }
            let Some(operation) = self.operation.take() else {
                unreachable!("a parked fibre waits")
            };
            input = match tokio::time::timeout_at(until, operation).await {
                Ok(answer) => answer,
                Err(_) if insisted == CANCELS_MAX => return self.give_up(finish),
                Err(_) => {
                    insisted += 1;
                    // Others run in between.
                    tokio::task::yield_now().await;
                    cancelled()
                }
            };
        }
    }

    /// Ends a job whose worker ends: `ensure` runs, but nothing can be waited for any more.
    fn end_at_once(&mut self) {
        self.operation = None;
        for _ in 0..CANCELS_MAX {
            if self.fibre.is_none() {
                return;
            }
            self.resume(cancelled(), |scope, ended| {
                report_after_cancel(scope, &ended)
            });
            self.operation = None;
        }
        self.fibre = None;
    }

    /// Ends a job without its fibre's consent.
    fn give_up<T>(&mut self, finish: impl Fn(&Scope<'_>, JobResult<'_>) -> T) -> T {
        let running = self.job.as_ref();
        let exchange = running.and_then(|running| running.job.exchange.as_ref());
        let what = exchange.map_or("a job".to_owned(), |exchange| exchange.line().to_string());
        let ms = self.host.settings.limits.cancel_ms_max;
        tracing::error!(
            "{what}: it rescues Tsumugi::Cancelled and waits on, {CANCELS_MAX} times after cancel_ms_max ({ms}): \
             given up, its `ensure` does not run"
        );
        self.fibre = None;
        let result = self.host.vm.enter(|scope| {
            let cancelled = scope.error("Tsumugi::Cancelled", OVER);
            finish(scope, Err(cancelled))
        });
        self.job = None;
        result
    }
}

const OVER: &str = "the request is over";

fn cancelled() -> Answer {
    raise("Tsumugi::Cancelled", OVER)
}

/// Keeps the operation where a drop of the driving future finds it in order: first the operation, then the fibre.
struct AwaitedOperation<'a> {
    parked: &'a ParkedFibre,
    operation: &'a mut Operation,
}

impl Future for AwaitedOperation<'_> {
    type Output = Answer;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Answer> {
        debug_assert!(self.parked.fibre.is_some());
        match self.parked.recency() {
            None => self.operation.as_mut().poll(cx),
            Some(recency) => recency.enter(|| self.operation.as_mut().poll(cx)),
        }
    }
}

async fn over(bounds: &Bounds) {
    let deadline = async {
        match bounds.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
    };
    match &bounds.signal {
        Some(signal) => tokio::select! { () = deadline => {}, () = signal.given() => {} },
        None => deadline.await,
    }
}

impl Drop for ParkedFibre {
    fn drop(&mut self) {
        if self.cancelling {
            return self.end_at_once();
        }
        let Some(fibre) = self.fibre.take() else {
            return;
        };
        let mut rest = ParkedFibre {
            host: Rc::clone(&self.host),
            fibre: Some(fibre),
            operation: None,
            job: self.job.take(),
            cancelling: true,
        };
        self.operation = None;
        if tokio::runtime::Handle::try_current().is_err() {
            rest.fibre = None; // no tasks and no timers are left, not even to begin a wait
            return;
        }
        let worker = self.host.worker.clone();
        let running = rest.job.as_ref();
        let exchange = running.and_then(|running| running.job.exchange.as_ref());
        // A conversation that goes on behind its request is the current one.
        let activity = tsumugi_trace::current();
        let activity = activity.or_else(|| exchange?.request.activity.clone());
        // Who looks at it sees what its `ensure` waits for.
        let hold = activity.as_ref().map(Activity::hold);
        worker.spawn(Activity::scope(activity, async move {
            rest.cancel(|scope, ended| report_after_cancel(scope, &ended))
                .await;
            drop(hold);
        }));
    }
}

/// What `ensure` raised is worth a line; `Cancelled` itself is not.
fn report_after_cancel(scope: &Scope<'_>, ended: &JobResult<'_>) {
    if let Some(report) = failure_of(scope, ended) {
        tracing::error!("after a cancelled request: {report}");
    }
}

/// What a job raised, but for its cancellation.
pub(crate) fn failure_of(scope: &Scope<'_>, ended: &JobResult<'_>) -> Option<ExceptionReport> {
    let report = scope.report(*ended.as_ref().err()?);
    (!is_cancellation(&report)).then_some(report)
}

/// Whether a job was ended by its bounds.
pub(crate) fn is_cancellation(report: &ExceptionReport) -> bool {
    report.class == "Tsumugi::Cancelled"
}

/// A job made of an object that has `__run` and `__failed`.
pub(crate) fn job_of(root: Root) -> Answer {
    answer(move |scope| Ok(scope.rooted(&root)))
}
