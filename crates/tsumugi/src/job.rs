//! Work for later, as authors in Rust write it: a type for each kind, whose fields are its arguments. How jobs are kept and run is `tsumugi_jobs`'s.
//! Rule: the same tables and promises as in Ruby, so both languages push and run each other's jobs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tsumugi_db::{Database, Executor};
use tsumugi_jobs::limits::{JOB_RETRIES_DEFAULT, JOB_TIMEOUT_DEFAULT};
use tsumugi_jobs::{
    ClaimedJob, DEFAULT_QUEUE, JobCounts, JobKind, JobPush, JobQueue, JobRow, JobState,
    WorkerOptions,
};

use crate::builder::Tx;
use crate::error::{Error, Result};

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

/// The kind that a type stands for.
pub(crate) fn kind<J: Job>() -> Result<JobKind> {
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
    pub(crate) queue: JobQueue,
    pub(crate) options: WorkerOptions,
}

/// When a job is due, its key and its priority, beside its arguments.
#[derive(Clone, Debug, Default)]
pub struct PushOptions {
    /// When it is due; at once without.
    pub at: Option<SystemTime>,
    /// How long after it is pushed it is due; not together with `at`.
    pub after: Option<Duration>,
    /// While a job of this kind with this key waits or runs, nothing is pushed.
    pub unique: Option<String>,
    /// Instead of [`Job::PRIORITY`], up to [`JOB_PRIORITY_MAX`](tsumugi_jobs::limits::JOB_PRIORITY_MAX), and as far below 0.
    pub priority: Option<i32>,
}

/// What [`Router::every_line_with`](crate::Router::every_line_with), which needs the feature `cron`, takes beside its line: as [`Job`] has it.
#[derive(Clone, Debug)]
pub struct LineOptions {
    /// How often it is begun again after a failure, up to [`JOB_RETRIES_MAX`](tsumugi_jobs::limits::JOB_RETRIES_MAX).
    pub retries: u32,
    /// How long one attempt may take, up to [`JOB_TIMEOUT_MAX`](tsumugi_jobs::limits::JOB_TIMEOUT_MAX).
    pub timeout: Duration,
}

impl Default for LineOptions {
    fn default() -> LineOptions {
        LineOptions {
            retries: JOB_RETRIES_DEFAULT,
            timeout: JOB_TIMEOUT_DEFAULT,
        }
    }
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

    /// With other options for the workers that run them, of which `run: false` has none in this process.
    #[must_use]
    pub fn options(mut self, options: WorkerOptions) -> Jobs {
        self.options = options;
        self
    }

    /// The jobs as they are kept, for what is not here.
    #[must_use]
    pub fn queue(&self) -> &JobQueue {
        &self.queue
    }

    /// How many jobs there are of each state.
    ///
    /// # Errors
    /// Of the database.
    pub async fn counts(&self) -> Result<JobCounts> {
        Ok(self.queue.counts().await?)
    }

    /// Jobs in the order of their ids, of one state or of all, behind an id: [`JOBS_LISTED_MAX`](tsumugi_jobs::limits::JOBS_LISTED_MAX) at most.
    ///
    /// # Errors
    /// Of the database.
    pub async fn list(
        &self,
        state: Option<JobState>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<JobRow>> {
        Ok(self.queue.list(state, after, limit).await?)
    }

    /// Makes a job that is dead or waits for its time ready, with all of its retries, and says whether there is such a one.
    ///
    /// # Errors
    /// Of the database.
    pub async fn retry(&self, id: i64) -> Result<bool> {
        Ok(self.queue.retry(id).await?)
    }

    /// Makes the dead jobs of a kind ready, with all of their retries, and says how many there were.
    ///
    /// # Errors
    /// Of the database.
    pub async fn retry_dead<J: Job>(&self) -> Result<u64> {
        Ok(self.queue.retry_dead(J::NAME).await?)
    }

    /// Drops a job that does not run, and says whether there is such a one.
    ///
    /// # Errors
    /// Of the database.
    pub async fn drop(&self, id: i64) -> Result<bool> {
        Ok(self.queue.drop(id).await?)
    }

    /// Pushes a job, due at once, and answers its id.
    ///
    /// # Errors
    /// As [`JobQueue::push`]; of arguments that are no JSON, or that are not read as they are written.
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

    /// The same in a transaction: the job is there when that commits.
    ///
    /// # Errors
    /// As [`Jobs::push`].
    pub async fn push_in<J: Job>(
        &self,
        tx: &Tx,
        job: &J,
        options: PushOptions,
    ) -> Result<Option<i64>> {
        let executor = tx.executor();
        let id = self.push_on(job, options, executor.clone()).await?;
        if let (Some(_), Executor::Transaction(transaction)) = (id, &executor) {
            self.queue.wake_after_commit(transaction);
        }
        Ok(id)
    }

    async fn push_on<J: Job>(
        &self,
        job: &J,
        options: PushOptions,
        executor: Executor,
    ) -> Result<Option<i64>> {
        let refused = |error: serde_json::Error| Error::Usage(error.to_string().into());
        let arguments = serde_json::to_string(job).map_err(refused)?;
        // What no worker could read, such as what is nested too deep, is refused here.
        serde_json::from_str::<J>(&arguments).map_err(refused)?;
        let mut push = JobPush::new(kind::<J>()?, arguments);
        push.at_ms = options.at.map(|at| {
            let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
        push.after = options.after;
        push.unique = options.unique;
        push.priority = options.priority;
        Ok(self.queue.push(&push, &executor).await?)
    }

    /// Whether an effect has not happened yet: the transaction that asks does it, and the key is kept together with it. Without a key of the caller's it
    /// is the one effect of the job.
    ///
    /// # Errors
    /// [`tsumugi_jobs::Error::Lost`] where another process has begun the job anew, [`tsumugi_jobs::Error::Usage`] where an attempt asks for a second effect
    /// without a key.
    pub async fn once(&self, tx: &Tx, key: Option<&str>, job: Option<&ClaimedJob>) -> Result<bool> {
        let job = job.map(|job| (job.id, job.attempt));
        Ok(self.queue.begin_once(&tx.executor(), key, job).await?)
    }
}
