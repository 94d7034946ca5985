//! One worker's jobs: claimed while there is room, run beside each other, renewed, recorded, given back at the end. Knows no SQL.
//! Rule: what runs is dropped where it waits before another process can have claimed it, by a clock that nobody sets and that goes on while the machine sleeps.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tsumugi_trace::{Activity, Ending};

use crate::boot_clock::{earlier, slept, slept_between};
use crate::claim_schedule::{ClaimFuture, ClaimSchedule};
use crate::claims::{ClaimAnswer, ClaimedJob, Claimer, Wanted};
use crate::error::{Error, Result};
use crate::failure_pause::FailurePause;
use crate::job_claim::JobClaim;
use crate::kind::{JobKind, WorkerOptions};
use crate::limits::{
    FAILURE_PAUSE_MAX, GIVE_BACK_MAX, JOB_KINDS_MAX, JOB_POLL_DEFAULT, JOB_POLL_WITH_NOTICES,
    RECORDS_MAX, RENEWAL_MIN, SLEEP_LOOKED_EVERY,
};
use crate::queue::JobQueue;
use crate::renewal::{Renewal, RenewalMode};
use crate::running::RunningClaim;
use crate::trace::begin_job;
use crate::wake::Wake;

/// A job that runs: nothing, or the text of its failure.
pub type JobFuture = LocalBoxFuture<'static, Result<(), String>>;

/// Begins a job. Its future is dropped when its time is over, when its claim is lost and when the worker ends.
pub type Perform = Rc<dyn Fn(ClaimedJob) -> JobFuture>;

/// Runs the jobs of some kinds on one worker.
pub struct JobWorker {
    inner: Rc<Inner>,
}

struct Inner {
    claimer: Claimer,
    options: WorkerOptions,
    perform: Perform,
    running: RefCell<HashMap<JobClaim, RunningJob>>,
    /// What is claimed and was not begun, until it is given back.
    refused: RefCell<HashSet<JobClaim>>,
    /// Since when claims hold, the oldest of them or longer ago.
    oldest: Cell<Instant>,
    /// For how long the machine had slept when that was last looked at.
    slept: Cell<Duration>,
    renewal_mode: Cell<RenewalMode>,
}

struct RunningJob {
    queue: String,
    /// When the claim was last taken or renewed, by this process's clock: it holds for `lease` from then on at least.
    renewed: Instant,
    /// Given when the claim is lost.
    cut: Rc<Notify>,
    _here: RunningClaim,
}

