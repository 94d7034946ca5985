//! Transactions and savepoints, on a connection of one's own. Chooses no connection and retries nothing.
//! Rule: a transaction that is dropped is rolled back before anything else runs on its connection, and to a savepoint that is; where
//! rows or COPY data are on their way, as soon as those have ended.

use std::cell::{Cell, RefCell};
use std::fmt::Write;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::backend::TransactionStatus;
use tsumugi_pg_proto::connection::Shape;

use crate::connection::{Answer, Connection, FlushMode};
use crate::error::{Error, Result};
use crate::query::succeeded;

/// How a transaction sees the changes of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// As the server is configured; read committed unless that was changed.
    #[default]
    Server,
    /// The same as read committed on PostgreSQL.
    ReadUncommitted,
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// All statements see what was committed before the first.
    RepeatableRead,
    /// As if transactions ran one after the other; some fail and have to be run again.
    Serializable,
}

/// Whether a transaction may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// It may.
    #[default]
    ReadWrite,
    /// It may not.
    ReadOnly,
    /// It may not, and waits at its beginning until it cannot fail (with [`Isolation::Serializable`]).
    ReadOnlyDeferrable,
}

/// The choices for [`Connection::begin`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionOptions {
    /// How it sees the changes of others.
    pub isolation: Isolation,
    /// Whether it may write.
    pub access: Access,
}

impl TransactionOptions {
    /// Whether the commit of what only reads brings nothing to light. A serializable transaction may be told there that what it has read
    /// does not fit together, unless it is deferrable (PostgreSQL documentation, 13.2.3).
    fn is_certain_to_commit(self) -> bool {
        match self.access {
            Access::ReadWrite => false,
            Access::ReadOnly => self.isolation != Isolation::Serializable,
            Access::ReadOnlyDeferrable => true,
        }
    }

    fn sql(self) -> String {
        let mut sql = "BEGIN".to_owned();
        sql.push_str(match self.isolation {
            Isolation::Server => "",
            Isolation::ReadUncommitted => " ISOLATION LEVEL READ UNCOMMITTED",
            Isolation::ReadCommitted => " ISOLATION LEVEL READ COMMITTED",
            Isolation::RepeatableRead => " ISOLATION LEVEL REPEATABLE READ",
            Isolation::Serializable => " ISOLATION LEVEL SERIALIZABLE",
        });
        sql.push_str(match self.access {
            Access::ReadWrite => " READ WRITE",
            Access::ReadOnly => " READ ONLY",
            Access::ReadOnlyDeferrable => " READ ONLY DEFERRABLE",
        });
        sql
    }
}

/// A transaction. Its statements are those of [`Transaction::connection`].
pub struct Transaction<'c> {
    connection: &'c Connection,
    savepoints: RefCell<Savepoints>,
    ended: Cell<bool>,
}

/// The numbers of the savepoints that exist, oldest first. Ending one ends those within it.
#[derive(Default)]
struct Savepoints {
    last: u32,
    open: Vec<u32>,
}

impl Savepoints {
    /// Whether it existed.
    fn close(&mut self, number: u32) -> bool {
        let place = self.open.iter().position(|open| *open == number);
        if let Some(place) = place {
            self.open.truncate(place);
        }
        place.is_some()
    }
}

/// The answers that a transaction begins with.
struct BeginAnswers {
    /// To what was still to be learnt of the server.
    identity: Option<Answer>,
    begun: Answer,
}

impl Connection {
    /// Writes what begins a transaction. In front of it, in the same write, goes what is still to be learnt of the server, once for a connection.
    fn write_begin(&self, options: TransactionOptions) -> Result<BeginAnswers> {
        let may_write = options.access == Access::ReadWrite;
        let identity = match may_write {
            true => self.ask_identity()?,
            false => None,
        };
        let begun = self.simple(&options.sql())?;
        self.enter_transaction();
        match options.is_certain_to_commit() {
            true => self.0.driver.xact.begin_read_only(),
            false => self.0.driver.xact.begin(),
        }
        Ok(BeginAnswers { identity, begun })
    }

