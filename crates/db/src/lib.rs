//! One `Database` type over the drivers: pooled connections, statements, transactions, streams, rows to JSON and CSV.
//! Knows no HTTP, no Ruby and no SQL dialect beyond the driver's own. Rule: nothing here blocks the caller's thread,
//! and dropping any future leaves every connection clean.
//!
//! The body of a future that is not boxed is compiled anew, with all generic code below it, in each crate that awaits it. So futures leave this crate by a
//! boxed edge, a function that is neither `async` nor generic: a method that is generic in its arguments only converts them, and calls one that boxes, which of
//! SQL is called `…_text`. Not boxed are
//!
//! - `query`, `execute`, `fetch` and `run`, where callers would pay for a box at each statement, and for the same reason [`Executor::run_all`],
//!   [`Executor::fetch_all`] and the look-up of a primary key. Those of a [`Session`] are boxed.
//! - [`Executor::savepoint`] and the methods of [`schema::History`], which only await a box.
//! - What takes a future or a function of the caller's, such as [`Database::inside`], [`Database::seed`] and [`bookkeeping()`].
//!
//! # Features
//!
//! Without any there are SQLite and PostgreSQL.
//!
//! | feature | what it adds | on by default |
//! | --- | --- | --- |
//! | `firebird` | databases of Firebird: URLs that begin with `firebird:`, and the variants of that name; without, such a URL is refused with [`Error::Usage`] | yes |
//!
//! ```
//! use tsumugi_db::{Database, Options, TransactionOptions, values};
//!
//! # async fn example() -> tsumugi_db::Result<()> {
//! let db = Database::connect("sqlite::memory:", Options::default()).await?;
//! db.execute("create table users(id integer primary key, name text)", []).await?;
//!
//! let tx = db.begin(TransactionOptions::default()).await?;
//! tx.execute("insert into users(name) values (?)", values!["紡ぎ"]).await?;
//! tx.commit().await?;
//!
//! let mut json = Vec::new();
//! db.query("select id, name from users", []).await?.write_json(&mut json)?;
//! assert_eq!(json, r#"[{"id":1,"name":"紡ぎ"}]"#.as_bytes());
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```

#![forbid(unsafe_code)]

mod absent_file;
mod batch;
mod bookkeeping;
mod boxed_statements;
mod code;
mod csv;
mod database;
mod database_watch;
mod error;
mod execution;
mod executor;
mod explain;
mod failed_statement;
mod feed;
#[cfg(feature = "firebird")]
mod firebird;
mod inserts;
mod json;
mod keys;
pub mod limits;
mod log;
mod metrics;
mod on_each;
mod options;
mod outcome;
mod postgres;
mod query;
mod read_database;
mod read_text;
mod recency;
mod refusal;
mod route_scope;
mod row_stream;
mod rows;
pub mod schema;
mod sequence;
mod server;
mod session;
pub mod sql_text;
mod sqlite;
mod statement_context;
mod statement_outcome;
mod statement_span;
mod statement_table;
mod test_databases;
mod transaction;
mod value;
mod weak_database;

pub use batch::BatchSize;
pub use bookkeeping::bookkeeping;
pub use database::Database;
pub use database_watch::{DatabaseWatch, PoolRole, PoolScope};
pub use error::{Code, Error, FailedStatement, Result};
pub use execution::ExecuteResult;
pub use executor::Executor;
pub use feed::{Format, RowEncoder, RowFeed};
pub use inserts::KeyedExecutor;
pub use keys::{Changing, PrimaryKey, PrimaryKeys};
pub use metrics::Snapshot;
pub use options::{
    AbsentFile, Access, Isolation, MigrationScope, Names, Options, PipelineAtomicity, ReadTarget,
    ReplicaUrls, StatementLog, TransactionMode, TransactionOptions,
};
pub use postgres::{CopyIn, CopyOut, Listener, ListenerEvent, Session};
pub use query::sendable;
pub use recency::{Recency, RecencyTexts, has_replicas};
pub use refusal::Refusal;
pub use row_stream::RowStream;
pub use rows::{Columns, Row, Rows};
pub use sql_text::SqlText;
pub use statement_outcome::StatementOutcome;
pub use statement_table::{
    StatementFigures, StatementReport, keep_statements, reset_statements, statement_original,
    statement_report,
};
pub use test_databases::{TestContents, TestDatabase, TestDatabases};
pub use transaction::{Savepoint, Transaction};
pub use tsumugi_sql::{Family, Value, values};
pub use value::{BindRoom, TypedValueRef, ValueKind, ValueRef};
