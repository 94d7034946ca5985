//! PostgreSQL as a backend: how its statements are planned and run, and what may be left on a shared connection.
//! Rule: a statement that changed a shared session fails, and its connection is closed.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg::config::Pooler;
use tsumugi_pg::connection::Behaviour;
use tsumugi_pg::{Config, Connector};
use tsumugi_sql::POSTGRES;
use tsumugi_sql::scan::Lexicon;

use super::bind::Binds;
use super::commit_question::LateInquiries;
use super::link::{Link, ServerRole, Session};
use super::plan::{self, Plan, Plans, StatementEffect};
use super::rows::Rows;
use super::settings;
use crate::batch::BatchSize;
use crate::error::Result;
use crate::options::{Options, TransactionOptions};
use crate::server::{
    self, Answer, Fault, Limits, Outcome, PoolInner, Scope, ServerBackend, Target,
};
use crate::sql_text::SqlText;
use crate::value::Value;

/// One PostgreSQL database.
pub struct Postgres {
    pub(super) plans: Plans,
    pub(super) connector: Connector,
    /// Opens what asks what has become of a commit.
    pub(super) primary: Connector,
    pub(super) late_inquiries: LateInquiries,
    pub(super) listeners: Cell<usize>,
    /// The client watches where a pooler hands the server's sessions to others too.
    pub(super) limits: Limits,
    pub(super) role: ServerRole,
    /// Where its replicas are, until they are connected to.
    pub(super) replica_configs: RefCell<Vec<Config>>,
    /// Set once they are.
    pub(super) replicas: OnceCell<Rc<dyn ReadReplicas>>,
}

/// Replicas of a database. Each of the first three gives nothing where the primary has to be asked.
pub(crate) trait ReadReplicas {
    fn read<'r>(
        &'r self,
        plan: &'r Rc<Plan>,
        sql: &'r SqlText,
        values: &'r [Value],
    ) -> LocalBoxFuture<'r, Option<Result<crate::rows::Rows>>>;

    fn begin(
        &self,
        options: TransactionOptions,
    ) -> LocalBoxFuture<'_, Option<server::Transaction<Postgres>>>;

    /// What it shows is not noted.
    fn stream<'r>(
        &'r self,
        plan: &'r Rc<Plan>,
        sql: &'r SqlText,
        values: &'r [Value],
        by: BatchSize,
    ) -> LocalBoxFuture<'r, Option<Result<server::RowStream<Postgres>>>>;

    /// Looks how far the primary and all of them are.
    fn look<'r>(&'r self, primary: &'r Inner) -> LocalBoxFuture<'r, ()>;

    fn pools(&self) -> Vec<&server::Pool<Postgres>>;
}

impl Postgres {
    /// Without replicas.
    pub(super) fn new(
        connector: Connector,
        primary: Connector,
        limits: Limits,
        role: ServerRole,
    ) -> Postgres {
        Postgres {
            plans: Plans::default(),
            connector,
            primary,
            listeners: Cell::new(0),
            limits,
            late_inquiries: LateInquiries::default(),
            role,
            replica_configs: RefCell::default(),
            replicas: OnceCell::new(),
        }
    }
}

/// A pool of connections to a PostgreSQL database.
pub(super) type Inner = PoolInner<Postgres>;

const TRANSACTION: &str = "BEGIN, COMMIT, ROLLBACK, SAVEPOINT and LOCK TABLE would change a shared connection: use a transaction and its savepoints";
const SESSION: &str = "this statement would leave something behind in a shared connection's session (a setting, a temporary table, \
     a lock, a subscription): use a `connection` of your own, or SET LOCAL in a transaction";
const COPY_IN: &str = "COPY FROM STDIN takes data from the client: use copy_in";
const NESTED: &str = "BEGIN, COMMIT, ROLLBACK and SAVEPOINT are for the transaction's own methods";
const CHANGED: &str = "this statement changed the session of a shared connection, or left a transaction open there; the connection was \
     closed: use a transaction, or a `connection` of your own";

impl ServerBackend for Postgres {
    type Link = Link;
    type Plan = Rc<Plan>;
    type Binds<'v> = Binds<'v>;
    type Reply = tsumugi_pg::Rows;
    type Error = tsumugi_pg::Error;
    type Script<'s> = &'s str;

    async fn target(url: &str, options: Options) -> Result<Target<Postgres>> {
        let (mut config, options) = settings::read(url, options).await?;
        let replicas = settings::replicas(&mut config, &options).await?;
        let role = match replicas.is_empty() {
            true => ServerRole::Alone,
            false => ServerRole::Primary(Rc::default()),
        };
        let behaviour = Behaviour {
            reply_bytes_max: options.rows_max_bytes,
            follows_log: matches!(role, ServerRole::Primary(_)),
            ..Behaviour::of(&config)
        };
        let limits = match config.pooler {
            Pooler::Transaction => Limits::Client,
            _ => Limits::Server,
        };
        let name = config.database.as_str().into();
        let address = Some(config.to_string().into());
        let primary = settings::primary(&config, &options);
        let connector = Connector::new(config);
        let link = Link {
            connector: connector.clone(),
            behaviour,
            role: role.clone(),
        };
        let backend = Postgres::new(connector, primary, limits, role);
        backend.replica_configs.replace(replicas);
        Ok(Target {
            backend,
            link,
            name,
            address,
            options,
        })
    }

