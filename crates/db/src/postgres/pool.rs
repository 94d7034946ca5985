//! One PostgreSQL database for one worker: statements go to a shared connection, what needs a session to one of its own.
//! Rule: a statement that would change a shared session is refused before it is sent.

use std::cell::Cell;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::{Either, FutureExt as _, TryFutureExt as _};
use tsumugi_pg::config::Pooler;
use tsumugi_pg::connection::Behaviour;
use tsumugi_pg::{Atomicity, Connector, Statement};

use super::bind::Binds;
use super::failure::Fault;
use super::link::{Connections, Link, Session};
use super::plan::{self, Effect, Plan, Plans};
use super::rows::Rows as DriverRows;
use super::settings;
use super::transaction::{RowStream, Transaction};
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::metrics::Snapshot;
use crate::options::{Options, TransactionOptions};
use crate::pool::{AcquireError, Settings};
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::sqlite::Executed;
use crate::statement_context::StatementContext;
use crate::statement_stats::StatementStats;
use crate::value::Value;

/// A pool of connections to one PostgreSQL database, of the thread that made it. Clones are the same pool.
#[derive(Clone)]
pub struct Pool(Rc<Inner>);

pub(super) struct Inner {
    /// The database's name on its server.
    name: Arc<str>,
    pub(super) connections: Connections,
    pub(super) plans: Plans,
    pub(super) options: Options,
    pub(super) connector: Connector,
    pub(super) listeners: Cell<usize>,
    pub(super) account: StatementStats,
    /// Whether the server knows nothing of our limits, because a pooler hands its sessions to others too.
    pub(super) limits: Limits,
}

/// Who watches over `statement_timeout` and `idle_timeout`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Limits {
    /// The server was told when we connected.
    Server,
    /// We do, and tell the server anew in each transaction.
    Ours,
}

/// What the server answers to a statement.
type Asked = Result<tsumugi_pg::Rows, Fault>;

const TRANSACTION: &str = "BEGIN, COMMIT, ROLLBACK, SAVEPOINT and LOCK TABLE would change a shared connection: use a transaction and its savepoints";
const SESSION: &str = "this statement would leave something behind in a shared connection's session (a setting, a temporary table, \
     a lock, a subscription): use a `connection` of your own, or SET LOCAL in a transaction";
pub(super) const COPY_IN: &str = "COPY FROM STDIN takes data from the client: use copy_in";

impl Pool {
    pub(crate) async fn connect(url: &str, options: Options) -> Result<Pool> {
        let (config, options) = settings::read(url, options).await?;
        let behaviour = Behaviour {
            reply_bytes_max: options.rows_max_bytes,
            ..Behaviour::of(&config)
        };
        let limits = match config.pooler {
            Pooler::Transaction => Limits::Ours,
            _ => Limits::Server,
        };
        let name = config.database.as_str().into();
        let connector = Connector::new(config);
        let link = Link {
            connector: connector.clone(),
            statement_timeout: options.statement_timeout,
            behaviour,
        };
        let settings = Settings {
            min: options.min,
            max: options.pool,
            acquire_timeout: options.acquire_timeout,
            waiting_max: crate::limits::QUEUE_MAX,
            lifetime: options.lifetime,
            idle: crate::limits::IDLE_CONNECTION_DEFAULT,
        };
        let pool = Pool(Rc::new(Inner {
            name,
            connections: Connections::new(link, settings),
            plans: Plans::default(),
            account: StatementStats::new(options.log),
            options,
            connector,
            listeners: Cell::new(0),
            limits,
        }));
        // A wrong URL is an error here, not at the first statement.
        let connected = pool.0.connections.shared().await.map(drop);
        connected.map_err(|missed| pool.0.attempt("".into(), Vec::new()).missed(missed))?;
        Ok(pool)
    }

