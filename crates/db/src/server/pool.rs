//! One database of one worker: single statements go to a shared connection, what needs one alone gets one.
//! Rule: a statement that would change a shared session is refused before it is sent.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::metrics::{Figures, Snapshot};
use crate::options::{Options, TransactionOptions};
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::value::Value;

use super::backend::{Answer, PoolInner, Scope, StatementVtable, Target};
use super::connections::{ConnectionPool, Settings};
use super::expiry::OpenStreams;
use super::fault::Fault;
use super::outage_notice;
use super::statement_stats::StatementStats;
use super::stream::RowStream;
use super::transaction::Transaction;
use super::transactional::Transactional;

/// A pool of connections to one database, of the thread that made it. Clones are the same pool.
pub struct Pool<B: Transactional>(Rc<PoolInner<B>>);

/// A pool that is not kept open.
pub(crate) struct WeakPool<B: Transactional>(Weak<PoolInner<B>>);

impl<B: Transactional> WeakPool<B> {
    pub(crate) fn upgrade(&self) -> Option<Pool<B>> {
        self.0.upgrade().map(Pool)
    }
}

impl<B: Transactional> Clone for Pool<B> {
    fn clone(&self) -> Self {
        Pool(Rc::clone(&self.0))
    }
}

impl<B: Transactional> Pool<B> {
    pub(crate) async fn connect(url: &str, options: Options) -> Result<Pool<B>> {
        let pool = Pool::of(B::target(url, options).await?);
        // A wrong URL is an error here, not at the first statement.
        let connections = &pool.0.connections;
        let connected = outage_notice::wait(
            connections.address(),
            pool.0.options.acquire_timeout,
            || connections.last_failure(),
            connections.shared(),
        )
        .await;
        let connected = connected.map(drop);
        connected.map_err(|error| pool.0.not_acquired("", &[], error))?;
        Ok(pool)
    }

    /// One that has not tried to connect yet.
    pub(crate) fn of(target: Target<B>) -> Pool<B> {
        let Target {
            backend,
            link,
            name,
            address,
            options,
        } = target;
        let settings = Settings {
            min: options.min,
            max: options.pool,
            acquire_timeout: options.acquire_timeout,
            waiting_max: crate::limits::QUEUE_MAX,
            lifetime: options.lifetime,
            idle: crate::limits::IDLE_CONNECTION_DEFAULT,
            silence_max: options.statement_timeout + crate::limits::SILENCE_MAX,
        };
        let stats = StatementStats::new(options.log, Arc::clone(&name), B::lexicon());
        Pool(Rc::new(PoolInner {
            name,
            connections: ConnectionPool::new(link, address, settings),
            backend,
            stats,
            streams: OpenStreams::default(),
            options,
            vtable: StatementVtable::new(),
        }))
    }

    pub(crate) fn inner(&self) -> &Rc<PoolInner<B>> {
        &self.0
    }

    /// Whether both go to the same database of the same servers.
    pub(crate) fn is_same_as(&self, other: &Pool<B>) -> bool {
        self.0.backend.is_same_as(&other.0.backend)
    }

    pub(crate) fn shares_connections_with(&self, other: &Pool<B>) -> bool {
        self.0.connections.is(&other.0.connections)
    }

    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        self.run(sql, values).await.map(|answer| answer.rows)
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<ExecuteResult> {
        self.run(sql, values).await.map(|answer| answer.executed())
    }

    async fn run(&self, sql: SqlText, values: Vec<Value>) -> Result<Answer> {
        let pool = &self.0;
        let plan = pool.plan(&sql, &values, Scope::Shared)?;
        if B::needs_exclusive(&plan) {
            return (pool.vtable.run_exclusive)(pool, &plan, sql, values).await;
        }
        let connection = match pool.connections.shared().await {
            Ok(connection) => connection,
            Err(error) => return Err(pool.not_acquired(&sql, &values, error)),
        };
        let started = pool.stats.start();
        let outcome = pool.bounded_query(&connection, &plan, &sql, &values).await;
        let mut outcome = B::check(&connection, &plan, outcome);
        if outcome.as_ref().is_err_and(Fault::is_unsent) {
            // The connection was ended for what another caller had left running on it: the next one has nothing to do with that.
            drop(connection);
            outcome = match (pool.vtable.run_again)(pool, &plan, &sql, &values).await {
                Ok(outcome) => outcome,
                Err(error) => return Err(pool.not_acquired(&sql, &values, error)),
            };
        }
        pool.finish(started, &sql, &values, outcome.map_err(Fault::alone))
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        let pool = &self.0;
        let script = pool.plan_script(&sql)?;
        let connection = pool.exclusive(&sql, &[]).await?;
        let outcome = pool.script(&connection, &sql, script).await;
        let finished = pool.finish_script(&sql, outcome.map_err(Fault::alone));
        finished.map_err(Error::of_parts)
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream<B>> {
        let pool = &self.0;
        let plan = pool.plan(&sql, &values, Scope::Shared)?;
        let connection = pool.exclusive(&sql, &values).await?;
        let started = pool.stats.start();
        let binds = B::binds(&values);
        let cursor = B::cursor(pool, connection, &plan, &sql, binds, by).await;
        RowStream::new(pool, started, sql, values, cursor, None)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) async fn begin(&self, options: TransactionOptions) -> Result<Transaction<B>> {
        Transaction::begin(&self.0, options).await
    }

    pub(crate) fn close(&self) {
        self.0.connections.close();
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    /// The pool for who keeps nothing open.
    pub(crate) fn downgrade(&self) -> WeakPool<B> {
        WeakPool(Rc::downgrade(&self.0))
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.0.name)
    }

    /// A look from outside that keeps nothing open.
    pub(crate) fn watch(&self) -> Weak<dyn Figures> {
        let inner: Rc<dyn Figures> = Rc::<PoolInner<B>>::clone(&self.0);
        Rc::downgrade(&inner)
    }
}

impl<B: Transactional> std::fmt::Debug for Pool<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Pool").field(&self.0).finish()
    }
}
