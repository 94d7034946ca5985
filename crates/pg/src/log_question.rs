//! How a place in the write-ahead log is learnt: on a primary behind what was committed, on a standby around what is read. Decides nothing about what it
//! is for. Rule: a question goes into the write of the statement that it is about, under a Sync of its own where its error must not be the statement's, so
//! that it takes no round trip.
//!
//! What a standby shows lies between what it had replayed in front of a read and behind it. It makes a commit visible a moment before it counts its record as
//! replayed; within that moment the later bound may be short by one record.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::backend::{Message, TransactionStatus};
use tsumugi_pg_proto::connection::Shape;

use crate::connection::{Answer, Connection, FlushMode};
use crate::error::{Error, Result};
use crate::log_position::LogPosition;
use crate::pipeline::{Atomicity, Statement};
use crate::query::Parameters;
use crate::rows::{Row, Rows};
use crate::statement_text::may_write;
use crate::xact::{lsn, texts};
use crate::xact_id::execute;

/// What a primary shares with its standbys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryIdentity {
    /// What a cluster and all of its physical copies share.
    pub system: u64,
    /// The database of the connection, as the server calls it: a pooler may have another name for it.
    pub database: String,
}

/// What a standby says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandbyState {
    /// See [`PrimaryIdentity::system`].
    pub system: u64,
    /// See [`PrimaryIdentity::database`].
    pub database: String,
    /// How far it has replayed the log, on a timeline that it has certainly followed: it may have gone on to a later one. None where it is no standby.
    pub replayed: Option<LogPosition>,
}

/// Whether a standby is asked in front of a read as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayQuestion {
    /// In front of it and behind it.
    Around,
    /// Behind it.
    Behind,
}

/// What came of a read on a standby.
#[derive(Debug)]
pub struct StandbyRead {
    /// How far it had replayed the log in front of the read, where that was asked and it is a standby.
    pub before: Option<u64>,
    /// How far behind it; none where the read failed, or where it is no standby.
    pub after: Option<u64>,
    /// The rows, or why there are none.
    pub rows: Result<Rows>,
}

/// Where the log of a primary ends, with its timeline. What is committed lies in front of it.
const WRITTEN: &str = "SELECT pg_catalog.pg_current_wal_insert_lsn()::pg_catalog.text, \
     pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), 1, 8)";

/// Which cluster a primary belongs to, and in which of its databases this is.
const IDENTITY: &str = "SELECT c.system_identifier, pg_catalog.current_database() FROM pg_catalog.pg_control_system() c";

/// How far a standby has replayed the log; NULL on any other server.
const REPLAYED: &str = "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()::pg_catalog.text END";

/// The same with its cluster, and the timeline that it was on when it last wrote its state to disk, or that it receives: the second is shown to roles that may
/// read statistics. It receives no timeline but one that goes on from what it has replayed.
const STANDBY: &str = "SELECT c.system_identifier, pg_catalog.current_database(), \
     CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() END, \
     GREATEST((SELECT k.timeline_id FROM pg_catalog.pg_control_checkpoint() k), \
     (SELECT pg_catalog.max(r.received_tli) FROM pg_catalog.pg_stat_wal_receiver r)) \
     FROM pg_catalog.pg_control_system() c";

/// Lets the transaction that it is a part of write nothing.
const READ_ONLY: &str = "SELECT pg_catalog.set_config('transaction_read_only', 'on', true)";

impl Connection {
    /// Where the log of this server ended behind what was committed here last, if [`Behaviour::follows_log`](crate::connection::Behaviour::follows_log) is set;
    /// none where it did not say.
    pub fn log_position(&self) -> Option<LogPosition> {
        self.0.driver.log_position.get()
    }

