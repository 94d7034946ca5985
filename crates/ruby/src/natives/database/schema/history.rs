//! Migrations: Ruby gives the files, `tsumugi_db::schema` says which of them a database has, what is to be done, and notes what was. What they
//! do, and in which transaction, is Ruby's (prelude/migrations.rb).

use std::rc::Rc;

use tsumugi_db::Executor;
use tsumugi_db::schema::{Direction, History, MigrationSource};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use crate::answer::{Failure as _, attempt, attempt_only};
use crate::host::Host;
use crate::natives::arguments::{data, text, whole, wrong_type};
use crate::natives::database::vm_database::{executor, refuse_beside_transaction, vm_database};
use crate::natives::definitions::Natives;

type FileHistory = Rc<History<MigrationSource>>;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("History")?;
    // `[[path, text], …]`
    natives.plain("history_new", |_, scope, call| {
        let mut sources = Vec::new();
        for file in scope.elements(call.argument(0)) {
            let path = text(scope, scope.array_at(file, 0), "the file's path")?;
            let name = path.rsplit('/').next().unwrap_or(&path);
            let text = scope.bytes(scope.array_at(file, 1)).unwrap_or_default();
            sources.push(MigrationSource::new(name, &text));
        }
        let history = History::new(sources).map_err(|error| error.raise(scope))?;
        scope.wrap_as::<FileHistory>("Tsumugi::Native::History", Rc::new(history))
    })?;
    plans(natives)?;
    steps(natives)
}

/// `history, database, …`
fn plans<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // Up or down, and how many: the names of the migrations that this is about, in their turn.
    natives.waiting("history_plan", |host, scope, call| {
        let (history, executor) = history_and_executor(host, scope, call)?;
        refuse_beside_transaction(host, scope, vm_database(scope, call.argument(1))?)?;
        let task = text(scope, call.argument(2), "what is to be done")?;
        let steps = whole(call.argument(3));
        let planned = async move {
            let planned = match task.as_str() {
                "up" => history.pending(&executor, steps).await?,
                "redo" => history.redoable(&executor, steps).await?,
                _ => history.newest(&executor, steps).await?,
            };
            let names = planned.iter().map(|one| one.name().to_owned());
            Ok::<Vec<String>, tsumugi_db::Error>(names.collect())
        };
        Ok(attempt(planned, |scope, names| scope.strings(names)))
    })?;
    // State, name and when it was applied, of each.
    natives.waiting("history_status", |host, scope, call| {
        let (history, executor) = history_and_executor(host, scope, call)?;
        let status = async move { history.status(&executor).await };
        Ok(attempt(status, |scope, all| {
            scope.list(
                all.into_iter()
                    .map(|one| scope.strings([one.state.to_string(), one.name, one.applied_at])),
            )
        }))
    })?;
    natives.waiting("history_try", |host, scope, call| {
        let (history, executor) = history_and_executor(host, scope, call)?;
        Ok(attempt_only(
            async move { history.begin_trial(&executor).await },
        ))
    })
}

/// `history, database, name, direction, …`
fn steps<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // The number that it has or gets in the notes; nil where there is nothing to do.
    natives.waiting("migration_due", |host, scope, call| {
        let (history, executor) = history_and_executor(host, scope, call)?;
        let (migration, direction) = migration(scope, &history, call)?;
        let due = async move { history.due(&executor, &migration, direction).await };
        Ok(attempt(due, |scope, version| scope.string_or_nil(version)))
    })?;
    // Ends the transaction of this fibre too.
    natives.waiting("migration_complete", |host, scope, call| {
        let (history, executor) = history_and_executor(host, scope, call)?;
        let (migration, direction) = migration(scope, &history, call)?;
        let version = text(scope, call.argument(4), "the number")?;
        let database = vm_database(scope, call.argument(1))?;
        let transaction = database.transaction(host.job.number());
        Ok(attempt_only(async move {
            let completed = history.complete(&executor, &migration, direction, &version);
            let completed = completed.await;
            if let Some(transaction) = transaction
                && completed.is_ok()
                && !history.is_trial()
            {
                transaction.committed();
                transaction.running.borrow_mut().take();
            }
            completed
        }))
    })?;
    // The exception when its code has raised, by what that says.
    natives.plain("migration_failure", |host, scope, call| {
        let (history, executor) = history_and_executor(host, scope, call)?;
        let (migration, direction) = migration(scope, &history, call)?;
        let cause = text(scope, call.argument(4), "the cause")?;
        let failure = migration.failure(direction, &executor, &cause, None);
        Ok(failure.raise(scope).0)
    })
}

fn history_and_executor<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, (FileHistory, Executor)> {
    let history = data::<FileHistory>(scope, call.argument(0), "the history", "one of migrations")?;
    Ok((Rc::clone(history), executor(host, scope, call.argument(1))?))
}

fn migration<'c>(
    scope: &'c Scope<'c>,
    history: &FileHistory,
    call: &NativeCall<'c>,
) -> Result<'c, (MigrationSource, Direction)> {
    let name = call.argument(2);
    let migration = history.named(&text(scope, name, "the name")?).cloned();
    let migration =
        migration.ok_or_else(|| wrong_type(scope, name, "the name", "that of a migration"))?;
    Ok((migration, direction(scope, call.argument(3))?))
}

fn direction<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Direction> {
    Ok(match text(scope, value, "the direction")?.as_str() {
        "up" => Direction::Up,
        _ => Direction::Down,
    })
}
