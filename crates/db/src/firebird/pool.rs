//! One Firebird database for one worker: statements go to a shared connection, what needs one alone to one of its own.
//! Rule: a statement that would change a shared session is refused before it is sent.

use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::FutureExt as _;
use tsumugi_firebird::Connector;

use super::bind;
use super::blobs::Source;
use super::failure::{self, Fault};
use super::link::{Connections, ExclusiveConnection, Link, Opened, Session};
use super::plan::{self, Effect};
use super::rows::{Rows as DriverRows, Shapes};
use super::settings;
use super::stream::RowStream;
use super::transaction::Transaction;
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::metrics::Snapshot;
use crate::options::{Options, TransactionOptions};
use crate::pool::{AcquireError, Settings};
use crate::rows::Rows;
use crate::sqlite::Executed;
use crate::statement_context::StatementContext;
use crate::statement_stats::StatementStats;
use crate::value::{Value, ValueRef};

/// A pool of connections to one Firebird database, of the thread that made it. Clones are the same pool.
#[derive(Clone)]
pub struct Pool(Rc<Inner>);

pub(super) struct Inner {
    name: Arc<str>,
    /// The server, its port and what the database is called there.
    place: (String, u16, String),
    connections: Connections,
    opened: Rc<Opened>,
    pub(super) shapes: Shapes,
    pub(super) options: Options,
    pub(super) account: StatementStats,
}

const TRANSACTION: &str =
    "COMMIT, ROLLBACK, SAVEPOINT and SET TRANSACTION are for a transaction's own methods";
const SESSION: &str = "this statement would leave something behind in a connection's session, which others use next; say what it is about in the URL (role=…)";

