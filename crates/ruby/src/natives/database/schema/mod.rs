//! Tables: what a database says of one, and the statements that make, change and drop one. Which to run when is Ruby's
//! (prelude/schema.rb). Rule: nothing here asks a database for anything but its catalog.

mod read;

use tsumugi_mruby::{Raise, Result, Scope, Value};
use tsumugi_sql::schema::{Description, Rebuild, drop_table};
use tsumugi_sql::{Dialect, Error, FIREBIRD, POSTGRES, SQLITE, Statement};

use super::failure::failure;
use super::statement::statement;
use super::vm_database::{executor, vm_database};
use crate::answer::{Operation, answer, nil};
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Description")?;
    natives.waiting("schema_describe", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let table = text(scope, call.argument(1), "the table's name")?;
        Ok(Box::pin(async move {
            match executor.describe(table.into()).await {
                Err(error) => failure(error),
                Ok(None) => nil(),
                Ok(Some(description)) => answer(move |scope| {
                    scope.wrap(scope.constant("Tsumugi::Native::Description")?, description)
                }),
            }
        }) as Operation)
    })?;
    // Who changes a schema holds this lock of PostgreSQL until the end of the transaction, in Rust as well.
    natives.plain("schema_lock", |_, scope, _| {
        Ok(scope.integer(tsumugi_db::schema::LOCK))
    })?;
    // A migration's number, as all of them are compared.
    natives.plain("schema_ordinal", |_, scope, call| {
        let version = text(scope, call.argument(0), "the number")?;
        scope.string(tsumugi_db::schema::ordinal(&version))
    })?;
    making(natives)?;
    changing(natives)?;
    turns(natives)
}

/// What concerns the transaction in which a schema is changed.
fn turns<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // Takes the lock of the schema, and answers whether it was free.
    natives.waiting("schema_turn", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        Ok(Box::pin(async move {
            match executor.has_schema().await {
                Ok(held) => answer(move |_| Ok(Value::boolean(held))),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    // Runs a statement about no table that the transaction has changed.
    natives.waiting("schema_note", |host, scope, call| {
        let (executor, sql, binds) = statement(host, scope, call)?;
        Ok(Box::pin(async move {
            match executor.run_beside_changes(sql, binds).await {
                Ok(_) => nil(),
                Err(error) => failure(error),
            }
        }) as Operation)
    })?;
    natives.plain("schema_kept?", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        Ok(Value::boolean(executor.has_kept_changes()))
    })
}

fn making<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("schema_create", |host, scope, call| {
        let dialect = dialect(scope, call.argument(0))?;
        let depth_max = host.settings.limits.json_depth_max;
        let table = read::table(scope, call.argument(1), depth_max)?;
        // Said first, so that what could not be made is refused also where something is there.
        let statements = table
            .create(dialect)
            .map_err(|error| refusal(scope, error))?;
        let Some(found) = scope.data::<Description>(call.argument(2)) else {
            return list(scope, &statements);
        };
        table
            .compare(found, dialect)
            .map_err(|error| refusal(scope, error))?;
        list(scope, &[])
    })
}

fn changing<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // The statements, and whether they make the table anew.
    natives.plain("schema_alter", |host, scope, call| {
        let dialect = dialect(scope, call.argument(0))?;
        let depth_max = host.settings.limits.json_depth_max;
        let alteration = read::alteration(scope, call.argument(1), depth_max)?;
        let Some(found) = scope.data::<Description>(call.argument(2)) else {
            return Err(wrong_type(
                scope,
                call.argument(2),
                "what was found",
                "a description",
            ));
        };
        let altered = alteration
            .statements_for(found, dialect)
            .map_err(|error| refusal(scope, error))?;
        let pair = scope.array(2)?;
        scope.push(pair, list(scope, &altered.statements)?)?;
        scope.push(pair, Value::boolean(altered.rebuild == Rebuild::Yes))?;
        Ok(pair)
    })?;
    natives.plain("schema_drop", |_, scope, call| {
        let dialect = dialect(scope, call.argument(0))?;
        let table = text(scope, call.argument(1), "the table's name")?;
        let statement = drop_table(table, dialect).map_err(|error| refusal(scope, error))?;
        scope.string(statement)
    })?;
    natives.waiting("schema_run", |host, scope, call| {
        let keys = vm_database(scope, call.argument(0))?.keys(host.job.number());
        let executor = executor(host, scope, call.argument(0))?;
        let sql = text(scope, call.argument(1), "the SQL")?;
        Ok(Box::pin(async move {
            let statement = Statement {
                sql,
                binds: Vec::new(),
            };
            let _changing = keys.changing();
            match executor.run(statement).await {
                Ok(_) => nil(),
                Err(error) => failure(error),
            }
        }) as Operation)
    })
}

/// The dialect of a database whose URL begins so.
fn dialect<'c>(scope: &'c Scope<'c>, scheme: Value<'c>) -> Result<'c, &'static Dialect> {
    match scope.text(scheme).as_deref() {
        Some("postgres") => Ok(&POSTGRES),
        Some("firebird") => Ok(&FIREBIRD),
        Some("sqlite") => Ok(&SQLITE),
        _ => Err(scope.error("DB::Unsupported", "this database has no schema builder")),
    }
}

fn list<'c>(scope: &'c Scope<'c>, statements: &[String]) -> Result<'c, Value<'c>> {
    let list = scope.array(statements.len())?;
    for statement in statements {
        scope.push(list, scope.string(statement)?)?;
    }
    Ok(list)
}

/// The exception for what was refused before any SQL.
fn refusal<'c>(scope: &'c Scope<'_>, error: Error) -> Raise<'c> {
    let class = match &error {
        Error::Different { .. } => "DB::TableDiffers",
        Error::Unsupported { .. } => "DB::Unsupported",
        Error::Limit { .. } => "DB::LimitExceeded",
        _ => "DB::UsageError",
    };
    scope.error(class, error.to_string())
}
