//! Rows in batches, fetched while they are used. Other statements may run on the connection meanwhile.
//! Rule: while a batch is used the next one is on its way, and no more: a slow reader costs the server a cursor and us two batches.

use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_firebird_proto::connection::{Expect, FetchEnd};
use tsumugi_firebird_proto::describe::{Column, StatementKind};
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::parameters::TransactionParameters;
use tsumugi_firebird_proto::values::{CharacterSet, Parameters, Value};
use tsumugi_firebird_proto::{Format, ServerError};

use crate::connection::{Connection, Effect, Responses};
use crate::error::{Error, Result};
use crate::execution::{batch, goes_before, write_execution, write_fetch};
use crate::reading::reading;
use crate::rows::Rows;
use crate::statement::StatementLease;

/// Rows on their way. Dropped before its end it leaves its cursor to be closed before the statement runs again.
pub struct RowStream {
    // The statement goes back after the answers to it have been given up.
    asked: Responses,
    lease: StatementLease,
    state: State,
    /// Comes after the rows before it.
    failure: Option<Box<ServerError>>,
    /// The stream's own, which ends after the rows.
    _transaction: Option<crate::Transaction>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The answer to the execution is on its way, rows behind it.
    Executing,
    /// Rows are on their way.
    Coming,
    /// There are no more.
    Ended,
}

impl Connection {
    /// Runs a statement and gives its rows batch by batch. What only reads, and has rows, may be streamed; everything else needs a
    /// transaction, whose [`stream`](crate::Transaction::stream) this is.
    ///
    /// # Errors
    /// As [`Connection::query`]; the statement's own come with the first batch.
    pub fn stream<'a>(
        &'a self,
        sql: &'a str,
        values: &'a [Value<'a>],
    ) -> LocalBoxFuture<'a, Result<RowStream>> {
        self.stream_within(sql, values, None).boxed_local()
    }

    pub(crate) async fn stream_within(
        &self,
        sql: &str,
        values: &[Value<'_>],
        given: Option<Transaction>,
    ) -> Result<RowStream> {
        let (mut lease, mut transaction) = self.lease_within(sql, given).await?;
        let kind = lease.description().kind;
        if !kind.has_cursor() || (given.is_none() && kind != StatementKind::Select) {
            return Err(Error::NoCursor);
        }
        let mut own = None;
        if given.is_none() && lease.description().may_write() {
            // A procedure may leave something for a statement that reads in the same transaction, even in one that only reads.
            let begun = self.begin(reading()).await?;
            transaction = begun.handle();
            own = Some(begun);
        }
        let input = self.input(&lease, values, transaction).await?;
        self.room().await;
        let asked = self.execute_and_fetch(&mut lease, &input, transaction)?;
        Ok(RowStream::new(asked, lease, own))
    }

    /// Begins a transaction and streams rows in it, all asked for in one write. Let go of the rows before the transaction.
    ///
    /// # Errors
    /// As [`Connection::stream`].
    pub fn begin_stream<'a>(
        &'a self,
        options: TransactionParameters,
        sql: &'a str,
        values: &'a [Value<'a>],
    ) -> LocalBoxFuture<'a, Result<(crate::Transaction, RowStream)>> {
        async move {
            let (mut lease, _) = self.lease_within(sql, None).await?;
            if !lease.description().kind.has_cursor() {
                return Err(Error::NoCursor);
            }
            let parameters = lease.description().parameters();
            let mut pairs = parameters.iter().zip(values);
            if pairs.any(|(column, value)| goes_before(column, value).is_some()) {
                drop(lease);
                let transaction = self.begin(options).await?;
                let rows = transaction.stream(sql, values).await?;
                return Ok((transaction, rows));
            }
            let input = Parameters::new(parameters, values, CharacterSet::UTF8)?;
            self.room().await;
            let mut asked = self.ask(|writer| {
                lease.write_close(writer)?;
                // Where none is begun nothing is executed: not in another transaction of this connection either.
                writer.guard_last()?;
                writer.ask_to(Effect::BeginsTransaction, Expect::Response, |requests| {
                    requests.transaction(self.0.driver.database, &options)
                })?;
                write_execution(writer, &lease, Transaction::LAST, &input)
            })?;
            lease.executed();
            let begun = asked.response().await?;
            let transaction = crate::Transaction::begun(self, Transaction(begun.object));
            Ok((transaction, RowStream::new(asked, lease, None)))
        }
        .boxed_local()
    }
}

impl crate::Transaction {
    /// Runs a statement and gives its rows batch by batch. Ending the transaction ends the rows.
    ///
    /// # Errors
    /// As [`Connection::stream`].
    pub fn stream<'a>(
        &'a self,
        sql: &'a str,
        values: &'a [Value<'a>],
    ) -> LocalBoxFuture<'a, Result<RowStream>> {
        let handle = Some(self.handle());
        self.connection()
            .stream_within(sql, values, handle)
            .boxed_local()
    }
}

impl RowStream {
    fn new(asked: Responses, lease: StatementLease, own: Option<crate::Transaction>) -> RowStream {
        RowStream {
            asked,
            lease,
            state: State::Executing,
            failure: None,
            _transaction: own,
        }
    }

    /// Whether it is known that no more rows come than those that were given.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended && self.failure.is_none()
    }

    /// The columns, known before the first batch and also when there is none.
    pub fn columns(&self) -> &[Column] {
        self.lease.description().columns()
    }

    /// The form that its rows share.
    pub fn format(&self) -> &Arc<Format> {
        &self.lease.description().format
    }

    /// Some more rows, at least one; none after the last. Dropping the future loses nothing.
    ///
    /// # Errors
    /// As [`Connection::query`]. There are no more rows after one.
    pub async fn next(&mut self) -> Result<Option<Rows>> {
        let batch = self.advance().await;
        if batch.is_err() {
            self.state = State::Ended;
        }
        batch
    }

    async fn advance(&mut self) -> Result<Option<Rows>> {
        if self.state == State::Executing {
            let executed = self.asked.response().await;
            self.state = State::Coming;
            executed?;
        }
        while self.state == State::Coming {
            let (part, end) = batch(self.asked.next().await?);
            match end {
                None => {}
                Some(Ok(FetchEnd::Eof)) => self.state = State::Ended,
                Some(Ok(FetchEnd::More)) => {
                    let lease = &self.lease;
                    self.asked.more(|writer| write_fetch(writer, lease))?;
                }
                Some(Err(error)) => {
                    self.failure = Some(error);
                    self.state = State::Ended;
                }
            }
            if !part.is_empty() {
                let mut rows = Rows::new(Arc::clone(&self.lease.description().format));
                rows.push(part);
                return Ok(Some(rows));
            }
        }
        match self.failure.take() {
            Some(error) => Err(Error::Server(error)),
            None => Ok(None),
        }
    }
}
