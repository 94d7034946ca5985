//! Transactions and savepoints. Several may be open on one connection. Chooses no connection and retries nothing.
//! Rule: a transaction that is dropped is rolled back before anything else that is asked later runs.

use std::cell::Cell;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_firebird_proto::Requests;
use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::handle::Transaction as Handle;
use tsumugi_firebird_proto::parameters::TransactionParameters;
use tsumugi_firebird_proto::values::Value;

use crate::connection::{Connection, Effect, Responses};
use crate::error::{Error, Result};
use crate::rows::Rows;

/// A transaction.
pub struct Transaction {
    connection: Connection,
    handle: Handle,
    savepoints: Cell<u32>,
    ended: bool,
}

impl Connection {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::Lost`].
    pub fn begin(&self, options: TransactionParameters) -> LocalBoxFuture<'_, Result<Transaction>> {
        async move {
            let handle = self.begin_handle(options).await?;
            Ok(Transaction::begun(self, handle))
        }
        .boxed_local()
    }

    /// Begins a transaction; the caller owns it.
    pub(crate) async fn begin_handle(&self, options: TransactionParameters) -> Result<Handle> {
        self.room().await;
        let mut asked = self.ask(|writer| {
            writer.ask_to(Effect::BeginsTransaction, Expect::Response, |requests| {
                requests.transaction(self.0.driver.database, &options)
            })
        })?;
        Ok(Handle(asked.response().await?.object))
    }
}

impl Transaction {
    pub(crate) fn begun(connection: &Connection, handle: Handle) -> Transaction {
        Transaction {
            connection: connection.clone(),
            handle,
            savepoints: Cell::new(0),
            ended: false,
        }
    }

    /// Its connection. Statements that are run there directly are not part of the transaction.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    /// Runs a statement and gives all its rows.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query<'a>(
        &'a self,
        sql: &'a str,
        values: &'a [Value<'a>],
    ) -> LocalBoxFuture<'a, Result<Rows>> {
        self.connection
            .query_within(sql, values, Some(self.handle))
            .boxed_local()
    }

    /// Keeps what was done.
    ///
    /// # Errors
    /// [`Error::Server`](crate::Error::Server): the transaction is rolled back then. [`Error::Lost`](crate::Error::Lost).
    pub fn commit(self) -> LocalBoxFuture<'static, Result<()>> {
        let effect = Effect::Commits(self.handle);
        self.end(effect, |requests, handle| requests.commit(handle))
            .boxed_local()
    }

    /// Undoes what was done.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub fn roll_back(self) -> LocalBoxFuture<'static, Result<()>> {
        let effect = Effect::RollsBack(self.handle);
        self.end(effect, |requests, handle| requests.rollback(handle))
            .boxed_local()
    }

    /// Keeps what was done and goes on, with what was seen of others at the beginning.
    ///
    /// # Errors
    /// As [`Transaction::commit`]; it goes on all the same.
    pub fn commit_retaining(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.go_on(|requests, handle| requests.commit_retaining(handle))
            .boxed_local()
    }

    /// Undoes what was done and goes on.
    ///
    /// # Errors
    /// As [`Transaction::commit_retaining`].
    pub fn roll_back_retaining(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.go_on(|requests, handle| requests.rollback_retaining(handle))
            .boxed_local()
    }

    /// Marks a point that can be gone back to.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn savepoint(&self) -> Result<Savepoint<'_>> {
        let number = self.savepoints.get() + 1;
        self.savepoints.set(number);
        self.immediate(&format!("SAVEPOINT TSUMUGI_{number}"))
            .await?;
        Ok(Savepoint {
            transaction: self,
            number,
            ended: false,
        })
    }

    /// Runs a text without values that returns nothing and is not kept prepared.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn immediate<'a>(&'a self, sql: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            // The server would give the number of a transaction that ended so to the next that begins.
            if let Some(control) = control(sql) {
                return Err(Error::Control(control));
            }
            self.connection.room().await;
            let mut asked = self.connection.ask(|writer| {
                writer.ask(Expect::Response, |requests| {
                    requests.execute_immediate(
                        self.connection.0.driver.database,
                        self.handle,
                        sql.as_bytes(),
                    )
                })
            })?;
            asked.response().await.map(drop)
        }
        .boxed_local()
    }

    async fn end(mut self, effect: Effect, write: fn(&mut Requests<'_>, Handle)) -> Result<()> {
        self.connection.room().await;
        let mut asked = self.ask(effect, write)?;
        // The server gives the number to whatever begins after the end. If this future is dropped, only the answer knows whether the
        // transaction is open still.
        self.ended = true;
        let ended = asked.response().await;
        // A commit that fails leaves the transaction open.
        self.ended = !matches!(ended, Err(Error::Server(_)));
        ended.map(drop)
    }

    async fn go_on(&self, write: impl FnOnce(&mut Requests<'_>, Handle)) -> Result<()> {
        self.connection.room().await;
        let mut asked = self.ask(Effect::Nothing, write)?;
        asked.response().await.map(drop)
    }

    fn ask(
        &self,
        effect: Effect,
        write: impl FnOnce(&mut Requests<'_>, Handle),
    ) -> Result<Responses> {
        self.connection.ask(|writer| {
            writer.ask_to(effect, Expect::Response, |requests| {
                write(requests, self.handle)
            })
        })
    }
}

/// What a text does to its transaction behind the driver's back. What begins otherwise does nothing to it.
fn control(sql: &str) -> Option<&'static str> {
    let mut rest = sql;
    loop {
        rest = rest.trim_start();
        rest = match rest {
            comment if comment.starts_with("--") => comment.split_once('\n')?.1,
            comment if comment.starts_with("/*") => comment.split_once("*/")?.1,
            _ => break,
        };
    }
    let mut words = rest
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase);
    let mut next = || words.next().unwrap_or_default();
    match next().as_str() {
        "commit" => Some("COMMIT"),
        "set" if next() == "transaction" => Some("SET TRANSACTION"),
        "rollback" => match next().as_str() {
            "to" => None,
            "work" if next() == "to" => None,
            _ => Some("ROLLBACK"),
        },
        _ => None,
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended && self.connection.is_alive() {
            self.connection.roll_back(self.handle);
        }
    }
}

/// A point in a transaction. Dropped without [`Savepoint::release`] the transaction goes back to it. Ending one ends those that were
/// made after it.
pub struct Savepoint<'t> {
    transaction: &'t Transaction,
    number: u32,
    ended: bool,
}

impl Savepoint<'_> {
    /// Keeps what was done since, as a part of the transaction.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn release(mut self) -> Result<()> {
        let sql = format!("RELEASE SAVEPOINT TSUMUGI_{}", self.number);
        let released = self.transaction.immediate(&sql).await;
        self.ended = released.is_ok();
        released
    }

    /// Undoes what was done since.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn roll_back(mut self) -> Result<()> {
        let rolled_back = self.transaction.immediate(&self.back()).await;
        self.ended = rolled_back.is_ok();
        rolled_back
    }

    fn back(&self) -> String {
        format!("ROLLBACK TO SAVEPOINT TSUMUGI_{}", self.number)
    }
}

impl Drop for Savepoint<'_> {
    fn drop(&mut self) {
        let connection = &self.transaction.connection;
        if self.ended || self.transaction.ended || !connection.is_alive() {
            return;
        }
        let sql = self.back();
        connection.send_unawaited(|writer| {
            writer.ask_unawaited(Expect::Response, |requests| {
                requests.execute_immediate(
                    connection.0.driver.database,
                    self.transaction.handle,
                    sql.as_bytes(),
                )
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_ends_a_transaction_is_recognized() {
        for (sql, expected) in [
            ("commit", Some("COMMIT")),
            ("-- a\n /* b */COMMIT work;", Some("COMMIT")),
            ("rollback", Some("ROLLBACK")),
            ("rollback work", Some("ROLLBACK")),
            ("ROLLBACK TO SAVEPOINT TSUMUGI_1", None),
            ("rollback work to s", None),
            ("set\ttransaction", Some("SET TRANSACTION")),
            ("set generator g to 1", None),
            ("SAVEPOINT TSUMUGI_1", None),
            ("insert into commits values (1)", None),
            ("-- commit", None),
        ] {
            assert_eq!(control(sql), expected, "{sql}");
        }
    }
}