impl JobWorker {
    /// A worker for the jobs of these kinds.
    ///
    /// # Errors
    /// [`Error::Usage`] of two kinds of one name, of more than [`JOB_KINDS_MAX`] kinds, and of what is outside of the limits.
    pub fn new(
        queue: &JobQueue,
        kinds: Vec<JobKind>,
        options: WorkerOptions,
        perform: Perform,
    ) -> Result<JobWorker> {
        if kinds.len() > JOB_KINDS_MAX {
            let message =
                format!("there are more than {JOB_KINDS_MAX} kinds of jobs (JOB_KINDS_MAX)");
            return Err(Error::Usage(message));
        }
        let kinds = kinds
            .into_iter()
            .map(JobKind::checked)
            .collect::<Result<Vec<_>>>()?;
        let mut names: Vec<_> = kinds.iter().map(|kind| &*kind.name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Usage(format!(
                "there are two kinds of jobs named {}",
                pair[0]
            )));
        }
        let options = options.checked()?;
        Ok(JobWorker {
            inner: Rc::new(Inner {
                claimer: Claimer::new(queue.clone(), options.lease, kinds),
                options,
                perform,
                running: RefCell::default(),
                refused: RefCell::default(),
                oldest: Cell::new(Instant::now()),
                slept: Cell::new(slept()),
                renewal_mode: Cell::new(RenewalMode::Together),
            }),
        })
    }

    /// Runs jobs until `stop` resolves; what has not ended a while later is dropped and given back.
    pub fn run<'s>(self, stop: impl Future<Output = ()> + 's) -> LocalBoxFuture<'s, ()> {
        self.run_until(stop, std::future::pending())
    }

    /// The same, where what has not ended is given back when `last` resolves at the latest, however long it might go on.
    pub fn run_until<'s>(
        self,
        stop: impl Future<Output = ()> + 's,
        last: impl Future<Output = ()> + 's,
    ) -> LocalBoxFuture<'s, ()> {
        self.run_on(stop.boxed_local(), last.boxed_local())
    }

    fn run_on<'s>(
        self,
        stop: LocalBoxFuture<'s, ()>,
        last: LocalBoxFuture<'s, ()>,
    ) -> LocalBoxFuture<'s, ()> {
        async move {
            let inner = self.inner;
            if inner.claimer.kinds.is_empty() {
                return stop.await;
            }
            // A run behind a panic sees again what has resolved before.
            let (stop, last) = (stop.shared(), last.shared());
            loop {
                let run = Box::pin(Inner::run_once(&inner, stop.clone(), last.clone()));
                let run = AssertUnwindSafe(run).catch_unwind().await;
                if run.is_ok() {
                    return;
                }
                tracing::error!(
                    "what runs jobs has panicked; it gives back what ran, and begins again"
                );
                Box::pin(inner.give_back_all(None)).await;
                tokio::select! {
                    () = stop.clone() => {}
                    () = sleep(FAILURE_PAUSE_MAX) => {}
                }
            }
        }
        .boxed_local()
    }

    /// Runs what is ready, and what is pushed meanwhile, and says how many jobs were begun: for tests.
    ///
    /// # Errors
    /// Of the database.
    pub fn run_ready(self) -> LocalBoxFuture<'static, Result<usize>> {
        async move {
            let mut count = 0;
            loop {
                let (wanted, room) = (self.inner.wanted(), self.inner.room());
                let ClaimAnswer { jobs, has_more, .. } =
                    self.inner.claimer.claim(&wanted, room).await?;
                if jobs.is_empty() && !has_more {
                    return Ok(count);
                }
                count += jobs.len();
                let attempts = jobs.into_iter().map(|job| self.inner.begin(job));
                futures_util::future::join_all(attempts).await;
            }
        }
        .boxed_local()
    }
}

impl Inner {
    /// Runs jobs until `stop` has resolved and they have ended, or `last` resolves.
    async fn run_once(
        inner: &Rc<Inner>,
        stop: impl Future<Output = ()>,
        last: impl Future<Output = ()>,
    ) {
        let (mut stop, mut last) = (pin!(stop), pin!(last));
        let mut wake = Wake::of(inner.claimer.queue.database(), &inner.claimer.name);
        let mut attempts = FuturesUnordered::new();
        let mut schedule = ClaimSchedule::new();
        let mut renewal: Option<LocalBoxFuture<'static, ()>> = None;
        let mut ending = None;
        loop {
            inner.note_sleep();
            if ending.is_some() && attempts.is_empty() && schedule.claim.is_none() {
                break;
            }
            let is_idle = ending.is_none() && schedule.claim.is_none();
            let has_room = is_idle && !inner.wanted().is_empty();
            let is_running = !inner.running.borrow().is_empty();
            let latest = inner.oldest.get() + inner.held_for();
            let retry_at = inner.claimer.retry_at();
            let next = schedule.next(retry_at);
            tokio::select! {
                biased;
                () = sleep_until(latest), if is_running => inner.cut_late(),
                () = &mut stop, if ending.is_none() => ending = Some(Instant::now() + inner.options.grace),
                () = &mut last => break,
                () = until(ending), if ending.is_some() => break,
                claimed = finished(&mut schedule.claim), if schedule.claim.is_some() => {
                    let jobs = schedule.read(&inner.claimer.queue, claimed, inner.poll(wake.is_noticed()));
                    for job in jobs {
                        let is_begun = ending.is_none() && job.asked_at.elapsed() < inner.held_for();
                        attempts.push(if is_begun { inner.begin(job) } else { inner.refuse(job) });
                    }
                }
                () = finished(&mut renewal), if renewal.is_some() => renewal = None,
                () = renewal_due(inner), if is_running && renewal.is_none() => {
                    renewal = Some(Box::pin(renew(Rc::clone(inner))));
                }
                Some(()) = attempts.next(), if !attempts.is_empty() => {
                    // What a queue's own limit has left in the table has room now.
                    if !inner.options.queues.is_empty() {
                        schedule.ask_at_once();
                    }
                }
                () = wake.woken(), if is_idle => schedule.at = Instant::now(),
                () = sleep_until(next), if has_room => schedule.ask(inner.claim()),
                () = sleep(SLEEP_LOOKED_EVERY), if is_running => {}
            }
        }
        drop(attempts);
        Box::pin(inner.give_back_all(schedule.claim)).await;
    }
}

