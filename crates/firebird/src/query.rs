//! Statements on a connection: prepared once, then one write for each execution. Decodes no rows.
//! A statement outside a transaction runs in one that the connection keeps open: what only reads in one that only reads, everything else
//! in one that is committed in the same write, and a change of the schema in one of its own. Rule: which of both is decided by what the server said of the statement.

use std::rc::Rc;
use std::sync::Arc;

use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::connection::{Expect, FetchEnd};
use tsumugi_firebird_proto::describe::{Column, Kind, StatementKind};
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::info;
use tsumugi_firebird_proto::limits::TEXT_PARAMETER_BYTES_MAX;
use tsumugi_firebird_proto::parameters::{
    Access, BlobStorage, Isolation, TransactionParameters, Wait,
};
use tsumugi_firebird_proto::request::Items;
use tsumugi_firebird_proto::values::{CharacterSet, Parameters, Value};

use crate::connection::{Answer, Asked, Connection, Creates, Writer};
use crate::error::{Error, Result};
use crate::limits::{CHANGE_WAIT_S, FETCH_ROWS};
use crate::rows::Rows;
use crate::statement::Lease;

/// What is asked to know how many rows were affected, and how long the answer may be.
const AFFECTED: Items<'static> = Items {
    items: &[info::statement::RECORDS],
    bytes_max: 64,
};

/// In which transaction a statement runs, and whether it is committed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// Whoever began it ends it.
    Given(Transaction),
    /// The connection's own that reads.
    Reading(Transaction),
    /// The connection's own that writes; it is committed in the same write.
    Writing(Transaction),
}

impl Within {
    pub(crate) fn transaction(self) -> Transaction {
        match self {
            Within::Given(transaction)
            | Within::Reading(transaction)
            | Within::Writing(transaction) => transaction,
        }
    }

    /// Writes the commit, if it is due, and says whether it will be answered.
    fn write_commit(self, writer: &mut Writer<'_>) -> Result<bool> {
        let Within::Writing(transaction) = self else {
            return Ok(false);
        };
        writer.ask(Expect::Response, |requests| {
            requests.commit_retaining(transaction);
            Ok(())
        })?;
        Ok(true)
    }
}

/// A commit that nobody may have seen succeed. Dropped, the transaction is rolled back, which undoes nothing that was committed.
struct Committing<'a> {
    connection: &'a Connection,
    within: Within,
}

impl Committing<'_> {
    fn succeeded(mut self) {
        self.within = Within::Given(self.within.transaction());
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        let (access, transaction) = (Access::ReadWrite, self.within.transaction());
        let writing = matches!(self.within, Within::Writing(_));
        if !writing || !self.connection.is_automatic(access, transaction) {
            return;
        }
        self.connection.forget_automatic(access);
        if self.connection.is_alive() {
            self.connection.0.roll_back(transaction);
        }
    }
}

impl Connection {
    /// Runs a statement and gives all its rows.
    ///
    /// # Errors
    /// [`Error::Server`] when the server refuses it; [`Error::Values`] before anything is sent;
    /// [`Error::TooLarge`]; [`Error::Control`]; [`Error::Lost`].
    pub async fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Rows> {
        self.query_within(sql, values, None).await
    }

