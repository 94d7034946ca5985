//! Channels of a store: messages to all who subscribe at that moment, in whatever process. Keeps nothing.
//! Rule: only an engine that says when messages may have been lost has channels.

use bytes::Bytes;

use crate::error::Result;
use crate::store::Store;
use crate::subscription::StoreSubscription;

impl Store {
    /// Sends a message to whoever subscribes to a channel at this moment, in this process and in others.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Unsupported`](crate::Error::Unsupported) by an engine without channels: Redis has them, with the feature `redis`.
    pub async fn publish(
        &self,
        channel: impl Into<Bytes>,
        message: impl Into<Bytes>,
    ) -> Result<()> {
        let (channel, message) = (channel.into(), message.into());
        self.engine().publish(channel, message).await
    }

    /// The messages of a channel from the answer on.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Unsupported`](crate::Error::Unsupported) by an engine without channels.
    pub async fn subscribe(&self, channel: impl Into<Bytes>) -> Result<StoreSubscription> {
        self.engine().subscribe(channel.into()).await
    }
}
