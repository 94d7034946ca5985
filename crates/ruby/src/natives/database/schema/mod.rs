//! Tables and who may change them: what Ruby collected goes to the database as one change. Which statements run, under which lock and in which
//! transaction, is `tsumugi_db::schema`'s. Rule: nothing here asks a database for anything but its catalog.

mod history;
mod read;

use tsumugi_db::schema::TableChange;
use tsumugi_db::{Executor, Result as Outcome};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use super::failure::{done, failure};
use super::vm_database::{executor, refuse_beside_transaction, vm_database};
use crate::answer::{Answer, Operation, answer, nil};
use crate::host::Host;
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("schema_table?", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let table = text(scope, call.argument(1), "the table's name")?;
        Ok(Box::pin(
            async move { truth(executor.describe(table).await.map(|found| found.is_some())) },
        ) as Operation)
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
        Ok(Box::pin(async move {
            let _changing = keys.changing();
            truth(executor.change_table(&change).await)
        }) as Operation)
    })?;
    // The statements that it takes in the transaction that is open.
    natives.waiting("schema_plan", |host, scope, call| {
        let change = table_change(host, scope, call)?;
        let executor = executor(host, scope, call.argument(0))?;
        Ok(Box::pin(async move {
            let Executor::Transaction(transaction) = executor else {
                return nil();
            };
            let plan = transaction.plan(&change).await;
            plan.map_or_else(failure, |plan| {
                let statements: Vec<_> = plan.into_iter().map(|one| one.sql).collect();
                answer(move |scope| history::texts(scope, &statements))
            })
        }) as Operation)
    })
}

/// What concerns the lock of the schema.
fn locks<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("schema_lock", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        Ok(Box::pin(async move { done(executor.lock_schema().await) }) as Operation)
    })?;
    natives.waiting("schema_unlock", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        Ok(Box::pin(async move { done(executor.unlock_schema().await) }) as Operation)
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

fn truth(outcome: Outcome<bool>) -> Answer {
    outcome.map_or_else(failure, |truth| answer(move |_| Ok(Value::boolean(truth))))
}
