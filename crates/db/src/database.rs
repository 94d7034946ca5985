//! The one face of all databases: each call goes to the driver that the URL chose. Holds no logic of its own.
//! Rule: what a method promises here holds for every driver.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::firebird::Firebird;
use crate::metrics::Snapshot;
use crate::options::{Options, PipelineAtomicity, TransactionOptions};
use crate::outcome::{CommitCallback, guarded};
use crate::postgres::Postgres;
use crate::rows::{Columns, Rows};
use crate::sequence::undone;
use crate::sql_text::SqlText;
use crate::statement_span::{changed, note_failure, note_outcome, statement_span};
use crate::value::{Value, bounded, bounded_together};
use crate::{server, sqlite};

/// Calls the same on whichever it is; with `=>`, what comes of it becomes a variant too. With `@await` or `@guarded`, the call is waited for, boxed on
/// Firebird, so that the futures of the others stay small.
macro_rules! on_each {
    ($of:ident, $it:expr, $inner:ident => @await $call:expr) => {
        match $it {
            $of::Sqlite($inner) => $call.await,
            $of::Postgres($inner) => $call.await,
            $of::Firebird($inner) => Box::pin($call).await,
        }
    };
    ($of:ident, $it:expr, $inner:ident => @guarded $call:expr) => {
        match $it {
            $of::Sqlite($inner) => guarded!($inner.owner(), $call),
            $of::Postgres($inner) => guarded!($inner.owner(), $call),
            $of::Firebird($inner) => guarded!($inner.owner(), Box::pin($call)),
        }
    };
    ($of:ident, $it:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Sqlite($inner) => $call,
            $of::Postgres($inner) => $call,
            $of::Firebird($inner) => $call,
        }
    };
    ($of:ident => $to:ident, $it:expr, $inner:ident => $call:expr) => {
        match $it {
            $of::Sqlite($inner) => $call.map($to::Sqlite),
            $of::Postgres($inner) => $call.map($to::Postgres),
            $of::Firebird($inner) => $call.map($to::Firebird),
        }
    };
}

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
    /// A Firebird server. Its connections belong to the thread that connected.
    Firebird(server::Pool<Firebird>),
}

