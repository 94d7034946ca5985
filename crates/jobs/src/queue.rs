//! The jobs of one database as callers see them: pushed, listed, tried again, dropped, and effects that happen once. Runs none.
//! Rule: what is pushed in a transaction is there when that commits, and not before.

use std::fmt;
use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_db::{
    Database, Error as DatabaseError, ExecuteResult, Executor, Family, Isolation, Row, Rows,
    Transaction, TransactionOptions, ValueRef, bookkeeping,
};

use crate::commit_wake::wake_after_commit;
use crate::error::{Error, Result};
use crate::job_claim::JobClaim;
use crate::keys::{named_key, own_key};
use crate::kind::{JobPush, check_key, millis};
use crate::limits::{JOB_POLL_MAX, JOBS_LISTED_MAX};
use crate::sql::{Sql, unix_millis};
use crate::statements::{self, ListedArguments, PushNotice};
use crate::table::{JobTables, find_job_tables, state};
use crate::trace::trace_here;
use crate::upkeep;
use crate::wake::wake_process;

/// The jobs in one database. Cheap to clone; belongs to its thread.
#[derive(Clone, Debug)]
pub struct JobQueue {
    pub(crate) table: Rc<JobTables>,
}

/// What a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Its time.
    Scheduled,
    /// A worker.
    Ready,
    /// Nothing: it runs.
    Running,
    /// Somebody who looks at it: it has failed for the last time.
    Dead,
}

impl JobState {
    /// All of them.
    pub const ALL: [JobState; 4] = [
        JobState::Scheduled,
        JobState::Ready,
        JobState::Running,
        JobState::Dead,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            JobState::Scheduled => "scheduled",
            JobState::Ready => "ready",
            JobState::Running => "running",
            JobState::Dead => "dead",
        }
    }

    pub(crate) fn number(self) -> i64 {
        match self {
            JobState::Scheduled => state::SCHEDULED,
            JobState::Ready => state::READY,
            JobState::Running => state::RUNNING,
            JobState::Dead => state::DEAD,
        }
    }

    pub(crate) fn of(number: i64) -> Option<JobState> {
        JobState::ALL
            .into_iter()
            .find(|state| state.number() == number)
    }
}

/// A job as it is in the table.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Its number.
    pub id: i64,
    /// The name of its kind.
    pub name: String,
    /// The queue that it waits in.
    pub queue: String,
    /// What it waits for.
    pub state: JobState,
    /// Jobs of greater priority are begun first.
    pub priority: i64,
    /// How often it was begun.
    pub attempts: i64,
    /// How often that ended badly, but for [`JobRow::losses`].
    pub failures: i64,
    /// How often it is begun again after a failure.
    pub retries: i64,
    /// When it is due, or until when it is claimed, in milliseconds since 1970.
    pub due_ms: i64,
    /// When it was pushed, in milliseconds since 1970.
    pub pushed_ms: i64,
    /// The worker that runs it: its process id and a random number. Nothing while none does.
    pub claimed_by: Option<String>,
    /// The text of its last failure, up to `JOB_ERROR_BYTES_MAX` bytes.
    pub error: Option<String>,
    /// How often its process died or stood still while it ran, which is no failure.
    pub losses: i64,
    /// JSON text; empty in a list without arguments.
    pub arguments: String,
}

impl fmt::Debug for JobRow {
    /// Arguments do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobRow")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("queue", &self.queue)
            .field("state", &self.state)
            .field("attempts", &self.attempts)
            .field("failures", &self.failures)
            .field("due_ms", &self.due_ms)
            .field("claimed_by", &self.claimed_by)
            .finish_non_exhaustive()
    }
}

impl JobQueue {
    /// The jobs of this database. Asks nothing of it: the first use makes the tables unless they are there.
    #[must_use]
    pub fn over(database: &Database) -> JobQueue {
        JobQueue {
            table: Rc::new(JobTables::of(database.clone())),
        }
    }

