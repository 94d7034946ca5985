//! The pools of databases, for the dashboard. Opens no connection.

use serde_json::json;

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};

/// `GET databases`.
pub(super) fn view(_: &Dashboard, _: &ApiQuery) -> ApiResult {
    Ok(json!({ "pools": [] }))
}
