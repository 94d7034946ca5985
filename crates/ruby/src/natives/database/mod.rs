//! Databases: connecting, statements, transactions. Everything that reaches a database waits; errors become `DB::…`.

pub(super) mod binds;
mod copy;
pub(crate) mod failure;
mod handles;
mod listen;
pub(crate) mod packed;
mod pipeline;
mod schema;
mod statement;
pub(super) mod values;
pub(super) mod vm_database;

use std::rc::Rc;
use std::time::Duration;

use tsumugi_db::{
    BatchSize, BindRoom, Database, Isolation, Names, Options, ReadTarget, ReplicaUrls, Savepoint,
    Session, StatementLog, TransactionMode, TransactionOptions,
};
use tsumugi_mruby::{Kind, Result, Scope, Value};
use tsumugi_server::Mode;

use crate::answer::{attempt, attempt_only};
use crate::natives::arguments::{float, text, whole};
use crate::natives::definitions::Natives;
use binds::binds;
use handles::{exclusive_handle, let_go, shared_handle};
use statement::{sql_and_values, statement};
use vm_database::{
    TransactionHandle, TransactionKind, VmDatabase, executor, refuse_beside_transaction,
    vm_database,
};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let db = scope.define_class(Value::nil(), "DB", scope.object_class())?;
    let rows = scope.define_class(db, "Rows", scope.object_class())?;
    scope.carries_data(rows);
    natives.data_class("Database")?;
    natives.data_class("Transaction")?;
    natives.data_class("Savepoint")?;
    natives.data_class("Session")?;
    natives.waiting("db_connect", |host, scope, call| {
        let url = text(scope, call.argument(0), "the database's URL")?;
        let mut options = options(scope, call.argument(1))?;
        if host.settings.mode == Mode::Development
            && scope.keyword(call.argument(1), "log")?.is_nil()
        {
            options.log = StatementLog::Statements;
        }
        let host = Rc::downgrade(host);
        let connecting = async move { Database::connect(&url, options).await };
        Ok(attempt(connecting, move |scope, database| {
            if let Some(host) = host.upgrade() {
                host.resources.watch(database.watch());
            }
            wrap(scope, database)
        }))
    })?;
    natives.plain("db_shared", |host, scope, call| {
        let name = text(scope, call.argument(0), "the name of a shared database")?;
        let shared = &host.resources.shared;
        let Some((_, database)) = shared.iter().find(|(known, _)| **known == *name) else {
            let names: Vec<&str> = shared.iter().map(|(known, _)| &**known).collect();
            let there = match names.is_empty() {
                true => "nothing is shared with this application".to_owned(),
                false => format!("there are {}", names.join(", ")),
            };
            let message = format!("no database is shared under the name {name}: {there}");
            return Err(scope.error("DB::UsageError", message));
        };
        wrap(scope, database.clone())
    })?;
    natives.plain("db_scheme", |_, scope, call| {
        scope.string(vm_database(scope, call.argument(0))?.database().scheme())
    })?;
    natives.plain("db_close", |_, scope, call| {
        vm_database(scope, call.argument(0))?.database().close();
        Ok(Value::nil())
    })?;
    vm_database::install(natives)?;
    statements(natives, db)?;
    pipeline::install(natives, db)?;
    schema::install(natives)?;
    copy::install(natives)?;
    listen::install(natives)?;
    sessions(natives)?;
    transactions(natives)?;
    savepoints(natives)
}

fn wrap<'c>(scope: &'c Scope<'_>, database: Database) -> Result<'c, Value<'c>> {
    let database = Rc::new(VmDatabase::new(database));
    scope.wrap_as("Tsumugi::Native::Database", database)
}