    /// The jobs of this database, whose tables stay as they are; nothing where there are none.
    ///
    /// # Errors
    /// [`Error::Usage`] of tables of an older version; of the database.
    pub fn over_existing(database: &Database) -> LocalBoxFuture<'_, Result<Option<JobQueue>>> {
        async move {
            let executor = Executor::Database(database.clone());
            let is_there = find_job_tables(&executor).await?;
            Ok(is_there.then(|| JobQueue {
                table: Rc::new(JobTables::existing(database.clone())),
            }))
        }
        .boxed_local()
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.table.database
    }

    /// Makes the tables unless they are there.
    ///
    /// # Errors
    /// Of the database.
    pub fn prepare(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move { self.table.database().await.map(drop) }.boxed_local()
    }

    /// Pushes a job, and answers its id; nothing where one with the same key waits or runs. In a transaction the job is there when it commits. What runs it
    /// is a part of the trace that is under way here.
    ///
    /// # Errors
    /// [`Error::TooLarge`] and [`Error::Usage`] of what is outside of the limits; of the database.
    pub fn push<'p>(
        &'p self,
        push: &'p JobPush,
        executor: &'p Executor,
    ) -> LocalBoxFuture<'p, Result<Option<i64>>> {
        async move {
            let now = unix_millis();
            push.check(now)?;
            self.table.prepare(executor).await?;
            let pushing = PushInFlight::begin(&self.table);
            let notice = self.notice(push, executor, now, &pushing);
            let sql = statements::push(self.table.family, push, trace_here(), notice);
            let id = match ask(executor, sql).await {
                Ok(rows) => rows.first().map(|row| integer(row, 0)),
                // On Firebird; elsewhere the statement says so itself.
                Err(Error::Database(DatabaseError::UniqueViolation { .. }))
                    if push.unique.is_some() =>
                {
                    None
                }
                Err(error) => return Err(error),
            };
            drop(pushing);
            if id.is_some()
                && notice != PushNotice::Omitted
                && !matches!(executor, Executor::Transaction(_))
            {
                match notice {
                    PushNotice::Shared => self.wake_all().await,
                    _ => wake_process(),
                }
            }
            Ok(id)
        }
        .boxed_local()
    }

    /// How workers are woken, unless each of them looks anyway before the job is due. A single push does it itself; many at once share a statement, since
    /// PostgreSQL commits what notifies one behind the other.
    fn notice(
        &self,
        push: &JobPush,
        executor: &Executor,
        now: i64,
        pushing: &PushInFlight<'_>,
    ) -> PushNotice {
        let soon = millis(JOB_POLL_MAX);
        let is_soon = push.at_ms.is_none_or(|at| at <= now.saturating_add(soon))
            && push.after.is_none_or(|after| millis(after) <= soon);
        match (is_soon, executor) {
            (false, _) => PushNotice::Omitted,
            (true, Executor::Database(_))
                if self.table.family == Family::Postgres && !pushing.is_alone() =>
            {
                PushNotice::Shared
            }
            _ => PushNotice::Given,
        }
    }

    /// Has the workers of all processes look for jobs, where the database can tell them. They look now and then anyway, so that a notification may be lost.
    pub(crate) fn wake_all(&self) -> LocalBoxFuture<'_, ()> {
        async move {
            wake_process();
            if self.table.family != Family::Postgres {
                return;
            }
            let notify = async |asked: Vec<()>| {
                let sql = statements::notify(self.table.family);
                if let Err(error) = self.ask(sql).await {
                    tracing::debug!("workers of other processes are not woken: {error}");
                }
                asked
            };
            self.table.notices.submit((), notify).await;
        }
        .boxed_local()
    }

    /// Has the workers of this process look for jobs when a transaction has committed that has pushed: once, however often this is called.
    pub fn wake_after_commit(&self, transaction: &Rc<Transaction>) {
        wake_after_commit(transaction);
    }

    /// Begins an effect that is to happen once, in a transaction: whether it has not happened yet. What the transaction then does is kept together with
    /// the key, or not at all. `job` is the job and the attempt that it is for; without a key, the effect is the job's own, of which it has one.
    ///
    /// # Errors
    /// [`Error::Lost`] where another process has begun the job anew; [`Error::Usage`] outside of a transaction, and where an attempt asks a second time for
    /// the job's own effect; [`Error::TooLarge`] of a long key.
    pub fn begin_once<'o>(
        &'o self,
        executor: &'o Executor,
        key: Option<&'o str>,
        job: Option<(i64, i64)>,
    ) -> LocalBoxFuture<'o, Result<bool>> {
        async move {
            if !matches!(executor, Executor::Transaction(_)) {
                let message = "an effect that happens once is done in a transaction of the database that the jobs are in";
                return Err(Error::Usage(message.to_owned()));
            }
            let name = match (key, job) {
                (Some(key), _) => {
                    check_key("the key of an effect", key)?;
                    named_key(self.table.family, key)
                }
                (None, Some((id, _))) => own_key(id),
                (None, None) => {
                    let message = "outside of a job, an effect that happens once needs a key";
                    return Err(Error::Usage(message.to_owned()));
                }
            };
            self.table.prepare(executor).await?;
            let family = self.table.family;
            let own = job.filter(|_| key.is_none());
            let is_second =
                own.is_some_and(|(id, attempt)| self.table.keyed.note(JobClaim { id, attempt }));
            // Before the job is looked at: who has begun it anew has this key, or waits for it from here on.
            let remember = statements::remember(family, &name, own.map(|(id, _)| id));
            let is_new = match change(executor, remember).await {
                Ok(changed) => changed.affected == 1,
                Err(Error::Database(DatabaseError::UniqueViolation { .. })) => false,
                Err(error) => return Err(error),
            };
            if let Some((id, attempt)) = job {
                let claim = JobClaim { id, attempt };
                if !self.holds(executor, claim).await? {
                    return Err(Error::Lost { id });
                }
            }
            // It would be taken for the first one, which has happened. One that was rolled back may be tried again.
            if is_second && !is_new {
                let message =
                    "a job has one effect without a key: others of the same job need keys of their own";
                return Err(Error::Usage(message.to_owned()));
            }
            Ok(is_new)
        }
        .boxed_local()
    }

    /// Whether a claim still holds, which it does until the end of this transaction then.
    async fn holds(&self, executor: &Executor, claim: JobClaim) -> Result<bool> {
        let family = self.table.family;
        let rows = ask(executor, statements::hold(family, claim)).await?;
        let isolation = rows.first().map(|row| text(row, 1));
        match isolation {
            None => Ok(false),
            // It sees the row as it was when the transaction began, and locks it all the same.
            Some(Some(isolation)) if isolation != "read committed" => {
                let held = self.ask(statements::held(family, &[claim])).await?;
                Ok(!held.is_empty())
            }
            Some(_) => Ok(true),
        }
    }

    /// Jobs in the order of their ids, of one state or of all, after an id: at most [`JOBS_LISTED_MAX`].
    ///
    /// # Errors
    /// Of the database.
    pub fn list(
        &self,
        of: Option<JobState>,
        after: i64,
        count: usize,
    ) -> LocalBoxFuture<'_, Result<Vec<JobRow>>> {
        self.list_with(of, after, count, ListedArguments::Included)
            .boxed_local()
    }

    /// The same with empty texts as arguments, which are large where there are many.
    ///
    /// # Errors
    /// Of the database.
    pub fn list_without_arguments(
        &self,
        of: Option<JobState>,
        after: i64,
        count: usize,
    ) -> LocalBoxFuture<'_, Result<Vec<JobRow>>> {
        self.list_with(of, after, count, ListedArguments::Omitted)
            .boxed_local()
    }

    async fn list_with(
        &self,
        of: Option<JobState>,
        after: i64,
        count: usize,
        arguments: ListedArguments,
    ) -> Result<Vec<JobRow>> {
        let (family, count) = (self.table.family, count.min(JOBS_LISTED_MAX));
        let state = of.map(JobState::number);
        let sql = statements::list(family, state, after, count, arguments);
        // Firebird's texts are read behind their rows, which must not end meanwhile.
        let database = self.table.database().await?;
        let rows = match self.table.family {
            Family::Firebird => {
                let mut options = TransactionOptions::read_only();
                options.isolation = Isolation::RepeatableRead;
                let transaction = database.begin(options).await?;
                let rows = transaction.query(sql.text, sql.values).await?;
                transaction.commit().await?;
                rows
            }
            _ => database.query(sql.text, sql.values).await?,
        };
        Ok(rows.iter().filter_map(job_row).collect())
    }

    /// Makes a job that is dead or waits for its time ready, with all of its retries, and says whether there is such a one.
    ///
    /// # Errors
    /// Of the database.
    pub fn retry(&self, id: i64) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let is_there = self
                .change(statements::retry(self.table.family, id))
                .await?
                .affected
                == 1;
            if is_there {
                self.wake_all().await;
            }
            Ok(is_there)
        }
        .boxed_local()
    }

    /// Makes the dead jobs of a kind ready, with all of their retries, and says how many there were.
    ///
    /// # Errors
    /// Of the database.
    pub fn retry_dead<'k>(&'k self, kind: &'k str) -> LocalBoxFuture<'k, Result<u64>> {
        async move {
            let family = self.table.family;
            // Those that die again meanwhile are not retried again.
            let last = self.ask(upkeep::last_dead(family, kind)).await?;
            let last = last.first().and_then(|row| maybe_integer(row, 0));
            let Some(last_ms) = last else {
                return Ok(0);
            };
            let mut retried = 0;
            loop {
                let sql = upkeep::retry_dead(family, kind, last_ms);
                let affected = self.change(sql).await?.affected;
                if affected == 0 {
                    return Ok(retried);
                }
                retried += affected;
                self.wake_all().await;
            }
        }
        .boxed_local()
    }

    /// Drops a job that does not run, and says whether there is such a one.
    ///
    /// # Errors
    /// Of the database.
    pub fn drop(&self, id: i64) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let family = self.table.family;
            let keys = statements::forget_keys(family, id);
            self.change_if(statements::drop_job(family, id), keys).await
        }
        .boxed_local()
    }

    pub(crate) fn family(&self) -> Family {
        self.table.family
    }

    /// Whether another transaction has a row, on Firebird, of which a statement about many rows fails for one.
    pub(crate) fn is_in_the_way(&self, error: &Error) -> bool {
        self.table.family == Family::Firebird
            && matches!(
                error,
                Error::Database(
                    DatabaseError::SerializationFailure { .. } | DatabaseError::Deadlock { .. }
                )
            )
    }

    /// Asks for the product's own purposes, in no transaction of a caller's.
    pub(crate) fn ask(&self, sql: Sql) -> LocalBoxFuture<'_, Result<Rows>> {
        bookkeeping(async move {
            Ok(self
                .table
                .database()
                .await?
                .query(sql.text, sql.values)
                .await?)
        })
        .boxed_local()
    }

    /// Both or none: the second where the first has changed a row. Says whether it has.
    pub(crate) fn change_if(&self, first: Sql, second: Sql) -> LocalBoxFuture<'_, Result<bool>> {
        bookkeeping(async move {
            let database = self.table.database().await?;
            let transaction = database.begin(TransactionOptions::default()).await?;
            let is_changed = transaction
                .execute(first.text, first.values)
                .await?
                .affected
                == 1;
            if is_changed {
                transaction.execute(second.text, second.values).await?;
            }
            transaction.commit().await?;
            Ok(is_changed)
        })
        .boxed_local()
    }

    /// Changes rows as [`JobQueue::ask`] reads them.
    pub(crate) fn change(&self, sql: Sql) -> LocalBoxFuture<'_, Result<ExecuteResult>> {
        bookkeeping(async move {
            Ok(self
                .table
                .database()
                .await?
                .execute(sql.text, sql.values)
                .await?)
        })
        .boxed_local()
    }
}

