//! What every engine of a store answers, in one trait. Opens nothing and knows no engine.
//! Rule: the store has checked a call against the engine's table before the engine sees it.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{KeyRange, Lifetime, Pair, Write, WriteResult};

use crate::capability::{Capabilities, Capability};
use crate::error::{Error, Result};
use crate::subscription::StoreSubscription;
use crate::watch::StoreWatch;

/// An engine, used from one worker's thread. A handle is cheap to clone, and its clones share connections.
///
/// Whoever drops a future has not taken a write back. Nothing that may have taken place is repeated by the engine.
pub(crate) trait StoreEngine {
    /// Its table.
    fn capabilities(&self) -> &'static Capabilities;

    /// Whether the server that it is behind has what its table promises: one of others may lack what is beyond their protocol.
    async fn require(&self, _wanted: Capability) -> Result<()> {
        Ok(())
    }

    /// The value at a key.
    async fn get(&self, key: Bytes) -> Result<Option<Bytes>>;

    /// How long the record at a key is still there.
    async fn lifetime(&self, key: Bytes) -> Result<Option<Lifetime>>;

    /// The records of those keys that exist, in the order of `keys`. No moment for all of them is promised.
    async fn records(&self, keys: Vec<Bytes>) -> Result<Vec<Pair>>;

    /// Applies a write: what each means, and answers, is at [`Write`].
    async fn write(&self, write: Write) -> Result<WriteResult>;

    /// Removes the first record of a queue, or of all without a name ([`WriteResult::Popped`]), waiting for one for this long
    /// ([`WriteResult::Missing`]).
    async fn pop(&self, queue: Option<Bytes>, wait: Duration) -> Result<WriteResult>;

    /// The first records of a range, at most `limit`, and fewer where they are large; none only when there are no more. The range is not empty
    /// and the limit not 0.
    async fn page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Pair>>;

    /// How many records there are.
    async fn count(&self) -> Result<u64>;

    /// Keys that fit a pattern, at most `limit`. `mode` is a name of [`SearchMode`](tsumugi_kv::SearchMode).
    async fn search(&self, mode: &str, pattern: Bytes, limit: usize) -> Result<Vec<Bytes>>;

    /// Answers once what was acknowledged is as safe as it can be made.
    async fn synchronize(&self) -> Result<()>;

    /// What the engine says of itself, by names of its own.
    async fn inspect(&self) -> Result<Vec<(String, String)>>;

    /// The changes of the keys that begin with `prefix`, from the moment of the answer on.
    async fn watch(&self, prefix: Bytes) -> Result<StoreWatch>;

    /// Sends a message to whoever subscribes to a channel at this moment.
    async fn publish(&self, _channel: Bytes, _message: Bytes) -> Result<()> {
        Err(without_channels(self.capabilities()))
    }

    /// The messages of a channel from the answer on.
    async fn subscribe(&self, _channel: Bytes) -> Result<StoreSubscription> {
        Err(without_channels(self.capabilities()))
    }
}

fn without_channels(table: &Capabilities) -> Error {
    Error::Unsupported {
        engine: table.engine,
        reason: "has no channels: open a store in Redis for them",
    }
}
