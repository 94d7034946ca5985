//! The replicas of one database: which of them is read from, and how far they and the primary have come. Writes nothing, and asks no primary for a caller.
//! Rule: what a replica shows counts only where it had replayed, in front of the read, all that the reader has to have seen. Otherwise there is no answer
//! here, and the primary is asked.
//!
//! A replica is in the rotation while it is a standby of the same cluster, follows the timeline of the primary or one that goes on from it, and has replayed
//! what the primary had written `replica_lag` ago. That is looked at once a second; what is found out by a read counts at once. While no primary answers,
//! what it had written last is the measure.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture, join_all};
use tokio::time::{Instant, timeout};
use tsumugi_pg::{Error as Driver, LogPosition, ReplayQuestion, StandbyRead};

use super::backend::{Inner, Postgres, ReadReplicas};
use super::bind::Binds;
use super::link::{Link, Session};
use super::plan::Plan;
use super::write_notes::WriteNotes;
use crate::batch::BatchSize;
use crate::error::Result;
use crate::limits::{QUEUE_MAX, REPLICA_CHECK, REPLICA_RETRY_MAX, REPLICA_SILENCE_MAX};
use crate::options::{Isolation, TransactionOptions};
use crate::recency::{ReadRequirement, Recency};
use crate::rows::Rows;
use crate::server::connections::{AcquireError, Exclusive};
use crate::server::{
    Fault, Outcome, Pool, RowStream, ServerBackend as _, Streaming as _, Transaction,
    Transactional as _,
};
use crate::sql_text::SqlText;
use crate::value::Value;

/// Of what writes inside of a read.
pub(super) const ONLY_READS: &str =
    "this writes, and db.read only reads: run it outside of db.read";

/// The part of `replica_lag` that lies between two places of the primary that are remembered.
const HISTORY_STEPS: u32 = 16;

/// The replicas of a database, in one worker.
pub(crate) struct Replicas {
    members: Vec<Replica>,
    /// The one whose turn is next.
    next: Cell<usize>,
    lag: Duration,
    notes: Rc<WriteNotes>,
    /// The name of the primary's database, which is theirs too.
    database: String,
    /// Where the primary's log ended, and when: one that is older than `lag`, and those after it.
    history: RefCell<VecDeque<(Instant, LogPosition)>>,
}

/// One replica.
struct Replica {
    pool: Pool<Postgres>,
    /// Without the password.
    place: String,
    is_in_rotation: Cell<bool>,
    /// The next look at one that did not answer, and how long after the last that is.
    not_before: Cell<Option<Instant>>,
    pause: Cell<Duration>,
}

/// A connection to a replica that has all that a reader has to have seen.
struct Fresh<'r> {
    replica: &'r Replica,
    connection: Exclusive<Link>,
}

impl Replicas {
    pub(super) fn new(
        pools: Vec<(Pool<Postgres>, String)>,
        lag: Duration,
        notes: Rc<WriteNotes>,
        database: String,
    ) -> Replicas {
        let members = pools.into_iter().map(|(pool, place)| Replica {
            pool,
            place,
            is_in_rotation: Cell::new(false),
            not_before: Cell::new(None),
            pause: Cell::new(REPLICA_CHECK),
        });
        Replicas {
            members: members.collect(),
            next: Cell::new(0),
            lag,
            notes,
            database,
            history: RefCell::default(),
        }
    }