    /// Whether both go to the same database of the same servers.
    pub(crate) fn is_same_as(&self, other: &Pool) -> bool {
        let (own, other) = (self.0.connector.config(), other.0.connector.config());
        own.hosts == other.hosts && own.database == other.database
    }

    pub(crate) fn shares_connections_with(&self, other: &Pool) -> bool {
        self.0.connections.is(&other.0.connections)
    }

    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        self.run(sql, values).await.map(Rows::from)
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<Executed> {
        self.run(sql, values).await.map(|rows| executed(&rows))
    }

    /// Several statements in one write, each for itself or all or none.
    pub(crate) async fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: Atomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let plans = planned(&statements, |sql, values| self.0.shareable(sql, values))?;
        if plans.iter().any(|plan| plan.effect == Effect::Procedure) {
            let own = self.0.own().await?;
            own.changed.set(true);
            let outcomes = self.0.pipelined(&own, &plans, statements, atomicity, kept);
            return outcomes.await;
        }
        let connection = self.0.connections.shared().await;
        let connection = connection.map_err(|missed| self.0.none(missed))?;
        let outcomes = self
            .0
            .pipelined(&connection, &plans, statements, atomicity, |plan, rows| {
                judged_by_tag(&connection, plan, rows)
            })
            .await?;
        if connection.is_left_changed() {
            let attempt = self.0.attempt("".into(), Vec::new());
            return Err(attempt.fault(Fault::Changed));
        }
        Ok(outcomes)
    }

    async fn run(&self, sql: SqlText, values: Vec<Value>) -> Result<DriverRows> {
        let plan = self.0.shareable(&sql, &values)?;
        if plan.effect == Effect::Procedure {
            // Boxed, so that the future of all others stays small.
            return Box::pin(self.run_alone(&plan, sql, values)).await;
        }
        let connection = match self.0.connections.shared().await {
            Ok(connection) => connection,
            Err(missed) => return self.0.turned_away(sql, values, missed),
        };
        let begun = self.0.account.begun();
        let binds = Binds(&values);
        let asked = pin!(connection.query(&plan.sql, &binds));
        let rows = self.0.bounded(asked).await;
        let rows = judged(&connection, &plan, rows);
        self.0.ended(begun, &sql, &values, rows)
    }

    /// On a connection of its own, which is cleaned before anybody else has it.
    async fn run_alone(&self, plan: &Plan, sql: SqlText, values: Vec<Value>) -> Result<DriverRows> {
        let own = match self.0.connections.exclusive().await {
            Ok(own) => own,
            Err(missed) => return self.0.turned_away(sql, values, missed),
        };
        own.changed.set(true);
        self.0.run_on(&own, plan, sql, values).await
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        // A script may say BEGIN, SET and whatever else; so it has a session of its own.
        let own = self.0.own().await?;
        own.changed.set(true);
        let run = self.0.script_on(&own, sql).await;
        self.0.account.counted(run)
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let plan = self.0.shareable(&sql, &values)?;
        let own = self.0.own().await?;
        own.changed.set(plan.effect == Effect::Procedure);
        if self.0.limits == Limits::Server {
            let lifted = self.0.timed(own.lift_limit()).await;
            let attempt = || self.0.attempt(sql.clone(), values.clone());
            lifted.map_err(|fault| attempt().fault(fault))?;
        }
        RowStream::begin(&self.0, own, sql, values, by).await
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        let own = self.0.own().await?;
        self.0.account.transaction();
        Transaction::begin(&self.0, own, options).await
    }

    pub(super) fn inner(&self) -> &Rc<Inner> {
        &self.0
    }

    pub(crate) fn close(&self) {
        self.0.connections.close();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.0.name)
    }

    /// A look from outside that keeps nothing open.
    pub(crate) fn watch(&self) -> Watch {
        Watch(Rc::downgrade(&self.0))
    }
}

/// See [`Pool::watch`].
#[derive(Debug)]
pub(crate) struct Watch(Weak<Inner>);

