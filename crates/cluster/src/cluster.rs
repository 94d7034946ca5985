//! What an application has of the processes beside it: locks, timers and channels of one engine. Knows no SQL.
//! Rule: without a database it is one process, and its workers are the many.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::{Instant, sleep};
use tsumugi_db::{Database, Family};
use tsumugi_trace::{SpanKind, in_wait, span};

use crate::attempt::{LeaseAttempt, TakeOutcome};
use crate::channel::MessageChannel;
use crate::checks::check_name;
use crate::engine::{ClusterEngine, ReleaseKind, TakeRequest};
use crate::error::{Error, Result};
use crate::lease::Lease;
use crate::limits::{LEASE_TTL_MAX, LEASE_TTL_MIN, LOCK_POLL_MAX, LOCK_POLL_MIN};
use crate::postgres::PostgresEngine;
use crate::process::ProcessEngine;
use crate::sqlite::SqliteEngine;
use crate::timer::ClusterTimer;

/// The processes that share an engine. Cheap to clone; belongs to its thread.
#[derive(Clone, Debug)]
pub struct Cluster {
    engine: Rc<dyn ClusterEngine>,
}

/// How long a lock is waited for that another one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// For as long as the future lives.
    Forever,
    /// For so long at most; nothing is one attempt.
    UpTo(Duration),
}

impl Cluster {
    /// The workers of this process.
    #[must_use]
    pub fn of_process() -> Cluster {
        Cluster::with_engine(Rc::new(ProcessEngine))
    }

    /// The processes that use this database: those of all machines for PostgreSQL, those of this machine for a SQLite file. SQLite carries no
    /// messages: channels reach the workers of this process.
    ///
    /// Leases are in the table `tsumugi_leases`, which the first use makes unless it is there.
    ///
    /// # Errors
    /// [`Error::Unsupported`] of Firebird.
    pub fn over(database: &Database) -> Result<Cluster> {
        let database = database.clone();
        match database.dialect().family {
            Family::Postgres => Ok(Cluster::with_engine(PostgresEngine::new(database))),
            Family::Sqlite => Ok(Cluster::with_engine(Rc::new(SqliteEngine::new(database)))),
            Family::Firebird => Err(Error::Unsupported {
                engine: "Firebird",
                what: "locks of a cluster: use PostgreSQL, or SQLite on one machine",
            }),
        }
    }

    /// Those that share another engine.
    #[must_use]
    pub fn with_engine(engine: Rc<dyn ClusterEngine>) -> Cluster {
        Cluster { engine }
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Rc<dyn ClusterEngine> {
        &self.engine
    }

    /// Takes a lock that no other process has, for so long from now on and for longer while it is renewed.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when another one has it for longer than the caller waits; [`Error::Usage`] and [`Error::TooLarge`] of a name or a
    /// time that is none; [`Error::Unsupported`] by an engine that only carries messages; [`Error::Unanswered`] and the engine's own errors, after which it may be held for `ttl`.
    pub fn acquire<'a>(
        &'a self,
        name: &'a str,
        ttl: Duration,
        wait: LockWait,
    ) -> LocalBoxFuture<'a, Result<Lease>> {
        async move {
            check_name("the name of a lock", name)?;
            self.engine.check_leases()?;
            if !(LEASE_TTL_MIN..=LEASE_TTL_MAX).contains(&ttl) {
                return Err(Error::Usage(format!(
                    "a lock takes a ttl from {} to {} seconds, not {}",
                    LEASE_TTL_MIN.as_secs_f64(),
                    LEASE_TTL_MAX.as_secs(),
                    ttl.as_secs_f64()
                )));
            }
            let request = TakeRequest {
                name: name.to_owned(),
                holder: String::new(),
                ttl,
                period: None,
            };
            let taken = self.take(name, request, wait);
            let begin = || span(SpanKind::Lock, &format!("lock {}", shown_name(name)));
            in_wait(begin, taken).await
        }
        .boxed_local()
    }

    async fn take(&self, name: &str, request: TakeRequest, wait: LockWait) -> Result<Lease> {
        let mut attempt = LeaseAttempt::new(&self.engine, name, request);
        let begun = Instant::now();
        let mut pause = LOCK_POLL_MIN;
        loop {
            let free_in = match attempt.take().await? {
                TakeOutcome::Held(lease) => return Ok(lease),
                TakeOutcome::Busy(wait) => wait,
            };
            // A caller that does not wait has not waited for the question either.
            let (waited, left) = match wait {
                LockWait::Forever => (begun.elapsed(), Duration::MAX),
                LockWait::UpTo(Duration::ZERO) => (Duration::ZERO, Duration::ZERO),
                LockWait::UpTo(most) => (begun.elapsed(), most.saturating_sub(begun.elapsed())),
            };
            if left.is_zero() {
                let name = name.to_owned();
                return Err(Error::Unavailable { name, waited });
            }
            // It may be given back before its time is over.
            sleep(pause.min(free_in.max(LOCK_POLL_MIN)).min(left)).await;
            pause = (pause * 2).min(LOCK_POLL_MAX);
        }
    }

    /// Runs this while no other process runs what it has under the same name, and gives it the fencing token. When the lock is lost, what runs is
    /// dropped where it waits, before another one can get the lock.
    ///
    /// # Errors
    /// As [`Cluster::acquire`]; [`Error::Lost`].
    pub async fn lock<T>(
        &self,
        name: &str,
        ttl: Duration,
        wait: LockWait,
        work: impl AsyncFnOnce(i64) -> T,
    ) -> Result<T> {
        let lease = self.acquire(name, ttl, wait).await?;
        let value = lease.hold(work(lease.token())).await;
        lease.release(ReleaseKind::Keep).await;
        value
    }

    /// Whether locks and timers can be had: an engine that only carries messages refuses them.
    ///
    /// # Errors
    /// [`Error::Unsupported`], which says what to use.
    pub fn check_leases(&self) -> Result<()> {
        self.engine.check_leases()
    }

    /// A timer that ticks on one of all processes.
    ///
    /// # Errors
    /// As [`ClusterTimer::check`] and [`Cluster::check_leases`].
    pub fn timer(&self, name: &str, period: Duration) -> Result<ClusterTimer> {
        ClusterTimer::new(&self.engine, name, period)
    }

    /// A channel that reaches all processes.
    ///
    /// # Errors
    /// [`Error::Usage`] and [`Error::TooLarge`] of a name that is none.
    pub fn channel(&self, name: &str) -> Result<MessageChannel> {
        MessageChannel::new(&self.engine, name)
    }
}

/// What traces show of a lock's name: the part that says what it is about, as what is behind may name a person or a thing.
fn shown_name(name: &str) -> String {
    match name.find([' ', ':', '/', '.', '|']) {
        Some(end) => format!("{}…", name.get(..=end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

impl Default for Cluster {
    fn default() -> Cluster {
        Cluster::of_process()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_lock_is_shown_without_what_it_is_of() {
        for (name, shown) in [
            ("report", "report"),
            ("invoice:7", "invoice:…"),
            ("report 7", "report …"),
            ("mail/a@example.org", "mail/…"),
            ("紡:1", "紡:…"),
        ] {
            assert_eq!(shown_name(name), shown);
        }
    }
}