    async fn answer(
        &self,
        plan: &Rc<Plan>,
        sql: &SqlText,
        values: &[Value],
    ) -> Option<Result<Rows>> {
        let recency = self.notes.recency();
        let needed = self.needed(&recency)?;
        let replica = self.choose()?;
        let pool = replica.pool.inner();
        let connection = match pool.connections.shared().await {
            Ok(connection) => connection,
            Err(error) => return replica.refused(&error),
        };
        let known = known_place(&connection, needed).await?;
        let asks = match needed.is_some_and(|needed| !covers(known, needed)) {
            true => ReplayQuestion::Around,
            false => ReplayQuestion::Behind,
        };
        let started = pool.stats.start();
        let outcome = {
            let binds = Binds(values);
            let call = std::pin::pin!(connection.read_on_standby(&plan.sql, &binds, asks));
            let silence = pool.options.statement_timeout + REPLICA_SILENCE_MAX;
            timeout(silence, pool.bounded(call)).await
        };
        let Ok(outcome) = outcome else {
            return replica.leave("it did not answer within the time of a statement");
        };
        let outcome = match outcome {
            Ok(read) => self.judge(replica, &connection, known, needed, asks, read)?,
            // The time that the caller has is over.
            Err(Fault::Late) => Err(Fault::LateAlone),
            Err(Fault::Driver(error)) if is_of_caller(&error) => Err(Fault::Driver(error)),
            Err(fault) => return replica.failed(&fault),
        };
        let outcome = Postgres::check(&connection, plan, outcome);
        let answer = pool.finish(started, sql, values, outcome);
        Some(answer.map(|answer| answer.rows))
    }

    /// What came of a read; none where it does not count.
    fn judge(
        &self,
        replica: &Replica,
        connection: &Session,
        known: LogPosition,
        needed: Option<LogPosition>,
        asks: ReplayQuestion,
        read: StandbyRead,
    ) -> Option<Outcome<Postgres, tsumugi_pg::Rows>> {
        let at = |lsn| LogPosition { lsn, ..known };
        if asks == ReplayQuestion::Around {
            let Some(before) = read.before else {
                return replica.leave("it is no standby any more");
            };
            connection.note_replayed(at(before));
            if needed.is_some_and(|needed| !covers(at(before), needed)) {
                return self.too_old(replica, at(before));
            }
        }
        match (read.rows, read.after) {
            (Ok(rows), Some(after)) => {
                connection.note_replayed(at(after));
                self.notes.note_read(at(after));
                Some(Ok(rows))
            }
            (Ok(_), None) => replica.leave("it is no standby any more"),
            (Err(error), _) if is_of_replica(&error) => replica.failed(&Fault::Driver(error)),
            (Err(error), _) => Some(Err(read_fault(Fault::Driver(error)))),
        }
    }

    async fn begun(&self, options: TransactionOptions) -> Option<Transaction<Postgres>> {
        // A standby has no transactions of that kind.
        if options.isolation == Isolation::Serializable {
            return None;
        }
        let fresh = self.exclusive().await?;
        let pool = fresh.replica.pool.inner();
        let (open, state) = match Postgres::begin(pool, fresh.connection, one_moment(options)).await
        {
            Ok(begun) => begun,
            Err(error) => return fresh.replica.leave(&error.to_string()),
        };
        // The first question fixes what the transaction sees: how far that is, is known behind it.
        let after = pool.timed(open.replayed()).await.ok()??;
        let known = open.known_replayed()?;
        self.notes.note_read(LogPosition {
            lsn: after,
            ..known
        });
        pool.stats.count_transaction();
        Some(Transaction::new(pool, open, state))
    }

    async fn opened(
        &self,
        plan: &Rc<Plan>,
        sql: &SqlText,
        values: &[Value],
        by: BatchSize,
    ) -> Option<Result<RowStream<Postgres>>> {
        let fresh = self.exclusive().await?;
        let pool = fresh.replica.pool.inner();
        let started = pool.stats.start();
        let binds = Postgres::binds(values);
        let cursor = Postgres::cursor(pool, fresh.connection, plan, sql, binds, by).await;
        let cursor = match cursor {
            Err(Fault::Driver(error)) if is_of_replica(&error) => {
                return fresh.replica.failed(&Fault::Driver(error));
            }
            other => other.map_err(read_fault),
        };
        let (sql, values) = (sql.clone(), values.to_vec());
        Some(RowStream::new(pool, started, sql, values, cursor, None))
    }

