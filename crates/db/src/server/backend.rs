//! What a database behind a server says of its statements, and what its pool does around each of them: time, log, figures, errors.
//! Knows no transaction. Rule: a statement is planned before a connection is taken, and counted once, however it ends.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{Either, FutureExt as _, LocalBoxFuture, TryFutureExt as _};
use tsumugi_sql::scan::Lexicon;

use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::limits::QUEUE_MAX;
use crate::log::whole_milliseconds;
use crate::metrics::{Figures, Snapshot};
use crate::options::Options;
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::statement_context::StatementContext;
use crate::value::{Value, ValueRef};

use super::connections::{AcquireError, ConnectionPool, Exclusive, Link};
use super::expiry::OpenStreams;
use super::fault::{DriverError, Fault};
use super::statement_stats::StatementStats;

/// A database behind a server, with its driver. What a pool keeps for it beside the connections is in the value.
pub(crate) trait ServerBackend: Sized + 'static {
    /// How connections are opened and made clean.
    type Link: Link;
    /// What is known of a statement's text before it is sent.
    type Plan;
    /// Values as the driver takes them.
    type Binds<'v>;
    /// What the driver replies to a statement.
    type Reply;
    type Error: DriverError;
    /// A text of several statements.
    type Script<'s>;

    /// Reads a URL.
    fn target(url: &str, options: Options) -> impl Future<Output = Result<Target<Self>>>;

    /// Whether both are the same database, as far as their URLs tell.
    fn is_same_as(&self, other: &Self) -> bool;

    fn limits(&self) -> Limits;

    /// What its SQL has beside that of others.
    fn lexicon() -> Lexicon;

    /// What is to be known of a statement in this place, or why it is refused there.
    fn plan(&self, sql: &SqlText, scope: Scope) -> Result<Self::Plan, &'static str>;

    /// Whether a single statement needs a connection alone.
    fn needs_exclusive(plan: &Self::Plan) -> bool;

    fn binds(values: &[Value]) -> Self::Binds<'_>;

    /// Runs a statement outside of a transaction.
    fn query(
        pool: &PoolInner<Self>,
        connection: &Connection<Self>,
        plan: &Self::Plan,
        sql: &str,
        binds: &Self::Binds<'_>,
    ) -> impl Future<Output = Result<Self::Reply, Self::Error>>;

    /// What a statement came to on a shared connection, once it has been looked at what became of the connection.
    fn check(
        _: &Connection<Self>,
        _: &Self::Plan,
        outcome: Outcome<Self, Self::Reply>,
    ) -> Outcome<Self, Self::Reply> {
        outcome
    }

    fn answer(reply: Self::Reply) -> Result<Answer, Self::Error>;

    /// A text of several statements, or why one of them is refused.
    fn script<'s>(&self, sql: &'s str) -> Result<Self::Script<'s>, &'static str>;

    /// Runs a script on a connection that the caller has alone.
    fn run_script(
        pool: &PoolInner<Self>,
        connection: &Connection<Self>,
        script: Self::Script<'_>,
    ) -> impl Future<Output = Result<(), Self::Error>>;
}

/// The result of a statement.
pub(crate) struct Answer {
    pub(crate) rows: Rows,
    /// Rows that it changed.
    pub(crate) affected: u64,
}

impl Answer {
    /// Rows that came, or that were changed where none may come.
    fn given_or_changed(&self) -> usize {
        match self.rows.columns().is_empty() {
            true => usize::try_from(self.affected).unwrap_or(usize::MAX),
            false => self.rows.len(),
        }
    }

    pub(crate) fn executed(&self) -> ExecuteResult {
        // Servers have no last id: `insert … returning id` gives it.
        let returned = self.rows.first().and_then(|row| row.value(0));
        ExecuteResult {
            affected: self.affected,
            last_insert_id: match returned {
                Some(ValueRef::Integer(id)) => Some(id),
                _ => None,
            },
        }
    }
}

