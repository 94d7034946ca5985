//! Databases as handlers use them: the builder's queries, run where they were begun and read as values of the author's types.
//! Knows no driver. Rule: a transaction that is not committed is rolled back, also when the future that runs it is dropped.

mod node;
mod record;
mod row;
mod schema;
mod table;

use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;

use tsumugi_db::{
    Database, Executor, KeyedExecutor, Options, PrimaryKeys, Savepoint, Transaction,
    TransactionOptions,
};
use tsumugi_sql::Source;

use crate::error::{Error, Result};
use crate::ledger::Ledger;

pub use record::to_record;
pub use row::{from_row, from_rows};
pub use schema::Migration;
pub(crate) use schema::reporting_left_out;
pub use table::{Feed, Table};

/// A database with its pool. Cheap to clone. What is not here is on [`Database`], which it dereferences to: statements as text,
/// pipelines, COPY, LISTEN.
#[derive(Clone, Debug)]
pub struct Db {
    database: Database,
    keys: Rc<PrimaryKeys>,
}

impl Db {
    /// Connects; see [`Database::connect`] for URLs. Firebird needs the feature `firebird`. Its figures are on the admin pages.
    ///
    /// # Errors
    /// [`Error::Db`]: as [`Database::connect`].
    pub async fn connect(url: &str, options: Options) -> Result<Db> {
        let database = Database::connect(url, options).await?;
        Ledger::here().watch(&database);
        Ok(database.into())
    }

    /// The rows of a table.
    pub fn table(&self, source: impl Into<Source>) -> Table {
        let keyed = KeyedExecutor::new(Executor::Database(self.database.clone()), &self.keys);
        Table::new(source.into(), keyed)
    }

    /// The same database, to be read: on a replica that has all that the user of this request has written and seen, else on the primary. What writes is
    /// refused. A database without replicas is read itself.
    pub fn read(&self) -> Reads {
        Reads {
            executor: Executor::Read(self.database.clone()),
            keys: Rc::clone(&self.keys),
        }
    }

