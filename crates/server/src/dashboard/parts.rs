//! What an application has that the dashboard can ask, and what its questions are called. Asks nothing.

use serde_json::Value;
use tsumugi_db::Database;
use tsumugi_jobs::JobQueue;
use tsumugi_stores::Store;

/// The names under which applications are asked.
pub(super) const EXPLAIN: &str = "statements/explain";
pub(super) const STORES: &str = "stores";
pub(super) const RECORDS: &str = "records";
pub(super) const JOBS: &str = "work";
pub(super) const RETRY: &str = "jobs/retry";
pub(super) const DROP: &str = "jobs/drop";

/// What an application has.
pub(crate) struct AdminParts {
    pub databases: Vec<Database>,
    pub stores: Vec<Store>,
    pub jobs: Vec<JobQueue>,
}

/// The text under a name; empty where there is none.
pub(super) fn text<'p>(parameters: &'p Value, name: &str) -> &'p str {
    parameters
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