impl Inner {
    fn poll(&self, is_noticed: bool) -> Duration {
        let poll = match is_noticed {
            true => JOB_POLL_WITH_NOTICES,
            false => JOB_POLL_DEFAULT,
        };
        self.options.poll.unwrap_or(poll)
    }

    /// For as many jobs as there is room when it is asked.
    fn claim(self: &Rc<Self>) -> ClaimFuture {
        let inner = Rc::clone(self);
        Box::pin(async move {
            let wanted = inner.wanted();
            inner.claimer.claim(&wanted, inner.room()).await
        })
    }

    /// How many more jobs may run.
    fn room(&self) -> usize {
        let running = self.running.borrow().len();
        self.options.running.saturating_sub(running)
    }

    /// For which kinds there is room: those of queues with a limit of their own each by themselves, the others together.
    fn wanted(&self) -> Vec<Wanted> {
        let running = self.running.borrow();
        let room = self.room();
        let of_queue = |queue: &str| running.values().filter(|job| job.queue == queue).count();
        let mut wanted = Vec::new();
        for (queue, max) in &self.options.queues {
            let own = max.saturating_sub(of_queue(queue)).min(room);
            let names = self.names(|kind| kind.queue == *queue);
            if own > 0 && !names.is_empty() {
                wanted.push(Wanted {
                    queue: Some(queue.clone()),
                    names,
                    room: own,
                });
            }
        }
        let names = self.names(|kind| !self.options.queues.contains_key(&kind.queue));
        if room > 0 && !names.is_empty() {
            let queue = None;
            wanted.push(Wanted { queue, names, room });
        }
        wanted
    }

    fn names(&self, is_wanted: impl Fn(&JobKind) -> bool) -> Vec<String> {
        let kinds = self.claimer.kinds.iter().filter(|kind| is_wanted(kind));
        kinds.map(|kind| kind.name.clone()).collect()
    }

