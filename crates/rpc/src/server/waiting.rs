//! Calls that wait for a notice and try again: CompareExchange, PopFirst and Pop with `retry_wait`. Knows no wire format.
//! How long they wait is decided here, how it is done in the store.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tsumugi_kv::{self as kv, KvDatabase, QUEUE_KEY, Write, WriteResult};

use super::lane::ServiceLane;
use crate::limits::RETRY_LOOK_MS;

/// What a call waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitSubject<'a> {
    /// A change of one record, or a record of the queue whose keys begin so.
    Key(&'a Bytes),
    /// A record at all.
    Queue,
}

impl WaitSubject<'_> {
    fn key(self) -> Bytes {
        match self {
            WaitSubject::Key(key) => key.clone(),
            WaitSubject::Queue => Bytes::from_static(QUEUE_KEY),
        }
    }
}

/// Notifies all waiters of `subject`.
pub(crate) fn notify(database: &KvDatabase, subject: WaitSubject<'_>) {
    database.notify(&subject.key());
}

/// Writes, again after every notice, every `RETRY_LOOK_MS` and at the end, while nothing came of it and `retry_wait` seconds have not
/// passed. Ends early in a drain.
pub(crate) async fn write(
    lane: &ServiceLane,
    database: &KvDatabase,
    subject: WaitSubject<'_>,
    retry_wait: f64,
    write: Write,
) -> kv::Result<WriteResult> {
    let Some(wait) = lane.wait(retry_wait) else {
        return database.submit(write).await;
    };
    let end = Instant::now() + wait;
    loop {
        let look = end.min(Instant::now() + Duration::from_millis(RETRY_LOOK_MS));
        let mut is_last = look == end;
        let over = async {
            tokio::select! {
                () = tokio::time::sleep_until(look) => {}
                () = lane.drain() => is_last = true,
            }
        };
        // What comes without a notice is found by these looks.
        let written = database.submit_until(write.clone(), subject.key(), over);
        let written = written.await;
        let came = !matches!(
            written,
            Ok(WriteResult::Mismatch { .. } | WriteResult::Missing)
        );
        if came || is_last {
            return written;
        }
    }
}