    /// A connection alone.
    async fn exclusive(&self) -> Option<Fresh<'_>> {
        let recency = self.notes.recency();
        let needed = self.needed(&recency)?;
        let replica = self.choose()?;
        let pool = replica.pool.inner();
        let connection = match pool.connections.exclusive().await {
            Ok(connection) => connection,
            Err(error) => return replica.refused(&error),
        };
        let known = known_place(&connection, needed).await?;
        let before = match pool.timed(connection.replayed()).await {
            Ok(Some(before)) => LogPosition {
                lsn: before,
                ..known
            },
            Ok(None) => return replica.leave("it is no standby any more"),
            Err(fault) => return replica.failed(&fault),
        };
        connection.note_replayed(before);
        match needed.is_some_and(|needed| !covers(before, needed)) {
            true => self.too_old(replica, before),
            false => Some(Fresh {
                replica,
                connection,
            }),
        }
    }

    /// What a replica has to have replayed for this reader: what that has written and seen, and what is older than `replica_lag`. None where only the
    /// primary will do.
    fn needed(&self, recency: &Recency) -> Option<Option<LogPosition>> {
        let own = match recency.needed(self.notes.system()?) {
            ReadRequirement::Primary => return None,
            ReadRequirement::From(own) => own,
        };
        Some(match (own, self.floor()) {
            (Some(own), Some(floor)) => Some(LogPosition {
                timeline: own.timeline.max(floor.timeline),
                lsn: own.lsn.max(floor.lsn),
            }),
            (own, floor) => own.or(floor),
        })
    }

    /// Where the primary's log ended `replica_lag` ago; where it was first looked at, if that is less.
    fn floor(&self) -> Option<LogPosition> {
        let history = self.history.borrow();
        let mut newest_first = history.iter().rev();
        let old = newest_first.find(|(at, _)| at.elapsed() >= self.lag);
        old.or(history.front()).map(|(_, position)| *position)
    }

    fn note_primary(&self, position: LogPosition) {
        let mut history = self.history.borrow_mut();
        let step = self.lag / HISTORY_STEPS;
        let is_due = |(at, before): &(Instant, LogPosition)| {
            at.elapsed() >= step || before.timeline != position.timeline
        };
        if history.back().is_none_or(is_due) {
            history.push_back((Instant::now(), position));
        }
        // The newest of those that are old enough is the first.
        while history
            .get(1)
            .is_some_and(|(at, _)| at.elapsed() >= self.lag)
        {
            history.pop_front();
        }
    }

    /// The next one in the rotation.
    fn choose(&self) -> Option<&Replica> {
        let turn = self.next.get();
        self.next.set(turn.wrapping_add(1));
        let count = self.members.len();
        let from = turn.checked_rem(count)?;
        let mut in_turn = self.members.iter().cycle().skip(from).take(count);
        in_turn.find(|replica| replica.is_in_rotation.get())
    }

    /// A reader has to have seen more than the replica has.
    fn too_old<T>(&self, replica: &Replica, replayed: LogPosition) -> Option<T> {
        match self.floor().is_some_and(|floor| !covers(replayed, floor)) {
            true => replica.leave("it is further behind than replica_lag"),
            // It has not got yet what this one has just written.
            false => None,
        }
    }

    /// Looks how far the primary and all replicas are.
    async fn look_at_all(&self, primary: &Inner) {
        let asked = timeout(REPLICA_CHECK, async {
            let connection = primary.connections.shared().await.ok()?;
            connection.learn_log_position().await.ok()?
        });
        if let Ok(Some(position)) = asked.await {
            self.note_primary(position);
        }
        join_all(self.members.iter().map(|replica| self.look_at(replica))).await;
    }

    async fn look_at(&self, replica: &Replica) {
        if replica
            .not_before
            .get()
            .is_some_and(|at| Instant::now() < at)
        {
            return;
        }
        let asked = timeout(REPLICA_CHECK, async {
            let connections = &replica.pool.inner().connections;
            let connection = connections.shared().await.map_err(|error| reason(&error))?;
            let state = connection.look_at_replica().await;
            state.map_err(|error| error.to_string())
        });
        let silent = || Err("it did not answer in time".to_owned());
        let state = asked.await.unwrap_or_else(|_| silent());
        let found = match state {
            Err(why) => return replica.silent(&why),
            Ok(None) => Err("it does not say how far it is"),
            Ok(Some(state)) if Some(state.system) != self.notes.system() => {
                Err("it is of another cluster")
            }
            Ok(Some(state)) if state.database != self.database => {
                Err("its URL names another database")
            }
            Ok(Some(state)) => match (state.replayed, self.floor()) {
                (None, _) => Err("it is no standby"),
                (Some(at), Some(floor)) if at.timeline < floor.timeline => {
                    Err("it is not known to follow the timeline of the primary")
                }
                (Some(at), Some(floor)) if !covers(at, floor) => {
                    Err("it is further behind than replica_lag")
                }
                (Some(_), _) => Ok(()),
            },
        };
        match found {
            Ok(()) => replica.join(),
            Err(why) => {
                replica.leave::<()>(why);
            }
        }
    }
}

