//! Transactions and savepoints, on a connection of one's own. Chooses no connection and retries nothing.
//! Rule: a transaction that is dropped is rolled back before anything else runs on its connection.

use std::cell::Cell;
use std::fmt::Write;

use tsumugi_pg_proto::backend::TransactionStatus;

use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::query::failure;

/// How a transaction sees the changes of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// As the server is configured; read committed unless somebody changed that.
    #[default]
    Server,
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
    fn sql(self) -> String {
        let mut sql = "BEGIN".to_owned();
        sql.push_str(match self.isolation {
            Isolation::Server => "",
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
    savepoints: Cell<u32>,
    ended: Cell<bool>,
}

impl Connection {
    /// Begins a transaction.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn begin(&self, options: TransactionOptions) -> Result<Transaction<'_>> {
        self.begin_unguarded(options).await?;
        Ok(Transaction {
            connection: self,
            savepoints: Cell::new(0),
            ended: Cell::new(false),
        })
    }

    /// Begins a transaction that somebody else sees to the end of.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn begin_unguarded(&self, options: TransactionOptions) -> Result<()> {
        self.script(&options.sql()).await
    }

    /// Commits the transaction that is open.
    ///
    /// # Errors
    /// As [`Connection::query`], also those of deferred constraints; [`Error::RolledBack`] when a statement had failed.
    pub async fn commit_unguarded(&self) -> Result<()> {
        let reply = self.simple("COMMIT")?.await?;
        if let Some(error) = failure(&reply)? {
            return Err(Error::Server(error));
        }
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
        let number = self.savepoints.get() + 1;
        self.connection.script(&named("SAVEPOINT", number)).await?;
        self.savepoints.set(number);
        Ok(Savepoint {
            transaction: self,
            number,
            ended: Cell::new(false),
        })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.ended.get() {
            // Nobody waits for the answer: it comes before that of whatever is asked next.
            drop(self.connection.simple("ROLLBACK"));
        }
    }
}

/// A point in a transaction. Dropped without [`Savepoint::release`] the transaction is rolled back to it.
pub struct Savepoint<'t, 'c> {
    transaction: &'t Transaction<'c>,
    number: u32,
    ended: Cell<bool>,
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
        self.ended.set(true);
        Ok(())
    }
}

impl Drop for Savepoint<'_, '_> {
    fn drop(&mut self) {
        if !self.ended.get() && !self.transaction.ended.get() {
            let sql = named("ROLLBACK TO SAVEPOINT", self.number);
            drop(self.transaction.connection.simple(&sql));
        }
    }
}

fn named(word: &str, number: u32) -> String {
    let mut sql = String::with_capacity(word.len() + 12);
    let written = write!(sql, "{word} tsumugi_{number}");
    debug_assert!(written.is_ok(), "a string takes everything");
    sql
}
