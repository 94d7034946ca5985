//! The slowest and the most frequent statements, for the dashboard. Runs none.

use serde_json::json;

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};

/// `GET statements`.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    Ok(json!({ "since_at": dashboard.started_at, "statements": [], "more": false }))
}