    /// The job, which counts as running until its end is recorded.
    fn begin(self: &Rc<Self>, job: ClaimedJob) -> LocalBoxFuture<'static, ()> {
        let cut = Rc::new(Notify::new());
        let kind = self.claimer.kinds.iter().find(|kind| kind.name == job.name);
        let Some(JobKind {
            queue,
            timeout: time,
            ..
        }) = kind
        else {
            return self.fail(job);
        };
        let (queue, time) = (queue.clone(), *time);
        let running = RunningJob {
            queue,
            renewed: job.asked_at,
            cut: Rc::clone(&cut),
            _here: RunningClaim::begin(self.claimer.name.base(), job.claim()),
        };
        let oldest = match self.running.borrow().is_empty() {
            true => job.asked_at,
            false => job.asked_at.min(self.oldest.get()),
        };
        self.oldest.set(oldest);
        self.running.borrow_mut().insert(job.claim(), running);
        let inner = Rc::clone(self);
        let activity = begin_job(&job.name, job.trace.as_deref());
        activity.show();
        Box::pin(Activity::scope(Some(activity.share()), async move {
            let performed = async { (inner.perform)(job.clone()).await };
            let performed = AssertUnwindSafe(performed).catch_unwind();
            tokio::select! {
                biased;
                () = cut.notified() => {
                    tracing::warn!("the job {} {} is cut short: its claim is lost", job.name, job.id);
                    activity.end(ended(Some("its claim was lost")));
                }
                performed = timeout(time, performed) => {
                    let outcome = match performed {
                        Ok(Ok(outcome)) => outcome,
                        Ok(Err(_)) => Err("it panicked".to_owned()),
                        Err(_) => Err(format!("it took longer than its timeout, {} s", time.as_secs_f64())),
                    };
                    inner.record(&job, &outcome).await;
                    activity.end(ended(outcome.is_err().then_some("it failed")));
                }
            }
            inner.claimer.queue.table.keyed.forget(job.claim());
            inner.running.borrow_mut().remove(&job.claim());
        }))
    }

    /// Has a job fail whose name is that of a kind for the database alone: Firebird passes over spaces at the ends of texts, a collation over more.
    fn fail(self: &Rc<Self>, job: ClaimedJob) -> LocalBoxFuture<'static, ()> {
        let (inner, claim) = (Rc::clone(self), job.claim());
        self.refused.borrow_mut().insert(claim);
        Box::pin(async move {
            let outcome = Err(format!("there is no kind named {:?} here", job.name));
            inner.record(&job, &outcome).await;
            inner.refused.borrow_mut().remove(&claim);
        })
    }

    /// Gives back a job that is claimed and not begun.
    fn refuse(self: &Rc<Self>, job: ClaimedJob) -> LocalBoxFuture<'static, ()> {
        let (inner, claim) = (Rc::clone(self), job.claim());
        self.refused.borrow_mut().insert(claim);
        Box::pin(async move {
            inner.give_back(claim).await;
            inner.refused.borrow_mut().remove(&claim);
        })
    }

    async fn record(&self, job: &ClaimedJob, outcome: &Result<(), String>) {
        let mut failures = FailurePause::new();
        for _ in 0..RECORDS_MAX {
            match self.claimer.record(job, outcome).await {
                Ok(Some(true)) => return,
                Ok(None) => {}
                Ok(Some(false)) => {
                    tracing::warn!(
                        "the job {} {} ended after another process had begun it anew",
                        job.name,
                        job.id
                    );
                    return;
                }
                Err(error) => {
                    if failures.is_worth_a_line(&self.claimer.queue, &error) {
                        let (name, id) = (&job.name, job.id);
                        tracing::warn!(
                            "the end of the job {name} {id} is not written yet: {error}"
                        );
                    }
                }
            }
            sleep(failures.take()).await;
        }
    }

    async fn give_back(&self, claim: JobClaim) -> bool {
        match self.claimer.give_back(claim).await {
            Ok(true) => {
                tracing::info!("the job {} is given back", claim.id);
                return true;
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(
                "the job {} is not given back, and waits until its claim runs out: {error}",
                claim.id
            ),
        }
        false
    }

    /// Gives back what runs, and what is claimed at the moment, as far as there is time.
    async fn give_back_all(&self, claim: Option<ClaimFuture>) {
        let running = self.running.take().into_keys();
        let here: Vec<JobClaim> = running.chain(self.refused.take()).collect();
        let give = async |claims: Vec<JobClaim>| {
            let all = claims.into_iter().map(|claim| self.give_back(claim));
            let given = futures_util::future::join_all(all).await;
            if given.contains(&true) {
                self.claimer.queue.wake_all().await;
            }
        };
        let asked = async {
            if let Some(claim) = claim
                && let Ok(claimed) = claim.await
            {
                give(claimed.jobs.iter().map(ClaimedJob::claim).collect()).await;
            }
        };
        let all = futures_util::future::join(give(here), asked);
        if timeout(GIVE_BACK_MAX, all).await.is_err() {
            tracing::warn!(
                "not all jobs are given back; the others wait until their claims run out"
            );
        }
    }

    /// For how long after it was taken or renewed a claim holds for sure, by this process's clock.
    fn held_for(&self) -> Duration {
        self.options.lease * 9 / 10
    }

    /// Cuts the jobs whose claims may have run out.
    fn cut_late(&self) {
        let held_for = self.held_for();
        for job in self.running.borrow_mut().values_mut() {
            if job.renewed.elapsed() >= held_for {
                job.cut.notify_one();
                job.renewed = Instant::now();
            }
        }
        self.note_oldest();
    }

    /// Claims have gone on running out while the machine slept.
    fn note_sleep(&self) {
        let now = slept();
        let slept = slept_between(self.slept.replace(now), now);
        if slept.is_zero() {
            return;
        }
        for job in self.running.borrow_mut().values_mut() {
            job.renewed = earlier(job.renewed, slept);
        }
        self.note_oldest();
    }

    fn note_oldest(&self) {
        let running = self.running.borrow();
        let oldest = running.values().map(|job| job.renewed).min();
        self.oldest.set(oldest.unwrap_or_else(Instant::now));
    }
}

