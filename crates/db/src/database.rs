//! The one face of all databases: each call goes to the driver that the URL chose. Holds no logic of its own.
//! Rule: what a method promises here holds for every driver.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_sql::Family;

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::metrics::Snapshot;
use crate::on_each::{on_database, on_server};
use crate::options::{Options, PipelineAtomicity, TransactionOptions};
use crate::postgres::Postgres;
use crate::row_stream::RowStream;
use crate::rows::Rows;
use crate::sequence::mark_rolled_back;
use crate::sql_text::SqlText;
use crate::statement_span::{changed, note_failure, note_outcome, statement_span};
use crate::transaction::Transaction;
use crate::value::{Value, bounded, bounded_together};
use crate::{server, sqlite};

/// A database with its pool of connections. Cheap to clone; connects to the same database share the connections.
///
/// The futures of all methods may be dropped at any time. A statement that waits is then not run, one that runs is
/// stopped, and the connection is clean before the next caller gets it. A statement that changes data and was
/// stopped has changed nothing; one that had just ended may have.
///
/// Placeholders are `?`. Transactions are begun with [`Database::begin`] only: `BEGIN`, `ATTACH`, temporary tables
/// and settings by `PRAGMA` are refused, because they would change a connection that others use next.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Database {
    /// An embedded SQLite database.
    Sqlite(sqlite::Pool),
    /// A PostgreSQL server. Its connections belong to the thread that connected.
    Postgres(server::Pool<Postgres>),
    /// A Firebird server. Its connections belong to the thread that connected. Needs the feature `firebird`.
    #[cfg(feature = "firebird")]
    Firebird(server::Pool<crate::firebird::Firebird>),
}