fn statements<'s>(natives: &Natives<'s>, db: Value<'s>) -> Result<'s, ()> {
    natives.waiting_method(db, "query", 1.., |host, scope, call| {
        let native = scope.ivar(call.this, scope.intern("@native"));
        let executor = executor(host, scope, native)?;
        let (sql, values) = sql_and_values(call);
        let sql = text(scope, sql, "the SQL")?;
        let depth_max = host.settings.limits.json_depth_max;
        let binds = binds(
            scope,
            values.iter().copied(),
            depth_max,
            BindRoom::default(),
        )?;
        let host = Rc::clone(host);
        Ok(attempt(
            async move { executor.query(sql, binds).await },
            move |scope, rows| scope.wrap(scope.rooted(&host.known().rows), rows),
        ))
    })?;
    natives.waiting("db_execute", |host, scope, call| {
        let (executor, sql, binds) = statement(host, scope, call)?;
        Ok(attempt(
            async move { executor.execute(sql, binds).await },
            |scope, executed| {
                let id = executed.last_insert_id;
                let id = id.map_or_else(Value::nil, |id| scope.integer(id));
                scope.array_of(&[scope.count(executed.affected), id])
            },
        ))
    })?;
    natives.waiting("db_script", |host, scope, call| {
        let (executor, sql, _) = statement(host, scope, call)?;
        Ok(attempt_only(
            async move { executor.execute_script(sql).await },
        ))
    })?;
    natives.waiting("db_stream", |host, scope, call| {
        let (executor, sql, binds) = statement(host, scope, call)?;
        let stream = async move { executor.stream_by(sql, binds, BatchSize::default()).await };
        Ok(super::rows::open(host, stream))
    })
}

fn sessions<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_session", |_, scope, call| {
        let database = vm_database(scope, call.argument(0))?.database().clone();
        Ok(attempt(
            async move { database.session().await },
            |scope, session| scope.wrap_as("Tsumugi::Native::Session", shared_handle(session)),
        ))
    })?;
    // For `ensure`: the pool makes it clean once nothing runs on it.
    natives.plain("db_give_back", |_, scope, call| {
        let_go::<Rc<Session>>(scope, call.argument(0));
        Ok(Value::nil())
    })
}

fn transactions<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_begin", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let keys = vm_database(scope, call.argument(0))?.keys(host.job.number());
        let mut options = transaction_options(scope, call.argument(1))?;
        let isolation = scope.text(call.argument(2));
        let kind = match isolation.as_deref() {
            Some("schema") => TransactionKind::SchemaChange,
            _ => TransactionKind::Application,
        };
        if kind == TransactionKind::SchemaChange {
            refuse_beside_transaction(host, scope, vm_database(scope, call.argument(0))?)?;
        }
        options.isolation = match isolation.as_deref() {
            // With the lock of the schema, which decides the isolation.
            None | Some("schema") => Isolation::Default,
            Some("read_committed") => Isolation::ReadCommitted,
            Some("repeatable_read") => Isolation::RepeatableRead,
            Some("serializable") => Isolation::Serializable,
            Some(other) => {
                let message = format!("transaction takes isolation: :read_committed, :repeatable_read or :serializable, not {other}");
                return Err(scope.error("ArgumentError", message));
            }
        };
        let begun = async move {
            match kind {
                TransactionKind::Application => executor.begin(options).await,
                TransactionKind::SchemaChange => executor.begin_change(options.mode).await,
            }
        };
        Ok(attempt(begun, move |scope, transaction| {
            let handle = TransactionHandle::new(transaction, kind, &keys);
            scope.wrap_as("Tsumugi::Native::Transaction", handle)
        }))
    })?;
    for (name, commits) in [("db_commit", true), ("db_rollback", false)] {
        natives.waiting(name, move |_, scope, call| {
            let handle = scope.data::<TransactionHandle>(call.argument(0)).cloned();
            let transaction = handle.as_ref().and_then(TransactionHandle::take);
            Ok(attempt_only(async move {
                let (Some(handle), Some(transaction)) = (handle, transaction) else {
                    return Ok(());
                };
                if commits {
                    handle.commit(&transaction).await
                } else {
                    transaction.roll_back().await
                }
            }))
        })?;
    }
    // For `ensure` of a cancelled request, which should not wait: dropping rolls back.
    natives.plain("db_abandon", |_, scope, call| {
        if let Some(handle) = scope.data::<TransactionHandle>(call.argument(0)) {
            handle.abandon();
        }
        Ok(Value::nil())
    })?;
    // Firebird commits changes of tables before the statements behind them.
    natives.plain("db_partly_committed?", |_, scope, call| {
        let handle = scope.data::<TransactionHandle>(call.argument(0));
        let is_kept = handle.is_some_and(TransactionHandle::is_kept);
        Ok(Value::boolean(is_kept))
    })
}

