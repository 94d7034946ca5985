//! Work for later, as authors in Rust write it: a type for each kind, whose fields are its arguments. How jobs are kept and run is `tsumugi_jobs`'s.
//! Rule: the same words as in Ruby, and jobs that both languages push and run.

use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use tsumugi_db::{Database, Executor};
use tsumugi_jobs::limits::{JOB_RETRIES_DEFAULT, JOB_TIMEOUT_DEFAULT};
use tsumugi_jobs::{
    ClaimedJob, CronSchedule, DEFAULT_QUEUE, JobFuture, JobKind, JobPush, JobQueue, JobWorker,
    WorkerOptions,
};
use tsumugi_server::dispatch::{StopSignal, push_schedules, run_jobs};
use tsumugi_server::story;

use crate::builder::Tx;
use crate::error::{Error, Result};
use crate::local::Local;
use crate::plugin::Worker;
use crate::timers::TickOutcome;

/// A kind of jobs: a value of it is one job, and its fields are the arguments.
///
/// ```
/// use tsumugi::prelude::*;
/// use tsumugi::Job;
///
/// #[derive(Serialize, Deserialize)]
/// struct Thumbnail {
///     id: i64,
/// }
///
/// impl Job for Thumbnail {
///     const NAME: &'static str = "thumbnail";
/// }
/// ```
pub trait Job: Serialize + DeserializeOwned + 'static {
    /// Its name, of at most 64 bytes.
    const NAME: &'static str;
    /// How often a job is begun again after a failure.
    const RETRIES: u32 = JOB_RETRIES_DEFAULT;
    /// How long one attempt may take.
    const TIMEOUT: Duration = JOB_TIMEOUT_DEFAULT;
    /// The queue that its jobs wait in.
    const QUEUE: &'static str = DEFAULT_QUEUE;
    /// Jobs of greater priority are begun first.
    const PRIORITY: i32 = 0;
}

fn kind<J: Job>() -> Result<JobKind> {
    let mut kind = JobKind::new(J::NAME)?;
    kind.retries = J::RETRIES;
    kind.timeout = J::TIMEOUT;
    J::QUEUE.clone_into(&mut kind.queue);
    kind.priority = J::PRIORITY;
    Ok(kind.checked()?)
}

/// The jobs in a database: `worker.use_jobs(Jobs::over(&db))` for [`Plugin::start`](crate::Plugin::start). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Jobs {
    queue: JobQueue,
    options: WorkerOptions,
}

/// What is said of one job beside its arguments.
#[derive(Clone, Debug, Default)]
pub struct PushOptions {
    /// When it is due; at once without.
    pub at: Option<SystemTime>,
    /// While a job of this kind with this key waits or runs, nothing is pushed.
    pub unique: Option<String>,
}

impl Jobs {
    /// The jobs of this database. Asks nothing of it: the first use makes the tables unless they are there.
    #[must_use]
    pub fn over(database: &Database) -> Jobs {
        Jobs {
            queue: JobQueue::over(database),
            options: WorkerOptions::default(),
        }
    }

    /// With other options for the workers that run them.
    #[must_use]
    pub fn options(mut self, options: WorkerOptions) -> Jobs {
        self.options = options;
        self
    }

    /// The jobs as they are kept: counted, listed, tried again, dropped.
    #[must_use]
    pub fn queue(&self) -> &JobQueue {
        &self.queue
    }

    /// Pushes a job, due at once, and answers its id.
    ///
    /// # Errors
    /// As [`JobQueue::push`]; of arguments that are no JSON.
    pub async fn push<J: Job>(&self, job: &J) -> Result<Option<i64>> {
        self.push_by(job, PushOptions::default()).await
    }

    /// The same at a time, or unless one with the same key waits or runs: then nothing is answered.
    ///
    /// # Errors
    /// As [`Jobs::push`].
    pub async fn push_by<J: Job>(&self, job: &J, options: PushOptions) -> Result<Option<i64>> {
        let executor = Executor::Database(self.queue.database().clone());
        self.push_on(job, options, executor).await
    }

    /// The same in a transaction: the job is there when that commits. [`JobQueue::wake`] behind the commit has this process look for it at once, where
    /// the database is not PostgreSQL.
    ///
    /// # Errors
    /// As [`Jobs::push`].
    pub async fn push_in<J: Job>(&self, tx: &Tx, job: &J, options: PushOptions) -> Result<Option<i64>> {
        self.push_on(job, options, tx.executor()).await
    }

