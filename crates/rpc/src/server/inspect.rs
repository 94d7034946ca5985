//! What Inspect tells of the server and of a database, as names and values. Changes nothing.
//! The names that clients of Tkrzw-RPC look for come first; ours follow.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::join_all;
use tsumugi_kv::KvDatabase;

use super::engine_call::EngineLine;
use super::lane::{LaneStore, ServiceLane};
use crate::code::TkrzwCode;
use crate::proto::{StatusProto, StringPair};

fn pair(name: impl Into<String>, value: impl ToString) -> StringPair {
    StringPair {
        first: name.into(),
        second: value.to_string(),
    }
}

/// The server itself. `engines` are the counts of its engines, by their index.
pub(crate) fn server(lane: &ServiceLane, engines: &[Option<String>]) -> Vec<StringPair> {
    let shared = &lane.shared;
    let mut records = vec![
        pair("version", env!("CARGO_PKG_VERSION")),
        pair("process_id", std::process::id()),
        pair("num_dbms", shared.databases.len()),
    ];
    for (index, (store, engine)) in lane.stores().iter().zip(engines).enumerate() {
        let name = |what: &str| format!("dbm_{index}_{what}");
        let (path, count, class) = match store {
            LaneStore::Local(database) => (path(database), count(database), class(database)),
            LaneStore::Engine(line) => {
                let count = engine.clone().unwrap_or_default();
                (line.place(), count, ENGINE_CLASS)
            }
        };
        records.push(pair(name("path"), path));
        records.push(pair(name("count"), count));
        records.push(pair(name("class"), class));
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

/// What the class of every engine is: no structure of Tkrzw's.
const ENGINE_CLASS: &str = "Engine";

/// How many records the engines have, by their index; nothing for databases of this process.
pub(crate) async fn engine_counts(lane: &ServiceLane) -> Vec<Option<String>> {
    let count = async |store: &LaneStore| match store {
        LaneStore::Local(_) => None,
        LaneStore::Engine(line) => {
            let counted = line.call("Inspect").count().await;
            Some(counted.map_or_else(|status| status.message, |count| count.to_string()))
        }
    };
    join_all(lane.stores().iter().map(count)).await
}

/// What an engine keeps, by the names of a database, and what it says of itself.
pub(crate) async fn engine(line: &Arc<EngineLine>) -> Result<Vec<StringPair>, StatusProto> {
    let engine = line.call("Inspect");
    let own = engine.inspect().await?;
    let mut records = vec![
        pair("class", ENGINE_CLASS),
        pair("path", line.place()),
        pair("healthy", true),
    ];
    match engine.count().await {
        Ok(count) => records.push(pair("num_records", count)),
        // One that counts none has none to show.
        Err(status) if status.code == TkrzwCode::NotImplemented as i32 => {}
        Err(status) => return Err(status),
    }
    let is_new = |name: &str| records.iter().all(|record| record.first != name);
    let own: Vec<StringPair> = own
        .into_iter()
        .filter(|(name, _)| is_new(name))
        .map(|(name, value)| pair(name, value))
        .collect();
    records.extend(own);
    Ok(records)
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
