//! How a worker asks for jobs and says what has become of them: statements in their order, no waiting and no jobs that run.
//! Rule: nothing is written where a look says that there is nothing to do, so that a worker without work takes no write lock of SQLite.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;
use tsumugi_db::Error as DatabaseError;

use crate::backoff::back_off;
use crate::error::{Error, Result};
use crate::job_claim::{JobClaim, JobEnd};
use crate::kind::{JobKind, millis};
use crate::limits::{
    EXPIRED_MAX, JOB_CLAIMS_MAX, JOB_ERROR_BYTES_MAX, LOOK_SKIPPED_MAX, ORPHAN_DOUBT, ORPHANS_EVERY,
};
use crate::queue::{JobQueue, integer, maybe_integer, text};
use crate::sql::{JobEngine, Sql};
use crate::statements;
use crate::worker_name::WorkerName;

/// A job that this process has claimed.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// Its number.
    pub id: i64,
    /// The name of its kind.
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// How often it was begun, this time included. A worker that has an older number may change nothing of the job.
    pub attempt: i64,
    /// How often that ended badly.
    pub failures: i64,
    /// How often it is begun again after a failure.
    pub retries: i64,
    /// The trace of what has pushed it.
    pub(crate) trace: Option<String>,
}

impl fmt::Debug for ClaimedJob {
    /// Arguments do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaimedJob")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("attempt", &self.attempt)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

impl ClaimedJob {
    pub(crate) fn claim(&self) -> JobClaim {
        JobClaim {
            id: self.id,
            attempt: self.attempt,
        }
    }
}

/// Kinds whose jobs are claimed together, and how many at most.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub names: Vec<String>,
    pub room: usize,
}

/// What a worker got.
#[derive(Debug, Default)]
pub(crate) struct ClaimAnswer {
    pub jobs: Vec<ClaimedJob>,
    /// Whether there may be more now.
    pub has_more: bool,
    /// When the next is due, unless more are pushed.
    pub next: Option<Duration>,
}

/// What there is to do.
#[derive(Clone, Copy, Debug, Default)]
struct LookAnswer {
    /// Whether jobs may be claimed.
    is_ready: bool,
    /// Whether something was due that is done now: what is due behind it was not seen.
    was_due: bool,
    /// When the next is due.
    next: Option<Duration>,
}

/// Asks for the jobs of one worker.
#[derive(Debug)]
pub(crate) struct Claimer {
    pub queue: JobQueue,
    /// What tells its claims from those of other workers.
    pub name: Rc<WorkerName>,
    pub lease: Duration,
    pub kinds: Vec<JobKind>,
    looked: Cell<Option<Instant>>,
    /// Whether the last claim got as many as there was room for.
    was_full: Cell<bool>,
    watched: Cell<Option<Instant>>,
    /// Jobs that seem to be left by their processes, since when.
    suspects: RefCell<HashMap<JobClaim, Instant>>,
}

impl Claimer {
    pub fn new(queue: JobQueue, lease: Duration, kinds: Vec<JobKind>) -> Claimer {
        Claimer {
            queue,
            name: Rc::new(WorkerName::new()),
            lease,
            kinds,
            looked: Cell::new(None),
            was_full: Cell::new(false),
            watched: Cell::new(None),
            suspects: RefCell::default(),
        }
    }

    /// Claims jobs, and makes those ready before whose time has come or whose process died.
    /// `room` is how many may be claimed in all.
    pub async fn claim(&self, wanted: &[Wanted], mut room: usize) -> Result<ClaimAnswer> {
        // Where there was more than room, there is more.
        let skips = self.was_full.get() && is_within(&self.looked, LOOK_SKIPPED_MAX);
        let look = match skips {
            true => LookAnswer {
                is_ready: true,
                was_due: true,
                next: None,
            },
            false => self.look().await?,
        };
        let mut claimed = ClaimAnswer::default();
        let mut is_full = false;
        if look.is_ready {
            for wanted in wanted {
                let count = wanted.room.min(room).min(JOB_CLAIMS_MAX);
                if count == 0 {
                    continue;
                }
                let jobs = self.claim_of(wanted, count).await?;
                room -= jobs.len();
                is_full |= jobs.len() == count;
                claimed.jobs.extend(jobs);
            }
        }
        self.was_full.set(is_full);
        claimed.has_more = is_full || look.was_due;
        claimed.next = look.next;
        Ok(claimed)
    }