    /// Runs this in a transaction: committed when it gives `Ok`, rolled back when it gives an error or is dropped.
    ///
    /// # Errors
    /// What `run` gives, after the rollback. [`Error::Db`] where the transaction cannot be begun or committed.
    pub async fn tx<T, E: From<Error>>(
        &self,
        run: impl AsyncFnOnce(&Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.tx_with(TransactionOptions::default(), run).await
    }

    /// The same with options: isolation, read-only.
    ///
    /// # Errors
    /// As [`Db::tx`].
    pub async fn tx_with<T, E: From<Error>>(
        &self,
        options: TransactionOptions,
        run: impl AsyncFnOnce(&Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = self.database.begin(options).await.map_err(Error::from)?;
        let keys = Rc::new(PrimaryKeys::within(&self.keys));
        let _ending = keys.ending();
        let tx = Tx::new(Rc::new(begun), &keys);
        let _waiting = CommitWaits(&tx.transaction);
        match self.database.inside(run(&tx)).await {
            Ok(value) => {
                tx.commit().await.map_err(Error::from)?;
                keys.commit();
                Ok(value)
            }
            Err(error) => {
                // What the handler says is wrong counts; the connection is replaced when it cannot be rolled back.
                let _ = tx.roll_back().await;
                Err(error)
            }
        }
    }

    /// The same, run again after an error that is [retryable](Error::is_retryable), so many times at most. It is never run again where it is not known
    /// whether it was committed, nor where a part of it is, as Firebird commits changes of tables.
    ///
    /// # Errors
    /// As [`Db::tx`], of the last time.
    pub async fn tx_with_retries<T>(
        &self,
        retries: u32,
        options: TransactionOptions,
        run: impl AsyncFn(&Tx) -> Result<T>,
    ) -> Result<T> {
        let mut left = retries;
        // Also where the error is another database's.
        let is_kept = Cell::new(false);
        let noting = async |tx: &Tx| {
            let ended = run(tx).await;
            is_kept.set(tx.transaction.has_kept_changes());
            ended
        };
        loop {
            match self.tx_with(options, &noting).await {
                Err(error) if left > 0 && error.is_retryable() && !is_kept.get() => left -= 1,
                ended => return ended,
            }
        }
    }

    /// Lets the connections go as they become free.
    pub async fn close(&self) {
        self.database.close();
    }
}

impl From<Database> for Db {
    fn from(database: Database) -> Db {
        Db {
            database,
            keys: Rc::default(),
        }
    }
}

impl Deref for Db {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

/// A database that is read, which [`Db::read`] makes. What is not here is on [`Executor`], which it dereferences to: statements as text, streams.
#[derive(Clone, Debug)]
pub struct Reads {
    executor: Executor,
    keys: Rc<PrimaryKeys>,
}

impl Reads {
    /// The rows of a table, to be read.
    pub fn table(&self, source: impl Into<Source>) -> Table {
        let keyed = KeyedExecutor::new(self.executor.clone(), &self.keys);
        Table::new(source.into(), keyed)
    }

    /// Runs this in a transaction that only reads: all that it sees is of one moment, on one server. A failure there is the caller's.
    ///
    /// # Errors
    /// What `run` gives. [`Error::Db`] where the transaction cannot be begun or ended.
    pub async fn tx<T, E: From<Error>>(
        &self,
        run: impl AsyncFnOnce(&Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = self.executor.begin(TransactionOptions::read_only()).await;
        let keys = Rc::new(PrimaryKeys::within(&self.keys));
        let _ending = keys.ending();
        let tx = Tx::new(Rc::new(begun.map_err(Error::from)?), &keys);
        let outcome = run(&tx).await;
        // Nothing was written: the connection is replaced when it cannot be rolled back.
        let _ = tx.roll_back().await;
        outcome
    }
}

impl Deref for Reads {
    type Target = Executor;

    fn deref(&self) -> &Executor {
        &self.executor
    }
}

/// What waits for the commit of a transaction, dropped with this: it may hold the transaction itself.
struct CommitWaits<'t>(&'t Transaction);

impl Drop for CommitWaits<'_> {
    fn drop(&mut self) {
        self.0.forget_after_commit();
    }
}

/// A transaction that [`Db::tx`] runs. What is to happen when it has committed is for [`Transaction::after_commit`].
#[derive(Clone, Debug)]
pub struct Tx {
    transaction: Rc<Transaction>,
    keys: Rc<PrimaryKeys>,
}

impl Tx {
    fn new(transaction: Rc<Transaction>, keys: &Rc<PrimaryKeys>) -> Tx {
        Tx {
            transaction,
            keys: Rc::clone(keys),
        }
    }

    /// Where its statements run.
    pub(crate) fn executor(&self) -> Executor {
        Executor::Transaction(Rc::clone(&self.transaction))
    }

    /// The rows of a table, as this transaction sees them.
    pub fn table(&self, source: impl Into<Source>) -> Table {
        let executor = Executor::Transaction(Rc::clone(&self.transaction));
        Table::new(source.into(), KeyedExecutor::new(executor, &self.keys))
    }

    /// Succeeds if this is the last token that was given for the lock, and keeps others from the lock until the transaction has ended. See
    /// [`tsumugi_cluster::fence`].
    ///
    /// # Errors
    /// As there.
    pub async fn fence(&self, lock: &str, token: i64) -> Result<()> {
        let executor = Executor::Transaction(Rc::clone(&self.transaction));
        Ok(tsumugi_cluster::fence(&executor, lock, token).await?)
    }

    /// Sets a savepoint. See [`Transaction::savepoint`].
    ///
    /// # Errors
    /// As there.
    pub async fn savepoint(&self) -> tsumugi_db::Result<Savepoint> {
        self.keys.savepoint();
        self.transaction.savepoint().await
    }
}

impl Deref for Tx {
    type Target = Transaction;

    fn deref(&self) -> &Transaction {
        &self.transaction
    }
}
