//! What an application says of its jobs: kinds, the worker that runs them, one push. Asks no database.
//! Rule: what is outside of a limit is refused here, before anything is stored.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::error::{Error, Result, check_bytes, check_text};
use crate::limits::{
    JOB_ARGUMENTS_BYTES_MAX, JOB_DELAY_MAX, JOB_GRACE_DEFAULT, JOB_GRACE_MAX, JOB_KEY_BYTES_MAX,
    JOB_LEASE_DEFAULT, JOB_LEASE_MAX, JOB_LEASE_MIN, JOB_NAME_BYTES_MAX, JOB_POLL_MAX,
    JOB_POLL_MIN, JOB_PRIORITY_MAX, JOB_RETRIES_DEFAULT, JOB_RETRIES_MAX, JOB_TIMEOUT_DEFAULT,
    JOB_TIMEOUT_MAX, JOBS_RUNNING_DEFAULT, JOBS_RUNNING_MAX,
};

/// The queue of kinds that name none.
pub const DEFAULT_QUEUE: &str = "default";

/// A kind of jobs, as the application declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobKind {
    /// Its name.
    pub name: String,
    /// The queue that its jobs wait in.
    pub queue: String,
    /// How often a job is begun again after a failure.
    pub retries: u32,
    /// How long one attempt may take.
    pub timeout: Duration,
    /// Jobs of greater priority are begun first.
    pub priority: i32,
}

impl JobKind {
    /// A kind with everything else as it is by default.
    ///
    /// # Errors
    /// As [`JobKind::checked`].
    pub fn new(name: impl Into<String>) -> Result<JobKind> {
        let kind = JobKind {
            name: name.into(),
            queue: DEFAULT_QUEUE.to_owned(),
            retries: JOB_RETRIES_DEFAULT,
            timeout: JOB_TIMEOUT_DEFAULT,
            priority: 0,
        };
        kind.checked()
    }

    /// The kind of what a line of cron runs, by the name of the line: no other kind is named so.
    ///
    /// # Errors
    /// As [`JobKind::checked`].
    pub fn every(name: &str) -> Result<JobKind> {
        JobKind::new(format!("every {name}"))
    }

    /// The kind, if all of it is within the limits.
    ///
    /// # Errors
    /// [`Error::TooLarge`] of a long name; [`Error::Usage`].
    pub fn checked(self) -> Result<JobKind> {
        check_name("the name of a job", &self.name)?;
        check_name("the name of a queue", &self.queue)?;
        if self.retries > JOB_RETRIES_MAX {
            let given = self.retries;
            let message = format!(
                "a job takes from 0 to {JOB_RETRIES_MAX} retries (JOB_RETRIES_MAX), not {given}"
            );
            return Err(Error::Usage(message));
        }
        if self.timeout.is_zero() || self.timeout > JOB_TIMEOUT_MAX {
            let (max, given) = (JOB_TIMEOUT_MAX.as_secs(), self.timeout.as_secs_f64());
            let message = format!(
                "a job takes a timeout above 0 and up to {max} seconds (JOB_TIMEOUT_MAX), not {given}"
            );
            return Err(Error::Usage(message));
        }
        check_priority(self.priority)?;
        Ok(self)
    }
}

pub(crate) fn check_name(what: &'static str, name: &str) -> Result<()> {
    check_text(what, name, "JOB_NAME_BYTES_MAX", JOB_NAME_BYTES_MAX)?;
    // Firebird takes it for the same name without the space.
    match name.ends_with(' ') {
        true => Err(Error::Usage(format!("{what} does not end with a space"))),
        false => Ok(()),
    }
}

pub(crate) fn check_key(what: &'static str, key: &str) -> Result<()> {
    check_text(what, key, "JOB_KEY_BYTES_MAX", JOB_KEY_BYTES_MAX)
}

fn check_priority(priority: i32) -> Result<()> {
    match (-JOB_PRIORITY_MAX..=JOB_PRIORITY_MAX).contains(&priority) {
        true => Ok(()),
        false => Err(Error::Usage(format!(
            "a priority is from -{JOB_PRIORITY_MAX} to {JOB_PRIORITY_MAX} (JOB_PRIORITY_MAX), not {priority}"
        ))),
    }
}

/// One job to be pushed.
#[derive(Clone)]
pub struct JobPush {
    /// The kind.
    pub kind: JobKind,
    /// JSON text.
    pub arguments: String,
    /// When it is due, in milliseconds since 1970; at once without.
    pub at_ms: Option<i64>,
    /// How long after it is pushed it is due, by the clock of the database where that has one; not together with a time.
    pub after: Option<Duration>,
    /// While a job of this kind with this key waits or runs, nothing is pushed.
    pub unique: Option<String>,
    /// Jobs of greater priority are begun first; that of the kind without.
    pub priority: Option<i32>,
}