impl Database {
    /// Connects to the database at `url`: `sqlite:PATH`, `sqlite://PATH`, `sqlite::memory:`,
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE` or `firebird://USER:PASSWORD@HOST:PORT/DATABASE`, with options after `?`.
    ///
    /// What follows the first `/` of a Firebird URL goes to the server: an alias, or a path if it begins with another `/`.
    /// A missing file is created (unless `mode=rw`), a missing directory is not. `sqlite::memory:` is one database for
    /// all connects of this process while any of them lasts; `?name=NAME` makes another.
    ///
    /// # Errors
    /// [`Error::Unsupported`] of [replicas](Options::replicas) that are not PostgreSQL's; [`Error::Usage`] of a URL or an option that is not understood, [`Error::Open`] of a file that SQLite cannot open. A server is asked for one
    /// connection: [`Error::Unreachable`], or [`Error::PoolTimeout`] when none was opened in time.
    pub async fn connect(url: &str, options: Options) -> Result<Database> {
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            // Boxed, so that the future of the others stays small.
            let connecting = Box::pin(server::Pool::connect_with_replicas(url, options));
            return connecting.await.map(Self::Postgres);
        }
        if !options.replicas.is_empty() {
            let database = match url.starts_with("firebird:") {
                true => "Firebird",
                false => "SQLite",
            };
            return Err(Error::unsupported(database, "replicas"));
        }
        if url.starts_with("firebird:") {
            return server::Pool::connect(url, options)
                .await
                .map(Self::Firebird);
        }
        sqlite::Pool::connect(url, options).await.map(Self::Sqlite)
    }

    /// What was chosen when it was connected.
    pub(crate) fn options(&self) -> &Options {
        on_each!(Database, self, pool => pool.options())
    }

    /// How URLs of this database begin: `sqlite`, `postgres` or `firebird`.
    pub fn scheme(&self) -> &'static str {
        match self {
            Database::Sqlite(_) => "sqlite",
            Database::Postgres(_) => "postgres",
            Database::Firebird(_) => "firebird",
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
    pub async fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        let (sql, values) = (sql.into(), bounded(values)?);
        let span = statement_span(&sql, self.dialect());
        let outcome = on_each!(Database, self, pool => @await pool.query(sql, values));
        note_outcome(&span, &outcome, Rows::len);
        outcome
    }

    /// Runs a statement and says what it changed. Rows that it gives are dropped.
    ///
    /// # Errors
    /// As [`Database::query`].
    pub async fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<ExecuteResult> {
        let (sql, values) = (sql.into(), bounded(values)?);
        let span = statement_span(&sql, self.dialect());
        let outcome = on_each!(Database, self, pool => @await pool.execute(sql, values));
        note_outcome(&span, &outcome, changed);
        outcome
    }

    /// Runs several statements without values, one after the other. On PostgreSQL they are one transaction unless the script says `COMMIT`; elsewhere
    /// they are none, and what ran before a failure stays. `statement_timeout` bounds the whole script; the error of one that it stopped says that a part
    /// may have run.
    ///
    /// # Errors
    /// As [`Database::query`], of the first statement that fails; those after it do not run.
    pub async fn execute_script(&self, sql: impl Into<SqlText>) -> Result<()> {
        let sql = sql.into();
        let span = statement_span(&sql, self.dialect());
        let outcome = on_each!(Database, self, pool => pool.execute_script(sql).await);
        note_failure(&span, &outcome);
        outcome
    }

    /// Runs a statement that only reads and gives its rows in batches of this size, all of one snapshot. Keeps a reader until the
    /// last batch is fetched or the stream is dropped.
    ///
    /// # Errors
    /// As [`Database::query`] of what fails before the first batch; later errors come from [`RowStream::next`].
    pub async fn stream_by(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let (sql, values): (SqlText, _) = (sql.into(), bounded(values)?);
        let span = statement_span(&sql, self.dialect());
        let outcome =
            on_each!(Database => RowStream, self, pool => pool.stream(sql, values, by).await);
        note_failure(&span, &outcome);
        outcome
    }

    /// Begins a transaction, on a connection of its own until it ends.
    ///
    /// # Errors
    /// [`Error::PoolTimeout`], [`Error::QueueFull`] or [`Error::Unreachable`] where no connection was to be had; [`Error::SerializationFailure`] where
    /// another process kept SQLite's file locked for longer than `busy_timeout`; [`Error::Lost`].
    pub async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        on_each!(Database => Transaction, self, pool => pool.begin(options).await)
    }

    /// Runs several statements and gives their rows in order. PostgreSQL gets them in one write. With [`PipelineAtomicity::All`] they stand
    /// and fall together; the first that fails is followed by errors for all others.
    ///
    /// # Errors
    /// Where nothing could be sent, as [`Database::query`]. What fails in a statement stands in its place among the outcomes.
    pub async fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let statements = bounded_together(statements)?;
        match self {
            Database::Postgres(pool) => pool.pipeline(statements, atomicity).await,
            Database::Sqlite(_) | Database::Firebird(_) => {
                self.one_by_one(statements, atomicity).await
            }
        }
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
            return Ok(undone(outcomes, count));
        }
        transaction.commit().await?;
        Ok(outcomes)
    }

    /// Figures of this database since it was opened.
    pub fn snapshot(&self) -> Snapshot {
        on_each!(Database, self, pool => pool.snapshot())
    }

    /// Lets the connections go as they become free, and refuses further statements. Dropping the last clone does the same; SQLite's
    /// engine, which others may share, ends only then.
    pub fn close(&self) {
        match self {
            Database::Postgres(pool) => {
                pool.close_replicas();
                pool.close();
            }
            Database::Firebird(pool) => pool.close(),
            Database::Sqlite(_) => {}
        }
    }

    /// Whether both are the same database, as far as their URLs tell.
    pub fn is_same_as(&self, other: &Database) -> bool {
        match (self, other) {
            (Self::Postgres(one), Self::Postgres(other)) => one.is_same_as(other),
            (Self::Firebird(one), Self::Firebird(other)) => one.is_same_as(other),
            _ => self.shares_connections_with(other),
        }
    }

    /// Whether both are the same database with the same connections.
    pub fn shares_connections_with(&self, other: &Database) -> bool {
        match (self, other) {
            (Self::Sqlite(one), Self::Sqlite(other)) => one.shares_connections_with(other),
            (Self::Postgres(one), Self::Postgres(other)) => one.shares_connections_with(other),
            (Self::Firebird(one), Self::Firebird(other)) => one.shares_connections_with(other),
            _ => false,
        }
    }
}

