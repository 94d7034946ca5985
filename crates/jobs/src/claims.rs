//! How a worker asks for jobs and says what has become of them: statements in their order, no waiting and no jobs that run.
//! Rule: nothing is written where a look says that there is nothing to do, so that a worker without work takes no write lock of SQLite.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;
use tsumugi_db::Family;

use crate::backoff::back_off;
use crate::error::Result;
use crate::job_claim::{JobClaim, JobEnd};
use crate::kind::{JobKind, millis};
use crate::limits::{
    CLOCK_STEP_MAX, EXPIRED_MAX, FAILURE_PAUSE_MIN, JOB_CLAIMS_MAX, JOB_ERROR_BYTES_MAX,
    JOB_LOSSES_MAX, JOBS_RUNNING_MAX, LOOK_SKIPPED_MAX, ORPHAN_DOUBT, ORPHANS_EVERY,
};
use crate::queue::{JobQueue, integer, maybe_integer, text};
use crate::running::is_running_here;
use crate::sql::Sql;
use crate::statements::{self, AfterLoss};
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
    /// When the database was asked for it: the claim holds for its time from then on at least.
    pub(crate) asked_at: Instant,
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
    /// The queue with a limit of its own that they are of; nothing for all others.
    pub queue: Option<String>,
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
#[derive(Clone, Debug, Default)]
struct LookAnswer {
    /// Of what is wanted, whether jobs may be claimed.
    ready: Vec<bool>,
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
    /// When the last look was asked for, and the time of claims then, in milliseconds since 1970.
    clock: Cell<Option<(Instant, i64)>>,
    /// Until when claims may only seem to have run out, because the clock was set.
    doubts: Cell<Option<Instant>>,
    /// In which order queues were served: the last one last.
    served: RefCell<HashMap<Option<String>, u64>>,
    turn: Cell<u64>,
    /// When a job that has failed here is due again, the next of them.
    retry_at: Cell<Option<Instant>>,
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
            clock: Cell::new(None),
            doubts: Cell::new(None),
            served: RefCell::default(),
            turn: Cell::new(0),
            retry_at: Cell::new(None),
        }
    }

    /// When a job that has failed here is due again, unless that was asked for since.
    pub fn retry_at(&self) -> Option<Instant> {
        self.retry_at.get()
    }

    /// Claims jobs, and makes those ready before whose time has come or whose process died.
    /// `room` is how many may be claimed in all.
    pub async fn claim(&self, wanted: &[Wanted], mut room: usize) -> Result<ClaimAnswer> {
        if wanted.is_empty() {
            return Ok(ClaimAnswer::default());
        }
        if self.retry_at.get().is_some_and(|at| at <= Instant::now()) {
            self.retry_at.set(None);
        }
        // Where there was more than room, there is more.
        let was_full = self.was_full.get() && is_within(&self.looked, LOOK_SKIPPED_MAX);
        let look = match was_full && wanted.len() == 1 {
            true => LookAnswer {
                ready: vec![true],
                was_due: true,
                next: None,
            },
            false => self.look(wanted).await?,
        };
        let mut claimed = ClaimAnswer::default();
        let mut is_full = false;
        for wanted in self.in_turn(wanted, &look.ready) {
            let count = wanted.room.min(room).min(JOB_CLAIMS_MAX);
            if count == 0 {
                continue;
            }
            let before = claimed.jobs.len();
            let outcome = self.claim_of(wanted, count, &mut claimed.jobs).await;
            let got = claimed.jobs.len() - before;
            room = room.saturating_sub(got);
            is_full |= got == count;
            self.serve(wanted, got);
            match outcome {
                Ok(()) => {}
                // What is claimed is begun.
                Err(error) if !claimed.jobs.is_empty() => {
                    if !self.queue.is_in_the_way(&error) {
                        tracing::warn!("jobs cannot be claimed: {error}");
                    }
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.was_full.set(is_full);
        claimed.has_more = is_full || look.was_due;
        claimed.next = look.next;
        Ok(claimed)
    }

    /// What is ready, where what was served last comes last, so that no queue keeps all others waiting.
    fn in_turn<'w>(&self, wanted: &'w [Wanted], ready: &[bool]) -> Vec<&'w Wanted> {
        let served = self.served.borrow();
        let ready = wanted.iter().zip(ready).filter(|(_, is_ready)| **is_ready);
        let mut wanted: Vec<&Wanted> = ready.map(|(wanted, _)| wanted).collect();
        wanted.sort_by_key(|wanted| served.get(&wanted.queue).copied());
        wanted
    }

    fn serve(&self, wanted: &Wanted, jobs: usize) {
        if jobs > 0 {
            self.turn.set(self.turn.get() + 1);
            let mut served = self.served.borrow_mut();
            served.insert(wanted.queue.clone(), self.turn.get());
        }
    }

    /// Notes the time of claims, which is of a moment since `asked_at`. Where it was set forward since the last look, or went on while this process stood
    /// still, claims are renewed, and none is taken for run out until all processes that are there have done that.
    fn note_clock(&self, asked_at: Instant, unix_ms: i64) {
        let Some((at, before)) = self.clock.replace(Some((asked_at, unix_ms))) else {
            return;
        };
        if is_set_forward(at.elapsed(), before, unix_ms) {
            self.doubts.set(Some(Instant::now() + self.lease));
            self.name.mark_anew();
        }
    }

    async fn look(&self, wanted: &[Wanted]) -> Result<LookAnswer> {
        let family = self.queue.family();
        let groups = wanted
            .iter()
            .map(|wanted| wanted.names.iter().map(|name| &**name));
        let asked_at = Instant::now();
        let rows = self.queue.ask(statements::look(family, groups)).await?;
        self.looked.set(Some(Instant::now()));
        let place = |index| rows.first().and_then(|row| maybe_integer(row, index));
        let (mut scheduled, mut claims) = (place(0), place(1));
        self.note_clock(asked_at, place(2).unwrap_or_default());
        let mut look = LookAnswer {
            ready: (3..)
                .map(place)
                .map(|place| place.is_some())
                .take(wanted.len())
                .collect(),
            ..LookAnswer::default()
        };
        let mut has_made_ready = false;
        if scheduled.is_some_and(|wait| wait <= 0) {
            let promoted = match self.queue.change(statements::promote(family)).await {
                Err(error) if self.queue.is_in_the_way(&error) => 0,
                promoted => promoted?.affected,
            };
            has_made_ready = true;
            look.was_due = promoted > 0;
            // Another transaction has it, unless it is ready by now.
            if promoted == 0 {
                scheduled = Some(millis(FAILURE_PAUSE_MIN));
            }
        }
        if claims.is_some_and(|wait| wait <= 0) {
            let is_any = self.expire().await?;
            has_made_ready |= is_any;
            look.was_due |= is_any;
            // What is there and seems to have run out is renewed soon.
            claims = Some(millis(self.lease / 10));
        }
        let watches = family == Family::Postgres && claims.is_some();
        if watches && !is_within(&self.watched, ORPHANS_EVERY) {
            has_made_ready |= self.abandon().await?;
        }
        if has_made_ready {
            look.ready.fill(true);
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

    async fn claim_of(
        &self,
        wanted: &Wanted,
        count: usize,
        jobs: &mut Vec<ClaimedJob>,
    ) -> Result<()> {
        let family = self.queue.family();
        let names = wanted.names.iter().map(|name| &**name);
        if family == Family::Firebird {
            let candidates = statements::candidates(family, names, count);
            return self.claim_each(candidates, jobs).await;
        }
        let worker = self.name.now();
        let asked_at = Instant::now();
        let claim = statements::claim(family, names, count, millis(self.lease), &worker);
        let rows = self.queue.ask(claim).await?;
        let claimed = rows.iter().filter_map(|row| claimed_job(row, asked_at));
        let mut claimed: Vec<_> = claimed.collect();
        claimed.sort_by_key(|(sort_order, job)| (*sort_order, job.id));
        jobs.extend(claimed.into_iter().map(|(_, job)| job));
        Ok(())
    }

    /// One by one, as Firebird does it.
    async fn claim_each(&self, candidates: Sql, jobs: &mut Vec<ClaimedJob>) -> Result<()> {
        let family = self.queue.family();
        let rows = self.queue.ask(candidates).await?;
        for row in rows.iter() {
            let (id, attempt) = (integer(row, 0), integer(row, 1));
            let asked_at = Instant::now();
            let worker = self.name.now();
            let one = statements::claim_one(family, id, attempt, millis(self.lease), &worker);
            match self.queue.change(one).await {
                Ok(changed) if changed.affected == 1 => {}
                Ok(_) => continue,
                // Another one was just about to claim it.
                Err(error) if self.queue.is_in_the_way(&error) => continue,
                Err(error) => return Err(error),
            }
            let claim = JobClaim {
                id,
                attempt: attempt + 1,
            };
            let claimed = match self.queue.ask(statements::claimed(family, claim)).await {
                Ok(claimed) => claimed,
                Err(error) => {
                    // If that fails too, the claim runs out.
                    drop(self.give_back(claim).await);
                    return Err(error);
                }
            };
            let job = claimed.first().and_then(|row| claimed_job(row, asked_at));
            jobs.extend(job.map(|(_, job)| job));
        }
        Ok(())
    }

    /// Counts a loss of jobs whose claims have run out, and says whether any was counted.
    async fn expire(&self) -> Result<bool> {
        if self
            .doubts
            .get()
            .is_some_and(|until| Instant::now() < until)
        {
            return Ok(false);
        }
        let family = self.queue.family();
        // Those that run here may be among them.
        let count = EXPIRED_MAX + JOBS_RUNNING_MAX;
        let rows = self.queue.ask(statements::expired(family, count)).await?;
        let all = rows.iter().filter_map(LeftJob::of);
        let left: Vec<LeftJob> = all.take(EXPIRED_MAX).collect();
        if rows.len() > left.len() {
            self.name.mark_anew();
        }
        let mut is_any = false;
        for job in &left {
            let error = job.error("its process ended or stood still");
            let expire = statements::expire(family, job.claim, job.next(), &error);
            is_any |= self.lose(job, expire).await?;
        }
        Ok(is_any)
    }

    /// Counts a loss by this statement, and says whether it was still one. What another transaction has is left to it.
    async fn lose(&self, job: &LeftJob, lose: Sql) -> Result<bool> {
        let is_lost = match self.queue.change(lose).await {
            Err(error) if self.queue.is_in_the_way(&error) => false,
            changed => changed?.affected == 1,
        };
        if is_lost {
            job.warn();
        }
        Ok(is_lost)
    }

    /// The same for jobs whose process has died, as PostgreSQL knows at once, before their claims have run out.
    async fn abandon(&self) -> Result<bool> {
        let orphans = statements::orphans(&self.name.pattern(), EXPIRED_MAX);
        let rows = self.queue.ask(orphans).await?;
        let now = Instant::now();
        self.watched.set(Some(now));
        let before = self.suspects.take();
        let mut is_any = false;
        for job in rows.iter().filter_map(LeftJob::of) {
            let since = before.get(&job.claim).copied().unwrap_or(now);
            if now.duration_since(since) < ORPHAN_DOUBT {
                self.suspects.borrow_mut().insert(job.claim, since);
                continue;
            }
            let error = job.error("its process ended");
            let abandon = statements::abandon(job.claim, job.next(), &error, &job.worker);
            is_any |= self.lose(&job, abandon).await?;
        }
        Ok(is_any)
    }

    /// Says how a job has ended, and whether it was still this process's; nothing where that is not written yet, which is in the log.
    pub async fn record(
        &self,
        job: &ClaimedJob,
        outcome: &Result<(), String>,
    ) -> Result<Option<bool>> {
        let family = self.queue.family();
        let Err(error) = outcome else {
            let table = &self.queue.table;
            let end = JobEnd {
                claim: job.claim(),
                is_keyed: table.keyed.has(job.id) || job.attempt > 1,
            };
            let recorded = match family {
                Family::Postgres => {
                    let write = async |ends| self.all_done(ends).await;
                    table.ends.submit(end, write).await
                }
                _ => Some(self.done(end).await?),
            };
            return Ok(recorded);
        };
        let again = (job.failures < job.retries).then(|| back_off(job.failures + 1));
        let failed = self.failed(job.claim(), again, &shortened(error)).await?;
        if failed {
            if let Some(at) = again.and_then(|wait| u64::try_from(wait).ok()) {
                let at = Instant::now() + Duration::from_millis(at);
                let next = self.retry_at.get().map_or(at, |next| next.min(at));
                self.retry_at.set(Some(next));
            }
            let rest = match again {
                Some(wait) => format!("again in {} s", wait.div_euclid(1_000)),
                None => "it is dead".to_owned(),
            };
            tracing::warn!("the job {} {} failed; {rest}: {error}", job.name, job.id);
        }
        Ok(Some(failed))
    }

    /// Writes a failure. What the database cannot keep of its text is left out.
    async fn failed(&self, claim: JobClaim, again: Option<i64>, error: &str) -> Result<bool> {
        let family = self.queue.family();
        let failed = statements::failed(family, claim, again, error);
        let changed = match self.queue.change(failed).await {
            Err(_) if !error.is_ascii() => {
                let plain = |letter: char| if letter.is_ascii() { letter } else { '?' };
                let plain: String = error.chars().map(plain).collect();
                let failed = statements::failed(family, claim, again, &plain);
                self.queue.change(failed).await?
            }
            changed => changed?,
        };
        Ok(changed.affected == 1)
    }

    /// A job that has ended well, and the keys of its own effects.
    async fn done(&self, end: JobEnd) -> Result<bool> {
        let family = self.queue.family();
        let done = statements::done(family, end.claim);
        match end.is_keyed {
            true => {
                let keys = statements::forget_keys(family, end.claim.id);
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
        let given = statements::give_back(self.queue.family(), claim);
        Ok(self.queue.change(given).await?.affected == 1)
    }
}

/// A job that its process has left.
struct LeftJob {
    claim: JobClaim,
    losses: i64,
    retries: i64,
    worker: String,
}

impl LeftJob {
    /// Nothing where it runs in this process.
    fn of(row: tsumugi_db::Row<'_>) -> Option<LeftJob> {
        let job = LeftJob {
            claim: JobClaim {
                id: integer(row, 0),
                attempt: integer(row, 1),
            },
            losses: integer(row, 2),
            retries: integer(row, 3),
            worker: text(row, 4).unwrap_or_default(),
        };
        (!is_running_here(&job.worker, job.claim)).then_some(job)
    }

    fn next(&self) -> AfterLoss {
        match self.losses >= self.retries.max(i64::from(JOB_LOSSES_MAX)) {
            true => AfterLoss::Dead,
            false => AfterLoss::Again,
        }
    }

    fn error(&self, what: &str) -> String {
        match self.next() {
            AfterLoss::Dead => format!("{what}, {} times (JOB_LOSSES_MAX)", self.losses + 1),
            AfterLoss::Again => what.to_owned(),
        }
    }

    fn warn(&self) {
        let rest = match self.next() {
            AfterLoss::Dead => "; it is dead",
            AfterLoss::Again => "",
        };
        tracing::warn!("the job {} was left by its process{rest}", self.claim.id);
    }
}

/// Whether a clock went from one time to another within a time in which it cannot.
fn is_set_forward(within: Duration, from_ms: i64, to_ms: i64) -> bool {
    to_ms.saturating_sub(from_ms) > millis(within + CLOCK_STEP_MAX)
}

/// Whether something was done so short a time ago.
fn is_within(done: &Cell<Option<Instant>>, time: Duration) -> bool {
    done.get().is_some_and(|done| done.elapsed() < time)
}

fn claimed_job(row: tsumugi_db::Row<'_>, asked_at: Instant) -> Option<(i64, ClaimedJob)> {
    let job = ClaimedJob {
        id: integer(row, 0),
        name: text(row, 1)?,
        arguments: text(row, 2)?,
        attempt: integer(row, 3),
        failures: integer(row, 4),
        retries: integer(row, 5),
        trace: text(row, 7),
        asked_at,
    };
    Some((integer(row, 6), job))
}

/// The beginning of a text, at a boundary of characters, without zero bytes, which PostgreSQL does not keep.
fn shortened(text: &str) -> String {
    let text = text.replace('\0', "\u{fffd}");
    let mut end = text.len().min(JOB_ERROR_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tsumugi_db::{Database, Family, Options};

    use super::{JOB_ERROR_BYTES_MAX, is_set_forward, shortened};
    use crate::limits::JOBS_PROMOTED_MAX;
    use crate::queue::JobQueue;
    use crate::sql::Sql;
    use crate::statements;

    #[test]
    fn clock_that_goes_on_as_it_should_is_not_set_and_one_that_jumps_is() {
        let second = Duration::from_secs(1);
        assert!(!is_set_forward(second, 0, 1_000) && !is_set_forward(second, 0, 2_000));
        assert!(is_set_forward(second, 0, 2_001) && is_set_forward(second, 0, 3_600_000));
        assert!(!is_set_forward(second, 3_600_000, 0), "set back");
    }

    /// Runs it with a queue of SQLite with jobs that were due one behind the other.
    fn with_due(count: usize, test: impl AsyncFnOnce(JobQueue)) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}/app.db", folder.path().display());
            let database = Database::connect(&url, Options::default()).await.unwrap();
            let queue = JobQueue::over(&database);
            queue.prepare().await.unwrap();
            let insert = format!(
                "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
                 with recursive n (i) as (select 1 union all select i + 1 from n where i < {count}) select 'a', 'default', '{{}}', 0, 0, 0, 0, 0, i, 0 from n"
            );
            database.execute(insert, []).await.unwrap();
            test(queue).await;
        });
    }

    #[test]
    fn one_statement_makes_no_more_ready_than_its_limit_and_those_that_were_due_first() {
        with_due(JOBS_PROMOTED_MAX + 1, async |queue| {
            let mut counts = Vec::new();
            for _ in 0..3 {
                let promote = statements::promote(Family::Sqlite);
                counts.push(queue.change(promote).await.unwrap().affected);
                let waiting = "select max(due_at) from tsumugi_jobs where state = 1";
                let last = queue.ask(Sql::new(Family::Sqlite, waiting)).await.unwrap();
                let last = crate::queue::integer(last.first().unwrap(), 0);
                let first = i64::try_from(JOBS_PROMOTED_MAX).unwrap();
                assert_eq!(last, first + i64::from(counts.len() > 1));
            }
            assert_eq!(counts, [JOBS_PROMOTED_MAX as u64, 1, 0]);
        });
    }

    #[test]
    fn looks_and_claims_of_sqlite_read_the_first_that_are_ready_and_sort_none() {
        with_due(5_000, async |queue| {
            let promoted = "update tsumugi_jobs set state = 1";
            queue
                .change(Sql::new(Family::Sqlite, promoted))
                .await
                .unwrap();
            for sql in [
                statements::look(Family::Sqlite, [["a", "b"], ["c", "d"]]),
                statements::claim(Family::Sqlite, ["a", "b"], 10, 1_000, "1-test"),
            ] {
                let explain = format!("explain query plan {}", sql.text);
                let rows = queue.database().query(explain, sql.values).await.unwrap();
                let lines = rows.iter().filter_map(|row| crate::queue::text(row, 3));
                let plan = lines.collect::<Vec<_>>().join("\n");
                assert!(plan.contains("USING INDEX tsumugi_jobs_ready"), "{plan}");
                assert!(!plan.contains("TEMP B-TREE"), "{plan}");
            }
        });
    }

    #[test]
    fn text_of_a_failure_past_its_limit_loses_its_end() {
        let text = "x".repeat(JOB_ERROR_BYTES_MAX + 1);
        assert_eq!(shortened(&text).len(), JOB_ERROR_BYTES_MAX);
        let text = "x".to_owned() + &"紡".repeat(JOB_ERROR_BYTES_MAX);
        assert_eq!(shortened(&text).len() % 3, 1);
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened("a\0b"), "a\u{fffd}b");
    }
}
