//! Transactions of the blocking interface; those within a transaction are savepoints. Retries nothing.
//! Rule: dropped without a commit it is rolled back before anything else runs.

use super::Link;
use crate::error::Error;
use crate::transaction::{Access, TransactionOptions};

pub use crate::transaction::Isolation as IsolationLevel;

/// The choices for a transaction.
pub struct TransactionBuilder<'a> {
    pub(super) link: &'a Link,
    pub(super) options: TransactionOptions,
}

impl<'a> TransactionBuilder<'a> {
    /// How it sees the changes of others.
    pub fn isolation_level(mut self, level: IsolationLevel) -> Self {
        self.options.isolation = level;
        self
    }

    /// Whether it may write.
    pub fn access(mut self, access: Access) -> Self {
        self.options.access = access;
        self
    }

    /// Begins it.
    ///
    /// # Errors
    /// As [`Connection::query`](crate::Connection::query).
    pub fn start(self) -> Result<Transaction<'a>, Error> {
        let begun = self.link.connection.begin_unguarded(self.options);
        self.link.wait(begun)?;
        Ok(Transaction {
            link: self.link.clone(),
            savepoint: None,
            depth: 0,
            open: true,
            client: std::marker::PhantomData,
        })
    }
}

/// A transaction, or a savepoint in one.
pub struct Transaction<'a> {
    pub(super) link: Link,
    /// Its name in SQL, for a savepoint.
    savepoint: Option<String>,
    depth: u32,
    open: bool,
    /// Nothing else is asked meanwhile of what it was begun on.
    client: std::marker::PhantomData<&'a mut Link>,
}

impl Transaction<'_> {
    /// Keeps the changes.
    ///
    /// # Errors
    /// As [`Connection::commit_unguarded`](crate::Connection::commit_unguarded).
    pub fn commit(mut self) -> Result<(), Error> {
        self.open = false;
        match &self.savepoint {
            Some(name) => {
                let sql = format!("RELEASE SAVEPOINT {name}");
                self.link.wait(self.link.connection.script(&sql))
            }
            None => self.link.wait(self.link.connection.commit_unguarded()),
        }
    }

    /// Undoes the changes.
    ///
    /// # Errors
    /// As [`Connection::query`](crate::Connection::query).
    pub fn rollback(mut self) -> Result<(), Error> {
        self.open = false;
        self.undo()
    }

    /// Begins a transaction within this one, which is a savepoint.
    ///
    /// # Errors
    /// As [`Connection::query`](crate::Connection::query).
    pub fn transaction(&mut self) -> Result<Transaction<'_>, Error> {
        self.savepoint(&format!("tsumugi_{}", self.depth + 1))
    }

    /// Begins a transaction within this one, which is a savepoint of this name.
    ///
    /// # Errors
    /// As [`Connection::query`](crate::Connection::query).
    pub fn savepoint(&mut self, name: &str) -> Result<Transaction<'_>, Error> {
        let name = format!("\"{}\"", name.replace('"', "\"\""));
        let sql = format!("SAVEPOINT {name}");
        self.link.wait(self.link.connection.script(&sql))?;
        Ok(Transaction {
            link: self.link.clone(),
            savepoint: Some(name),
            depth: self.depth + 1,
            open: true,
            client: std::marker::PhantomData,
        })
    }

    fn undo(&self) -> Result<(), Error> {
        let sql = match &self.savepoint {
            Some(name) => format!("ROLLBACK TO SAVEPOINT {name}"),
            None => "ROLLBACK".to_owned(),
        };
        self.link.wait(self.link.connection.script(&sql))
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open && self.undo().is_err() {
            self.link
                .connection
                .abort("a transaction could not be left");
        }
    }
}
