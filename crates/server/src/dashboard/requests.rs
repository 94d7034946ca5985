//! Requests under way and what each waits for, for the dashboard; and the end of one that somebody wants to end. Runs none.

use serde_json::{Value, json};

use super::Dashboard;
use super::api::{ApiError, ApiFuture, ApiQuery, ApiResult, list, required};
use crate::limits::DASHBOARD_REQUESTS_MAX;

/// `GET requests`.
pub(super) fn view(_: &Dashboard, _: &ApiQuery) -> ApiResult {
    Ok(list("requests", Vec::new(), DASHBOARD_REQUESTS_MAX))
}

/// `POST requests/cancel`.
pub(super) fn cancel(_: &Dashboard, body: Value) -> ApiFuture<'_> {
    Box::pin(async move {
        let id = required(&body, "id")?;
        let _ = json!(id);
        Err(ApiError::not_found("this request is not under way"))
    })
}
