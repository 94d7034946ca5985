//! Timers, jobs and channels, for the dashboard. Runs none.

use serde_json::json;

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};

/// `GET work`.
pub(super) fn view(_: &Dashboard, _: &ApiQuery) -> ApiResult {
    Ok(json!({ "timers": [], "jobs": null, "channels": [] }))
}