    /// Asks a primary where its log ends, which takes a round trip.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn learn_log_position(&self) -> LocalBoxFuture<'_, Result<Option<LogPosition>>> {
        async move {
            self.room().await;
            let answer = self.write_log_question()?;
            self.note_log_position(answer).await;
            Ok(self.log_position())
        }
        .boxed_local()
    }

    /// Asks a primary which cluster it belongs to, and in which database this connection is; none where it does not say so.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn primary_identity(&self) -> LocalBoxFuture<'_, Result<Option<PrimaryIdentity>>> {
        async move {
            let results = self.script_rows(IDENTITY).await?;
            let row = results.first().map(Rows::first).transpose()?.flatten();
            Ok(row.and_then(|row| identity(&row)))
        }
        .boxed_local()
    }

    /// Asks a server whether it is a standby, and how far it has come; none where it does not say so.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn standby_state(&self) -> LocalBoxFuture<'_, Result<Option<StandbyState>>> {
        async move {
            let results = self.script_rows(STANDBY).await?;
            let row = results.first().map(Rows::first).transpose()?.flatten();
            Ok(row.and_then(|row| state(&row)))
        }
        .boxed_local()
    }

    /// Asks a standby how far it has replayed the log; none where it is no standby.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn replayed(&self) -> LocalBoxFuture<'_, Result<Option<u64>>> {
        async move { Ok(replayed(&self.query(REPLAYED, &()).await?)) }.boxed_local()
    }

    /// Runs a statement that only reads on a standby, and learns in the same write how far that had replayed the log.
    ///
    /// # Errors
    /// As [`Connection::query`], where nothing is known: the connection is lost, or the question failed. What is wrong with the statement stands in
    /// [`StandbyRead::rows`].
    pub fn read_on_standby<'a>(
        &'a self,
        sql: &'a str,
        values: &'a dyn Parameters,
        asks: ReplayQuestion,
    ) -> LocalBoxFuture<'a, Result<StandbyRead>> {
        async move {
            let statements = [Statement { sql, values }, question(REPLAYED)];
            let (before, outcomes) = match asks {
                ReplayQuestion::Around => {
                    let (before, outcomes) = self.pipeline_behind(REPLAYED, &statements).await?;
                    (replayed(&before), outcomes)
                }
                ReplayQuestion::Behind => {
                    (None, self.run_pipeline(&statements, Atomicity::All).await?)
                }
            };
            let mut outcomes = outcomes.into_iter();
            let rows = outcomes.next().unwrap_or(Err(Error::RolledBack));
            let after = outcomes.next().and_then(Result::ok);
            Ok(StandbyRead {
                before,
                after: after.as_ref().and_then(replayed),
                rows,
            })
        }
        .boxed_local()
    }

    /// Runs a statement in a transaction of its own that may write nothing. Where [`Behaviour::follows_log`](crate::connection::Behaviour::follows_log) is set,
    /// [`Connection::log_position`] is behind all that it has seen.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn read_only<'a>(
        &'a self,
        sql: &'a str,
        values: &'a dyn Parameters,
    ) -> LocalBoxFuture<'a, Result<Rows>> {
        async move {
            let statements = [question(READ_ONLY), Statement { sql, values }];
            let outcomes = if self.0.driver.behaviour.follows_log {
                let mut statements = statements.to_vec();
                statements.push(question(WRITTEN));
                let mut outcomes = self.run_pipeline(&statements, Atomicity::All).await?;
                let written = outcomes.pop().and_then(Result::ok);
                let position = written.as_ref().and_then(position);
                self.0.driver.log_position.set(position);
                outcomes
            } else {
                self.run_pipeline(&statements, Atomicity::All).await?
            };
            let mut outcomes = outcomes.into_iter();
            match (outcomes.next(), outcomes.next()) {
                (Some(Err(error)), Some(Err(Error::RolledBack)) | None) => Err(error),
                (_, Some(outcome)) => outcome,
                (_, None) => Err(Error::RolledBack),
            }
        }
        .boxed_local()
    }

    /// Writes the question behind a statement that stands alone, where that may have written something.
    pub(crate) fn ask_log_position(&self, sql: &str) -> Option<Answer> {
        let follows = self.0.driver.behaviour.follows_log;
        if !follows || self.status() != TransactionStatus::Idle || !may_write(sql) {
            return None;
        }
        self.ask_log_position_behind()
    }

    /// The same behind a COMMIT.
    pub(crate) fn ask_log_position_of_commit(&self) -> Option<Answer> {
        if !self.0.driver.behaviour.follows_log || !self.may_have_written() {
            return None;
        }
        self.ask_log_position_behind()
    }

    /// What was written just now shall not be thought unsent where this cannot be written.
    fn ask_log_position_behind(&self) -> Option<Answer> {
        let asked = self.write_log_question();
        if asked.is_err() {
            self.0.driver.log_position.set(None);
        }
        asked.ok()
    }

    fn write_log_question(&self) -> Result<Answer> {
        self.ask(1, FlushMode::WithOthers, |mut request, ticket| {
            request.parse("", WRITTEN, &[])?;
            execute(&mut request, "")?;
            Ok(request.sync(ticket, Shape::Whole)?)
        })
    }

    /// What the server answered to that. Where it did not, nothing counts that it said before.
    pub(crate) fn note_log_position(&self, answer: Answer) -> LocalBoxFuture<'_, ()> {
        async move {
            let position = match answer.await {
                Ok(reply) if reply.error.is_none() => {
                    reply.messages().find_map(|message| match message {
                        Ok(Message::DataRow(row)) => LogPosition::read(row),
                        _ => None,
                    })
                }
                _ => None,
            };
            let known = self.log_position();
            let position =
                position.map(|position| known.map_or(position, |known| known.max(position)));
            self.0.driver.log_position.set(position);
        }
        .boxed_local()
    }
}

fn question(sql: &'static str) -> Statement<'static> {
    Statement { sql, values: &() }
}

/// The answer to [`WRITTEN`] among other statements.
fn position(rows: &Rows) -> Option<LogPosition> {
    LogPosition::read(rows.first().ok()??.raw())
}

/// The answer to [`REPLAYED`].
fn replayed(rows: &Rows) -> Option<u64> {
    let row = rows.first().ok()??;
    lsn(texts(row.raw()).next()??)
}

/// The answer to [`IDENTITY`].
fn identity(row: &Row<'_>) -> Option<PrimaryIdentity> {
    let mut fields = texts(row.raw());
    Some(PrimaryIdentity {
        system: fields.next()??.parse().ok()?,
        database: fields.next()??.to_owned(),
    })
}

/// The answer to [`STANDBY`].
fn state(row: &Row<'_>) -> Option<StandbyState> {
    let mut fields = texts(row.raw());
    let system = fields.next()??.parse().ok()?;
    let database = fields.next()??.to_owned();
    let replayed = fields.next()?;
    let timeline = fields.next()??.parse().ok()?;
    let at = |lsn| LogPosition { timeline, lsn };
    Some(StandbyState {
        system,
        database,
        replayed: replayed.and_then(lsn).map(at),
    })
}