impl Database {
    /// Connects to the database at `url`: `sqlite:PATH`, `sqlite://PATH`, `sqlite::memory:`,
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE` or `firebird://USER:PASSWORD@HOST:PORT/DATABASE`, with options after `?`.
    ///
    /// What follows the first `/` of a Firebird URL goes to the server: an alias, or a path if it begins with another `/`.
    /// A missing file is created (unless `mode=rw`), a missing directory is not. `sqlite::memory:` is one database for
    /// all connects of this process while any of them lasts; `?name=NAME` makes another.
    /// Firebird needs the feature `firebird`.
    ///
    /// # Errors
    /// [`Error::Usage`] of a URL or an option that is not understood, and of a Firebird URL without the feature `firebird`; [`Error::Unsupported`] of
    /// [replicas](Options::replicas) of another database than PostgreSQL; [`Error::Open`] of a file that SQLite cannot open. A server is asked for one
    /// connection: [`Error::Unreachable`], or [`Error::PoolTimeout`] when none was opened in time.
    pub fn connect(url: &str, options: Options) -> LocalBoxFuture<'_, Result<Database>> {
        Database::connect_to(url, options).boxed_local()
    }

    async fn connect_to(url: &str, options: Options) -> Result<Database> {
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let pool = server::Pool::connect_with_replicas(url, options).await;
            return pool.map(Self::Postgres);
        }
        if !options.replicas.is_empty() {
            let database = match url.starts_with("firebird:") {
                true => "Firebird",
                false => "SQLite",
            };
            return Err(Error::unsupported(database, "replicas"));
        }
        #[cfg(feature = "firebird")]
        if url.starts_with("firebird:") {
            return server::Pool::connect(url, options)
                .await
                .map(Self::Firebird);
        }
        sqlite::Pool::connect(url, options).await.map(Self::Sqlite)
    }

    /// The pool of a PostgreSQL server, by which goes what no other database has: replicas, pipelines in one write, COPY and LISTEN. A driver that is
    /// added is named here; with `None` its callers get what SQLite's get.
    pub(crate) fn as_postgres(&self) -> Option<&server::Pool<Postgres>> {
        match self {
            Database::Postgres(pool) => Some(pool),
            Database::Sqlite(_) => None,
            #[cfg(feature = "firebird")]
            Database::Firebird(_) => None,
        }
    }

    /// What was chosen when it was connected.
    pub(crate) fn options(&self) -> &Options {
        on_database!(Database, self, pool => pool.options())
    }

    /// How URLs of this database begin: `sqlite`, `postgres` or `firebird`.
    pub fn scheme(&self) -> &'static str {
        match self.dialect().family {
            Family::Sqlite => "sqlite",
            Family::Postgres => "postgres",
            Family::Firebird => "firebird",
        }
    }

    /// Runs a statement and gives all its rows. One that writes, such as `INSERT … RETURNING`, works as well.
    ///
    /// # Errors
    /// [`Error::Usage`] where the call is wrong: another number of values than placeholders, several statements, one that connections of a pool do not
    /// take, more than [`BINDS_BYTES_MAX`](crate::limits::BINDS_BYTES_MAX). [`Error::PoolTimeout`], [`Error::QueueFull`] or [`Error::Unreachable`] where no
    /// connection was to be had; nothing ran then. [`Error::Timeout`] after `statement_timeout`, [`Error::Lost`] where the connection ended before the
    /// answer; both say whether the statement may have run. [`Error::TooLarge`] of rows beyond the limit of a result, [`Error::CommitUnknown`] where
    /// PostgreSQL has committed it and a synchronous standby has not. Else what the database says: of constraints, of values, of conflicts with others,
    /// [`Error::Syntax`], or [`Error::Database`].
    pub fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> impl Future<Output = Result<Rows>> {
        self.query_text(sql.into(), values.into())
    }

    pub(crate) async fn query_text(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let values = bounded(values)?;
        let span = statement_span(&sql, self.dialect());
        let outcome = on_database!(
            Database, self,
            pool => pool.query(sql, values).await;
            Firebird => pool.query_boxed(sql, values).await
        );
        note_outcome(&span, &outcome, Rows::len);
        outcome
    }

    /// Runs a statement and says what it changed. Rows that it gives are dropped.
    ///
    /// # Errors
    /// As [`Database::query`].
    pub fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> impl Future<Output = Result<ExecuteResult>> {
        self.execute_text(sql.into(), values.into())
    }

    async fn execute_text(&self, sql: SqlText, values: Vec<Value>) -> Result<ExecuteResult> {
        let values = bounded(values)?;
        let span = statement_span(&sql, self.dialect());
        let outcome = on_database!(
            Database, self,
            pool => pool.execute(sql, values).await;
            Firebird => pool.execute_boxed(sql, values).await
        );
        note_outcome(&span, &outcome, changed);
        outcome
    }

    /// Runs several statements without values, one after the other. On PostgreSQL they are one transaction unless the script says `COMMIT`; elsewhere
    /// they are none, and what ran before a failure stays. `statement_timeout` bounds the whole script; the error of one that it stopped says that a part
    /// may have run.
    ///
    /// # Errors
    /// As [`Database::query`], of the first statement that fails; those after it do not run.
    pub fn execute_script(&self, sql: impl Into<SqlText>) -> LocalBoxFuture<'_, Result<()>> {
        self.script_text(sql.into())
    }

    fn script_text(&self, sql: SqlText) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let span = statement_span(&sql, self.dialect());
            let outcome = on_database!(Database, self, pool => pool.execute_script(sql).await);
            note_failure(&span, &outcome);
            outcome
        }
        .boxed_local()
    }

    /// Runs a statement that only reads and gives its rows in batches of this size, all of one snapshot. Keeps a reader until the
    /// last batch is fetched or the stream is dropped.
    ///
    /// # Errors
    /// As [`Database::query`] of what fails before the first batch; later errors come from [`RowStream::next`].
    pub fn stream_by(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
        by: BatchSize,
    ) -> LocalBoxFuture<'_, Result<RowStream>> {
        self.stream_text(sql.into(), values.into(), by)
    }

    fn stream_text(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> LocalBoxFuture<'_, Result<RowStream>> {
        async move {
            let values = bounded(values)?;
            let span = statement_span(&sql, self.dialect());
            let outcome = on_database!(
                Database => RowStream, self,
                pool => pool.stream(sql, values, by).await
            );
            note_failure(&span, &outcome);
            outcome
        }
        .boxed_local()
    }

    /// Begins a transaction, on a connection of its own until it ends.
    ///
    /// # Errors
    /// [`Error::PoolTimeout`], [`Error::QueueFull`] or [`Error::Unreachable`] where no connection was to be had; [`Error::SerializationFailure`] where
    /// another process kept SQLite's file locked for longer than `busy_timeout`; [`Error::Lost`].
    pub fn begin(&self, options: TransactionOptions) -> LocalBoxFuture<'_, Result<Transaction>> {
        async move { on_database!(Database => Transaction, self, pool => pool.begin(options).await) }
            .boxed_local()
    }

    /// Runs several statements and gives their rows in order. PostgreSQL gets them in one write. With [`PipelineAtomicity::All`] they stand
    /// and fall together; the first that fails is followed by errors for all others.
    ///
    /// # Errors
    /// Where nothing could be sent, as [`Database::query`]. What fails in a statement stands in its place among the outcomes.
    pub fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> LocalBoxFuture<'_, Result<Vec<Result<Rows>>>> {
        async move {
            let statements = bounded_together(statements)?;
            match self.as_postgres() {
                Some(pool) => pool.pipeline(statements, atomicity).await,
                None => self.one_by_one(statements, atomicity).await,
            }
        }
        .boxed_local()
    }

    /// A pipeline of statements that each wait for the one before.
    async fn one_by_one(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        if atomicity == PipelineAtomicity::Each {
            let mut outcomes = Vec::with_capacity(statements.len());
            for (sql, values) in statements {
                outcomes.push(self.query(sql, values).await);
            }
            return Ok(outcomes);
        }
        let transaction = self.begin(TransactionOptions::default()).await?;
        let count = statements.len();
        let outcomes = transaction.pipeline(statements).await?;
        if outcomes.iter().any(Result::is_err) {
            transaction.roll_back().await?;
            return Ok(mark_rolled_back(outcomes, count));
        }
        transaction.commit().await?;
        Ok(outcomes)
    }

    /// Figures of this database since it was opened.
    pub fn snapshot(&self) -> Snapshot {
        on_database!(Database, self, pool => pool.snapshot())
    }

    /// Lets the connections go as they become free, and refuses further statements. Dropping the last clone does the same; SQLite's
    /// engine, which others may share, ends only then.
    pub fn close(&self) {
        if let Some(pool) = self.as_postgres() {
            pool.close_replicas();
        }
        on_server!(Database, self, Sqlite(_) => {}, pool => pool.close());
    }

    /// Whether both are the same database, as far as their URLs tell.
    pub fn is_same_as(&self, other: &Database) -> bool {
        match self {
            Self::Sqlite(_) => self.shares_connections_with(other),
            Self::Postgres(one) => matches!(other, Self::Postgres(other) if one.is_same_as(other)),
            #[cfg(feature = "firebird")]
            Self::Firebird(one) => matches!(other, Self::Firebird(other) if one.is_same_as(other)),
        }
    }

    /// Whether both are the same database with the same connections.
    pub fn shares_connections_with(&self, other: &Database) -> bool {
        match self {
            Self::Sqlite(one) => {
                matches!(other, Self::Sqlite(other) if one.shares_connections_with(other))
            }
            Self::Postgres(one) => {
                matches!(other, Self::Postgres(other) if one.shares_connections_with(other))
            }
            #[cfg(feature = "firebird")]
            Self::Firebird(one) => {
                matches!(other, Self::Firebird(other) if one.shares_connections_with(other))
            }
        }
    }
}