impl ReadReplicas for Replicas {
    fn pools(&self) -> Vec<&Pool<Postgres>> {
        self.members.iter().map(|replica| &replica.pool).collect()
    }

    fn read<'r>(
        &'r self,
        plan: &'r Rc<Plan>,
        sql: &'r SqlText,
        values: &'r [Value],
    ) -> LocalBoxFuture<'r, Option<Result<Rows>>> {
        self.answer(plan, sql, values).boxed_local()
    }

    fn begin(
        &self,
        options: TransactionOptions,
    ) -> LocalBoxFuture<'_, Option<Transaction<Postgres>>> {
        self.begun(options).boxed_local()
    }

    fn stream<'r>(
        &'r self,
        plan: &'r Rc<Plan>,
        sql: &'r SqlText,
        values: &'r [Value],
        by: BatchSize,
    ) -> LocalBoxFuture<'r, Option<Result<RowStream<Postgres>>>> {
        self.opened(plan, sql, values, by).boxed_local()
    }

    fn look<'r>(&'r self, primary: &'r Inner) -> LocalBoxFuture<'r, ()> {
        self.look_at_all(primary).boxed_local()
    }
}

impl Replica {
    /// Reads go there again.
    fn join(&self) {
        self.not_before.set(None);
        self.pause.set(REPLICA_CHECK);
        if !self.is_in_rotation.replace(true) {
            tracing::info!(target: "tsumugi_db", "reads go to the replica {}", self.place);
        }
    }

    /// No reads go there until a look finds it well. Gives no answer.
    fn leave<T>(&self, why: &str) -> Option<T> {
        if self.is_in_rotation.replace(false) {
            tracing::warn!(target: "tsumugi_db", "no reads go to the replica {}: {why}", self.place);
        }
        None
    }

    /// It did not answer a look.
    fn silent(&self, why: &str) {
        self.leave::<()>(why);
        let pause = self.pause.get();
        if pause > REPLICA_CHECK {
            // Not the first time: what waits for an answer there asks the primary.
            self.pool.inner().connections.end_all();
        }
        self.not_before.set(Some(Instant::now() + pause));
        self.pause.set(REPLICA_RETRY_MAX.min(pause * 2));
    }

    /// No connection was to be had. Where they are all busy, others may go on.
    fn refused<T>(&self, error: &AcquireError) -> Option<T> {
        match error {
            AcquireError::Timeout { reason: None, .. } | AcquireError::QueueFull => None,
            error => self.leave(&reason(error)),
        }
    }

    /// A read failed for a reason that the primary may not have.
    fn failed<T>(&self, fault: &Fault<Driver>) -> Option<T> {
        match fault {
            Fault::Driver(Driver::Server(error)) if error.code.as_str().starts_with("57P") => {
                self.leave(&format!("{fault:?}"))
            }
            Fault::Driver(Driver::Lost { .. } | Driver::Protocol(_)) => {
                self.leave(&format!("{fault:?}"))
            }
            _ => None,
        }
    }
}

