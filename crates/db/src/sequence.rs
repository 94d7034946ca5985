//! Several statements that run one after the other, and what the outcomes are when one fails. Rule: nothing runs after a failure.

use tsumugi_sql::Statement;

use crate::error::{Error, Result};
use crate::rows::Rows;

/// Runs statements one after the other, up to the first that fails.
pub(crate) async fn in_turn<T>(
    statements: Vec<Statement>,
    run: impl AsyncFn(Statement) -> Result<T>,
) -> Result<Vec<T>> {
    let mut results = Vec::with_capacity(statements.len());
    for statement in statements {
        results.push(run(statement).await?);
    }
    Ok(results)
}

/// What `count` statements of a pipeline have for outcomes when the last one here failed and all were undone.
pub(crate) fn mark_rolled_back(mut outcomes: Vec<Result<Rows>>, count: usize) -> Vec<Result<Rows>> {
    let failure = outcomes.pop();
    let at = outcomes.len();
    let rolled_back = || {
        Err(Error::rolled_back(
            "another statement of the pipeline failed",
        ))
    };
    outcomes.clear();
    outcomes.resize_with(count, rolled_back);
    if let (Some(place), Some(failure)) = (outcomes.get_mut(at), failure) {
        *place = failure;
    }
    outcomes
}