    async fn look(&self) -> Result<LookAnswer> {
        let engine = self.queue.engine();
        let names = self.kinds.iter().map(|kind| &*kind.name);
        let rows = self.queue.ask(statements::look(engine, names)).await?;
        self.looked.set(Some(Instant::now()));
        let place = |index| rows.first().and_then(|row| maybe_integer(row, index));
        let (scheduled, claims) = (place(0), place(1));
        let mut look = LookAnswer {
            is_ready: place(2).is_some(),
            ..LookAnswer::default()
        };
        if scheduled.is_some_and(|wait| wait <= 0) {
            self.queue.change(statements::promote(engine)).await?;
            look.is_ready = true;
            look.was_due = true;
        }
        if claims.is_some_and(|wait| wait <= 0) {
            look.is_ready |= self.expire().await?;
            look.was_due = true;
        }
        let watches = engine == JobEngine::Postgres && claims.is_some();
        if watches && !is_within(&self.watched, ORPHANS_EVERY) {
            look.is_ready |= self.abandon().await?;
        }
        let waits = [scheduled, claims].into_iter().flatten();
        let next = waits.min().and_then(|wait| u64::try_from(wait).ok());
        let next = next.map(Duration::from_millis);
        look.next = match watches {
            true => Some(next.map_or(ORPHANS_EVERY, |next| next.min(ORPHANS_EVERY))),
            false => next,
        };
        Ok(look)
    }

    async fn claim_of(&self, wanted: &Wanted, count: usize) -> Result<Vec<ClaimedJob>> {
        let engine = self.queue.engine();
        let names = wanted.names.iter().map(|name| &**name);
        if engine == JobEngine::Firebird {
            return self
                .claim_each(statements::candidates(engine, names, count))
                .await;
        }
        let worker = self.name.now();
        let claim = statements::claim(engine, names, count, millis(self.lease), &worker);
        let rows = self.queue.ask(claim).await?;
        let mut claimed: Vec<_> = rows.iter().filter_map(claimed_job).collect();
        claimed.sort_by_key(|(sort_order, job)| (*sort_order, job.id));
        Ok(claimed.into_iter().map(|(_, job)| job).collect())
    }

    /// One by one, as Firebird does it.
    async fn claim_each(&self, candidates: Sql) -> Result<Vec<ClaimedJob>> {
        let engine = self.queue.engine();
        let rows = self.queue.ask(candidates).await?;
        let mut all = Vec::new();
        for row in rows.iter() {
            let (id, attempt) = (integer(row, 0), integer(row, 1));
            let lease = millis(self.lease);
            let worker = self.name.now();
            let one = statements::claim_one(engine, id, attempt, lease, &worker);
            match self.queue.change(one).await {
                Ok(changed) if changed.affected == 1 => {}
                Ok(_) => continue,
                // Another one was just about to claim it.
                Err(Error::Database(
                    DatabaseError::SerializationFailure { .. } | DatabaseError::Deadlock { .. },
                )) => continue,
                Err(error) => return Err(error),
            }
            let claim = JobClaim {
                id,
                attempt: attempt + 1,
            };
            let claimed = self.queue.ask(statements::claimed(engine, claim)).await?;
            all.extend(claimed.first().and_then(claimed_job).map(|(_, job)| job));
        }
        Ok(all)
    }

    /// Counts a failure of jobs whose claims have run out, and says whether there were any.
    async fn expire(&self) -> Result<bool> {
        let engine = self.queue.engine();
        let rows = self
            .queue
            .ask(statements::expired(engine, EXPIRED_MAX))
            .await?;
        for row in rows.iter() {
            let claim = JobClaim {
                id: integer(row, 0),
                attempt: integer(row, 1),
            };
            let is_last = integer(row, 2) >= integer(row, 3);
            // Its time has been over for a while: it is due at once.
            let again = (!is_last).then_some(0);
            let error = "its process ended or stood still";
            let expired = self
                .queue
                .change(statements::expire(engine, claim, again, error))
                .await?;
            if expired.affected == 1 {
                warn_of_left(claim, is_last);
            }
        }
        if !rows.is_empty() {
            self.queue.change(statements::promote(engine)).await?;
        }
        Ok(!rows.is_empty())
    }

    /// The same for jobs whose process has died, as PostgreSQL knows at once, before their claims have run out.
    async fn abandon(&self) -> Result<bool> {
        let orphans = statements::orphans(&self.name.pattern(), EXPIRED_MAX);
        let rows = self.queue.ask(orphans).await?;
        let now = Instant::now();
        self.watched.set(Some(now));
        let before = self.suspects.take();
        let mut is_any = false;
        for row in rows.iter() {
            let claim = JobClaim {
                id: integer(row, 0),
                attempt: integer(row, 1),
            };
            let Some(since) = before.get(&claim).copied() else {
                self.suspects.borrow_mut().insert(claim, now);
                continue;
            };
            if now.duration_since(since) < ORPHAN_DOUBT {
                self.suspects.borrow_mut().insert(claim, since);
                continue;
            }
            let is_last = integer(row, 2) >= integer(row, 3);
            let again = (!is_last).then_some(0);
            let worker = text(row, 4).unwrap_or_default();
            let abandon = statements::abandon(claim, again, "its process ended", &worker);
            if self.queue.change(abandon).await?.affected == 1 {
                warn_of_left(claim, is_last);
                is_any = true;
            }
        }
        if is_any {
            let promote = statements::promote(JobEngine::Postgres);
            self.queue.change(promote).await?;
        }
        Ok(is_any)
    }

