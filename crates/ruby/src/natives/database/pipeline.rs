//! `db.pipeline`: several statements collected in a `DB::Pipeline`, sent in one write. Their results are handed back in order.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_db::{BindRoom, PipelineAtomicity, Rows, SqlText, Value as Bind, sendable};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use super::binds::binds;
use super::statement::sql_and_values;
use super::vm_database::{VmDatabase, executor, vm_database};
use crate::answer::{Failure as _, attempt};
use crate::host::Host;
use crate::limits::PIPELINE_MAX;
use crate::natives::arguments::{data, text};
use crate::natives::definitions::Natives;
use crate::natives::query::{BuiltQuery, built_query as built, refused};

/// What a `DB::Pipeline` carries.
struct Statements {
    /// Where they will run.
    database: Rc<VmDatabase>,
    /// Texts with their values.
    list: Vec<(SqlText, Vec<Bind>)>,
    /// Where the SQL of the last one comes from.
    last: TextOrigin,
    room: BindRoom,
}

/// Where the SQL of a statement comes from. Placeholders of the two differ, so the same text can be two statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextOrigin {
    Caller,
    Builder,
}

type StatementsCell = RefCell<Statements>;

pub(super) fn install<'s>(natives: &Natives<'s>, db: Value<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let pipeline = scope.define_class(db, "Pipeline", scope.object_class())?;
    scope.carries_data(pipeline);
    let class = scope.root(pipeline)?;
    natives.plain("db_pipeline_new", move |_, scope, call| {
        let statements = Statements {
            database: Rc::clone(vm_database(scope, call.argument(0))?),
            list: Vec::new(),
            last: TextOrigin::Caller,
            room: BindRoom::default(),
        };
        scope.wrap(scope.rooted(&class), StatementsCell::new(statements))
    })?;
    natives.plain("db_pipeline_empty?", |_, scope, call| {
        let statements = statements(scope, call.argument(0))?.borrow();
        Ok(Value::boolean(statements.list.is_empty()))
    })?;
    for name in ["query", "execute"] {
        natives.method(pipeline, name, 1.., |host, scope, call| {
            collect(host, scope, call)
        })?;
    }
    natives.waiting("db_pipeline", |host, scope, call| {
        let executor = executor(host, scope, call.argument(0))?;
        let statements = statements(scope, call.argument(1))?;
        let statements = std::mem::take(&mut statements.borrow_mut().list);
        let atomicity = if call.argument(2).truthy() {
            PipelineAtomicity::All
        } else {
            PipelineAtomicity::Each
        };
        let host = Rc::clone(host);
        let results = async move {
            let outcomes = executor.pipeline(statements, atomicity).await?;
            first_failure(outcomes)
        };
        Ok(attempt(results, move |scope, results| {
            let class = scope.rooted(&host.known().rows);
            scope.list(results.into_iter().map(|rows| scope.wrap(class, rows)))
        }))
    })
}

fn statements<'c>(scope: &'c Scope<'c>, pipeline: Value<'c>) -> Result<'c, &'c StatementsCell> {
    data(scope, pipeline, "the pipeline", "what db.pipeline yields")
}

/// `query(sql, *values)` or `query(query)`: the place of the result.
fn collect<'c>(host: &Host, scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Value<'c>> {
    let collected = statements(scope, call.this)?;
    let (sql, values) = sql_and_values(call);
    let ((sql, binds), origin) = match built(scope, sql) {
        Some(query) => {
            let statement = written(scope, collected, query, values)?;
            (statement, TextOrigin::Builder)
        }
        None => {
            let depth_max = host.settings.limits.json_depth_max;
            // Ruby may run in what follows, and come here again: nothing is borrowed meanwhile.
            let room = collected.borrow().room;
            let binds = binds(scope, values.iter().copied(), depth_max, room)?;
            let same = collected.borrow().last_text(TextOrigin::Caller);
            let is_same = |before: &SqlText| {
                scope.with_bytes(sql, |bytes| bytes == before.as_bytes()) == Some(true)
            };
            let sql = match same.filter(is_same) {
                Some(before) => before,
                None => text(scope, sql, "the SQL")?.into(),
            };
            ((sql, binds), TextOrigin::Caller)
        }
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
        return Err(error.raise(scope));
    }
    statements.room = room;
    statements.last = origin;
    statements.list.push((sql, binds));
    Ok(scope.count(place))
}

impl Statements {
    /// The text of the last statement if it is one of these: most pipelines say the same again and again, and who sends them knows a
    /// text that it has just seen.
    fn last_text(&self, origin: TextOrigin) -> Option<SqlText> {
        let last = self.list.last().filter(|_| self.last == origin);
        last.map(|(sql, _)| sql.clone())
    }
}

/// The statement of a query of the builder: it gives the query's rows.
fn written<'c>(
    scope: &'c Scope<'c>,
    collected: &StatementsCell,
    query: &BuiltQuery,
    values: &[Value<'c>],
) -> Result<'c, (SqlText, Vec<Bind>)> {
    if !values.is_empty() {
        let message = "a query has its values already: a pipeline takes none beside it";
        return Err(scope.error("ArgumentError", message));
    }
    // An exception may run Ruby: nothing is borrowed meanwhile.
    let (database, same) = {
        let collected = collected.borrow();
        let same = collected.last_text(TextOrigin::Builder);
        (Rc::clone(&collected.database), same)
    };
    let made = query.reading_on(&database).map(|made| {
        let (sql, binds) = sendable(made.map_err(|error| refused(scope, error))?);
        Ok((same.filter(|before| **before == *sql).unwrap_or(sql), binds))
    });
    made.unwrap_or_else(|| {
        let message = "the query is of another database than the pipeline";
        Err(scope.error("DB::UsageError", message))
    })
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
