//! Timers, jobs and channels, for the dashboard. Runs none, and changes jobs only where an operator says so.

use serde_json::{Value, json};
use tsumugi_cluster::channel_figures;
use tsumugi_jobs::{JobFigures, JobQueue, JobRow, JobState};

use super::Dashboard;
use super::api::{ApiFuture, ApiQuery, cut_to, list};
use super::parts::{DROP, JOBS, RETRY};
use super::question::AdminQuestion;
use crate::dispatch::timers;
use crate::limits::{
    DASHBOARD_CHANNELS_MAX, DASHBOARD_DEAD_JOBS_MAX, DASHBOARD_MESSAGE_CHARACTERS_MAX,
    DASHBOARD_TIMERS_MAX,
};

/// `GET work`.
pub(super) fn view(dashboard: &Dashboard, _: ApiQuery) -> ApiFuture<'_> {
    Box::pin(async move {
        let question = AdminQuestion::Named {
            name: JOBS,
            parameters: Value::Null,
        };
        let (jobs, jobs_error) = match dashboard.jobs.get(dashboard.ask_any(question)).await {
            Ok(jobs) => (jobs, Value::Null),
            Err(error) if dashboard.registry.has_jobs() => (Value::Null, json!(error.text)),
            Err(_) => (Value::Null, Value::Null),
        };
        let shown = list("timers", timer_rows(), DASHBOARD_TIMERS_MAX);
        let channels = list("channels", channel_rows(), DASHBOARD_CHANNELS_MAX);
        Ok(json!({
            "timers": shown["timers"],
            "jobs": jobs,
            "jobs_error": jobs_error,
            "channels": channels["channels"],
            "more": shown["more"] == true || channels["more"] == true,
        }))
    })
}

/// `POST jobs/retry`.
pub(super) fn retry(dashboard: &Dashboard, body: Value) -> ApiFuture<'_> {
    change(dashboard, RETRY, body)
}

/// `POST jobs/drop`.
pub(super) fn remove(dashboard: &Dashboard, body: Value) -> ApiFuture<'_> {
    change(dashboard, DROP, body)
}

fn change<'d>(dashboard: &'d Dashboard, name: &'static str, parameters: Value) -> ApiFuture<'d> {
    Box::pin(async move {
        let question = AdminQuestion::Named { name, parameters };
        let changed = dashboard.ask_one(question).await;
        // Also where it is not known whether it was done.
        dashboard.jobs.forget();
        changed
    })
}

/// The id of a job, as a number or as a text: numbers of JavaScript end at 2^53.
pub(super) fn id_of(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_i64(),
    }
}

/// The figures of a queue and its dead jobs.
pub(super) async fn jobs(queue: &JobQueue) -> Result<Value, String> {
    // Before the figures, which count what is listed.
    let dead = queue
        .list_without_arguments(Some(JobState::Dead), 0, DASHBOARD_DEAD_JOBS_MAX + 1)
        .await;
    let dead = dead.map_err(|error| error.to_string())?;
    let figures = queue.figures().await.map_err(|error| error.to_string())?;
    let dead = list(
        "dead",
        dead.iter().map(dead_row).collect(),
        DASHBOARD_DEAD_JOBS_MAX,
    );
    Ok(json!({
        "queues": queue_rows(&figures),
        "dead": dead["dead"],
        "more": dead["more"],
        "cut": figures.is_cut,
    }))
}

/// A row for each queue and kind.
fn queue_rows(figures: &JobFigures) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for figure in &figures.figures {
        let is_same = |row: &Value| row["queue"] == *figure.queue && row["kind"] == *figure.kind;
        if !rows.last().is_some_and(is_same) {
            rows.push(json!({
                "queue": figure.queue,
                "kind": figure.kind,
                "ready": 0,
                "scheduled": 0,
                "running": 0,
                "dead": 0,
            }));
        }
        if let Some(row) = rows.last_mut() {
            row[figure.state.name()] = json!(figure.count);
        }
    }
    rows
}

fn dead_row(job: &JobRow) -> Value {
    debug_assert_eq!(job.state, JobState::Dead);
    let error = job.error.as_deref();
    json!({
        "id": job.id.to_string(),
        "kind": job.name,
        "queue": job.queue,
        "attempts": job.attempts,
        "error": error.map(|error| cut_to(error, DASHBOARD_MESSAGE_CHARACTERS_MAX)),
        "failed_at": job.due_ms,
    })
}

fn timer_rows() -> Vec<Value> {
    let timers = timers();
    let row = |timer: &std::sync::Arc<crate::dispatch::TimerFigures>| {
        let look = timer.look();
        let error = look.last_error.as_deref();
        json!({
            "name": timer.description.name,
            "period": timer.period,
            "period_ms": timer.period_ms,
            "kind": timer.description.kind.name(),
            "worker": timer.description.worker,
            "place": timer.description.place,
            "last_at": look.last_at,
            "last_ms": look.last.map(|took| took.as_micros() as f64 / 1_000.0),
            "last_error": error.map(|error| cut_to(error, DASHBOARD_MESSAGE_CHARACTERS_MAX)),
            "next_at": look.next_at,
        })
    };
    timers.iter().map(row).collect()
}

fn channel_rows() -> Vec<Value> {
    let row = |channel: tsumugi_cluster::ChannelFigures| {
        json!({
            "name": cut_to(&channel.name, DASHBOARD_MESSAGE_CHARACTERS_MAX),
            "cluster": channel.is_of_cluster,
            "subscribers": channel.subscribers,
            "messages": channel.messages,
        })
    };
    channel_figures().into_iter().map(row).collect()
}