/// A transaction. Dropped without [`Transaction::commit`] it is rolled back, before another caller gets its connection.
///
/// On SQLite and Firebird a statement that fails leaves the transaction usable; on PostgreSQL all that follow fail as well, until it is rolled back
/// to a savepoint or to its beginning. One that writes and is stopped by `statement_timeout` ends the transaction (on PostgreSQL it is a
/// failure like any other).
///
/// A call whose future is dropped after it was first polled and before it has ended, as by `select!` or a timeout around it, ends the
/// transaction on all databases: what it did is not known, not even whether it only reads, so everything is rolled back at once, and all later calls,
/// `commit` too, say [`Error::RolledBack`]. Of a `commit` itself it is not known how it ended. A [`RowStream`] may be dropped, and so may the futures of its [`RowStream::next`].
#[non_exhaustive]
#[derive(Debug)]
pub enum Transaction {
    /// Of an SQLite database.
    Sqlite(sqlite::Transaction),
    /// Of a PostgreSQL database.
    Postgres(server::Transaction<Postgres>),
    /// Of a Firebird database.
    Firebird(server::Transaction<Firebird>),
}

impl Transaction {
    /// Like [`Database::query`], inside the transaction.
    ///
    /// # Errors
    /// As [`Database::query`]. [`Error::Closed`] or [`Error::RolledBack`] once the transaction is over, [`Error::Usage`] while a stream of it is open.
    pub async fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        let (sql, values) = (sql.into(), bounded(values)?);
        let span = statement_span(&sql, self.dialect());
        let outcome = on_each!(Transaction, self, own => @guarded own.query(sql, values));
        note_outcome(&span, &outcome, Rows::len);
        outcome
    }

    /// Like [`Database::execute`], inside the transaction.
    ///
    /// # Errors
    /// As [`Transaction::query`].
    pub async fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<ExecuteResult> {
        let (sql, values) = (sql.into(), bounded(values)?);
        let span = statement_span(&sql, self.dialect());
        let outcome = on_each!(Transaction, self, own => @guarded own.execute(sql, values));
        note_outcome(&span, &outcome, changed);
        outcome
    }

    /// Like [`Database::execute_script`], inside the transaction, so it must not say `BEGIN` or `COMMIT`.
    ///
    /// # Errors
    /// As [`Transaction::query`], of the first statement that fails; those after it do not run.
    pub async fn execute_script(&self, sql: impl Into<SqlText>) -> Result<()> {
        let sql = sql.into();
        let span = statement_span(&sql, self.dialect());
        let outcome =
            on_each!(Transaction, self, own => guarded!(own.owner(), own.execute_script(sql)));
        note_failure(&span, &outcome);
        outcome
    }

    /// Like [`Database::stream_by`], inside the transaction, which can do nothing else until the stream ends or is dropped. A stream that is kept beyond
    /// the end of the transaction holds nothing, and its next batch is the error that says so.
    ///
    /// # Errors
    /// As [`Transaction::query`] of what fails before the first batch; later errors come from [`RowStream::next`].
    pub async fn stream_by(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let (sql, values): (SqlText, _) = (sql.into(), bounded(values)?);
        let span = statement_span(&sql, self.dialect());
        let outcome = on_each!(
            Transaction => RowStream, self,
            own => guarded!(own.owner(), own.stream(sql, values, by))
        );
        note_failure(&span, &outcome);
        outcome
    }

    /// Like [`Database::pipeline`], inside the transaction; nothing runs after the first that fails. PostgreSQL gets them in one write,
    /// and then all others have errors as well.
    ///
    /// # Errors
    /// Where nothing could be sent, as [`Transaction::query`]. What fails in a statement stands in its place among the outcomes.
    pub async fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
    ) -> Result<Vec<Result<Rows>>> {
        let statements = bounded_together(statements)?;
        if let Transaction::Postgres(own) = self {
            return guarded!(own.owner(), own.pipeline(statements));
        }
        let mut outcomes = Vec::with_capacity(statements.len());
        for (sql, values) in statements {
            let outcome = self.query(sql, values).await;
            let failed = outcome.is_err();
            outcomes.push(outcome);
            if failed {
                break;
            }
        }
        Ok(outcomes)
    }

    /// Marks a point to which the transaction can be rolled back. They nest.
    ///
    /// # Errors
    /// [`Error::Closed`] or [`Error::RolledBack`] once the transaction is over, [`Error::Usage`] while a stream of it is open, [`Error::Lost`]; on PostgreSQL
    /// also after a statement that failed.
    pub async fn savepoint(&self) -> Result<Savepoint> {
        on_each!(
            Transaction => Savepoint, self,
            own => guarded!(own.owner(), own.savepoint())
        )
    }

    /// Runs this when the transaction has committed, in the order in which it was asked for. Nothing runs where the transaction is rolled back or dropped,
    /// where its commit fails or it is not known whether it was committed, nor what was asked for within a savepoint that is rolled back or dropped.
    /// What it keeps is kept until the transaction has ended. One that panics ends the commit's future, behind the others.
    pub fn after_commit(&self, run: impl FnOnce() + 'static) {
        let savepoints = on_each!(Transaction, self, own => own.savepoints());
        savepoints.borrow_mut().after_commit(Box::new(run));
    }

    /// Drops what waits for the commit of a transaction that will not be committed, which it would keep open if it held it.
    pub fn forget_after_commit(&self) {
        drop(self.take_after_commit());
    }

    fn take_after_commit(&self) -> Vec<CommitCallback> {
        let savepoints = on_each!(Transaction, self, own => own.savepoints());
        savepoints.borrow_mut().take_callbacks()
    }

    /// Makes the changes permanent and ends the transaction. On a server the commit goes on where its future is dropped, and the log says what has become
    /// of it if that takes long. Where it fails because of a deferred constraint or a
    /// lock, an SQLite transaction is still open; on a server it is rolled back then.
    ///
    /// # Errors
    /// What the database says: a deferred constraint, a conflict with another transaction. [`Error::LostUncommitted`] where the server was lost and
    /// nothing was kept, [`Error::CommitUnknown`] where it is not known whether it was committed: on PostgreSQL the primary is asked before, and a
    /// promotion is waited for within `acquire_timeout`.
    /// [`Error::Closed`] or [`Error::RolledBack`] once the transaction is over, [`Error::Usage`] while a stream of it is open or a statement of it runs for
    /// longer than `statement_timeout`.
    pub async fn commit(&self) -> Result<()> {
        let span = statement_span("COMMIT", self.dialect());
        let outcome = on_each!(Transaction, self, own => guarded!(own.owner(), own.commit()));
        note_failure(&span, &outcome);
        if outcome.is_ok() {
            run_all(self.take_after_commit());
        }
        outcome
    }

    /// Undoes the changes and ends the transaction. One that was rolled back already is as it is wanted.
    ///
    /// # Errors
    /// [`Error::Closed`] once the transaction was committed, [`Error::Usage`] while a stream of it is open, [`Error::Lost`].
    pub async fn roll_back(&self) -> Result<()> {
        let span = statement_span("ROLLBACK", self.dialect());
        let rolled_back =
            on_each!(Transaction, self, own => guarded!(own.owner(), own.roll_back()));
        note_failure(&span, &rolled_back);
        self.forget_after_commit();
        match rolled_back {
            Err(Error::RolledBack { .. }) => Ok(()),
            other => other,
        }
    }
}

