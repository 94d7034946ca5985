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
    BatchSize, BindRoom, Database, Isolation, Names, Options, Savepoint, Session, StatementLog,
    TransactionMode, TransactionOptions,
};
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_server::Mode;

use crate::answer::{Operation, answer, nil};
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;
use binds::binds;
pub(crate) use failure::raise;
use failure::{done, failure};
use handles::{SharedHandle, shared_handle};
use statement::{sql_and_values, statement};
use vm_database::{
    TransactionHandle, VmDatabase, executor, refuse_beside_transaction, vm_database,
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
        Ok(Box::pin(async move {
            match Database::connect(&url, options).await {
                Ok(database) => {
                    if let Some(host) = host.upgrade() {
                        host.resources.watch(database.watch());
                    }
                    answer(move |scope| {
                        let database = Rc::new(VmDatabase::new(database));
                        scope.wrap(scope.constant("Tsumugi::Native::Database")?, database)
                    })
                }
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.plain("db_shared", |host, scope, call| {
        let name = text(scope, call.argument(0), "the name of a shared database")?;
        let shared = host.resources.shared.borrow();
        let Some((_, database)) = shared.iter().find(|(known, _)| **known == *name) else {
            let names: Vec<&str> = shared.iter().map(|(known, _)| &**known).collect();
            let there = match names.is_empty() {
                true => "nothing is shared with this application".to_owned(),
                false => format!("there are {}", names.join(", ")),
            };
            let message = format!("no database is shared under the name {name}: {there}");
            return Err(scope.error("DB::UsageError", message));
        };
        let database = Rc::new(VmDatabase::new(database.clone()));
        scope.wrap(scope.constant("Tsumugi::Native::Database")?, database)
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
    streams(natives)?;
    pipeline::install(natives, db)?;
    schema::install(natives)?;
    copy::install(natives)?;
    listen::install(natives)?;
    sessions(natives)?;
    transactions(natives)?;
    savepoints(natives)
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
        Ok(Box::pin(async move {
            match executor.query(sql, binds).await {
                Ok(rows) => answer(move |scope| scope.wrap(scope.rooted(&host.known().rows), rows)),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_execute", |host, scope, call| {
        let (executor, sql, binds) = statement(host, scope, call)?;
        Ok(Box::pin(async move {
            match executor.execute(sql, binds).await {
                Ok(executed) => answer(move |scope| {
                    let pair = scope.array(2)?;
                    scope.push(
                        pair,
                        scope.integer(i64::try_from(executed.affected).unwrap_or(i64::MAX)),
                    )?;
                    let id = executed
                        .last_insert_id
                        .map_or_else(Value::nil, |id| scope.integer(id));
                    scope.push(pair, id)?;
                    Ok(pair)
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_script", |host, scope, call| {
        let (executor, sql, _) = statement(host, scope, call)?;
        Ok(Box::pin(async move { done(executor.execute_script(sql).await) }) as Operation)
    })
}

fn streams<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_stream", |host, scope, call| {
        let (executor, sql, binds) = statement(host, scope, call)?;
        let host = Rc::clone(host);
        Ok(Box::pin(async move {
            match executor.stream_by(sql, binds, BatchSize::default()).await {
                Ok(stream) => super::rows::opened(&host, stream),
                Err(error) => failure(error),
            }
        }) as Operation)
    })
}

fn sessions<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_session", |_, scope, call| {
        let database = vm_database(scope, call.argument(0))?.database().clone();
        Ok(Box::pin(async move {
            match database.session().await {
                Ok(session) => answer(move |scope| {
                    scope.wrap(
                        scope.constant("Tsumugi::Native::Session")?,
                        shared_handle(session),
                    )
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    // For `ensure`: the pool makes it clean once nothing runs on it.
    natives.plain("db_give_back", |_, scope, call| {
        if let Some(session) = scope.data::<SharedHandle<Session>>(call.argument(0)) {
            session.borrow_mut().take();
        }
        Ok(Value::nil())
    })
}

fn transactions<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_begin", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let keys = vm_database(scope, call.argument(0))?.keys(host.job.number());
        let mut options = transaction_options(scope, call.argument(1))?;
        let isolation = scope.text(call.argument(2));
        let alone = isolation.as_deref() == Some("schema");
        if alone {
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
        Ok(Box::pin(async move {
            let begun = match alone {
                true => executor.begin_change(options.mode).await,
                false => executor.begin(options).await,
            };
            match begun {
                Ok(transaction) => answer(move |scope| {
                    let handle = TransactionHandle::new(transaction, &keys);
                    scope.wrap(scope.constant("Tsumugi::Native::Transaction")?, handle)
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    for (name, commits) in [("db_commit", true), ("db_rollback", false)] {
        natives.waiting(name, move |_, scope, call| {
            let handle = scope.data::<TransactionHandle>(call.argument(0)).cloned();
            let transaction = handle
                .as_ref()
                .and_then(|handle| handle.running.borrow_mut().take());
            Ok(Box::pin(async move {
                let (Some(handle), Some(transaction)) = (handle, transaction) else {
                    return nil();
                };
                let ended = if commits {
                    let committed = transaction.commit().await;
                    committed.map(|()| handle.committed())
                } else {
                    transaction.roll_back().await
                };
                done(ended)
            }) as Operation)
        })?;
    }
    // For `ensure` of a cancelled request, which should not wait: dropping rolls back.
    natives.plain("db_abandon", |_, scope, call| {
        if let Some(handle) = scope.data::<TransactionHandle>(call.argument(0)) {
            handle.abandon();
        }
        Ok(Value::nil())
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
        Ok(Box::pin(async move {
            match executor.savepoint().await {
                Ok(savepoint) => answer(move |scope| {
                    let class = scope.constant("Tsumugi::Native::Savepoint")?;
                    scope.wrap(class, handles::exclusive_handle(savepoint))
                }),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.waiting("db_release", |_, scope, call| {
        let (_, savepoint) = handles::take::<Savepoint>(scope, call.argument(0))?;
        Ok(Box::pin(async move { done(savepoint.release().await) }) as Operation)
    })?;
    // Dropped, the transaction is rolled back to it before its next statement.
    natives.plain("db_forsake", |_, scope, call| {
        if let Some(holder) = scope.data::<handles::ExclusiveHandle<Savepoint>>(call.argument(0)) {
            drop(holder.borrow_mut().take());
        }
        Ok(Value::nil())
    })
}

fn options<'c>(scope: &'c Scope<'c>, keywords: Value<'c>) -> Result<'c, Options> {
    let mut options = Options::default();
    for (name, value) in scope.entries(keywords)? {
        let name = scope.text(name).unwrap_or_default();
        let whole = value.as_integer().and_then(|n| usize::try_from(n).ok());
        let seconds = value.as_float().or(value.as_integer().map(|n| n as f64));
        let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
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
            "log" if value.truthy() => options.log = StatementLog::Statements,
            "log" => options.log = StatementLog::Off,
            other => {
                let message = format!(
                    "DB.connect has no option {other}: there are pool, min, lifetime, acquire, timeout, busy, schema_wait, statements, names, log"
                );
                return Err(scope.error("ArgumentError", message));
            }
        }
    }
    Ok(options)
}
