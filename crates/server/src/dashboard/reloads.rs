//! Reloads of the application and how they went, for the dashboard. Reloads nothing.

use serde_json::{Value, json};
use tsumugi_worker::ReloadRecord;

use super::Dashboard;
use super::api::{ApiQuery, ApiResult, cut, cut_to};
use super::error_sink::place_in;
use crate::limits::DASHBOARD_MESSAGE_CHARACTERS_MAX;
use crate::log::{story, without_hidden_folder};
use crate::unix_time::unix_ms;

/// `GET reloads`: the last ones, the latest first.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let records = dashboard.handle.reloads();
    let reloads = records.iter().rev().map(reload);
    Ok(json!({ "reloads": reloads.collect::<Vec<Value>>() }))
}

fn reload(record: &ReloadRecord) -> Value {
    let error = record.failure.as_ref().map(|failure| {
        let story = story(&failure.cause);
        without_hidden_folder(&story).into_owned()
    });
    json!({
        "at": unix_ms(record.at),
        "trigger": cut(&record.trigger.to_string()),
        "took_ms": u64::try_from(record.took.as_millis()).unwrap_or(u64::MAX),
        "outcome": if error.is_some() { "failed" } else { "loaded" },
        "place": error.as_deref().and_then(place_in),
        "error": error.map(|error| cut_to(&error, DASHBOARD_MESSAGE_CHARACTERS_MAX)),
    })
}