/// A push under way.
struct PushInFlight<'t>(&'t JobTables);

impl<'t> PushInFlight<'t> {
    fn begin(table: &'t JobTables) -> PushInFlight<'t> {
        table.pushing.set(table.pushing.get() + 1);
        PushInFlight(table)
    }

    fn is_alone(&self) -> bool {
        self.0.pushing.get() == 1
    }
}

impl Drop for PushInFlight<'_> {
    fn drop(&mut self) {
        self.0.pushing.set(self.0.pushing.get() - 1);
    }
}

async fn ask(executor: &Executor, sql: Sql) -> Result<Rows> {
    Ok(executor.query(sql.text, sql.values).await?)
}

async fn change(executor: &Executor, sql: Sql) -> Result<ExecuteResult> {
    Ok(executor.execute(sql.text, sql.values).await?)
}

/// The integer in this place, which may be NULL or an exact number.
pub(crate) fn maybe_integer(row: Row<'_>, index: usize) -> Option<i64> {
    match row.value(index)? {
        ValueRef::Typed(typed) => {
            let mut text = Vec::new();
            typed.write_text(&mut text).ok()?;
            std::str::from_utf8(&text).ok()?.parse().ok()
        }
        value => value.as_integer(),
    }
}

pub(crate) fn integer(row: Row<'_>, index: usize) -> i64 {
    maybe_integer(row, index).unwrap_or_default()
}

pub(crate) fn text(row: Row<'_>, index: usize) -> Option<String> {
    let text = row.value(index)?.as_text()?;
    Some(text.to_owned())
}

fn job_row(row: Row<'_>) -> Option<JobRow> {
    Some(JobRow {
        id: integer(row, 0),
        name: text(row, 1)?,
        queue: text(row, 2)?,
        state: JobState::of(integer(row, 3))?,
        priority: -integer(row, 4),
        attempts: integer(row, 5),
        failures: integer(row, 6),
        retries: integer(row, 7),
        due_ms: integer(row, 8),
        pushed_ms: integer(row, 9),
        claimed_by: text(row, 10),
        error: text(row, 11),
        losses: integer(row, 12),
        arguments: text(row, 13).unwrap_or_default(),
    })
}
