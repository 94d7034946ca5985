//! The pools of databases, for the dashboard. Opens no connection.

use serde_json::{Value, json};

use super::Dashboard;
use super::api::{ApiQuery, ApiResult, list};
use crate::databases::{PoolRow, rows};
use crate::limits::DASHBOARD_POOLS_MAX;

/// `GET databases`.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let columns = dashboard.registry.columns().clone();
    let workers = columns
        .iter()
        .map(|column| (column.worker, &column.databases));
    let pools = rows(workers).iter().map(row).collect();
    Ok(list("pools", pools, DASHBOARD_POOLS_MAX))
}

fn row(row: &PoolRow) -> Value {
    let figures = &row.seen.figures;
    json!({
        "database": &*row.seen.name,
        "kind": row.seen.scheme,
        "role": row.seen.role.map(|role| role.as_str()),
        "worker": row.worker,
        "connections": figures.connections,
        "busy": figures.connections_busy,
        "waiting": figures.waiting,
        "max": row.seen.connections_max,
        "statements": figures.statements,
        "errors": figures.errors,
        "transactions": figures.transactions,
        "commits_unknown": figures.commits_unknown,
        "acquired": figures.acquired,
        "wait_ms": figures.wait.as_micros() as f64 / 1_000.0,
    })
}
