//! Tables and who may change them: what Ruby collected goes to the database as one change. Which statements run, under which lock and in which
//! transaction, is `tsumugi_db::schema`'s. Rule: nothing here asks a database for anything but its catalog.

mod history;
mod read;

use tsumugi_db::Executor;
use tsumugi_db::schema::TableChange;
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use super::vm_database::{executor, refuse_beside_transaction, vm_database};
use crate::answer::{Operation, attempt, attempt_only};
use crate::host::Host;
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("schema_table?", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let table = text(scope, call.argument(1), "the table's name")?;
        Ok(truth(async move {
            Ok(executor.describe(table).await?.is_some())
        }))
    })?;
    changes(natives)?;
    history::install(natives)?;
    locks(natives)
}

/// `database, word, what was collected`
fn changes<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // Answers whether there was anything to do.
    natives.waiting("schema_change", |host, scope, call| {
        let change = table_change(host, scope, call)?;
        let database = vm_database(scope, call.argument(0))?;
        refuse_beside_transaction(host, scope, database)?;
        let keys = database.keys(host.job.number());
        let executor = executor(host, scope, call.argument(0))?;
        Ok(truth(async move {
            let _changing = keys.changing();
            executor.change_table(&change).await
        }))
    })?;
    // The statements that it takes in the transaction that is open.
    natives.waiting("schema_plan", |host, scope, call| {
        let change = table_change(host, scope, call)?;
        let executor = executor(host, scope, call.argument(0))?;
        let plan = async move {
            match executor {
                Executor::Transaction(transaction) => transaction.plan(&change).await.map(Some),
                _ => Ok(None),
            }
        };
        Ok(attempt(plan, |scope, plan| match plan {
            Some(plan) => scope.strings(plan.into_iter().map(|one| one.sql)),
            None => Ok(Value::nil()),
        }))
    })
}

/// What concerns the lock of the schema.
fn locks<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("schema_lock", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        Ok(attempt_only(async move { executor.lock_schema().await }))
    })?;
    natives.waiting("schema_unlock", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        Ok(attempt_only(async move { executor.unlock_schema().await }))
    })
}

fn table_change<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, TableChange> {
    let depth_max = host.settings.limits.json_depth_max;
    let collected = call.argument(2);
    Ok(
        match text(scope, call.argument(1), "the change")?.as_str() {
            "create" => TableChange::Create(read::table(scope, collected, depth_max)?),
            "alter" => TableChange::Alter(read::alteration(scope, collected, depth_max)?),
            _ => TableChange::Drop(text(scope, collected, "the table's name")?.into()),
        },
    )
}

fn truth(outcome: impl Future<Output = tsumugi_db::Result<bool>> + 'static) -> Operation {
    attempt(outcome, |_, truth| Ok(Value::boolean(truth)))
}