    async fn await_begin(&self, answers: BeginAnswers) -> Result<()> {
        if let Some(identity) = answers.identity
            && let Ok(replies) = Box::pin(identity.all()).await
        {
            self.note_identity(replies);
        }
        succeeded(&answers.begun.await?)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn begin(
        &self,
        options: TransactionOptions,
    ) -> LocalBoxFuture<'_, Result<Transaction<'_>>> {
        async move {
            self.room().await;
            let answers = self.write_begin(options)?;
            // From here on it is rolled back if this future is dropped.
            let transaction = Transaction {
                connection: self,
                savepoints: RefCell::default(),
                ended: Cell::new(false),
            };
            let begun = self.await_begin(answers).await;
            if let Err(error) = begun {
                transaction.ended.set(true);
                return Err(error);
            }
            Ok(transaction)
        }
        .boxed_local()
    }

    /// Begins a transaction whose end another caller sees to.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn begin_unguarded(&self, options: TransactionOptions) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            self.room().await;
            let answers = self.write_begin(options)?;
            self.await_begin(answers).await
        }
        .boxed_local()
    }

    /// Commits the transaction that is open. While it waits for a synchronous standby, the server is not asked to stop, also when this future is dropped.
    ///
    /// # Errors
    /// As [`Connection::query`], also those of deferred constraints; [`Error::RolledBack`] when a statement had failed; [`Error::Unreplicated`]. After
    /// [`Error::Lost`] with [`StatementFate::Perhaps`](crate::StatementFate::Perhaps), [`Connection::xact_status`] of another connection says what has become of
    /// [`Connection::xact_id`].
    pub fn commit_unguarded(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let driver = &self.0.driver;
            // One that has failed may be on its way back to a savepoint.
            let may_be_open =
                self.status() == TransactionStatus::InTransaction || self.awaited() > 0;
            if driver.xact.is_unasked() && may_be_open {
                let learnt = self.learn_xact_id().await;
                learnt.map_err(Error::before_execution)?;
            }
            self.room().await;
            // While an answer is awaited it is not known in which state COMMIT finds the transaction.
            let status = (self.awaited() == 0).then(|| self.status());
            let answer = self.ask(1, FlushMode::Now, |request, ticket| {
                request.query("COMMIT", ticket, Shape::Whole)?;
                driver.xact.note_commit(status);
                driver.begin_commit(ticket);
                Ok(())
            })?;
            let position = self.ask_log_position_of_commit();
            let reply = answer.await.map_err(|error| match error {
                Error::Lost { .. } if driver.is_unreplicated() => Error::Unreplicated,
                error => error,
            })?;
            if let Some(position) = position {
                self.note_log_position(position).await;
            }
            succeeded(&reply)?;
            let command = reply.messages().find_map(|message| match message {
                Ok(tsumugi_pg_proto::backend::Message::CommandComplete(tag)) => {
                    Some(tag.command() == "COMMIT")
                }
                _ => None,
            });
            if command == Some(true) {
                Ok(())
            } else {
                Err(Error::RolledBack)
            }
        }
        .boxed_local()
    }
}

impl Connection {
    /// Rolls back the transaction that is open, before anything else runs on this connection. No caller waits for the answer.
    pub fn roll_back_unguarded(&self) {
        self.leave_transaction();
    }
}

impl<'c> Transaction<'c> {
    /// The connection, for the transaction's statements.
    pub fn connection(&self) -> &'c Connection {
        self.connection
    }

    /// Makes the changes permanent.
    ///
    /// # Errors
    /// As [`Connection::commit_unguarded`].
    pub async fn commit(self) -> Result<()> {
        let committed = self.connection.commit_unguarded().await;
        self.ended
            .set(self.connection.status() == TransactionStatus::Idle);
        committed
    }

    /// Undoes the changes.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn roll_back(self) -> Result<()> {
        let rolled_back = self.connection.script("ROLLBACK").await;
        self.ended.set(rolled_back.is_ok());
        rolled_back
    }

    /// Marks a point to which the transaction can be rolled back. They nest.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn savepoint(&self) -> Result<Savepoint<'_, 'c>> {
        let number = {
            let mut savepoints = self.savepoints.borrow_mut();
            savepoints.last += 1;
            savepoints.last
        };
        self.connection.script(&named("SAVEPOINT", number)).await?;
        self.savepoints.borrow_mut().open.push(number);
        Ok(Savepoint {
            transaction: self,
            number,
        })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.ended.get() {
            self.connection.leave_transaction();
        }
    }
}

/// A point in a transaction. Dropped without [`Savepoint::release`] the transaction is rolled back to it. Ending one ends those
/// that were made after it.
pub struct Savepoint<'t, 'c> {
    transaction: &'t Transaction<'c>,
    number: u32,
}

impl Savepoint<'_, '_> {
    /// Keeps what was done since, as a part of the transaction.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn release(self) -> Result<()> {
        self.end("RELEASE SAVEPOINT").await
    }

    /// Undoes what was done since.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn roll_back(self) -> Result<()> {
        self.end("ROLLBACK TO SAVEPOINT").await
    }

    async fn end(&self, word: &str) -> Result<()> {
        let sql = named(word, self.number);
        self.transaction.connection.script(&sql).await?;
        self.transaction.savepoints.borrow_mut().close(self.number);
        Ok(())
    }
}

impl Drop for Savepoint<'_, '_> {
    fn drop(&mut self) {
        let existed = self.transaction.savepoints.borrow_mut().close(self.number);
        if existed && !self.transaction.ended.get() {
            let sql = named("ROLLBACK TO SAVEPOINT", self.number);
            self.transaction.connection.send_unawaited(&sql);
        }
    }
}

fn named(word: &str, number: u32) -> String {
    let mut sql = String::with_capacity(word.len() + 12);
    let written = write!(sql, "{word} tsumugi_{number}");
    debug_assert!(written.is_ok(), "a string takes everything");
    sql
}