    pub(crate) async fn query_within(
        &self,
        sql: &str,
        values: &[Value<'_>],
        given: Option<Transaction>,
    ) -> Result<Rows> {
        let (mut lease, within) = self.lease_within(sql, given).await?;
        if given.is_none() && lease.description().kind == StatementKind::Ddl {
            return self.change(&mut lease, values).await;
        }
        match self.run(&mut lease, values, within).await {
            // A procedure that is selected from may write.
            Err(Error::Server(error))
                if matches!(within, Within::Reading(_))
                    && error.has(GdsCode::READ_ONLY_TRANSACTION) =>
            {
                let within = Within::Writing(within.transaction());
                self.run(&mut lease, values, within).await
            }
            other => other,
        }
    }

    /// Changes the schema, in a transaction for nothing else: others that use the table are waited for, but not for ever.
    async fn change(&self, lease: &mut Lease, values: &[Value<'_>]) -> Result<Rows> {
        let options = TransactionParameters {
            isolation: Isolation::ReadCommitted,
            wait: Wait::Seconds(CHANGE_WAIT_S),
            ..TransactionParameters::default()
        };
        let transaction = self.begin(options).await?;
        let within = Within::Given(transaction.handle());
        let rows = self.run(lease, values, within).await?;
        transaction.commit().await?;
        Ok(rows)
    }

    /// A statement ready to run, and in which transaction.
    pub(crate) async fn lease_within(
        &self,
        sql: &str,
        given: Option<Transaction>,
    ) -> Result<(Lease, Within)> {
        let first = match given {
            Some(transaction) => transaction,
            None => self.automatic(Access::ReadOnly).await?,
        };
        let lease = self.lease(first, sql).await?;
        let kind = lease.description().kind;
        match kind {
            StatementKind::StartTransaction => return Err(Error::Control("SET TRANSACTION")),
            StatementKind::Commit => return Err(Error::Control("COMMIT")),
            StatementKind::Rollback => return Err(Error::Control("ROLLBACK")),
            _ => {}
        }
        let within = match (given, kind) {
            (Some(transaction), _) => Within::Given(transaction),
            (None, StatementKind::Select) => Within::Reading(first),
            (None, _) => Within::Writing(first),
        };
        if kind == StatementKind::Ddl {
            // What is prepared holds the tables it names.
            self.forget(1);
        }
        Ok((lease, within))
    }

    /// The same, in the transaction that is the connection's own at this moment.
    async fn current(&self, within: Within) -> Result<Within> {
        let (access, transaction) = match within {
            Within::Given(_) => return Ok(within),
            Within::Reading(transaction) => (Access::ReadOnly, transaction),
            Within::Writing(transaction) => (Access::ReadWrite, transaction),
        };
        if self.is_automatic(access, transaction) {
            return Ok(within);
        }
        let transaction = self.automatic(access).await?;
        Ok(match within {
            Within::Given(_) | Within::Reading(_) => Within::Reading(transaction),
            Within::Writing(_) => Within::Writing(transaction),
        })
    }

    async fn run(&self, lease: &mut Lease, values: &[Value<'_>], within: Within) -> Result<Rows> {
        self.room().await;
        let within = self.current(within).await?;
        let input = self.input(lease, values, within).await?;
        let within = self.current(within).await?;
        if lease.description().kind.has_cursor() {
            let asked = self.execute_and_fetch(lease, &input, within)?;
            self.collect(lease, asked, within).await
        } else {
            self.execute(lease, &input, within).await
        }
    }

    /// The values of one execution, as the statement wants them. What is too long to go with the others and is meant for a blob is
    /// written as one before.
    pub(crate) async fn input(
        &self,
        lease: &Lease,
        values: &[Value<'_>],
        within: Within,
    ) -> Result<Parameters> {
        let described = lease.description().parameters();
        let mut replaced = None;
        for (at, (column, value)) in described.iter().zip(values).enumerate() {
            if let Some(bytes) = goes_before(column, value) {
                let storage = BlobStorage::Segments;
                let transaction = within.transaction();
                let mut blob = self.create_blob_within(transaction, storage).await?;
                blob.write(bytes).await?;
                let id = Value::Blob(blob.finish().await?);
                let values = replaced.get_or_insert_with(|| values.to_vec());
                if let Some(place) = values.get_mut(at) {
                    *place = id;
                }
            }
        }
        let values = replaced.as_deref().unwrap_or(values);
        Ok(Parameters::new(described, values, CharacterSet::UTF8)?)
    }

    /// Executes a statement with a cursor and asks for the first rows, in one write.
    pub(crate) fn execute_and_fetch(
        &self,
        lease: &mut Lease,
        input: &Parameters,
        within: Within,
    ) -> Result<Asked> {
        let asked = self.ask(Creates::Nothing, |writer| {
            lease.write_close(writer)?;
            write_execution(writer, lease, within.transaction(), input)
        })?;
        lease.executed();
        Ok(asked)
    }

    fn committing(&self, within: Within) -> Committing<'_> {
        Committing {
            connection: self,
            within,
        }
    }

    /// All rows of an execution.
    async fn collect(&self, lease: &Lease, mut asked: Asked, within: Within) -> Result<Rows> {
        let mut rows = Rows::new(Arc::clone(&lease.description().format));
        let mut bytes = 0;
        let reply_bytes_max = self.0.connector.config().reply_bytes_max;
        let committing = self.committing(within);
        let executed = asked.response().await;
        loop {
            let (part, end) = batch(asked.next().await?);
            bytes += part.size_bytes();
            rows.push(part);
            match end {
                // What the execution says counts, not that nothing can be fetched then.
                Some(_) if executed.is_err() => break,
                None => {}
                Some(Ok(FetchEnd::Eof)) => break,
                Some(Ok(FetchEnd::More)) if bytes > reply_bytes_max => {
                    return Err(Error::TooLarge { reply_bytes_max });
                }
                Some(Ok(FetchEnd::More)) => asked.more(|writer| write_fetch(writer, lease))?,
                Some(Err(error)) => return Err(Error::Server(error)),
            }
        }
        executed?;
        // Whatever happens from here on, or happened before, the transaction is left clean.
        if matches!(within, Within::Writing(_)) {
            asked.more(|writer| within.write_commit(writer).map(drop))?;
            asked.response().await?;
        }
        committing.succeeded();
        Ok(rows)
    }

    /// Executes a statement without a cursor, asks how many rows it affected and commits if that is due, in one write.
    async fn execute(&self, lease: &mut Lease, input: &Parameters, within: Within) -> Result<Rows> {
        let description = Rc::clone(lease.description());
        let handle = lease.handle();
        let (transaction, counted) = (within.transaction(), is_counted(description.kind));
        let mut committed = false;
        let mut asked = self.ask(Creates::Nothing, |writer| {
            if description.columns().is_empty() {
                writer.ask(Expect::Response, |requests| {
                    requests.execute(handle, transaction, input.message(), 0)
                })?;
            } else {
                let format = &description.format;
                writer.ask(Expect::Sql(Arc::clone(format)), |requests| {
                    requests.execute2(handle, transaction, input.message(), format.blr(), 0)
                })?;
            }
            if counted {
                writer.ask(Expect::Response, |requests| {
                    requests.statement_info(handle, AFFECTED)
                })?;
            }
            committed = within.write_commit(writer)?;
            Ok(())
        })?;
        let committing = self.committing(within);
        let mut rows = Rows::new(Arc::clone(&description.format));
        let outcome = match asked.next().await? {
            Answer::Sql(row, outcome) => {
                rows.push_some(row);
                outcome
            }
            Answer::Response(outcome) => outcome,
            Answer::Rows(..) => unreachable!("nothing was fetched"),
        };
        let affected = match counted {
            true => Some(asked.response().await),
            false => None,
        };
        let commit = match committed {
            true => asked.response().await.map(drop),
            false => Ok(()),
        };
        if commit.is_ok() {
            committing.succeeded();
        }
        // What failed first counts; what came after it is only its consequence.
        outcome.map_err(Error::Server)?;
        commit?;
        if let Some(answer) = affected {
            rows.count(info::affected(&answer?.data).map_err(Error::Protocol)?);
        }
        Ok(rows)
    }
}

/// Whether the server counts what such a statement affects.
fn is_counted(kind: StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Insert
            | StatementKind::Update
            | StatementKind::Delete
            | StatementKind::ExecuteProcedure
    )
}

/// What came of a fetch, and how the batch ended.
pub(crate) fn batch(
    answer: Answer,
) -> (
    tsumugi_firebird_proto::row::Rows,
    Option<Result<FetchEnd, Box<tsumugi_firebird_proto::ServerError>>>,
) {
    match answer {
        Answer::Rows(rows, end) => (rows, end),
        Answer::Response(_) | Answer::Sql(..) => {
            unreachable!("the protocol gives what the writer expects")
        }
    }
}

/// The bytes of a value that is written as a blob before the statement runs.
pub(crate) fn goes_before<'v>(column: &Column, value: &'v Value<'_>) -> Option<&'v [u8]> {
    let bytes = match value {
        Value::Text(text) if column.kind == Kind::Blob => text.as_bytes(),
        Value::Bytes(bytes) if column.kind == Kind::Blob => bytes,
        _ => return None,
    };
    // The server makes no blob of a kind of the application's own of a text.
    let is_usual = matches!(column.sub_type, 0 | 1);
    (!is_usual || bytes.len() > TEXT_PARAMETER_BYTES_MAX).then_some(bytes)
}

/// Executes a statement with a cursor and asks for the first rows.
pub(crate) fn write_execution(
    writer: &mut Writer<'_>,
    lease: &Lease,
    transaction: Transaction,
    input: &Parameters,
) -> Result<()> {
    writer.ask(Expect::Response, |requests| {
        requests.execute(lease.handle(), transaction, input.message(), 0)
    })?;
    write_fetch(writer, lease)
}

/// Asks for the next rows.
pub(crate) fn write_fetch(writer: &mut Writer<'_>, lease: &Lease) -> Result<()> {
    let format = &lease.description().format;
    writer.ask(Expect::Fetch(Arc::clone(format)), |requests| {
        requests.fetch(lease.handle(), format.blr(), FETCH_ROWS)
    })
}