    /// Renews all claims. Answers those that are held, where they are not as many as those that run.
    pub async fn renew(&self, running: usize) -> Result<Option<Vec<JobClaim>>> {
        let engine = self.queue.engine();
        let renewed = self
            .queue
            .change(statements::renew(
                engine,
                millis(self.lease),
                &self.name.now(),
                &self.name.pattern(),
            ))
            .await?;
        if usize::try_from(renewed.affected).is_ok_and(|renewed| renewed >= running) {
            return Ok(None);
        }
        let rows = self
            .queue
            .ask(statements::claimed_by(engine, &self.name.pattern()))
            .await?;
        let claim = |row| JobClaim {
            id: integer(row, 0),
            attempt: integer(row, 1),
        };
        Ok(Some(rows.iter().map(claim).collect()))
    }

    /// Says how a job has ended, and whether it was still this process's; nothing where that is not written yet, which is in the log.
    pub async fn record(
        &self,
        job: &ClaimedJob,
        outcome: &Result<(), String>,
    ) -> Result<Option<bool>> {
        let engine = self.queue.engine();
        let Err(error) = outcome else {
            let table = &self.queue.table;
            let end = JobEnd {
                claim: job.claim(),
                is_keyed: table.is_keyed(job.id) || job.attempt > 1,
            };
            let recorded = match engine {
                JobEngine::Postgres => {
                    let write = async |ends| self.all_done(ends).await;
                    table.ends.ask(end, write).await
                }
                _ => Some(self.done(end).await?),
            };
            if recorded.is_some() {
                table.forget_keyed(job.id);
            }
            return Ok(recorded);
        };
        let again = (job.failures < job.retries).then(|| back_off(job.failures + 1));
        let failed = statements::failed(engine, job.claim(), again, shortened(error));
        let failed = self.queue.change(failed).await?.affected == 1;
        if failed {
            let rest = match again {
                Some(wait) => format!("again in {} s", wait.div_euclid(1_000)),
                None => "it is dead".to_owned(),
            };
            tracing::warn!("the job {} {} failed; {rest}: {error}", job.name, job.id);
        }
        Ok(Some(failed))
    }

    /// A job that has ended well, and the keys of its own effects.
    async fn done(&self, end: JobEnd) -> Result<bool> {
        let engine = self.queue.engine();
        let done = statements::done(engine, end.claim);
        match end.is_keyed {
            true => {
                let keys = statements::forget_keys(engine, end.claim.id);
                self.queue.change_if(done, keys).await
            }
            false => Ok(self.queue.change(done).await?.affected == 1),
        }
    }

    /// The same for all that end together: one statement and one commit.
    async fn all_done(&self, ends: Vec<JobEnd>) -> Vec<Option<bool>> {
        match self.queue.ask(statements::all_done(&ends)).await {
            Ok(rows) => {
                let done: HashSet<i64> = rows.iter().map(|row| integer(row, 0)).collect();
                let is_done = |end: &JobEnd| Some(done.contains(&end.claim.id));
                ends.iter().map(is_done).collect()
            }
            Err(error) => {
                tracing::warn!(
                    "the ends of {} jobs are not written yet: {error}",
                    ends.len()
                );
                vec![None; ends.len()]
            }
        }
    }

    /// Gives a job back that has not ended.
    pub async fn give_back(&self, claim: JobClaim) -> Result<bool> {
        let given = statements::give_back(self.queue.engine(), claim);
        Ok(self.queue.change(given).await?.affected == 1)
    }
}

fn warn_of_left(claim: JobClaim, is_last: bool) {
    let rest = if is_last { "; it is dead" } else { "" };
    tracing::warn!("the job {} was left by its process{rest}", claim.id);
}

/// Whether something was done so short a time ago.
fn is_within(done: &Cell<Option<Instant>>, time: Duration) -> bool {
    done.get().is_some_and(|done| done.elapsed() < time)
}

fn claimed_job(row: tsumugi_db::Row<'_>) -> Option<(i64, ClaimedJob)> {
    let job = ClaimedJob {
        id: integer(row, 0),
        name: text(row, 1)?,
        arguments: text(row, 2)?,
        attempt: integer(row, 3),
        failures: integer(row, 4),
        retries: integer(row, 5),
        trace: text(row, 7),
    };
    Some((integer(row, 6), job))
}

/// The beginning of a text, at a boundary of characters.
fn shortened(text: &str) -> &str {
    let mut end = text.len().min(JOB_ERROR_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::{JOB_ERROR_BYTES_MAX, shortened};

    #[test]
    fn text_of_a_failure_past_its_limit_loses_its_end() {
        let text = "x".repeat(JOB_ERROR_BYTES_MAX + 1);
        assert_eq!(shortened(&text).len(), JOB_ERROR_BYTES_MAX);
        let text = "x".to_owned() + &"紡".repeat(JOB_ERROR_BYTES_MAX);
        assert_eq!(shortened(&text).len() % 3, 1);
        assert_eq!(shortened("short"), "short");
    }
}
