//! Messages of a channel as their subscriber receives them. Knows no engine.
//! Boxed edge: every message.

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;

/// What a subscriber of a channel receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChannelMessage {
    /// Something that was published.
    Message(Bytes),
    /// Messages may have been lost since the one before: the connection was made again, another server took over, or the subscriber was slow. It
    /// comes once the channel is received again, so what is read from now on misses nothing but that.
    Missed,
}

/// The messages of one channel. It ends when it is dropped.
pub struct StoreSubscription(pub(crate) Box<dyn MessageSource>);

/// Where they come from.
pub(crate) trait MessageSource {
    /// The next message. Dropping the future loses none.
    fn next(&mut self) -> LocalBoxFuture<'_, ChannelMessage>;
}

impl StoreSubscription {
    /// The next message, in the order in which the server had them. Dropping the future loses none.
    pub async fn next(&mut self) -> ChannelMessage {
        self.0.next().await
    }
}

impl std::fmt::Debug for StoreSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreSubscription").finish_non_exhaustive()
    }
}