/// The connection of a backend.
pub(crate) type Connection<B> = <<B as ServerBackend>::Link as Link>::Connection;

/// What a call to the driver of a backend came to.
pub(crate) type Outcome<B, T> = Result<T, Fault<<B as ServerBackend>::Error>>;

/// Where a statement is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Outside of a transaction, where the statements of other callers run as well.
    Shared,
    /// Where no other caller is.
    Exclusive,
}

/// Which side watches over `statement_timeout` and `idle_timeout`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limits {
    Server,
    Client,
}

/// A database that can be connected to.
pub(crate) struct Target<B: ServerBackend> {
    pub(crate) backend: B,
    pub(crate) link: B::Link,
    /// What the database is called on its server.
    pub(crate) name: Arc<str>,
    /// User, hosts and name of the database: its URL without password and options. The log calls it so when no connection can be opened; where others log that,
    /// as for replicas, there is none.
    pub(crate) address: Option<Arc<str>>,
    pub(crate) options: Options,
}

/// One database of one worker. Pools, transactions and streams share it.
pub(crate) struct PoolInner<B: ServerBackend> {
    pub(crate) name: Arc<str>,
    pub(crate) connections: ConnectionPool<B::Link>,
    pub(crate) backend: B,
    pub(crate) options: Options,
    pub(crate) stats: StatementStats,
    pub(crate) streams: OpenStreams,
    pub(super) vtable: StatementVtable<B>,
}

/// What a single statement calls besides its driver, by pointers. The future of `query` has no box, so each crate that awaits it compiles it, with all generic
/// code of the pool that it calls by name. What is called by a pointer is compiled once: in this crate, which makes the pool.
#[expect(
    clippy::type_complexity,
    reason = "a pointer has the type of the function that it points to"
)]
pub(super) struct StatementVtable<B: ServerBackend> {
    make_plan: fn(&PoolInner<B>, &SqlText, &[Value], Scope) -> Result<B::Plan>,
    acquire_error: fn(&PoolInner<B>, &str, &[Value], AcquireError) -> Error,
    log_outcome: fn(
        &PoolInner<B>,
        Option<Instant>,
        &SqlText,
        &[Value],
        Outcome<B, B::Reply>,
    ) -> Result<Answer>,
    pub(super) run_exclusive: for<'p> fn(
        &'p PoolInner<B>,
        &'p B::Plan,
        SqlText,
        Vec<Value>,
    ) -> LocalBoxFuture<'p, Result<Answer>>,
    pub(super) run_again:
        for<'p> fn(
            &'p PoolInner<B>,
            &'p B::Plan,
            &'p SqlText,
            &'p [Value],
        ) -> LocalBoxFuture<'p, Result<Outcome<B, B::Reply>, AcquireError>>,
}

impl<B: ServerBackend> StatementVtable<B> {
    pub(super) const fn new() -> StatementVtable<B> {
        StatementVtable {
            make_plan: PoolInner::make_plan,
            acquire_error: PoolInner::acquire_error,
            log_outcome: PoolInner::log_outcome,
            run_exclusive: |pool, plan, sql, values| {
                pool.run_exclusive(plan, sql, values).boxed_local()
            },
            run_again: |pool, plan, sql, values| pool.run_again(plan, sql, values).boxed_local(),
        }
    }
}

