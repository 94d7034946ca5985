//! What Inspect tells of the server and of a database, as names and values. Changes nothing.
//! The names that clients of Tkrzw-RPC look for come first; ours follow.

use std::time::SystemTime;

use tsumugi_kv::KvDatabase;

use super::lane::ServiceLane;
use crate::proto::StringPair;

fn pair(name: impl Into<String>, value: impl ToString) -> StringPair {
    StringPair {
        first: name.into(),
        second: value.to_string(),
    }
}

/// The server itself.
pub(crate) fn server(lane: &ServiceLane) -> Vec<StringPair> {
    let shared = &lane.shared;
    let mut records = vec![
        pair("version", env!("CARGO_PKG_VERSION")),
        pair("process_id", std::process::id()),
        pair("num_dbms", shared.databases.len()),
    ];
    for (index, database) in shared.databases.iter().enumerate() {
        let name = |what: &str| format!("dbm_{index}_{what}");
        records.push(pair(name("path"), path(database)));
        records.push(pair(name("count"), count(database)));
        records.push(pair(name("class"), class(database)));
    }
    let (usage, capacity) = memory();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    records.extend([
        pair("memory_usage", usage),
        pair("memory_capacity", capacity),
        pair("num_active_calls", shared.metrics.active()),
        pair(
            "current_time",
            format!("{:.6}", now.unwrap_or_default().as_secs_f64()),
        ),
        pair(
            "running_time",
            format!("{:.6}", shared.started.elapsed().as_secs_f64()),
        ),
        pair("server", "tsumugi"),
    ]);
    records
}

/// One database.
pub(crate) fn database(database: &KvDatabase) -> Vec<StringPair> {
    let spec = database.spec();
    let mut records = vec![
        pair("class", class(database)),
        pair("num_records", count(database)),
        pair("path", path(database)),
        pair("healthy", database.is_healthy()),
        pair("durability", spec.durability),
        pair("value_max", spec.value_max),
    ];
    let figures = database.metrics();
    if let Some(capacity) = figures.capacity {
        records.push(pair("capacity", capacity));
        records.push(pair("when_full", spec.when_full));
    }
    records.push(pair("bytes", figures.bytes));
    records
}

fn path(database: &KvDatabase) -> String {
    database.spec().path.display().to_string()
}

/// The class of Tkrzw's that behaves alike: both are ordered.
fn class(database: &KvDatabase) -> &'static str {
    if database.is_in_memory() {
        "BabyDBM"
    } else {
        "TreeDBM"
    }
}

fn count(database: &KvDatabase) -> String {
    database
        .count()
        .map_or_else(|error| error.to_string(), |count| count.to_string())
}

/// Bytes of memory that the process uses, and that the machine has; 0 where the system does not tell.
fn memory() -> (u64, u64) {
    let kilobytes = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    (
        kilobytes("/proc/self/status", "VmRSS:").unwrap_or(0) * 1024,
        kilobytes("/proc/meminfo", "MemTotal:").unwrap_or(0) * 1024,
    )
}
