//! Statements on a connection: prepared once, then one write for each execution. Decodes no rows.
//! A statement outside a transaction that only reads runs in one that all of those share; every other in one of its own, which is committed in
//! the same write, or in one write more when something of the answer has to be asked for first. Rule: what may write is never in a
//! transaction that another caller commits or rolls back.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::connection::FetchEnd;
use tsumugi_firebird_proto::describe::{Column, Kind, StatementKind};
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::info;
use tsumugi_firebird_proto::parameters::{BlobStorage, Isolation, TransactionParameters, Wait};
use tsumugi_firebird_proto::values::{CharacterSet, Parameters, Value};

use crate::connection::{Answer, Connection, Responses};
use crate::error::{Error, Result};
use crate::execution::{batch, goes_before, is_counted, write_call, write_execution, write_fetch};
use crate::limits::CHANGE_WAIT_S;
use crate::reply::Reply;
use crate::rows::Rows;
use crate::single::Single;
use crate::statement::StatementLease;

impl Connection {
    /// Runs a statement and gives all its rows.
    ///
    /// # Errors
    /// [`Error::Server`] when the server refuses it; [`Error::Values`] before anything is sent;
    /// [`Error::TooLarge`]; [`Error::Control`]; [`Error::Lost`].
    pub fn query<'a>(
        &'a self,
        sql: &'a str,
        values: &'a [Value<'a>],
    ) -> LocalBoxFuture<'a, Result<Rows>> {
        self.query_within(sql, values, None).boxed_local()
    }

    pub(crate) async fn query_within(
        &self,
        sql: &str,
        values: &[Value<'_>],
        given: Option<Transaction>,
    ) -> Result<Rows> {
        let Some(transaction) = given else {
            return self.reply(sql, values).await?.finish().await;
        };
        let (mut lease, _) = self.lease_within(sql, given).await?;
        self.room().await;
        let input = self.input(&lease, values, transaction).await?;
        self.run(&mut lease, &input, transaction).await
    }

    /// Runs a statement, as [`Connection::query`] does, that may still have to be committed when its rows are there. A query of which it is not
    /// known that it writes runs among those that read first, and a second time when it is refused there.
    ///
    /// # Errors
    /// As there.
    pub fn reply<'a>(
        &'a self,
        sql: &'a str,
        values: &'a [Value<'a>],
    ) -> LocalBoxFuture<'a, Result<Reply>> {
        async move {
            let leased = self.lease_within(sql, None).await;
            let (mut lease, reading) = leased.map_err(Error::before_execution)?;
            let description = Rc::clone(lease.description());
            if description.kind == StatementKind::Ddl {
                let rows = self.change(&mut lease, values).await?;
                return Ok(Reply::ended(self, rows));
            }
            if !description.may_write() {
                match self.read(&mut lease, values, reading).await {
                    // A function may write. In a transaction that only reads it has changed no table, not in an autonomous transaction either.
                    Err(Error::Server(error)) if error.has(GdsCode::READ_ONLY_TRANSACTION) => {
                        description.writes();
                    }
                    other => return Ok(Reply::ended(self, other?)),
                }
            }
            self.write(&mut lease, values).await
        }
        .boxed_local()
    }

    /// The same of a text that may write whatever the server says of it, once and in a transaction of its own: code that handles errors by
    /// itself hides that it was refused.
    ///
    /// # Errors
    /// As there.
    pub fn reply_alone<'a>(
        &'a self,
        sql: &'a str,
        values: &'a [Value<'a>],
    ) -> LocalBoxFuture<'a, Result<Reply>> {
        async move {
            let leased = self.lease_within(sql, None).await;
            let (mut lease, _) = leased.map_err(Error::before_execution)?;
            if lease.description().kind == StatementKind::Ddl {
                let rows = self.change(&mut lease, values).await?;
                return Ok(Reply::ended(self, rows));
            }
            self.write(&mut lease, values).await
        }
        .boxed_local()
    }

    /// In the transaction that all who read share, which may be another one now than when `reading` was.
    async fn read(
        &self,
        lease: &mut StatementLease,
        values: &[Value<'_>],
        reading: Transaction,
    ) -> Result<Rows> {
        self.room().await;
        let reading = self.current(reading).await?;
        let input = self.input(lease, values, reading).await?;
        let reading = self.current(reading).await?;
        self.run(lease, &input, reading).await
    }

    async fn current(&self, reading: Transaction) -> Result<Transaction> {
        match self.is_automatic(reading) {
            true => Ok(reading),
            false => self.automatic().await,
        }
    }

    /// In a transaction of its own. What needs nothing more when it has run is committed in the same write.
    async fn write(&self, lease: &mut StatementLease, values: &[Value<'_>]) -> Result<Reply> {
        let mut single = self.single().await?;
        self.room().await;
        let input = self.input_of(lease, values, &mut single).await?;
        let description = lease.description();
        let has_blob = |column: &Column| column.kind == Kind::Blob;
        // A row that is refused for its size is not to be committed before.
        let may_be_refused =
            description.format.row_bytes_max() > self.0.driver.connector.config().reply_bytes_max;
        let needs_more = description.kind.has_cursor()
            || may_be_refused
            || description.columns().iter().any(has_blob);
        if needs_more {
            let turn = self.turn().await;
            single.begin_use();
            let rows = self.run(lease, &input, single.transaction()).await?;
            return Ok(Reply::open(self, rows, single, turn));
        }
        self.wait_for_row_holder().await;
        let asked = self.ask(|writer| {
            write_call(writer, lease, single.transaction(), &input)?;
            single.write_commit(writer)
        })?;
        single.committing();
        let rows = self.answered(lease, asked, Some(single)).await?;
        Ok(Reply::ended(self, rows))
    }

    /// The same as [`Connection::input`], of which the transaction may be used for the first time.
    async fn input_of(
        &self,
        lease: &StatementLease,
        values: &[Value<'_>],
        single: &mut Single,
    ) -> Result<Parameters> {
        let described = lease.description().parameters();
        let mut pairs = described.iter().zip(values);
        if pairs.any(|(column, value)| goes_before(column, value).is_some()) {
            single.begin_use();
        }
        self.input(lease, values, single.transaction()).await
    }

    /// Changes the schema, in a transaction for nothing else: others that use the table are waited for, but not for ever.
    async fn change(&self, lease: &mut StatementLease, values: &[Value<'_>]) -> Result<Rows> {
        let options = TransactionParameters {
            isolation: Isolation::ReadCommitted,
            wait: Wait::Seconds(CHANGE_WAIT_S),
            ..TransactionParameters::default()
        };
        let _turn = self.turn().await;
        let transaction = self.begin(options).await?;
        let input = self.input(lease, values, transaction.handle()).await?;
        let rows = self.run(lease, &input, transaction.handle()).await?;
        transaction.commit().await?;
        Ok(rows)
    }

    /// A statement ready to run, and a transaction: that which was given, or the one of those who read.
    pub(crate) async fn lease_within(
        &self,
        sql: &str,
        given: Option<Transaction>,
    ) -> Result<(StatementLease, Transaction)> {
        let transaction = match given {
            Some(transaction) => transaction,
            None => self.automatic().await?,
        };
        let lease = self.lease(transaction, sql).await?;
        let kind = lease.description().kind;
        match kind {
            StatementKind::StartTransaction => return Err(Error::Control("SET TRANSACTION")),
            StatementKind::Commit => return Err(Error::Control("COMMIT")),
            StatementKind::Rollback => return Err(Error::Control("ROLLBACK")),
            _ => {}
        }
        if kind == StatementKind::Ddl {
            // What is prepared holds the tables it names.
            self.forget(1);
        }
        Ok((lease, transaction))
    }

    async fn run(
        &self,
        lease: &mut StatementLease,
        input: &Parameters,
        transaction: Transaction,
    ) -> Result<Rows> {
        if lease.description().kind.has_cursor() {
            let asked = self.execute_and_fetch(lease, input, transaction)?;
            self.collect(lease, asked).await
        } else {
            let asked = self.ask(|writer| write_call(writer, lease, transaction, input))?;
            self.answered(lease, asked, None).await
        }
    }

    /// The values of one execution, as the statement wants them. What is too long to go with the others and is meant for a blob is
    /// written as one before.
    pub(crate) async fn input(
        &self,
        lease: &StatementLease,
        values: &[Value<'_>],
        transaction: Transaction,
    ) -> Result<Parameters> {
        let described = lease.description().parameters();
        let mut replaced = None;
        for (at, (column, value)) in described.iter().zip(values).enumerate() {
            if let Some(bytes) = goes_before(column, value) {
                let storage = BlobStorage::Segments;
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
        lease: &mut StatementLease,
        input: &Parameters,
        transaction: Transaction,
    ) -> Result<Responses> {
        let asked = self.ask(|writer| {
            lease.write_close(writer)?;
            write_execution(writer, lease, transaction, input)
        })?;
        lease.executed();
        Ok(asked)
    }

    /// All rows of an execution.
    async fn collect(&self, lease: &StatementLease, mut asked: Responses) -> Result<Rows> {
        let mut rows = Rows::new(Arc::clone(&lease.description().format));
        let mut bytes = 0;
        let reply_bytes_max = self.0.driver.connector.config().reply_bytes_max;
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
        Ok(rows)
    }

    /// What a statement without a cursor answered, and its commit if that went with it.
    async fn answered(
        &self,
        lease: &StatementLease,
        mut asked: Responses,
        single: Option<Single>,
    ) -> Result<Rows> {
        let description = lease.description();
        let mut rows = Rows::new(Arc::clone(&description.format));
        let outcome = match asked.next().await? {
            Answer::Sql(row, outcome) => {
                rows.push_some(row);
                outcome
            }
            Answer::Response(outcome) => outcome,
            Answer::Rows(..) => unreachable!("nothing was fetched"),
        };
        let affected = match is_counted(description.kind) {
            true => Some(asked.response().await),
            false => None,
        };
        let commit = match single {
            Some(single) => single.ended(asked.response().await.map(drop)),
            None => Ok(()),
        };
        // What failed first counts; what came after it is only its consequence.
        outcome.map_err(Error::Server)?;
        commit?;
        if let Some(answer) = affected {
            rows.count(info::affected(&answer?.data).map_err(Error::Protocol)?);
        }
        Ok(rows)
    }
}