impl Watch {
    /// None when the pool has gone.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        Some(self.0.upgrade()?.snapshot())
    }

    pub(crate) fn is(&self, other: &Watch) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("figures", &self.connections.figures())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn snapshot(&self) -> Snapshot {
        self.account.snapshot(self.connections.figures())
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("figures", &self.0.connections.figures())
            .finish_non_exhaustive()
    }
}

impl Inner {
    pub(super) fn attempt(&self, sql: SqlText, values: Vec<Value>) -> StatementContext<'_> {
        StatementContext {
            sql,
            values,
            options: &self.options,
        }
    }

    fn none(&self, missed: AcquireError) -> Error {
        self.attempt("".into(), Vec::new()).missed(missed)
    }

    pub(super) async fn own(&self) -> Result<super::link::ExclusiveConnection> {
        let own = self.connections.exclusive().await;
        own.map(Rc::new).map_err(|missed| self.none(missed))
    }

    /// Several statements in one write on this connection.
    pub(super) async fn pipelined(
        &self,
        connection: &Session,
        plans: &[Rc<Plan>],
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: Atomicity,
        judge: impl Fn(&Plan, Asked) -> Asked,
    ) -> Result<Vec<Result<Rows>>> {
        let binds: Vec<Binds<'_>> = statements.iter().map(|(_, values)| Binds(values)).collect();
        let asked: Vec<Statement<'_>> = plans
            .iter()
            .zip(&binds)
            .map(|(plan, values)| Statement {
                sql: &plan.sql,
                values,
            })
            .collect();
        let begun = self.account.begun();
        let outcomes = {
            let answers = pin!(connection.pipeline(&asked, atomicity));
            self.bounded(answers).await
        };
        drop(asked);
        drop(binds);
        let outcomes =
            outcomes.map_err(|fault| self.attempt("".into(), Vec::new()).fault(fault))?;
        let outcomes = outcomes.into_iter().zip(plans);
        let outcomes = outcomes.map(|(rows, plan)| judge(plan, rows.map_err(Fault::from)));
        Ok(outcomes
            .zip(statements)
            .map(|(outcome, (sql, values))| self.ended(begun, &sql, &values, outcome))
            .map(|rows| rows.map(Rows::from))
            .collect())
    }

    /// A statement on a connection that the caller has.
    pub(super) async fn run_on(
        &self,
        own: &Session,
        plan: &Plan,
        sql: SqlText,
        values: Vec<Value>,
    ) -> Result<DriverRows> {
        let begun = self.account.begun();
        let binds = Binds(&values);
        let asked = pin!(own.query(&plan.sql, &binds));
        let rows = self.bounded(asked).await;
        self.ended(begun, &sql, &values, rows)
    }

    /// Several statements as one text, on a connection that the caller has.
    pub(super) async fn script_on(&self, own: &Session, sql: SqlText) -> Result<()> {
        let begun = self.account.begun();
        // The server's limit is for each of its statements.
        let run = self.timed(own.script(&sql)).await;
        self.account
            .log(begun, &sql, &[], run.as_ref().map(|()| None));
        run.map_err(|fault| self.attempt(sql, Vec::new()).fault(fault))
    }

    fn turned_away<T>(&self, sql: SqlText, values: Vec<Value>, missed: AcquireError) -> Result<T> {
        self.account
            .counted(Err(self.attempt(sql, values).missed(missed)))
    }

    /// The plan of a statement that may share a connection.
    fn shareable(&self, sql: &SqlText, values: &[Value]) -> Result<Rc<Plan>> {
        let plan = self.plans.of(sql);
        let refusal = match plan.effect {
            Effect::None | Effect::Procedure => return Ok(plan),
            Effect::Transaction | Effect::Lock => TRANSACTION,
            Effect::Session => SESSION,
            Effect::CopyIn => COPY_IN,
            Effect::Mixed => plan::MIXED,
        };
        Err(self.attempt(sql.clone(), values.to_vec()).usage(refusal))
    }

    /// Gives up what takes longer than `statement_timeout`, unless the server does so. What is given up is cancelled.
    /// No async function: that would hold the future that it is given twice. What most requests are made of comes pinned, since
    /// it would be copied on its way into here.
    pub(super) fn bounded<T>(
        &self,
        asked: impl Future<Output = tsumugi_pg::Result<T>>,
    ) -> impl Future<Output = Result<T, Fault>> {
        match self.limits {
            Limits::Server => Either::Left(asked.map_err(Fault::from)),
            Limits::Ours => Either::Right(self.timed(asked)),
        }
    }

    pub(super) fn timed<T>(
        &self,
        asked: impl Future<Output = tsumugi_pg::Result<T>>,
    ) -> impl Future<Output = Result<T, Fault>> {
        let timed = tokio::time::timeout(self.options.statement_timeout, asked);
        timed.map(|answered| Ok(answered.map_err(|_| Fault::Late)??))
    }

    /// What a statement came to, counted and, if wanted, logged.
    pub(super) fn ended(
        &self,
        begun: Option<Instant>,
        sql: &SqlText,
        values: &[Value],
        rows: Result<tsumugi_pg::Rows, impl Into<Fault>>,
    ) -> Result<DriverRows> {
        let rows = rows.map_err(Into::into);
        let rows = rows.and_then(|rows| DriverRows::new(rows).map_err(Fault::from));
        self.account.log(
            begun,
            sql,
            values,
            rows.as_ref()
                .map(|rows| begun.map(|_| rows.given_or_changed())),
        );
        self.account
            .counted(rows.map_err(|fault| self.attempt(sql.clone(), values.to_vec()).fault(fault)))
    }
}