/// How far a replica is known to have come, on a timeline that is late enough for the reader; none where it is not.
async fn known_place(session: &Session, needed: Option<LogPosition>) -> Option<LogPosition> {
    let known = session.known_replayed()?;
    let is_late_enough =
        |known: LogPosition| needed.is_none_or(|needed| known.timeline >= needed.timeline);
    if is_late_enough(known) {
        return Some(known);
    }
    // It may have gone on to another timeline since.
    session.look_again().await;
    session
        .known_replayed()
        .filter(|known| is_late_enough(*known))
}

/// Whether what was replayed has all in front of a place. A replica that is on a later timeline may still have to replay the end of an earlier one.
fn covers(replayed: LogPosition, needed: LogPosition) -> bool {
    replayed.timeline >= needed.timeline && replayed.lsn >= needed.lsn
}

/// The same transaction, of which all statements see the same.
pub(super) fn one_moment(options: TransactionOptions) -> TransactionOptions {
    match options.isolation {
        Isolation::Serializable => options,
        _ => TransactionOptions {
            isolation: Isolation::RepeatableRead,
            ..options
        },
    }
}

/// Whether a read fails on a replica for a reason that the primary need not have: a conflict with what is replayed, or that it ends. Nothing of the read was
/// given to its caller then.
fn is_of_replica(error: &Driver) -> bool {
    match error {
        Driver::Server(error) => {
            let code = error.code.as_str();
            matches!(code, "40001" | "40P01" | "55000")
                || code == "57014" && error.message.contains("recovery")
                || ["08", "53", "57P", "58", "XX"]
                    .iter()
                    .any(|class| code.starts_with(class))
        }
        Driver::Lost { .. } | Driver::Protocol(_) | Driver::RolledBack => true,
        _ => false,
    }
}

/// Whether a read came to nothing for a reason that is the same on every server, which none has said.
fn is_of_caller(error: &Driver) -> bool {
    !is_of_replica(error) && !matches!(error, Driver::Server(_))
}

/// What a server says of a write in a transaction that only reads is a mistake of the caller's.
pub(super) fn read_fault(fault: Fault<Driver>) -> Fault<Driver> {
    match fault {
        Fault::Driver(Driver::Server(error)) if error.code.as_str() == "25006" => {
            Fault::Usage(ONLY_READS)
        }
        fault => fault,
    }
}

fn reason(error: &AcquireError) -> String {
    match error {
        AcquireError::Timeout { reason, .. } => match reason {
            Some(reason) => reason.to_string(),
            None => "no connection to it was free in time".to_owned(),
        },
        AcquireError::Refused(reason) => reason.to_string(),
        AcquireError::QueueFull => {
            format!("too many wait for a connection to it (queue_max is {QUEUE_MAX})")
        }
        AcquireError::Closed => "it was closed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(timeline: u32, lsn: u64) -> LogPosition {
        LogPosition { timeline, lsn }
    }

    #[test]
    fn replica_covers_a_place_on_the_same_or_an_earlier_timeline() {
        assert!(covers(at(1, 10), at(1, 10)));
        assert!(covers(at(2, 10), at(1, 10)));
        assert!(!covers(at(1, 9), at(1, 10)));
        assert!(!covers(at(1, 99), at(2, 10)));
        assert!(!covers(at(2, 9), at(1, 10)));
    }

    #[tokio::test(start_paused = true)]
    async fn place_that_counts_is_the_newest_that_is_old_enough() {
        let lag = Duration::from_secs(16);
        let replicas = Replicas::new(Vec::new(), lag, Rc::default(), String::new());
        assert_eq!(replicas.floor(), None);
        for second in 0..60 {
            replicas.note_primary(at(1, second));
            let expected = second.saturating_sub(16);
            assert_eq!(replicas.floor(), Some(at(1, expected)), "{second}");
            assert!(replicas.history.borrow().len() <= 18);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        // While no primary answers, the last one counts in the end.
        tokio::time::advance(Duration::from_secs(100)).await;
        assert_eq!(replicas.floor(), Some(at(1, 59)));
    }
}
