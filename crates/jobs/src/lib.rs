//! Work for later, kept in a database: pushed in a transaction, claimed for a time, done at least once. Knows no language of applications and no request.
//! Rule: a worker that was replaced changes nothing: each claim has a number that only grows, which every change of a job names.
//! Boxed edge: all of it.
//!
//! # Features
//!
//! | feature | what it adds | on by default |
//! | --- | --- | --- |
//! | `cron` | [`CronSchedule`]: jobs by lines of cron, in zones of time; without, each line is refused | yes |
//!
//! ```
//! use std::rc::Rc;
//! use tsumugi_db::{Database, Executor, Options};
//! use tsumugi_jobs::{JobKind, JobPush, JobQueue, JobWorker, WorkerOptions};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let database = Database::connect("sqlite::memory:", Options::default()).await?;
//! let queue = JobQueue::over(&database);
//! let kind = JobKind::new("thumbnail")?;
//! queue.push(&JobPush::new(kind.clone(), r#"{"id":7}"#), &Executor::Database(database)).await?;
//!
//! let worker = JobWorker::new(&queue, vec![kind], WorkerOptions::default(), Rc::new(|job| {
//!     Box::pin(async move {
//!         assert_eq!(job.arguments, r#"{"id":7}"#);
//!         Ok(())
//!     })
//! }))?;
//! assert_eq!(worker.run_ready().await?, 1);
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(example()).unwrap();
//! ```

#![forbid(unsafe_code)]

mod backoff;
mod boot_clock;
mod claim_schedule;
mod claims;
mod commit_wake;
mod counts;
#[cfg(feature = "cron")]
mod cron;
#[cfg(not(feature = "cron"))]
#[path = "without_cron.rs"]
mod cron;
mod error;
mod failure_pause;
mod figures;
mod group_commit;
mod interval;
mod job_claim;
mod keyed_jobs;
mod keys;
mod kind;
pub mod limits;
mod look_pace;
mod queue;
mod renewal;
mod running;
mod schedule;
mod sql;
#[macro_use]
mod table;
mod statements;
mod trace;
mod upkeep;
mod wake;
mod worker;
mod worker_name;

pub use claims::ClaimedJob;
pub use counts::JobCounts;
pub use cron::CronSchedule;
pub use error::{Error, Result};
pub use figures::{JobFigure, JobFigures};
pub use interval::parse_line;
pub use kind::{DEFAULT_QUEUE, JobKind, JobPush, WorkerOptions};
pub use queue::{JobQueue, JobRow, JobState};
pub use schedule::run_schedules;
pub use table::{JobTablesWish, prepare_job_tables};
pub use worker::{JobFuture, JobWorker, Perform};
