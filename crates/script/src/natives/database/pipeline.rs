//! `db.pipeline`: several statements collected in Ruby, sent in one write. Their results are handed back in order.

use std::sync::Arc;

use tsumugi_db::{Atomicity, Rows, Value as Bind};
use tsumugi_mruby::{Result, Scope, Value};

use super::{bind, failure, target};
use crate::answer::{Operation, answer};
use crate::limits::PIPELINE_MAX;
use crate::natives::{Natives, text};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("db_pipeline", |host, scope, call| {
        let target = target(host, scope, call.argument(0))?;
        let pairs = call.argument(1);
        let count = scope.array_len(pairs);
        if count > PIPELINE_MAX {
            let message =
                format!("a pipeline takes {PIPELINE_MAX} statements (pipeline_max), not {count}");
            return Err(scope.error("ArgumentError", message));
        }
        let atomicity = if call.argument(2).truthy() {
            Atomicity::All
        } else {
            Atomicity::Each
        };
        let depth_max = host.settings.limits.json_depth_max;
        let mut statements = Vec::with_capacity(count);
        for index in 0..count {
            let pair = scope.array_at(pairs, index);
            let before = statements.last().map(|(sql, _)| sql);
            statements.push(statement(scope, pair, before, depth_max)?);
        }
        Ok(Box::pin(async move {
            match target.pipeline(statements, atomicity).await {
                Err(error) => failure(error),
                Ok(outcomes) => match first_failure(outcomes) {
                    Err(error) => failure(error),
                    Ok(results) => answer(move |scope| list(scope, results)),
                },
            }
        }) as Operation)
    })
}

fn statement<'c>(
    scope: &'c Scope<'c>,
    pair: Value<'c>,
    before: Option<&Arc<str>>,
    depth_max: usize,
) -> Result<'c, (Arc<str>, Vec<Bind>)> {
    let sql = scope.array_at(pair, 0);
    // Most pipelines say the same again and again, and who sends them knows a text that it has just seen.
    let same = before
        .filter(|before| scope.with_bytes(sql, |bytes| bytes == before.as_bytes()) == Some(true));
    let sql = match same {
        Some(before) => Arc::clone(before),
        None => text(scope, sql, "the SQL")?.into(),
    };
    let values = scope.array_at(pair, 1);
    let binds = (0..scope.array_len(values))
        .map(|index| bind(scope, scope.array_at(values, index), depth_max));
    Ok((sql, binds.collect::<Result<'c, Vec<Bind>>>()?))
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

fn list<'c>(scope: &'c Scope<'_>, results: Vec<Rows>) -> Result<'c, Value<'c>> {
    let class = scope.constant("DB::Rows")?;
    let list = scope.array(results.len())?;
    for rows in results {
        scope.push(list, scope.wrap(class, rows)?)?;
    }
    Ok(list)
}
