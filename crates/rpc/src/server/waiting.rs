//! Calls that wait for a notice and try again: CompareExchange, PopFirst and Pop with `retry_wait`. Knows no wire format.
//! How long they wait is decided here, how it is done in the store.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tsumugi_kv::{self as kv, KvDatabase, QUEUE_KEY, Write, WriteResult};

use super::engine_call::{EngineCall, EngineLine};
use super::lane::ServiceLane;
use super::outcome::of_error;
use crate::limits::{ENGINE_LOOK_MS, RETRY_LOOK_MS};
use crate::proto::StatusProto;

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

/// The same of an exchange over an engine, with the notices of this process.
pub(crate) async fn engine_exchange(
    lane: &ServiceLane,
    line: &EngineLine,
    engine: &EngineCall,
    key: &Bytes,
    retry_wait: f64,
    write: Write,
) -> Result<WriteResult, StatusProto> {
    let Some(wait) = lane.wait(retry_wait) else {
        return engine.submit(write).await;
    };
    let end = Instant::now() + wait;
    let mut is_last = false;
    loop {
        // Before the look, so that no notice falls between.
        let notice = line.notices().wait_for(key.clone());
        let notice = notice.map_err(|error| of_error(&error))?;
        let written = engine.submit(write.clone()).await?;
        if is_last || !matches!(written, WriteResult::Mismatch { .. }) {
            return Ok(written);
        }
        let look = end.min(Instant::now() + Duration::from_millis(ENGINE_LOOK_MS));
        tokio::select! {
            () = notice => {}
            () = tokio::time::sleep_until(look) => is_last = look == end,
            () = lane.drain() => is_last = true,
        }
    }
}

/// Removes the first record of a queue of an engine, or of all without a name, waiting for one for `retry_wait` seconds. Ends early in a drain,
/// but not within a look: it may have removed a record by then.
pub(crate) async fn engine_pop(
    lane: &ServiceLane,
    engine: &EngineCall,
    queue: Option<Bytes>,
    retry_wait: f64,
) -> Result<WriteResult, StatusProto> {
    let end = Instant::now() + lane.wait(retry_wait).unwrap_or_default();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let look = left.min(Duration::from_millis(ENGINE_LOOK_MS));
        let popped = engine.pop(queue.clone(), look).await?;
        let is_over = look == left || *lane.shared.draining.borrow();
        if is_over || !matches!(popped, WriteResult::Missing) {
            return Ok(popped);
        }
    }
}
