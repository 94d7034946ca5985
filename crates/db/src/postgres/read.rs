//! Reads of a database that may go to a replica, and how replicas are connected to. Chooses none of them itself.
//! Rule: a read that no replica answers goes to the primary, where it may write as little as on a replica.

use std::rc::Rc;

use tokio::time::sleep;
use tsumugi_pg::connection::Behaviour;
use tsumugi_pg::{Config, Connector};

use super::backend::{Inner, Postgres, ReadReplicas};
use super::bind::Binds;
use super::link::{Link, ServerRole};
use super::plan::{Plan, StatementEffect};
use super::replicas::{ONLY_READS, Replicas, one_moment, read_fault};
use super::settings;
use super::write_notes::WriteNotes;
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::limits::{REPLICA_ACQUIRE_MAX, REPLICA_CHECK};
use crate::options::{Access, Options, TransactionOptions};
use crate::recency;
use crate::rows::Rows;
use crate::server::{Fault, Pool, RowStream, Scope, ServerBackend as _, Target, Transaction};
use crate::sql_text::SqlText;
use crate::value::Value;

impl Pool<Postgres> {
    /// Connects to the primary, and to its replicas if there are any.
    pub(crate) async fn connect_with_replicas(
        url: &str,
        options: Options,
    ) -> Result<Pool<Postgres>> {
        let pool = Pool::<Postgres>::connect(url, options).await?;
        let configs = pool.inner().backend.replica_configs.take();
        if !configs.is_empty() {
            attach(pool.inner(), configs).await?;
        }
        Ok(pool)
    }

    /// Lets the connections to replicas go as they become free.
    pub(crate) fn close_replicas(&self) {
        if let Some(replicas) = self.inner().backend.replicas.get() {
            replicas.pools().into_iter().for_each(Pool::close);
        }
    }

    /// The pools of its replicas.
    pub(crate) fn replica_pools(&self) -> impl Iterator<Item = &Pool<Postgres>> {
        let replicas = self.inner().backend.replicas.get();
        replicas.into_iter().flat_map(|replicas| replicas.pools())
    }

    pub(crate) fn has_replicas(&self) -> bool {
        self.inner().backend.replicas.get().is_some()
    }

    /// Like `query`, of what only reads and is not for a replica.
    pub(crate) async fn read_on_primary(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let plan = self.plan_of_read(&sql, &values)?;
        self.run_on_primary(&plan, sql, values).await
    }

    /// Like `query`, of what only reads.
    pub(crate) async fn read(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let plan = self.plan_of_read(&sql, &values)?;
        if let Some(replicas) = self.inner().backend.replicas.get()
            && let Some(answer) = replicas.read(&plan, &sql, &values).await
        {
            return answer;
        }
        self.run_on_primary(&plan, sql, values).await
    }

    /// Like `stream`, of what only reads.
    pub(crate) async fn read_stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream<Postgres>> {
        let plan = self.plan_of_read(&sql, &values)?;
        if let Some(replicas) = self.inner().backend.replicas.get()
            && let Some(answer) = replicas.stream(&plan, &sql, &values, by).await
        {
            return answer;
        }
        self.stream(sql, values, by).await
    }

    /// Like `begin`, of a transaction that only reads.
    pub(crate) async fn read_begin(
        &self,
        options: TransactionOptions,
    ) -> Result<Transaction<Postgres>> {
        debug_assert!(options.access == Access::ReadOnly);
        let (Some(replicas), Some(notes)) = (self.inner().backend.replicas.get(), self.notes())
        else {
            return self.begin(one_moment(options)).await;
        };
        if let Some(transaction) = replicas.begin(options).await {
            return Ok(transaction);
        }
        let transaction = self.begin(one_moment(options)).await?;
        let pool = self.inner();
        let open = transaction.inner().ready().await?;
        // It fixes what the transaction sees, too.
        let asked = pool.timed(open.learn_log_position()).await;
        if let Some(position) = asked.map_err(|fault| pool.error("BEGIN", fault))? {
            notes.note_primary_read(position);
        }
        Ok(transaction)
    }

    fn notes(&self) -> Option<&WriteNotes> {
        match &self.inner().backend.role {
            ServerRole::Primary(notes) => Some(notes),
            ServerRole::Alone | ServerRole::Replica => None,
        }
    }