/// How a job ended, for its trace, which shows none of its values.
fn ended(error: Option<&str>) -> Ending {
    Ending {
        error: error.map(str::to_owned),
        ..Ending::default()
    }
}

/// Claims are renewed when a third of their time is over, and when the worker's text has changed.
async fn renewal_due(inner: &Inner) {
    tokio::select! {
        () = sleep_until(inner.oldest.get() + inner.options.lease / 3) => {}
        () = inner.claimer.name.changed() => {}
    }
}

async fn renew(inner: Rc<Inner>) {
    let (begun, slept_before) = (Instant::now(), slept());
    // What begins while the database is asked is not in the answer.
    let asked: Vec<_> = inner.running.borrow().keys().copied().collect();
    let tell = |claim: JobClaim, renewal: Renewal| {
        let begun = earlier(begun, slept_between(slept_before, slept()));
        if let Some(job) = inner.running.borrow_mut().get_mut(&claim) {
            job.renewed = begun;
            if renewal == Renewal::Lost {
                job.cut.notify_one();
            }
        }
    };
    let max = (inner.options.lease / 4).max(RENEWAL_MIN);
    // After one that took too long.
    let mode = inner.renewal_mode.replace(RenewalMode::Together);
    let renewed = timeout(max, inner.claimer.renew(&asked, mode, &tell)).await;
    inner.note_oldest();
    match renewed {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!("the claims of jobs are not renewed: {error}");
            sleep((inner.options.lease / 10).min(FAILURE_PAUSE_MAX)).await;
        }
        // Another connection may answer, and another transaction may have one of the rows.
        Err(_) => {
            tracing::warn!(
                "the claims of jobs are not all renewed: the database has not answered for {} s",
                max.as_secs_f64()
            );
            inner.renewal_mode.set(RenewalMode::Each);
        }
    }
}

