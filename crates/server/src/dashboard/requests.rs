//! Requests under way and what each waits for, for the dashboard; and the end of one that somebody wants to end. Runs none.
//! Rule: no worker is asked, as one that is stuck is what one looks for here. What ends in its first turn is not listed.

use http::StatusCode;
use serde_json::{Value, json};
use tsumugi_trace::{ActivityView, CancelReply, WaitView};

use super::Dashboard;
use super::api::{ApiError, ApiFuture, ApiQuery, ApiResult, cut, required};
use crate::limits::DASHBOARD_REQUESTS_MAX;
use crate::unix_time::unix_ms;

/// `GET requests`: the oldest first.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let tracer = dashboard.tracer.as_ref();
    let (views, more) = tracer.map_or_else(Default::default, |tracer| {
        tracer.activities(DASHBOARD_REQUESTS_MAX)
    });
    let requests: Vec<Value> = views.iter().map(shown).collect();
    Ok(json!({ "requests": requests, "more": more }))
}

fn shown(view: &ActivityView) -> Value {
    json!({
        "id": view.id,
        "kind": view.kind,
        "worker": view.worker,
        "request_id": cut(&view.request_id),
        "method": view.method,
        "path": cut(&view.path),
        "route": view.route,
        "trace_id": view.trace_id.to_string(),
        "since_at": unix_ms(view.since),
        "waits_for": view.waits_for.as_ref().map(wait),
        "cancellable": view.is_cancellable,
    })
}

fn wait(wait: &WaitView) -> Value {
    json!({
        "kind": wait.kind,
        "what": cut(&wait.what),
        "place": wait.place,
        "since_at": unix_ms(wait.since),
    })
}

/// `POST requests/cancel`: ends one as if its client had left.
pub(super) fn cancel(dashboard: &Dashboard, body: Value) -> ApiFuture<'_> {
    Box::pin(async move {
        let id = required(&body, "id")?;
        let tracer = dashboard.tracer.as_ref();
        match tracer.map_or(CancelReply::Unknown, |tracer| tracer.cancel(id)) {
            CancelReply::Asked => Ok(json!({ "ok": true })),
            CancelReply::Unknown => Err(ApiError::not_found("nothing of this id is under way")),
            CancelReply::NotCancellable => Err(ApiError::new(
                StatusCode::CONFLICT,
                "this is under way and cannot be cancelled",
            )),
        }
    })
}