/// What a statement came to on a shared connection: an error when the server says that it did something that was not recognised
/// beforehand. The session is not for others any more then.
fn judged(connection: &Session, plan: &Plan, rows: Asked) -> Asked {
    let rows = judged_by_tag(connection, plan, rows);
    if connection.is_left_changed() {
        return rows.and(Err(Fault::Changed));
    }
    rows
}

/// The same as far as the server's name for what was done tells it.
fn judged_by_tag(connection: &Session, plan: &Plan, rows: Asked) -> Asked {
    if !plan.harmless.get()
        && let Ok(rows) = &rows
    {
        let command = rows.command();
        let tells = command.is_some_and(|tag| plan::tells_of_a_change(tag.command()));
        connection.changed.set(connection.changed.get() || tells);
        plan.harmless.set(!tells);
        if tells {
            return Err(Fault::Changed);
        }
    }
    rows
}

/// What a statement comes to on a connection of the caller's own.
pub(super) fn kept(_: &Plan, rows: Asked) -> Asked {
    rows
}

/// The plans of several statements. A text that is repeated is looked at once.
pub(super) fn planned(
    statements: &[(SqlText, Vec<Value>)],
    plan: impl Fn(&SqlText, &[Value]) -> Result<Rc<Plan>>,
) -> Result<Vec<Rc<Plan>>> {
    let mut plans: Vec<Rc<Plan>> = Vec::with_capacity(statements.len());
    let mut before: Option<&SqlText> = None;
    for (sql, values) in statements {
        let same = before.is_some_and(|before| sql.is_clone_of(before));
        let found = match plans.last().filter(|_| same) {
            Some(plan) => Rc::clone(plan),
            None => plan(sql, values)?,
        };
        plans.push(found);
        before = Some(sql);
    }
    Ok(plans)
}

pub(super) fn executed(rows: &DriverRows) -> Executed {
    // PostgreSQL has no last id: `insert … returning id` gives it.
    let returned = rows.row(0).and_then(|row| match row.values().next() {
        Some(crate::value::ValueRef::Integer(id)) => Some(id),
        _ => None,
    });
    Executed {
        affected: rows.affected(),
        last_insert_id: returned,
    }
}
