//! Statements that the builder made (`tsumugi_sql`), and streams without a size of batch, run on a connection of a database's choice, in a
//! transaction or in a session. Builds nothing itself.
//! Rule: what the builder wrote reaches the database as it is; nothing in it is a placeholder but its own.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_sql::schema::{Catalog, CatalogRows, Description};
use tsumugi_sql::{Dialect, Name, POSTGRES, SQLITE, Statement};

use crate::batch::BatchSize;
use crate::bookkeeping::bookkeeping;
use crate::database::Database;
use crate::error::Result;
use crate::execution::ExecuteResult;
use crate::executor::Executor;
use crate::postgres::Session;
use crate::row_stream::RowStream;
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::transaction::Transaction;
use crate::value::{Value, ValueRef};

/// SQL and values of a statement as the methods that take text want them: `query`, `execute`, `stream`, `pipeline`.
pub fn sendable(statement: Statement) -> (SqlText, Vec<Value>) {
    let Statement { sql, binds } = statement;
    (
        SqlText::native(sql),
        binds.into_iter().map(as_sent).collect(),
    )
}

/// The value as a caller's own would be: where a number is one the SQL says.
fn as_sent(value: Value) -> Value {
    match value {
        Value::Decimal(text) => Value::Text(text),
        Value::List(list) => Value::List(list.into_iter().map(as_sent).collect()),
        value => value,
    }
}

impl Database {
    /// The SQL that the builder writes for this database.
    pub fn dialect(&self) -> &'static Dialect {
        match self {
            Database::Sqlite(_) => &SQLITE,
            Database::Postgres(_) => &POSTGRES,
            #[cfg(feature = "firebird")]
            Database::Firebird(_) => &tsumugi_sql::FIREBIRD,
        }
    }
}

impl Transaction {
    /// The SQL that the builder writes for this database.
    pub fn dialect(&self) -> &'static Dialect {
        match self {
            Transaction::Sqlite(_) => &SQLITE,
            Transaction::Postgres(_) => &POSTGRES,
            #[cfg(feature = "firebird")]
            Transaction::Firebird(_) => &tsumugi_sql::FIREBIRD,
        }
    }
}

impl Session {
    /// The SQL that the builder writes for this database.
    pub fn dialect(&self) -> &'static Dialect {
        &POSTGRES
    }
}

/// The same for whatever runs statements, with the method that reads the catalog.
macro_rules! runs {
    ($($of:ty: $catalog:ident),*) => {
        $(impl $of {
            /// Runs a statement that only reads and gives its rows in batches, as many at a time as suit their size. See `stream_by`.
            pub fn stream(
                &self,
                sql: impl Into<SqlText>,
                values: impl Into<Vec<Value>>,
            ) -> LocalBoxFuture<'_, Result<RowStream>> {
                self.stream_by(sql, values, BatchSize::default())
            }

            /// Runs a statement of the builder and gives its rows, as `query` does.
            pub fn fetch(&self, statement: Statement) -> impl Future<Output = Result<Rows>> {
                let (sql, values) = sendable(statement);
                self.query(sql, values)
            }

            /// Runs a statement of the builder and says what it changed, as `execute` does.
            pub fn run(&self, statement: Statement) -> impl Future<Output = Result<ExecuteResult>> {
                let (sql, values) = sendable(statement);
                self.execute(sql, values)
            }

            /// Runs a statement of the builder that only reads and gives its rows in batches, as `stream` does.
            pub fn follow(&self, statement: Statement) -> LocalBoxFuture<'_, Result<RowStream>> {
                self.follow_by(statement, BatchSize::default())
            }

            /// As `follow`, with so many rows at a time.
            pub fn follow_by(
                &self,
                statement: Statement,
                by: BatchSize,
            ) -> LocalBoxFuture<'_, Result<RowStream>> {
                let (sql, values) = sendable(statement);
                self.stream_by(sql, values, by)
            }

            /// What the database says of a table; none if there is no such table.
            pub fn describe(
                &self,
                table: impl Into<Name>,
            ) -> LocalBoxFuture<'_, Result<Option<Description>>> {
                self.describe_name(table.into())
            }

            fn describe_name(&self, table: Name) -> LocalBoxFuture<'_, Result<Option<Description>>> {
                bookkeeping(async move {
                    let dialect = self.dialect();
                    let catalog = Catalog::of(table, dialect)?;
                    // The catalog has what a transaction has changed.
                    let rows = async |question: Statement| {
                        let (sql, values) = sendable(question);
                        self.$catalog(sql, values).await.map(|rows| texts(&rows))
                    };
                    let rows = CatalogRows {
                        columns: rows(catalog.columns).await?,
                        keys: rows(catalog.keys).await?,
                        foreign_keys: rows(catalog.foreign_keys).await?,
                        checks: rows(catalog.checks).await?,
                    };
                    Ok(Description::read(&rows, dialect))
                })
                .boxed_local()
            }
        })*
    };
}

runs!(Database: query_catalog, Transaction: run_beside_changes, Session: query, Executor: query_catalog);

/// Rows of text and NULL.
fn texts(rows: &Rows) -> Vec<Vec<Option<String>>> {
    let text = |value: ValueRef<'_>| match Value::from(value) {
        Value::Text(text) => Some(text),
        _ => None,
    };
    rows.iter()
        .map(|row| row.values().map(text).collect())
        .collect()
}
