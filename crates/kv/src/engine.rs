//! What both engines do for a database, and what a database lends them. Knows neither engine.
//! Rule: an engine returns live records only, and counts them only.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::clock::Clock;
use crate::decide::DecisionContext;
use crate::error::{Error, Result};
use crate::metrics::{KvCounters, KvSnapshot};
use crate::pending::Pending;
use crate::range::{KeyRange, Pair};
use crate::spec::Spec;
use crate::watch::{ChangeEvent, Watches};
use crate::write::{Write, WriteResult};

/// What was read of a range.
#[derive(Default)]
pub(crate) struct RangeRead {
    pub(crate) pairs: Vec<Pair>,
    /// The last key that was looked at, when that ended the read.
    pub(crate) seen: Option<Bytes>,
}

pub(crate) trait Engine: Send + Sync {
    /// The value at a key. Never waits for a write.
    fn value(&self, key: &[u8]) -> Result<Option<Bytes>>;
    /// When the record at a key expires, as a stored record has it; `None` without one. Never waits for a write.
    fn expires_ms(&self, key: &[u8]) -> Result<Option<u64>>;
    /// The first records of a range, at most `limit`, which is 1 or more; no further than the record that is looked at as number `looks`.
    fn read(&self, range: &KeyRange, limit: usize, looks: usize) -> Result<RangeRead>;
    fn count(&self) -> Result<u64>;
    /// The count, if it is known without a look at records and without waiting.
    fn known_count(&self) -> Option<u64>;
    /// Bytes in memory, or on disk.
    fn size(&self) -> Result<u64>;
    /// Applies a write that was checked.
    fn submit(&self, write: Write) -> Pending;
    /// Waits until what was acknowledged is as safe as it can be, blocking the thread.
    fn synchronize(&self) -> Pending;
    /// Puts what is stored in better order, blocking the thread.
    fn rebuild(&self) -> Result<()>;
    /// Removes what has expired.
    fn sweep(&self);
    /// Writes a database on disk with the records of now to a folder, blocking the thread.
    fn backup(&self, folder: &Path) -> Result<()>;
    /// Whether writes are taken.
    fn is_healthy(&self) -> bool;
    /// Adds the figures of the engine.
    fn measure(&self, snapshot: &mut KvSnapshot);
    /// Lets go of its folder, if it has one, once all that was submitted before is written; what comes later is answered with the reason.
    /// The answer is there when the folder is free.
    fn release(&self, why: Error) -> Pending {
        let _ = why;
        Pending::ready(Ok(WriteResult::Done))
    }
}

/// What a database lends its engine.
#[derive(Debug)]
pub(crate) struct EngineShared {
    pub(crate) spec: Spec,
    pub(crate) clock: Clock,
    pub(crate) watches: Arc<Watches>,
    pub(crate) counters: KvCounters,
}

impl EngineShared {
    pub(crate) fn decision_context(&self) -> DecisionContext {
        DecisionContext {
            now_ms: self.clock.now_ms(),
            cut_off_ms: self.clock.cut_off_ms(),
            value_max: self.spec.value_max,
        }
    }

    /// Tells the watchers, if there are any, of a change whose event is made only then.
    pub(crate) fn tell(&self, changed: impl FnOnce() -> ChangeEvent) {
        if self.watches.any() {
            self.watches.tell(&changed());
        }
    }
}

/// The refusal of a batch within a batch.
pub(crate) fn nested() -> Error {
    Error::TooMany {
        what: "levels of batches",
        asked: 2,
        max: 1,
        limit: "a batch holds no batch",
    }
}
