//! How the server does as a whole, for the dashboard. Counts nothing itself.

use std::time::SystemTime;

use serde_json::{Value, json};

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};
use crate::unix_time::unix_ms;

/// `GET overview`.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let (minute, hour) = dashboard.history.series();
    let (since, routes) = dashboard.history.routes(&dashboard.registry);
    let mut routes: Vec<_> = routes
        .into_iter()
        .filter(|(_, counts)| counts.durations.total() > 0)
        .collect();
    routes.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.durations.total()));
    let routes = routes.into_iter().map(|(route, counts)| {
        json!({
            "route": route,
            "requests": counts.durations.total(),
            "errors": counts.errors,
            "p50_ms": counts.durations.quantile_ms(0.5),
            "p99_ms": counts.durations.quantile_ms(0.99),
        })
    });
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started_at": dashboard.started_at,
        "now": unix_ms(SystemTime::now()),
        "workers": dashboard.handle.snapshot().workers.len(),
        "ready": dashboard.registry.ready(&dashboard.handle).err(),
        "minute": minute,
        "hour": hour,
        "routes_since_at": since,
        "routes": routes.collect::<Vec<Value>>(),
    }))
}
