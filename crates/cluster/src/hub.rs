//! Who subscribes to which channel within this process, and what is delivered to them. Knows no engine and carries nothing between processes.
//! Rule: a subscriber that does not read holds up nobody: beyond [`CHANNEL_MESSAGES_MAX`](crate::limits::CHANNEL_MESSAGES_MAX) it misses messages, and is told so.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tsumugi_trace::{SpanKind, in_wait, span};

use crate::error::{Error, Result};
use crate::limits::CHANNELS_MAX;
use crate::message_queue::{ChannelEvent, MessageQueue, QueueReader};

/// The subscribers of all channels.
#[derive(Debug, Default)]
pub struct Hub {
    channels: Mutex<HashMap<String, Arc<MessageQueue>>>,
    /// Whether it is among [`HUBS`].
    is_listed: AtomicBool,
}

/// Those of this process that have had subscribers, for figures alone.
static HUBS: Mutex<Vec<Weak<Hub>>> = Mutex::new(Vec::new());

/// The hubs that have had subscribers.
pub(crate) fn listed_hubs() -> Vec<Arc<Hub>> {
    let mut hubs = HUBS.lock().unwrap_or_else(PoisonError::into_inner);
    hubs.retain(|hub| hub.strong_count() > 0);
    hubs.iter().filter_map(Weak::upgrade).collect()
}

impl Hub {
    /// A panic elsewhere leaves the table whole: every change of it is one step.
    fn channels(&self) -> MutexGuard<'_, HashMap<String, Arc<MessageQueue>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Receives what is delivered from now on.
    ///
    /// # Errors
    /// [`Error::TooMany`] when [`CHANNELS_MAX`] others have subscribers.
    pub fn subscribe(self: &Arc<Self>, channel: &str) -> Result<Subscription> {
        if !self.is_listed.swap(true, Relaxed) {
            let mut hubs = HUBS.lock().unwrap_or_else(PoisonError::into_inner);
            hubs.retain(|hub| hub.strong_count() > 0);
            hubs.push(Arc::downgrade(self));
        }
        let mut channels = self.channels();
        let reader = match channels.get(channel) {
            Some(queue) => queue.reader(),
            None if channels.len() >= CHANNELS_MAX => {
                return Err(Error::TooMany {
                    limit: "CHANNELS_MAX",
                    max: CHANNELS_MAX,
                });
            }
            None => {
                let queue = Arc::new(MessageQueue::default());
                let reader = queue.reader();
                channels.insert(channel.to_owned(), queue);
                reader
            }
        };
        Ok(Subscription {
            reader: Some(reader),
            channel: channel.to_owned(),
            hub: Arc::clone(self),
            bearers: Vec::new(),
        })
    }

    /// The channels that have subscribers: how many, and how many messages there have been.
    pub(crate) fn figures(&self) -> Vec<(String, usize, u64)> {
        let queues: Vec<_> = {
            let channels = self.channels();
            let queue = |(name, queue): (&String, &Arc<_>)| (name.clone(), Arc::clone(queue));
            channels.iter().map(queue).collect()
        };
        let figures = |(name, queue): (String, Arc<MessageQueue>)| {
            let (subscribers, messages) = queue.figures();
            (name, subscribers, messages)
        };
        queues.into_iter().map(figures).collect()
    }

    /// Gives a message to all who subscribe to the channel.
    pub fn deliver(&self, channel: &str, message: &str) {
        self.deliver_event(channel, ChannelEvent::Message(Arc::from(message)));
    }

    /// Tells all subscribers that they may have missed messages.
    pub fn deliver_gap(&self) {
        let queues: Vec<_> = self.channels().values().cloned().collect();
        for queue in queues {
            queue.deliver(ChannelEvent::Missed);
        }
    }

    /// Tells the subscribers of one channel that they may have missed messages.
    pub fn deliver_gap_to(&self, channel: &str) {
        self.deliver_event(channel, ChannelEvent::Missed);
    }

    fn deliver_event(&self, channel: &str, event: ChannelEvent) {
        // Whoever is woken may look for a channel, so the table is free by then.
        let queue = self.channels().get(channel).cloned();
        if let Some(queue) = queue {
            queue.deliver(event);
        }
    }

    fn leave(&self, channel: &str) {
        let mut channels = self.channels();
        if channels
            .get(channel)
            .is_some_and(|queue| !queue.has_readers())
        {
            channels.remove(channel);
        }
    }
}

/// Receives the messages of one channel. Dropped, it receives no more.
pub struct Subscription {
    /// Taken when it is dropped, before the channel is looked at.
    reader: Option<QueueReader>,
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
        match &mut self.reader {
            Some(reader) => {
                let channel = &self.channel;
                in_wait(|| span(SpanKind::Channel, channel), reader.next()).await
            }
            None => pending().await,
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
        self.reader = None;
        self.hub.leave(&self.channel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::CHANNEL_MESSAGES_MAX;

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
