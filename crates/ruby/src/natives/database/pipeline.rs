//! `db.pipeline`: several statements collected in a `DB::Pipeline`, sent in one write. Their results are handed back in order.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_db::{BindRoom, PipelineAtomicity, Rows, SqlText, Value as Bind};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use super::binds::binds;
use super::failure::{failure, raise};
use super::statement::sql_and_values;
use super::vm_database::executor;
use crate::answer::{Operation, answer};
use crate::host::Host;
use crate::limits::PIPELINE_MAX;
use crate::natives::arguments::{text, wrong_type};
use crate::natives::definitions::Natives;

/// What a `DB::Pipeline` carries.
#[derive(Default)]
struct Statements {
    /// Texts with their values.
    list: Vec<(SqlText, Vec<Bind>)>,
    room: BindRoom,
}

type StatementsCell = RefCell<Statements>;

pub(super) fn install<'s>(natives: &Natives<'s>, db: Value<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let pipeline = scope.define_class(db, "Pipeline", scope.object_class())?;
    scope.carries_data(pipeline);
    let class = scope.root(pipeline)?;
    natives.plain("db_pipeline_new", move |_, scope, _| {
        scope.wrap(scope.rooted(&class), StatementsCell::default())
    })?;
    natives.plain("db_pipeline_empty?", |_, scope, call| {
        let is_empty = statements(scope, call.argument(0))?
            .borrow()
            .list
            .is_empty();
        Ok(Value::boolean(is_empty))
    })?;
    for name in ["query", "execute"] {
        natives.method(pipeline, name, 1.., |host, scope, call| {
            collect(host, scope, call)
        })?;
    }
    natives.waiting("db_pipeline", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let statements = statements(scope, call.argument(1))?.take().list;
        let atomicity = if call.argument(2).truthy() {
            PipelineAtomicity::All
        } else {
            PipelineAtomicity::Each
        };
        let host = Rc::clone(host);
        Ok(Box::pin(async move {
            match executor.pipeline(statements, atomicity).await {
                Err(error) => failure(error),
                Ok(outcomes) => match first_failure(outcomes) {
                    Err(error) => failure(error),
                    Ok(results) => answer(move |scope| list(&host, scope, results)),
                },
            }
        }) as Operation)
    })
}

fn statements<'c>(scope: &'c Scope<'c>, pipeline: Value<'c>) -> Result<'c, &'c StatementsCell> {
    let collected = scope.data::<StatementsCell>(pipeline);
    collected.ok_or_else(|| wrong_type(scope, pipeline, "the pipeline", "what db.pipeline yields"))
}

/// `query(sql, *values)`: the place of the result.
fn collect<'c>(host: &Host, scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Value<'c>> {
    let collected = statements(scope, call.this)?;
    let (sql, values) = sql_and_values(call);
    let depth_max = host.settings.limits.json_depth_max;
    // Ruby may run in what follows, and come here again: nothing is borrowed meanwhile.
    let room = collected.borrow().room;
    let binds = binds(scope, values.iter().copied(), depth_max, room)?;
    // Most pipelines say the same again and again, and who sends them knows a text that it has just seen.
    let before = collected.borrow().list.last().map(|(sql, _)| sql.clone());
    let same = before
        .filter(|before| scope.with_bytes(sql, |bytes| bytes == before.as_bytes()) == Some(true));
    let sql = match same {
        Some(before) => before,
        None => text(scope, sql, "the SQL")?.into(),
    };
    let mut statements = collected.borrow_mut();
    let place = statements.list.len();
    if place == PIPELINE_MAX {
        drop(statements);
        let count = place + 1;
        let message =
            format!("a pipeline takes {PIPELINE_MAX} statements (pipeline_max), not {count}");
        return Err(scope.error("ArgumentError", message));
    }
    let mut room = statements.room;
    let bytes = binds.iter().map(Bind::bytes).sum();
    if let Err(error) = room.take(bytes) {
        drop(statements);
        return Err(raise(scope, &error));
    }
    statements.room = room;
    statements.list.push((sql, binds));
    Ok(scope.integer(i64::try_from(place).unwrap_or(i64::MAX)))
}

/// All results, or the error that matters: the first that is no consequence of another.
fn first_failure(outcomes: Vec<tsumugi_db::Result<Rows>>) -> tsumugi_db::Result<Vec<Rows>> {
    let mut results = Vec::with_capacity(outcomes.len());
    let mut consequence = None;
    for outcome in outcomes {
        match outcome {
            Ok(rows) => results.push(rows),
            Err(error @ tsumugi_db::Error::RolledBack { .. }) => {
                consequence.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    consequence.map_or(Ok(results), Err)
}

fn list<'c>(host: &Host, scope: &'c Scope<'_>, results: Vec<Rows>) -> Result<'c, Value<'c>> {
    let class = scope.rooted(&host.known().rows);
    let list = scope.array(results.len())?;
    for rows in results {
        scope.push(list, scope.wrap(class, rows)?)?;
    }
    Ok(list)
}