/// Waits for it. Dropping the future loses nothing.
async fn finished<T>(future: &mut Option<LocalBoxFuture<'static, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for JobWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("JobWorker")
            .field(&self.inner.claimer.name.now())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake};
    use std::time::Duration;

    use tokio::sync::Notify;
    use tokio::time::timeout;
    use tsumugi_db::{Database, Executor, Options};

    use super::{JobFuture, JobWorker, renew};
    use crate::boot_clock::test_sleep;
    use crate::claims::ClaimedJob;
    use crate::job_claim::JobClaim;
    use crate::kind::{JobKind, JobPush, WorkerOptions};
    use crate::limits::JOB_LEASE_DEFAULT;
    use crate::queue::JobQueue;

    #[derive(Default)]
    struct NotifyWaker(Notify);

    impl Wake for NotifyWaker {
        fn wake(self: Arc<Self>) {
            self.0.notify_one();
        }
    }

    fn claimed(id: i64) -> ClaimedJob {
        ClaimedJob {
            id,
            name: "mail".to_owned(),
            arguments: "{}".to_owned(),
            attempt: 1,
            failures: 0,
            retries: 0,
            trace: None,
            asked_at: tokio::time::Instant::now(),
        }
    }

    fn on_a_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test);
    }

    /// A queue of its own, and where it is.
    async fn queue() -> (JobQueue, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/app.db", folder.path().display());
        let database = Database::connect(&url, Options::default()).await.unwrap();
        (JobQueue::over(&database), folder)
    }

    struct Dropped(Rc<Notify>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }

    #[test]
    fn job_is_cut_when_the_machine_has_slept_for_as_long_as_its_claim_holds() {
        on_a_thread(async {
            let (queue, _folder) = queue().await;
            let kind = JobKind::new("mail").unwrap();
            let here = Executor::Database(queue.database().clone());
            let pushed = queue.push(&JobPush::new(kind.clone(), "{}"), &here).await;
            pushed.unwrap();
            let (begun, cut) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
            let (own_begun, own_cut) = (Rc::clone(&begun), Rc::clone(&cut));
            let perform = Rc::new(move |_: ClaimedJob| -> JobFuture {
                own_begun.notify_one();
                let dropped = Dropped(Rc::clone(&own_cut));
                Box::pin(async move {
                    let _dropped = dropped;
                    std::future::pending().await
                })
            });
            let options = WorkerOptions::default();
            let worker = JobWorker::new(&queue, vec![kind], options, perform).unwrap();
            let run = tokio::task::spawn_local(worker.run(std::future::pending()));
            begun.notified().await;
            test_sleep::add(JOB_LEASE_DEFAULT);
            // Its claim is renewed for as long as it runs.
            let cut = timeout(Duration::from_secs(60), cut.notified()).await;
            run.abort();
            assert!(cut.is_ok());
        });
    }

    #[test]
    fn jobs_that_begin_while_claims_are_renewed_are_not_taken_for_lost() {
        on_a_thread(begin_while_claims_are_renewed());
    }

    async fn begin_while_claims_are_renewed() {
        let (queue, _folder) = queue().await;
        let kinds = vec![JobKind::new("mail").unwrap()];
        let perform = Rc::new(|_: ClaimedJob| -> JobFuture { Box::pin(std::future::pending()) });
        let worker = JobWorker::new(&queue, kinds, WorkerOptions::default(), perform).unwrap();
        let inner = worker.inner;
        // No row is there, as if another process had claimed this one.
        let _first = inner.begin(claimed(1));
        let woken = Arc::new(NotifyWaker::default());
        let waker = Arc::clone(&woken).into();
        let mut renewal = pin!(renew(Rc::clone(&inner)));
        let mut later = Vec::new();
        while renewal.as_mut().poll(&mut Context::from_waker(&waker)) == Poll::Pending {
            woken.0.notified().await;
            // After the answer came, and before the worker reads it.
            let id = 2 + i64::try_from(later.len()).unwrap();
            later.push(inner.begin(claimed(id)));
        }
        assert!(!later.is_empty());
        let running = inner.running.borrow();
        let is_cut = |claim: &JobClaim| pin!(running[claim].cut.notified()).enable();
        let cut: Vec<_> = running.keys().filter(|claim| is_cut(claim)).collect();
        let cut: Vec<_> = cut.into_iter().map(|claim| claim.id).collect();
        assert_eq!(cut, [1]);
    }
}