/// What `mode:` of a transaction says.
fn transaction_options<'c>(
    scope: &'c Scope<'c>,
    mode: Value<'c>,
) -> Result<'c, TransactionOptions> {
    Ok(match scope.text(mode).as_deref() {
        None | Some("immediate") => TransactionOptions::write(TransactionMode::Immediate),
        Some("deferred") => TransactionOptions::write(TransactionMode::Deferred),
        Some("exclusive") => TransactionOptions::write(TransactionMode::Exclusive),
        Some("rebuild") => TransactionOptions::write(TransactionMode::Rebuild),
        Some("schema") => TransactionOptions::write(TransactionMode::Schema),
        Some("trial") => TransactionOptions::write(TransactionMode::Trial),
        Some("read_only") => TransactionOptions::read_only(),
        Some(other) => {
            let message = format!(
                "transaction takes mode: :immediate, :deferred, :exclusive, :rebuild or :read_only, not {other}"
            );
            return Err(scope.error("ArgumentError", message));
        }
    })
}

fn savepoints<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_savepoint", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        vm_database(scope, call.argument(0))?
            .keys(host.job.number())
            .savepoint();
        Ok(attempt(
            async move { executor.savepoint().await },
            |scope, savepoint| {
                scope.wrap_as("Tsumugi::Native::Savepoint", exclusive_handle(savepoint))
            },
        ))
    })?;
    natives.waiting("db_release", |_, scope, call| {
        let (_, savepoint) = handles::take::<Savepoint>(scope, call.argument(0))?;
        Ok(attempt_only(async move { savepoint.release().await }))
    })?;
    // Dropped, the transaction is rolled back to it before its next statement.
    natives.plain("db_forsake", |_, scope, call| {
        let_go::<Savepoint>(scope, call.argument(0));
        Ok(Value::nil())
    })
}

fn options<'c>(scope: &'c Scope<'c>, keywords: Value<'c>) -> Result<'c, Options> {
    let mut options = Options::default();
    for (name, value) in scope.entries(keywords)? {
        let name = scope.text(name).unwrap_or_default();
        let whole = whole(value);
        let seconds = float(value).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let wrong = || {
            scope.error(
                "ArgumentError",
                format!("DB.connect: {name}: has a value that makes no sense"),
            )
        };
        match name.as_str() {
            "pool" => options.pool = whole.ok_or_else(wrong)?,
            "min" => options.min = whole.ok_or_else(wrong)?,
            "lifetime" => options.lifetime = seconds.ok_or_else(wrong)?,
            "acquire" => options.acquire_timeout = seconds.ok_or_else(wrong)?,
            "timeout" => options.statement_timeout = seconds.ok_or_else(wrong)?,
            "busy" => options.busy_timeout = seconds.ok_or_else(wrong)?,
            "schema_wait" => options.schema_wait = seconds.ok_or_else(wrong)?,
            "statements" => options.statement_cache = whole.ok_or_else(wrong)?,
            "names" => {
                options.names = match scope.text(value).as_deref() {
                    Some("lower") => Names::Lower,
                    Some("as_is") => Names::AsIs,
                    _ => return Err(wrong()),
                }
            }
            "replicas" => {
                let urls = match value.kind() {
                    Kind::Array => scope.elements(value).map(|url| scope.text(url)).collect(),
                    _ => None,
                };
                let urls: Vec<String> = urls.ok_or_else(wrong)?;
                options.replicas = ReplicaUrls::new(urls);
            }
            "reads" => {
                options.reads = match scope.text(value).as_deref() {
                    Some("primary") => ReadTarget::Primary,
                    Some("replica") => ReadTarget::Replica,
                    _ => return Err(wrong()),
                }
            }
            "replica_lag" => options.replica_lag = seconds.ok_or_else(wrong)?,
            "log" if value.truthy() => options.log = StatementLog::Statements,
            "log" => options.log = StatementLog::Off,
            other => {
                let message = format!(
                    "DB.connect has no option {other}: there are pool, min, lifetime, acquire, timeout, busy, schema_wait, statements, names, replicas, reads, replica_lag, log"
                );
                return Err(scope.error("ArgumentError", message));
            }
        }
    }
    Ok(options)
}