/// Runs each, whatever another one does; the first panic goes on when all have run.
fn run_all(callbacks: Vec<CommitCallback>) {
    let mut first = None;
    for run in callbacks {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            first.get_or_insert(panic);
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

/// A point in a transaction. Dropped without [`Savepoint::release`] the transaction is rolled back to it, before it does anything
/// else: also when a stream or a COPY of the transaction is open, as soon as that has ended. Ending one ends those made after it.
#[non_exhaustive]
#[derive(Debug)]
pub enum Savepoint {
    /// Of an SQLite transaction.
    Sqlite(sqlite::Savepoint),
    /// Of a PostgreSQL transaction.
    Postgres(server::Savepoint<Postgres>),
    /// Of a Firebird transaction.
    Firebird(server::Savepoint<Firebird>),
}

impl Savepoint {
    /// Keeps what was done since, as a part of the transaction.
    ///
    /// # Errors
    /// [`Error::Closed`] or [`Error::RolledBack`] where the transaction, or a savepoint around this one, has ended; [`Error::Lost`].
    pub async fn release(self) -> Result<()> {
        on_each!(Savepoint, self, own => guarded!(own.owner(), own.release()))
    }

    /// Drops it, but leaves a transaction as it is of which a statement has failed after which the server takes no other one: the savepoint then
    /// ends with it or with the one around it.
    pub(crate) fn drop_unless_spoiled(self) {
        if let Savepoint::Postgres(savepoint) = self {
            savepoint.drop_unless_spoiled();
        }
    }

    /// Undoes what was done since.
    ///
    /// # Errors
    /// As [`Savepoint::release`].
    pub async fn roll_back(self) -> Result<()> {
        on_each!(Savepoint, self, own => guarded!(own.owner(), own.roll_back()))
    }
}

/// Rows in batches.
#[non_exhaustive]
#[derive(Debug)]
pub enum RowStream {
    /// Of an SQLite database.
    Sqlite(sqlite::RowStream),
    /// Of a PostgreSQL database.
    Postgres(server::RowStream<Postgres>),
    /// Of a Firebird database.
    Firebird(server::RowStream<Firebird>),
}

impl RowStream {
    /// The columns, known before the first batch and also when there is none.
    pub fn columns(&self) -> &Arc<Columns> {
        on_each!(RowStream, self, stream => stream.columns())
    }

    /// The next batch: at least one row, at most as many as [`BatchSize::of`] says. Without it the size of the rows decides, at about
    /// [`BATCH_MAX_BYTES`](crate::limits::BATCH_MAX_BYTES) for a batch. None after the last.
    ///
    /// Rows are read from the database when this is called, not before, except for the first batch. Dropping the
    /// future loses nothing: the next call goes on waiting.
    ///
    /// # Errors
    /// As [`Database::query`], of the rows of this batch; [`Error::Closed`] where the stream was not read for `idle_timeout`; [`Error::Closed`] or
    /// [`Error::RolledBack`] where its transaction or session has ended. The stream is over after an error.
    pub async fn next(&mut self) -> Result<Option<Rows>> {
        on_each!(RowStream, self, stream => stream.next().await)
    }
}
