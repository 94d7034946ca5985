//! Calls that wait for a notice and try again: CompareExchange and PopFirst with `retry_wait`. Knows no wire format.
//! How long they wait is decided here, how it is done in the store.

use bytes::Bytes;
use tsumugi_kv::{self as kv, Database, QUEUE_KEY, Write, Written};

use super::lane::Lane;

/// What a call waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// A change of one record.
    Key(&'a Bytes),
    /// A record at all.
    Queue,
}

impl Subject<'_> {
    fn key(self) -> Bytes {
        match self {
            Subject::Key(key) => key.clone(),
            Subject::Queue => Bytes::from_static(QUEUE_KEY),
        }
    }
}

/// Tells everybody who waits for `subject`.
pub(crate) fn notify(database: &Database, subject: Subject<'_>) {
    database.notify(&subject.key());
}

/// Writes, again after every notice while nothing came of it and `retry_wait` seconds have not passed. Ends early in a drain.
pub(crate) async fn write(
    lane: &Lane,
    database: &Database,
    subject: Subject<'_>,
    retry_wait: f64,
    write: Write,
) -> kv::Result<Written> {
    let Some(wait) = lane.wait(retry_wait) else {
        return database.submit(write).await;
    };
    let over = async {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = lane.drain() => {}
        }
    };
    database.submit_until(write, subject.key(), over).await
}
