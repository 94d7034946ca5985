//! Errors that nobody handled, of all workers, for the dashboard. Keeps none.

use serde_json::Value;

use super::Dashboard;
use super::api::{ApiQuery, ApiResult, list};
use super::error_sink::{ErrorGroup, merge, shown};
use crate::limits::DASHBOARD_ERRORS_MAX;

/// `GET errors`: what all workers have, the latest first.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let mut all: Vec<ErrorGroup> = Vec::new();
    let mut is_cut = false;
    for sink in dashboard.registry.errors() {
        let groups = sink.groups();
        is_cut |= groups.cut;
        let copied: Vec<ErrorGroup> = groups.groups.iter().cloned().collect();
        drop(groups);
        copied.into_iter().for_each(|group| merge(&mut all, group));
    }
    all.sort_by_key(|group| std::cmp::Reverse(group.last_at));
    let mut answer = list(
        "errors",
        all.iter().map(shown).collect(),
        DASHBOARD_ERRORS_MAX,
    );
    if is_cut && let Some(answer) = answer.as_object_mut() {
        answer.insert("more".to_owned(), Value::Bool(true));
    }
    Ok(answer)
}
