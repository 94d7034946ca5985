//! Channels of a store: messages to all who subscribe at that moment, in whatever process. Keeps nothing.
//! Rule: only an engine that says when messages may have been lost has channels.

use bytes::Bytes;

use crate::engine_handle::EngineHandle;
use crate::error::{Error, Result};
use crate::redis::{RedisStore, RedisSubscription};
use crate::store::Store;

impl Store {
    /// Sends a message to whoever subscribes to a channel at this moment, in this process and in others.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Unsupported`](Error::Unsupported) by an engine without channels.
    pub async fn publish(
        &self,
        channel: impl Into<Bytes>,
        message: impl Into<Bytes>,
    ) -> Result<()> {
        let (channel, message) = (channel.into(), message.into());
        self.messenger()?.publish(&channel, &message).await
    }

    /// The messages of a channel from the answer on.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Unsupported`](Error::Unsupported) by an engine without channels.
    pub async fn subscribe(&self, channel: impl Into<Bytes>) -> Result<RedisSubscription> {
        self.messenger()?.subscribe(&channel.into()).await
    }

    fn messenger(&self) -> Result<&RedisStore> {
        match self.engine() {
            EngineHandle::Redis(store) => Ok(store),
            _ => Err(Error::Unsupported {
                engine: self.capabilities().engine,
                reason: "has no channels: open a store in Redis for them",
            }),
        }
    }
}