    fn is_same_as(&self, other: &Postgres) -> bool {
        let (own, other) = (self.connector.config(), other.connector.config());
        own.hosts == other.hosts && own.database == other.database
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn lexicon() -> Lexicon {
        POSTGRES.lexicon
    }

    fn plan(&self, sql: &SqlText, scope: Scope) -> Result<Rc<Plan>, &'static str> {
        let plan = self.plans.of(sql);
        match (plan.effect, scope) {
            (StatementEffect::None | StatementEffect::Procedure, _)
            | (StatementEffect::Lock | StatementEffect::Session, Scope::Exclusive) => Ok(plan),
            (StatementEffect::Transaction | StatementEffect::Lock, Scope::Shared) => {
                Err(TRANSACTION)
            }
            (StatementEffect::Session, Scope::Shared) => Err(SESSION),
            (StatementEffect::Transaction, Scope::Exclusive) => Err(NESTED),
            (StatementEffect::CopyIn, _) => Err(COPY_IN),
            (StatementEffect::Mixed, _) => Err(plan::MIXED),
        }
    }

    fn needs_exclusive(plan: &Rc<Plan>) -> bool {
        plan.effect == StatementEffect::Procedure
    }

    fn binds(values: &[Value]) -> Binds<'_> {
        Binds(values)
    }

    fn query(
        _: &Inner,
        connection: &Session,
        plan: &Rc<Plan>,
        _: &str,
        binds: &Self::Binds<'_>,
    ) -> impl Future<Output = tsumugi_pg::Result<tsumugi_pg::Rows>> {
        connection.note(plan.effect);
        let write = connection.begin_statement(&plan.sql);
        let query = connection.query(&plan.sql, binds);
        query.inspect(move |outcome| connection.end_write(write, outcome))
    }

    /// An error when the server says that it did something that was not recognised beforehand. The session is not for others any more
    /// then.
    fn check(
        connection: &Session,
        plan: &Rc<Plan>,
        outcome: Outcome<Postgres, tsumugi_pg::Rows>,
    ) -> Outcome<Postgres, tsumugi_pg::Rows> {
        let outcome = check_by_tag(connection, plan, outcome);
        if connection.is_left_changed() {
            return outcome.and(Err(Fault::Usage(CHANGED)));
        }
        outcome
    }

    fn answer(reply: tsumugi_pg::Rows) -> tsumugi_pg::Result<Answer> {
        let rows = Rows::new(reply)?;
        Ok(Answer {
            affected: rows.affected(),
            rows: rows.into(),
        })
    }

    fn script<'s>(&self, sql: &'s str) -> Result<&'s str, &'static str> {
        Ok(sql)
    }

    fn run_script(
        _: &Inner,
        connection: &Session,
        sql: Self::Script<'_>,
    ) -> impl Future<Output = tsumugi_pg::Result<()>> {
        // A script may say SET and whatever else.
        connection.changed.set(true);
        connection.script_left_transaction.set(false);
        let write = connection.begin_write();
        let script = connection.script_with(sql, |tag| {
            if plan::ends_transaction(sql, tag.command()) {
                connection.script_left_transaction.set(true);
            }
        });
        script.then(move |outcome| connection.end_several(write, outcome))
    }
}

impl Session {
    /// A statement with this effect is about to run here; no other caller uses the connection.
    pub(super) fn note(&self, effect: StatementEffect) {
        if matches!(
            effect,
            StatementEffect::Session | StatementEffect::Procedure
        ) {
            self.changed.set(true);
        }
        if effect == StatementEffect::Procedure {
            self.distrust_prepared();
        }
    }
}

/// The effect of a statement on a shared connection, as far as its command tag shows it.
pub(super) fn check_by_tag(
    connection: &Session,
    plan: &Plan,
    outcome: Outcome<Postgres, tsumugi_pg::Rows>,
) -> Outcome<Postgres, tsumugi_pg::Rows> {
    if !plan.harmless.get()
        && let Ok(rows) = &outcome
    {
        let command = rows.command();
        let tells = command.is_some_and(|tag| plan::changes_session(tag.command()));
        connection.changed.set(connection.changed.get() || tells);
        plan.harmless.set(!tells);
        if tells {
            return Err(Fault::Usage(CHANGED));
        }
    }
    outcome
}

/// The error of a pipeline after which its shared connection is not for others any more.
pub(super) fn changed() -> Fault<tsumugi_pg::Error> {
    Fault::Usage(CHANGED)
}
