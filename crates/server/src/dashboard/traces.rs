//! The last traces, for the dashboard. Collects none.

use serde_json::json;

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};

/// `GET traces`.
pub(super) fn view(_: &Dashboard, _: &ApiQuery) -> ApiResult {
    Ok(
        json!({ "traces": [], "exporter": { "endpoint": null, "sent": 0, "dropped": 0, "failed": 0 } }),
    )
}