impl<B: ServerBackend> PoolInner<B> {
    /// A statement for an error about it.
    pub(crate) fn statement(
        &self,
        sql: impl Into<SqlText>,
        values: &[Value],
    ) -> StatementContext<'_> {
        StatementContext {
            sql: sql.into(),
            values: values.to_vec(),
            options: &self.options,
        }
    }

    /// The error of a command.
    pub(crate) fn error(&self, sql: &str, fault: impl Into<Fault<B::Error>>) -> Error {
        fault.into().into_error(self.statement(sql, &[]))
    }

    /// The plan of a statement that may run in this place.
    pub(crate) fn plan(&self, sql: &SqlText, values: &[Value], scope: Scope) -> Result<B::Plan> {
        (self.vtable.make_plan)(self, sql, values, scope)
    }

    fn make_plan(&self, sql: &SqlText, values: &[Value], scope: Scope) -> Result<B::Plan> {
        let plan = self.backend.plan(sql, scope);
        plan.map_err(|refusal| self.statement(sql.clone(), values).usage(refusal))
    }

    /// The plan of a script.
    pub(crate) fn plan_script<'s>(&self, sql: &'s SqlText) -> Result<B::Script<'s>> {
        let script = self.backend.script(sql);
        script.map_err(|refusal| self.statement(sql.clone(), &[]).usage(refusal))
    }

    /// A connection alone, for this statement.
    pub(crate) async fn exclusive(
        &self,
        sql: &str,
        values: &[Value],
    ) -> Result<Exclusive<B::Link>> {
        let connection = self.connections.exclusive().await;
        connection.map_err(|error| self.not_acquired(sql, values, error))
    }

    /// No connection was to be had.
    pub(crate) fn not_acquired(&self, sql: &str, values: &[Value], error: AcquireError) -> Error {
        (self.vtable.acquire_error)(self, sql, values, error)
    }

    fn acquire_error(&self, sql: &str, values: &[Value], error: AcquireError) -> Error {
        self.stats.count_refusal();
        let statement = || self.statement(sql, values).silent();
        match error {
            AcquireError::Timeout {
                waited,
                reason: None,
            } => Error::PoolTimeout {
                connection: "connection",
                limit: "acquire_timeout",
                waited_ms: whole_milliseconds(waited),
                statement: statement(),
            },
            AcquireError::Timeout {
                waited,
                reason: Some(reason),
            } => Error::Unreachable {
                reason: format!(
                    "not within {} ms (acquire_timeout; acquire_timeout_ms in its URL makes that longer): {reason}",
                    whole_milliseconds(waited)
                ),
            },
            AcquireError::Refused(reason) => Error::Unreachable {
                reason: reason.to_string(),
            },
            AcquireError::QueueFull => Error::queue_full("queue_max", QUEUE_MAX, statement()),
            AcquireError::Closed => Error::closed("database", "it was closed"),
        }
    }

    /// Gives up what takes longer than `statement_timeout`, unless the server does so. What is given up is cancelled.
    /// No async function: that would hold the future that it is given twice. What most requests are made of comes pinned, since
    /// it would be copied on its way into here.
    pub(crate) fn bounded<T>(
        &self,
        call: impl Future<Output = Result<T, B::Error>>,
    ) -> impl Future<Output = Outcome<B, T>> {
        match self.backend.limits() {
            Limits::Server => Either::Left(call.map_err(Fault::Driver)),
            Limits::Client => Either::Right(self.timed(call)),
        }
    }

    /// The same, also where the server watches over the time of each statement.
    pub(crate) fn timed<T>(
        &self,
        call: impl Future<Output = Result<T, B::Error>>,
    ) -> impl Future<Output = Outcome<B, T>> {
        let timed = tokio::time::timeout(self.options.statement_timeout, call);
        timed.map(|outcome| match outcome {
            Ok(outcome) => outcome.map_err(Fault::Driver),
            Err(_) => Err(Fault::Late),
        })
    }

    /// Runs a statement on a connection that the caller has alone.
    pub(crate) async fn run_on(
        &self,
        connection: &Connection<B>,
        plan: &B::Plan,
        sql: &SqlText,
        values: &[Value],
    ) -> Result<Answer> {
        let started = self.stats.start();
        let outcome = self.bounded_query(connection, plan, sql, values).await;
        self.finish(started, sql, values, outcome.map_err(Fault::alone))
    }

    /// Runs a statement on a connection of its own, which is clean before another caller has it.
    async fn run_exclusive(
        &self,
        plan: &B::Plan,
        sql: SqlText,
        values: Vec<Value>,
    ) -> Result<Answer> {
        let connection = self.exclusive(&sql, &values).await?;
        let run = self.run_on(&connection, plan, &sql, &values).await;
        run.map_err(Error::of_parts)
    }

    /// Runs a statement on another shared connection.
    async fn run_again(
        &self,
        plan: &B::Plan,
        sql: &SqlText,
        values: &[Value],
    ) -> Result<Outcome<B, B::Reply>, AcquireError> {
        let connection = self.connections.shared().await?;
        let outcome = self.bounded_query(&connection, plan, sql, values).await;
        Ok(B::check(&connection, plan, outcome))
    }

    pub(crate) async fn bounded_query(
        &self,
        connection: &Connection<B>,
        plan: &B::Plan,
        sql: &str,
        values: &[Value],
    ) -> Outcome<B, B::Reply> {
        let binds = B::binds(values);
        let call = std::pin::pin!(B::query(self, connection, plan, sql, &binds));
        self.bounded(call).await
    }

    /// Runs a command that is no statement of a caller's: it is logged and not counted.
    pub(crate) async fn command<T>(
        &self,
        sql: &str,
        call: impl Future<Output = Result<T, B::Error>>,
    ) -> Outcome<B, T> {
        self.logged(sql, self.bounded(call)).await
    }

    /// Runs a script on a connection that the caller has alone. `statement_timeout` is for all of it.
    pub(crate) async fn script(
        &self,
        connection: &Connection<B>,
        sql: &str,
        script: B::Script<'_>,
    ) -> Outcome<B, ()> {
        let call = B::run_script(self, connection, script);
        self.logged(sql, self.timed(call)).await
    }

    /// Awaits what has neither values nor rows, and logs what it came to.
    async fn logged<T>(
        &self,
        sql: &str,
        call: impl Future<Output = Outcome<B, T>>,
    ) -> Outcome<B, T> {
        let started = self.stats.start();
        let outcome = call.await;
        let logged = outcome.as_ref().map(|_| None);
        self.stats.log(started, sql, &[], logged);
        outcome
    }

    /// What a statement came to, logged and counted.
    pub(crate) fn finish(
        &self,
        started: Option<Instant>,
        sql: &SqlText,
        values: &[Value],
        outcome: Outcome<B, B::Reply>,
    ) -> Result<Answer> {
        self.stats.count(self.log(started, sql, values, outcome))
    }

    /// What a statement came to, logged.
    pub(crate) fn log(
        &self,
        started: Option<Instant>,
        sql: &SqlText,
        values: &[Value],
        outcome: Outcome<B, B::Reply>,
    ) -> Result<Answer> {
        (self.vtable.log_outcome)(self, started, sql, values, outcome)
    }

    fn log_outcome(
        &self,
        started: Option<Instant>,
        sql: &SqlText,
        values: &[Value],
        outcome: Outcome<B, B::Reply>,
    ) -> Result<Answer> {
        let answer = outcome.and_then(|reply| B::answer(reply).map_err(Fault::Driver));
        let logged = answer.as_ref();
        let logged = logged.map(|answer| started.map(|_| answer.given_or_changed()));
        self.stats.log(started, sql, values, logged);
        answer.map_err(|fault| fault.into_error(self.statement(sql.clone(), values)))
    }

    /// What a script came to, counted.
    pub(crate) fn finish_script(&self, sql: &SqlText, outcome: Outcome<B, ()>) -> Result<()> {
        let statement = || self.statement(sql.clone(), &[]);
        let outcome = outcome.map_err(|fault| fault.into_error(statement()));
        self.stats.count(outcome)
    }
}

impl<B: ServerBackend> Figures for PoolInner<B> {
    fn snapshot(&self) -> Snapshot {
        self.stats.snapshot(self.connections.figures())
    }
}

impl<B: ServerBackend> std::fmt::Debug for PoolInner<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolInner")
            .field("figures", &self.connections.figures())
            .finish_non_exhaustive()
    }
}