impl fmt::Debug for JobPush {
    /// Arguments do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobPush")
            .field("kind", &self.kind)
            .field("at_ms", &self.at_ms)
            .field("after", &self.after)
            .field("unique", &self.unique)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

impl JobPush {
    /// A job of this kind with these arguments, due at once.
    #[must_use]
    pub fn new(kind: JobKind, arguments: impl Into<String>) -> JobPush {
        JobPush {
            kind,
            arguments: arguments.into(),
            at_ms: None,
            after: None,
            unique: None,
            priority: None,
        }
    }

    /// The priority that its row gets.
    pub(crate) fn row_priority(&self) -> i32 {
        self.priority.unwrap_or(self.kind.priority)
    }

    pub(crate) fn check(&self, now_ms: i64) -> Result<()> {
        check_bytes(
            "the JSON of a job's arguments",
            self.arguments.len(),
            "JOB_ARGUMENTS_BYTES_MAX",
            JOB_ARGUMENTS_BYTES_MAX,
        )?;
        check_priority(self.row_priority())?;
        if let Some(key) = &self.unique {
            check_key("the key of a job", key)?;
        }
        if self.at_ms.is_some() && self.after.is_some() {
            let message = "a job is due at a time or after one, not both";
            return Err(Error::Usage(message.to_owned()));
        }
        let latest = now_ms.saturating_add(millis(JOB_DELAY_MAX));
        let is_late = self.after.is_some_and(|after| after > JOB_DELAY_MAX);
        if is_late || self.at_ms.is_some_and(|at| at < 0 || at > latest) {
            let message = "a job is due after 1970 and within a hundred years (JOB_DELAY_MAX)";
            return Err(Error::Usage(message.to_owned()));
        }
        Ok(())
    }
}

/// How a worker runs jobs.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Whether it runs any. A process that only pushes has no worker that does.
    pub run: bool,
    /// Jobs that run at once: from 1 to [`JOBS_RUNNING_MAX`], and [`JOBS_RUNNING_DEFAULT`] by default.
    pub running: usize,
    /// Those of queues that have a limit of their own, within the same range.
    pub queues: BTreeMap<String, usize>,
    /// For how long a job is claimed, from [`JOB_LEASE_MIN`] to [`JOB_LEASE_MAX`]; it is renewed meanwhile.
    pub lease: Duration,
    /// How long jobs may go on once the worker is to end, up to [`JOB_GRACE_MAX`]; shorter where it must end before.
    pub grace: Duration,
    /// How often the table is looked at for what other processes have pushed. Without it every five seconds where PostgreSQL notifies of that, else every second.
    /// From [`JOB_POLL_MIN`] to [`JOB_POLL_MAX`].
    pub poll: Option<Duration>,
}

impl Default for WorkerOptions {
    fn default() -> WorkerOptions {
        WorkerOptions {
            run: true,
            running: JOBS_RUNNING_DEFAULT,
            queues: BTreeMap::new(),
            lease: JOB_LEASE_DEFAULT,
            grace: JOB_GRACE_DEFAULT,
            poll: None,
        }
    }
}

impl WorkerOptions {
    /// The options, if all of them are within the limits.
    ///
    /// # Errors
    /// [`Error::Usage`], [`Error::TooLarge`] of a long name.
    pub fn checked(self) -> Result<WorkerOptions> {
        let rooms = self.queues.values().chain([&self.running]);
        if let Some(given) = rooms
            .into_iter()
            .find(|room| !(1..=JOBS_RUNNING_MAX).contains(*room))
        {
            let message = format!(
                "a worker runs from 1 to {JOBS_RUNNING_MAX} jobs at once (JOBS_RUNNING_MAX), not {given}"
            );
            return Err(Error::Usage(message));
        }
        for queue in self.queues.keys() {
            check_name("the name of a queue", queue)?;
        }
        let lease = JOB_LEASE_MIN..=JOB_LEASE_MAX;
        check_span("claimed", self.lease, lease, "JOB_LEASE_MIN, JOB_LEASE_MAX")?;
        let grace = Duration::ZERO..=JOB_GRACE_MAX;
        check_span("left to end", self.grace, grace, "JOB_GRACE_MAX")?;
        if let Some(poll) = self.poll {
            let range = JOB_POLL_MIN..=JOB_POLL_MAX;
            check_span("not looked for", poll, range, "JOB_POLL_MIN, JOB_POLL_MAX")?;
        }
        Ok(self)
    }
}

/// `what` is what jobs are for that time, `names` those of the limits.
fn check_span(
    what: &str,
    given: Duration,
    range: RangeInclusive<Duration>,
    names: &str,
) -> Result<()> {
    if range.contains(&given) {
        return Ok(());
    }
    let (min, max) = (range.start().as_secs_f64(), range.end().as_secs());
    let given = given.as_secs_f64();
    Err(Error::Usage(format!(
        "jobs are {what} for {min} to {max} seconds ({names}), not {given}"
    )))
}

/// Whole milliseconds.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
