//! What the server is and how it was started, for the dashboard. Rule: no value of the environment, no password and no token is here.

use serde_json::{Map, Value, json};

use super::Dashboard;
use super::api::{ApiQuery, ApiResult};

/// `GET server`.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let known = &*dashboard.description;
    let options = known.options.iter().cloned();
    let options: Map<String, Value> = options
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let limits = known.limits.iter().map(|limit| {
        json!({
            "name": limit.name,
            "value": limit.value,
            "default": limit.default,
            "unit": limit.unit(),
        })
    });
    let mut answer = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "features": known.features,
        "options": options,
        "limits": limits.collect::<Vec<Value>>(),
        "listeners": known.listeners,
        "versions": { "rust": env!("CARGO_PKG_RUST_VERSION") },
        "process": std::process::id(),
    });
    for (name, version) in &known.versions {
        answer["versions"][*name] = json!(version);
    }
    Ok(answer)
}
