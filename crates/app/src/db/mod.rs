//! Databases as handlers use them: the builder's queries, run where they were begun and read as values of the author's types.
//! Knows no driver. Rule: a transaction that is not committed is rolled back, also when the future that runs it is dropped.

mod node;
mod record;
mod row;
mod table;

use std::ops::Deref;
use std::rc::Rc;

use tsumugi_db::{Database, Executed, Options, RowStream, Rows, Transaction, TransactionOptions};
use tsumugi_sql::{Dialect, Source, Statement};

use crate::error::{Error, Result};

pub use record::to_record;
pub use row::{from_row, from_rows};
pub use table::{Feed, Table};

/// A database with its pool. Cheap to clone. What is not here is on [`Database`], which it dereferences to: statements as text,
/// pipelines, COPY, LISTEN.
#[derive(Clone, Debug)]
pub struct Db(Database);

impl Db {
    /// Connects; see [`Database::connect`] for URLs.
    pub async fn connect(url: &str, options: Options) -> Result<Db> {
        Ok(Db(Database::connect(url, options).await?))
    }

    /// The rows of a table.
    pub fn table(&self, source: impl Into<Source>) -> Table {
        Table::new(source.into(), Place::Database(self.0.clone()))
    }

    /// Runs this in a transaction: committed when it gives `Ok`, rolled back when it gives an error or is dropped.
    pub async fn tx<T, E: From<Error>>(
        &self,
        run: impl AsyncFnOnce(&Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        self.tx_with(TransactionOptions::default(), run).await
    }

    /// The same with options: isolation, read-only.
    pub async fn tx_with<T, E: From<Error>>(
        &self,
        options: TransactionOptions,
        run: impl AsyncFnOnce(&Tx) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = self.0.begin(options).await.map_err(Error::from)?;
        let tx = Tx(Rc::new(begun));
        match run(&tx).await {
            Ok(value) => {
                tx.commit().await.map_err(Error::from)?;
                Ok(value)
            }
            Err(error) => {
                // What the handler says is wrong counts; the connection is replaced when it cannot be rolled back.
                let _ = tx.roll_back().await;
                Err(error)
            }
        }
    }

    /// Lets the connections go as they become free.
    pub async fn close(&self) {
        self.0.close();
    }
}

impl From<Database> for Db {
    fn from(database: Database) -> Db {
        Db(database)
    }
}

impl Deref for Db {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.0
    }
}

/// A transaction that [`Db::tx`] runs.
#[derive(Clone, Debug)]
pub struct Tx(Rc<Transaction>);

impl Tx {
    /// The rows of a table, as this transaction sees them.
    pub fn table(&self, source: impl Into<Source>) -> Table {
        Table::new(source.into(), Place::Transaction(Rc::clone(&self.0)))
    }
}

impl Deref for Tx {
    type Target = Transaction;

    fn deref(&self) -> &Transaction {
        &self.0
    }
}

/// Where a query runs.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Database(Database),
    Transaction(Rc<Transaction>),
}

impl Place {
    fn dialect(&self) -> &'static Dialect {
        match self {
            Place::Database(database) => database.dialect(),
            Place::Transaction(transaction) => transaction.dialect(),
        }
    }

    async fn fetch(&self, statement: Statement) -> Result<Rows> {
        Ok(match self {
            Place::Database(database) => database.fetch(statement).await?,
            Place::Transaction(transaction) => transaction.fetch(statement).await?,
        })
    }

    async fn run(&self, statement: Statement) -> Result<Executed> {
        Ok(match self {
            Place::Database(database) => database.run(statement).await?,
            Place::Transaction(transaction) => transaction.run(statement).await?,
        })
    }

    async fn follow(&self, statement: Statement) -> Result<RowStream> {
        Ok(match self {
            Place::Database(database) => database.follow(statement).await?,
            Place::Transaction(transaction) => transaction.follow(statement).await?,
        })
    }
}
