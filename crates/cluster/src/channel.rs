//! A channel as its users have it: what is published reaches the subscribers of all processes. Keeps no message.
//! Rule: what is too large is refused before anything is sent.

use std::future::ready;
use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::checks::{check_message, check_name};
use crate::engine::ClusterEngine;
use crate::error::Result;
use crate::follower::KeptChannel;
use crate::hub::Subscription;

/// A channel of an engine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MessageChannel {
    engine: Rc<dyn ClusterEngine>,
    name: Rc<str>,
}

impl MessageChannel {
    pub(crate) fn new(engine: &Rc<dyn ClusterEngine>, name: &str) -> Result<MessageChannel> {
        check_name("the name of a channel", name)?;
        Ok(MessageChannel {
            engine: Rc::clone(engine),
            name: name.into(),
        })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a text to all subscribers, in every process. Those that one caller sends one after the other arrive in that order everywhere.
    /// Nobody keeps a message for those who subscribe later.
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond [`CHANNEL_MESSAGE_BYTES_MAX`](crate::limits::CHANNEL_MESSAGE_BYTES_MAX), [`Error::Usage`] of a text with a NUL, else what the engine says.
    pub fn publish<'a>(&'a self, message: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        match check_message(message) {
            Ok(()) => self.engine.publish(&self.name, message),
            Err(error) => ready(Err(error)).boxed_local(),
        }
    }

    /// A channel of this name whose last so many messages are kept, for those who come back. It shares nothing with the one that keeps none.
    ///
    /// # Errors
    /// [`Error::Usage`] of less than one, and of more than [`CHANNEL_KEEP_MAX`](crate::limits::CHANNEL_KEEP_MAX); [`Error::Unsupported`] of an engine that keeps no messages.
    pub fn keeping(&self, messages: i64) -> Result<KeptChannel> {
        KeptChannel::new(&self.engine, &self.name, messages)
    }

    /// Receives all that is published after this has ended.
    ///
    /// # Errors
    /// [`Error::TooMany`] of channels with subscribers, else what the engine says.
    pub fn subscribe(&self) -> LocalBoxFuture<'_, Result<Subscription>> {
        async move {
            let subscription = self.engine.subscribe(&self.name).await?;
            let engine = Rc::clone(&self.engine);
            Ok(subscription.with_bearer(Box::new(engine)))
        }
        .boxed_local()
    }
}