    async fn push_on<J: Job>(&self, job: &J, options: PushOptions, executor: Executor) -> Result<Option<i64>> {
        let arguments = serde_json::to_string(job).map_err(|error| Error::Usage(error.to_string().into()))?;
        let mut push = JobPush::new(kind::<J>()?, arguments);
        push.at_ms = options.at.map(|at| {
            let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
        push.unique = options.unique;
        Ok(self.queue.push(&push, &executor).await?)
    }

    /// Whether an effect has not happened yet: the transaction that asks does it, and the key is kept together with it. Without a key of the caller's it
    /// is an effect of the job.
    ///
    /// # Errors
    /// [`tsumugi_jobs::Error::Lost`] where another process has begun the job anew.
    pub async fn once(&self, tx: &Tx, key: Option<&str>, job: Option<&ClaimedJob>) -> Result<bool> {
        let job = job.map(|job| (job.id, job.attempt));
        Ok(self.queue.begin_once(&tx.executor(), key, job).await?)
    }
}

/// A kind as the router declares it, with what runs its jobs.
pub(crate) struct DeclaredJob<S> {
    kind: Result<JobKind>,
    run: Run<S>,
    /// When it is pushed by the clock.
    schedule: Option<Result<CronSchedule>>,
}

type Run<S> = Rc<dyn Fn(Rc<S>, ClaimedJob) -> Local<Result<()>>>;

pub(crate) fn declared<S, J, F, R>(perform: F) -> DeclaredJob<S>
where
    S: 'static,
    J: Job,
    F: AsyncFn(&S, J, &ClaimedJob) -> R + 'static,
    R: TickOutcome,
{
    let perform = Rc::new(perform);
    DeclaredJob {
        kind: kind::<J>(),
        schedule: None,
        run: Rc::new(move |state, job| {
            let perform = Rc::clone(&perform);
            Box::pin(async move {
                let arguments = serde_json::from_str(&job.arguments);
                let arguments = arguments.map_err(|error| Error::Usage(error.to_string().into()))?;
                perform(&state, arguments, &job).await.ticked()
            })
        }),
    }
}

/// A kind whose jobs are pushed by a line of cron.
pub(crate) fn scheduled<S, F, R>(line: &str, zone: &str, name: &str, tick: F) -> DeclaredJob<S>
where
    S: 'static,
    F: AsyncFn(&S) -> R + 'static,
    R: TickOutcome,
{
    let tick = Rc::new(tick);
    DeclaredJob {
        kind: JobKind::new(format!("every {name}")).map_err(Error::from),
        schedule: Some(CronSchedule::parse(line, zone).map_err(Error::from)),
        run: Rc::new(move |state, _| {
            let tick = Rc::clone(&tick);
            Box::pin(async move { tick(&state).await.ticked() })
        }),
    }
}

/// Runs the jobs of this worker until `stop` is given or the server drains; nothing where there are none.
///
/// # Errors
/// Of what is outside of the limits.
pub(crate) fn start<S: 'static>(
    worker: &Worker,
    state: &Rc<S>,
    declared: Vec<DeclaredJob<S>>,
    stop: &Rc<StopSignal>,
) -> Result<Vec<JoinHandle<()>>> {
    let Some(jobs) = worker.jobs() else {
        return match declared.is_empty() {
            true => Ok(Vec::new()),
            false => Err(Error::Usage("jobs are declared, and nothing says where they are kept: worker.use_jobs(Jobs::over(&db))".into())),
        };
    };
    let mut kinds = Vec::new();
    let mut runs = Vec::new();
    let mut schedules = Vec::new();
    for DeclaredJob { kind, run, schedule } in declared {
        let kind = kind?;
        if let Some(schedule) = schedule {
            schedules.push((kind.clone(), schedule?));
        }
        runs.push((kind.name.clone(), run));
        kinds.push(kind);
    }
    let state = Rc::clone(state);
    let perform = Rc::new(move |job: ClaimedJob| -> JobFuture {
        let run = runs.iter().find(|(name, _)| *name == job.name);
        let run = run.map(|(_, run)| run(Rc::clone(&state), job));
        Box::pin(async move {
            match run {
                Some(run) => run.await.map_err(|error| story(&error)),
                None => Err("nobody runs it".to_owned()),
            }
        })
    });
    let queue = jobs.queue;
    let jobs = JobWorker::new(&queue, kinds, jobs.options, perform)?;
    let (handle, signal) = (worker.inner().clone(), Rc::clone(stop));
    let mut started = vec![worker.spawn(async move { run_jobs(&handle, &signal, jobs).await })];
    if worker.id() == 0 && !schedules.is_empty() {
        let (handle, signal) = (worker.inner().clone(), Rc::clone(stop));
        let push = async move { push_schedules(&handle, &signal, queue, schedules).await };
        started.push(worker.spawn(push));
    }
    Ok(started)
}
