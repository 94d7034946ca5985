//! The slowest and the most frequent statements, for the dashboard. Runs none: the plan of one is asked of a worker's pool.
//! Rule: a statement is shown by its form, which has no values.

use std::cmp::Reverse;
use std::time::Duration;

use serde_json::{Value, json};
use tsumugi_db::limits::EXPLAIN_MAX;
use tsumugi_db::{StatementFigures, reset_statements, statement_report};

use super::Dashboard;
use super::api::{ApiError, ApiFuture, ApiQuery, ApiResult, cut_to, list, required};
use super::parts::EXPLAIN;
use super::question::AdminQuestion;
use crate::limits::{DASHBOARD_MESSAGE_CHARACTERS_MAX, DASHBOARD_STATEMENTS_MAX};

/// `GET statements`.
pub(super) fn view(_: &Dashboard, query: &ApiQuery) -> ApiResult {
    let mut report = statement_report();
    let by: fn(&StatementFigures) -> u128 = match query.value("by").unwrap_or("time") {
        "time" => |row| row.total.as_nanos(),
        "calls" => |row| u128::from(row.calls),
        "mean" => |row| mean(row).as_nanos(),
        "p99" => |row| row.p99.as_nanos(),
        other => {
            let text =
                format!("statements are shown by time, calls, mean or p99, not by {other:?}");
            return Err(ApiError::bad_request(text));
        }
    };
    report.statements.sort_by_key(|row| Reverse(by(row)));
    let shown = report.statements.iter();
    let shown = shown.take(DASHBOARD_STATEMENTS_MAX + 1).map(row).collect();
    let mut answer = list("statements", shown, DASHBOARD_STATEMENTS_MAX);
    answer["since_at"] = json!(report.since_ms);
    answer["left"] = json!(report.left);
    Ok(answer)
}

/// `POST statements/explain`.
pub(super) fn explain(dashboard: &Dashboard, body: Value) -> ApiFuture<'_> {
    Box::pin(async move {
        required(&body, "fingerprint")?;
        required(&body, "database")?;
        let question = AdminQuestion::Named {
            name: EXPLAIN,
            parameters: body,
        };
        // The pool may have to open a connection first.
        dashboard.ask_one_within(question, EXPLAIN_MAX * 2).await
    })
}

/// `POST statements/reset`.
pub(super) fn reset(_: &Dashboard, _: Value) -> ApiFuture<'_> {
    Box::pin(async move {
        reset_statements();
        Ok(json!({ "ok": true }))
    })
}

fn mean(row: &StatementFigures) -> Duration {
    let calls = u32::try_from(row.calls).unwrap_or(u32::MAX);
    row.total.checked_div(calls).unwrap_or_default()
}

fn row(row: &StatementFigures) -> Value {
    let ms = |duration: Duration| duration.as_micros() as f64 / 1_000.0;
    json!({
        "fingerprint": format!("{:016x}", row.fingerprint),
        "database": &*row.database,
        "sql": cut_to(&row.sql, DASHBOARD_MESSAGE_CHARACTERS_MAX),
        "calls": row.calls,
        "errors": row.errors,
        "rows": row.rows,
        "total_ms": ms(row.total),
        "mean_ms": ms(mean(row)),
        "p99_ms": ms(row.p99),
        "max_ms": ms(row.max),
        "place": row.place.as_deref(),
    })
}