    fn plan_of_read(&self, sql: &SqlText, values: &[Value]) -> Result<Rc<Plan>> {
        let pool = self.inner();
        let plan = pool.plan(sql, values, Scope::Shared)?;
        match plan.effect {
            StatementEffect::None => Ok(plan),
            _ => Err(pool.statement(sql.clone(), values).usage(ONLY_READS)),
        }
    }

    async fn run_on_primary(
        &self,
        plan: &Rc<Plan>,
        sql: SqlText,
        values: Vec<Value>,
    ) -> Result<Rows> {
        let pool = self.inner();
        let started = pool.stats.start();
        let binds = Binds(&values);
        let mut is_first = true;
        loop {
            let connection = match pool.connections.shared().await {
                Ok(connection) => connection,
                Err(error) => return Err(pool.not_acquired(&sql, &values, error)),
            };
            let outcome = {
                let call = std::pin::pin!(connection.read_only(&plan.sql, &binds));
                pool.bounded(call).await
            };
            let outcome = Postgres::check(&connection, plan, outcome.map_err(read_fault));
            // The connection was ended for what another caller had left running on it.
            if std::mem::take(&mut is_first) && outcome.as_ref().is_err_and(Fault::is_unsent) {
                continue;
            }
            if let (Ok(_), Some(notes), Some(position)) =
                (&outcome, self.notes(), connection.log_position())
            {
                notes.note_primary_read(position);
            }
            let answer = pool.finish(started, &sql, &values, outcome.map_err(Fault::alone));
            return answer.map(|answer| answer.rows);
        }
    }
}

/// Makes the pools of replicas, and looks at them once before the first read.
async fn attach(pool: &Rc<Inner>, configs: Vec<Config>) -> Result<()> {
    let connection = pool.connections.shared().await;
    let connection = connection.map_err(|error| pool.not_acquired("", &[], error))?;
    let identity = pool.timed(connection.primary_identity()).await;
    let identity = identity.map_err(|fault| pool.error("", fault))?;
    let Some(identity) = identity else {
        return Err(Error::usage(
            "the server does not say which cluster it belongs to, which replicas are told apart by",
        ));
    };
    drop(connection);
    let ServerRole::Primary(notes) = &pool.backend.role else {
        unreachable!("what has replicas is a primary")
    };
    notes.set_system(identity.system);
    let pools = configs.into_iter().map(|config| {
        let place = config.to_string();
        (Pool::of(target(config, pool)), place)
    });
    let replicas = Replicas::new(
        pools.collect(),
        pool.options.replica_lag,
        Rc::clone(notes),
        identity.database,
    );
    let replicas: Rc<dyn ReadReplicas> = Rc::new(replicas);
    replicas.look(pool).await;
    recency::note_replicas();
    let is_first = pool.backend.replicas.set(replicas).is_ok();
    debug_assert!(is_first, "it is connected to once");
    watch(pool);
    Ok(())
}

/// Looks at the replicas again and again, for as long as there is a pool.
fn watch(pool: &Rc<Inner>) {
    let pool = Rc::downgrade(pool);
    tokio::task::spawn_local(async move {
        loop {
            sleep(REPLICA_CHECK).await;
            let Some(pool) = pool.upgrade() else { return };
            if let Some(replicas) = pool.backend.replicas.get() {
                replicas.look(&pool).await;
            }
        }
    });
}

fn target(config: Config, primary: &Inner) -> Target<Postgres> {
    let options = Options {
        min: 0,
        acquire_timeout: primary.options.acquire_timeout.min(REPLICA_ACQUIRE_MAX),
        ..primary.options.clone()
    };
    let behaviour = Behaviour {
        reply_bytes_max: options.rows_max_bytes,
        ..Behaviour::of(&config)
    };
    let name = config.database.as_str().into();
    let probe = settings::primary(&config, &options);
    let connector = Connector::new(config);
    let link = Link {
        connector: connector.clone(),
        behaviour,
        role: ServerRole::Replica,
    };
    let backend = Postgres::new(
        connector,
        probe,
        primary.backend.limits,
        ServerRole::Replica,
    );
    Target {
        backend,
        link,
        name,
        // Which replicas are read from, and why others are not, is logged where they are looked at.
        address: None,
        options,
    }
}
