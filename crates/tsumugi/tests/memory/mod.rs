//! SQLite in memory for one test. Asserts nothing. Rule: each has its own, because a database in memory is the whole process's.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tsumugi::{Db, Result};
use tsumugi_db::Options;

/// An empty database that no other test of this process has.
pub async fn connect() -> Result<Db> {
    static CONNECTED: AtomicUsize = AtomicUsize::new(0);
    let number = CONNECTED.fetch_add(1, Relaxed);
    let url = format!("sqlite::memory:?name=test{number}");
    Db::connect(&url, Options::default()).await
}
