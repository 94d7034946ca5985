//! The key-value stores, for the dashboard. Opens none.

use serde_json::json;

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};

/// `GET stores`.
pub(super) fn view(_: &Dashboard, _: &ApiQuery) -> ApiResult {
    Ok(json!({ "stores": [] }))
}