impl Pool {
    pub(crate) async fn connect(url: &str, options: Options) -> Result<Pool> {
        let (config, options) = settings::read(url, options)?;
        let name = config.database.as_str();
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).into();
        let place = (config.host.clone(), config.port, config.database.clone());
        let opened = Rc::new(Opened::default());
        let link = Link {
            connector: Connector::new(config),
            statement_timeout: options.statement_timeout,
            opened: Rc::clone(&opened),
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
            place,
            connections: Connections::new(link, settings),
            opened,
            shapes: Shapes::new(options.names),
            account: StatementStats::new(options.log),
            options,
        }));
        // A wrong URL is an error here, not at the first statement.
        let connected = pool.0.connections.shared().await.map(drop);
        connected.map_err(|missed| pool.0.none(missed))?;
        Ok(pool)
    }

    /// Whether both go to the same database of the same server.
    pub(crate) fn is_same_as(&self, other: &Pool) -> bool {
        self.0.place == other.0.place
    }

    pub(crate) fn shares_connections_with(&self, other: &Pool) -> bool {
        self.0.connections.is(&other.0.connections)
    }

    pub(crate) async fn query(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Rows> {
        self.run(sql, values).await.map(Rows::from)
    }

    pub(crate) async fn execute(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Executed> {
        self.run(sql, values).await.map(|rows| executed(&rows))
    }

    async fn run(&self, sql: Arc<str>, values: Vec<Value>) -> Result<DriverRows> {
        let effect = self.0.permitted(&sql, &values)?;
        if effect == Effect::Schema {
            // Boxed, so that the future of all others stays small.
            return Box::pin(self.run_alone(effect, sql, values)).await;
        }
        let shared = match self.0.connections.shared().await {
            Ok(shared) => shared,
            Err(missed) => return self.0.turned_away(sql, values, missed),
        };
        let begun = self.0.account.begun();
        let mut outcome = self.0.run_on(&shared, effect, &sql, &values).await;
        if outcome.as_ref().is_err_and(Fault::is_unsent) {
            // The connection was ended for what somebody else had left running on it: the next one has nothing to do with that.
            drop(shared);
            match self.0.connections.shared().await {
                Ok(shared) => outcome = self.0.run_on(&shared, effect, &sql, &values).await,
                Err(missed) => return self.0.turned_away(sql, values, missed),
            }
        }
        self.0.ended(begun, &sql, &values, outcome)
    }

    /// On a connection of its own.
    async fn run_alone(
        &self,
        effect: Effect,
        sql: Arc<str>,
        values: Vec<Value>,
    ) -> Result<DriverRows> {
        let own = match self.0.connections.exclusive().await {
            Ok(own) => own,
            Err(missed) => return self.0.turned_away(sql, values, missed),
        };
        let begun = self.0.account.begun();
        let outcome = self.0.run_on(&own, effect, &sql, &values).await;
        self.0.ended(begun, &sql, &values, outcome)
    }

    pub(crate) async fn execute_script(&self, sql: Arc<str>) -> Result<()> {
        let statements = plan::statements(&sql).into_iter();
        let permitted = statements.map(|one| Ok((one, self.0.permitted_in(one, &sql, &[])?)));
        let statements: Vec<_> = permitted.collect::<Result<_>>()?;
        let own = self.0.own().await?;
        let begun = self.0.account.begun();
        let run = self.0.timed(async {
            for (statement, effect) in statements {
                self.0.make_room_for(effect).await;
                own.answer(effect, statement, &[]).await?.finish().await?;
            }
            Ok(())
        });
        let run = run.await;
        let logged = run.as_ref().map(|()| None);
        self.0.account.log(begun, &sql, &[], logged);
        let attempt = || self.0.attempt(Arc::clone(&sql), Vec::new());
        let run = run.map_err(|fault| failure::into_error(attempt(), fault));
        self.0.account.counted(run)
    }

    pub(crate) async fn stream(
        &self,
        sql: Arc<str>,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        self.0.permitted(&sql, &values)?;
        let stream = RowStream::alone(&self.0, sql, values).await?;
        Ok(stream.by(by))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    pub(crate) async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        self.0.account.transaction();
        Transaction::begin(&self.0, options).await
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

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("figures", &self.0.connections.figures())
            .finish_non_exhaustive()
    }
}

/// See [`Pool::watch`].
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

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Inner {
    fn snapshot(&self) -> Snapshot {
        self.account.snapshot(self.connections.figures())
    }

    pub(super) fn attempt(&self, sql: Arc<str>, values: Vec<Value>) -> StatementContext<'_> {
        StatementContext {
            sql: sql.into(),
            values,
            options: &self.options,
        }
    }

    fn none(&self, missed: AcquireError) -> Error {
        self.attempt("".into(), Vec::new()).missed(missed)
    }

    fn turned_away<T>(&self, sql: Arc<str>, values: Vec<Value>, missed: AcquireError) -> Result<T> {
        let refused = self.attempt(sql, values).missed(missed);
        self.account.counted(Err(refused))
    }

    pub(super) async fn own(&self) -> Result<ExclusiveConnection> {
        let own = self.connections.exclusive().await;
        own.map_err(|missed| self.none(missed))
    }

    /// What a statement does, unless it is for another method.
    pub(super) fn permitted(&self, sql: &Arc<str>, values: &[Value]) -> Result<Effect> {
        self.permitted_in(sql, sql, values)
    }

    /// The same of a statement of a larger text, which an error shows.
    fn permitted_in(&self, one: &str, sql: &Arc<str>, values: &[Value]) -> Result<Effect> {
        let refusal = match plan::effect(one) {
            Effect::Transaction => TRANSACTION,
            Effect::Session => SESSION,
            effect => return Ok(effect),
        };
        let attempt = self.attempt(Arc::clone(sql), values.to_vec());
        Err(attempt.usage(refusal))
    }

    /// Frees what would keep the server from changing a table.
    pub(super) async fn make_room_for(&self, effect: Effect) {
        if effect == Effect::Schema {
            self.opened.release().await;
        }
    }

    async fn run_on(
        &self,
        session: &Session,
        effect: Effect,
        sql: &str,
        values: &[Value],
    ) -> Result<DriverRows, Fault> {
        let values = bind::values(values);
        self.timed(async {
            self.make_room_for(effect).await;
            let _in_use = session.used();
            let reply = session.answer(effect, sql, &values).await?;
            // What is too large to be an answer has not happened either.
            let source = Source::Reply(&reply);
            let whole = self.whole(reply.rows(), effect, &source).await?;
            reply.finish().await?;
            Ok(whole)
        })
        .await
    }

    /// The rows of an answer with the blobs they name.
    pub(super) async fn whole(
        &self,
        rows: &tsumugi_firebird::Rows,
        effect: Effect,
        source: &Source<'_>,
    ) -> tsumugi_firebird::Result<DriverRows> {
        let nothing = effect == Effect::Change && rows.affected() == 0;
        let mut rows = DriverRows::new(rows, self.shapes.columns(rows.format()));
        if nothing {
            rows.truncate(0);
        }
        let bytes_max = self.options.rows_max_bytes;
        if rows.bytes() > bytes_max {
            return Err(tsumugi_firebird::Error::TooLarge {
                reply_bytes_max: bytes_max,
            });
        }
        if !rows.name_blobs() {
            return Ok(rows);
        }
        let blobs = source.read(rows.raw(), bytes_max - rows.bytes()).await?;
        Ok(rows.with(blobs))
    }

    /// Gives up what takes longer than `statement_timeout`. What is given up is cancelled.
    /// No async function: that would hold the future that it is given twice.
    pub(super) fn timed<T>(
        &self,
        asked: impl Future<Output = tsumugi_firebird::Result<T>>,
    ) -> impl Future<Output = Result<T, Fault>> {
        let timed = tokio::time::timeout(self.options.statement_timeout, asked);
        timed.map(|answered| Ok(answered.map_err(|_| Fault::Late)??))
    }

    /// What a statement came to, counted and, if wanted, logged.
    pub(super) fn ended(
        &self,
        begun: Option<Instant>,
        sql: &Arc<str>,
        values: &[Value],
        outcome: Result<DriverRows, Fault>,
    ) -> Result<DriverRows> {
        let rows = outcome.as_ref();
        let logged = rows.map(|rows| begun.map(|_| rows.given_or_changed()));
        self.account.log(begun, sql, values, logged);
        let attempt = || self.attempt(Arc::clone(sql), values.to_vec());
        let outcome = outcome.map_err(|fault| failure::into_error(attempt(), fault));
        self.account.counted(outcome)
    }
}

/// What an execution that may have returned rows says.
pub(super) fn executed(rows: &DriverRows) -> Executed {
    // Firebird has no last id: `insert … returning id` gives it.
    let returned = rows.row(0).and_then(|row| match row.values().next() {
        Some(ValueRef::Integer(id)) => Some(id),
        _ => None,
    });
    Executed {
        affected: rows.affected(),
        last_insert_id: returned,
    }
}
