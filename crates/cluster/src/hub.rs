//! Who subscribes to which channel within this process, and what waits for each. Knows no engine and carries nothing between processes.
//! Rule: a subscriber that does not read holds up nobody: beyond [`CHANNEL_MESSAGES_MAX`] it misses messages, and is told so.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::error::{Error, Result};
use crate::limits::{CHANNEL_MESSAGES_MAX, CHANNELS_MAX};

/// What a subscriber receives.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum ChannelEvent {
    /// A message.
    Message(Arc<str>),
    /// Messages may have been missed: the connection that carries them was lost, or more came than may wait. Look at whatever they are about.
    Missed,
}

impl fmt::Debug for ChannelEvent {
    /// What was published does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelEvent::Message(message) => write!(f, "Message({} bytes)", message.len()),
            ChannelEvent::Missed => f.write_str("Missed"),
        }
    }
}

/// The subscribers of all channels.
#[derive(Debug, Default)]
pub struct Hub {
    channels: Mutex<HashMap<String, broadcast::Sender<ChannelEvent>>>,
}

impl Hub {
    /// A panic elsewhere leaves the table whole: every change of it is one step.
    fn channels(&self) -> MutexGuard<'_, HashMap<String, broadcast::Sender<ChannelEvent>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives what is delivered from now on.
    ///
    /// # Errors
    /// [`Error::TooMany`] when [`CHANNELS_MAX`] others have subscribers.
    pub fn subscribe(self: &Arc<Self>, channel: &str) -> Result<Subscription> {
        let mut channels = self.channels();
        let receiver = match channels.get(channel) {
            Some(sender) => sender.subscribe(),
            None if channels.len() >= CHANNELS_MAX => {
                return Err(Error::TooMany {
                    limit: "CHANNELS_MAX",
                    max: CHANNELS_MAX,
                });
            }
            None => {
                let (sender, receiver) = broadcast::channel(CHANNEL_MESSAGES_MAX);
                channels.insert(channel.to_owned(), sender);
                receiver
            }
        };
        Ok(Subscription {
            receiver: Some(receiver),
            channel: channel.to_owned(),
            hub: Arc::clone(self),
            bearers: Vec::new(),
        })
    }

    /// Gives a message to all who subscribe to the channel.
    pub fn deliver(&self, channel: &str, message: &str) {
        if let Some(sender) = self.channels().get(channel) {
            // Without receivers there is nobody to tell.
            let _ = sender.send(ChannelEvent::Message(Arc::from(message)));
        }
    }

    /// Tells all subscribers that they may have missed messages.
    pub fn deliver_gap(&self) {
        for sender in self.channels().values() {
            let _ = sender.send(ChannelEvent::Missed);
        }
    }

    /// Tells the subscribers of one channel that they may have missed messages.
    pub fn deliver_gap_to(&self, channel: &str) {
        if let Some(sender) = self.channels().get(channel) {
            let _ = sender.send(ChannelEvent::Missed);
        }
    }

    fn leave(&self, channel: &str) {
        let mut channels = self.channels();
        if channels
            .get(channel)
            .is_some_and(|sender| sender.receiver_count() == 0)
        {
            channels.remove(channel);
        }
    }
}

/// Receives the messages of one channel. Dropped, it receives no more.
pub struct Subscription {
    /// Taken when it is dropped, before the channel is looked at.
    receiver: Option<broadcast::Receiver<ChannelEvent>>,
    channel: String,
    hub: Arc<Hub>,
    /// What brings the messages, for as long as they are received.
    bearers: Vec<Box<dyn Any>>,
}

impl Subscription {
    /// Lets what brings the messages live for as long as this does: the engine, or a task of it.
    #[must_use]
    pub fn with_bearer(mut self, bearer: Box<dyn Any>) -> Subscription {
        self.bearers.push(bearer);
        self
    }

    /// What comes next. Dropping the future loses nothing.
    pub async fn recv(&mut self) -> ChannelEvent {
        let received = match &mut self.receiver {
            Some(receiver) => receiver.recv().await,
            None => Err(RecvError::Closed),
        };
        match received {
            Ok(event) => event,
            Err(RecvError::Lagged(_)) => ChannelEvent::Missed,
            // The hub lives as long as this does.
            Err(RecvError::Closed) => pending().await,
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.receiver = None;
        self.hub.leave(&self.channel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.build().unwrap().block_on(test);
    }

    #[test]
    fn subscriber_that_does_not_read_is_told_of_one_message_too_many() {
        run(async {
            let hub = Arc::new(Hub::default());
            let mut all = hub.subscribe("c").unwrap();
            for number in 0..CHANNEL_MESSAGES_MAX {
                hub.deliver("c", &number.to_string());
            }
            assert_eq!(all.recv().await, ChannelEvent::Message("0".into()));
            for number in 0..2 {
                hub.deliver("c", &format!("more {number}"));
            }
            assert_eq!(all.recv().await, ChannelEvent::Missed);
            assert_eq!(all.recv().await, ChannelEvent::Message("2".into()));
        });
    }

    #[test]
    fn one_channel_too_many_is_refused_and_a_channel_left_by_all_makes_room() {
        let hub = Arc::new(Hub::default());
        let subscribe = |number: usize| hub.subscribe(&number.to_string());
        let mut kept: Vec<Subscription> =
            (0..CHANNELS_MAX).map(|n| subscribe(n).unwrap()).collect();
        let error = subscribe(CHANNELS_MAX).unwrap_err().to_string();
        assert!(error.contains("CHANNELS_MAX"), "{error}");
        drop(subscribe(0).unwrap()); // a channel that has subscribers takes more
        kept.pop();
        drop(subscribe(CHANNELS_MAX).unwrap());
    }

    #[test]
    fn gap_reaches_the_subscribers_of_all_channels() {
        run(async {
            let hub = Arc::new(Hub::default());
            let mut one = hub.subscribe("one").unwrap();
            let mut other = hub.subscribe("other").unwrap();
            hub.deliver("one", "a");
            hub.deliver_gap();
            assert_eq!(one.recv().await, ChannelEvent::Message("a".into()));
            assert_eq!(one.recv().await, ChannelEvent::Missed);
            assert_eq!(other.recv().await, ChannelEvent::Missed);
            // Of one channel it is the others' business no more.
            hub.deliver_gap_to("one");
            hub.deliver("other", "b");
            assert_eq!(one.recv().await, ChannelEvent::Missed);
            assert_eq!(other.recv().await, ChannelEvent::Message("b".into()));
        });
    }
}
