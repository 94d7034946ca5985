//! A channel whose last messages are kept, and its followers, each of which goes on from the message that it had last. Knows no SQL.
//! Rule: a follower subscribes before it reads, and gives each number once and in order: what comes on the channel is the next one, or one that it
//! has given already, or a sign that there is something to read.

use std::collections::VecDeque;
use std::fmt;
use std::future::ready;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::sleep;

use crate::checks::check_message;
use crate::engine::{ClusterEngine, KeptChannelName, KeptMessage};
use crate::error::{Error, Result};
use crate::hub::Subscription;
use crate::limits::{CHANNEL_KEEP_MAX, FOLLOW_BATCH_MAX, LISTEN_PAUSE};
use crate::message_queue::ChannelEvent;

/// A channel that keeps its last messages, each under a number. Cheap to clone.
#[derive(Clone, Debug)]
pub struct KeptChannel {
    engine: Rc<dyn ClusterEngine>,
    name: Rc<KeptChannelName>,
    keep: i64,
}

/// What a follower receives.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum FollowEvent {
    /// The message with the next number.
    Message {
        /// Its number.
        id: i64,
        /// What was published.
        text: Arc<str>,
    },
    /// Messages are missing: they are not kept any more, or the number to follow from is none of this channel. It goes on with the oldest one that
    /// is kept, or with what comes. Look at whatever they are about.
    Missed,
}

impl fmt::Debug for FollowEvent {
    /// What was published does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowEvent::Message { id, text } => {
                write!(f, "Message({id}, {} bytes)", text.len())
            }
            FollowEvent::Missed => f.write_str("Missed"),
        }
    }
}

/// The number that a client names as its last one, in `Last-Event-ID`. What is no number is one that was never given, so that its follower learns
/// that it has missed messages.
#[must_use]
pub fn event_position(id: &str) -> i64 {
    id.parse().unwrap_or(i64::MAX)
}

impl KeptChannel {
    pub(crate) fn new(
        engine: &Rc<dyn ClusterEngine>,
        name: &str,
        keep: i64,
    ) -> Result<KeptChannel> {
        if !(1..=CHANNEL_KEEP_MAX).contains(&keep) {
            return Err(Error::Usage(format!(
                "a channel keeps from 1 to {CHANNEL_KEEP_MAX} messages (CHANNEL_KEEP_MAX), not {keep}"
            )));
        }
        engine.check_kept()?;
        Ok(KeptChannel {
            engine: Rc::clone(engine),
            name: Rc::new(KeptChannelName::of(name)),
            keep,
        })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name.name
    }

    /// Keeps a text, sends it to all followers in every process, and answers its number. All followers see all messages in the order of their numbers,
    /// which is the same for all who publish.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Usage`] of a text with a NUL, [`Error::Unsupported`] of an engine that keeps none, else what the engine says.
    pub fn publish<'a>(&'a self, message: &'a str) -> LocalBoxFuture<'a, Result<i64>> {
        match check_message(message) {
            Ok(()) => self.engine.publish_kept(&self.name, message, self.keep),
            Err(error) => ready(Err(error)).boxed_local(),
        }
    }

    /// The number of the last message, 0 before the first. What is read after this has all that was written before that message was published; follow
    /// from here to get what comes then.
    ///
    /// # Errors
    /// [`Error::Unsupported`] of an engine that keeps none, else what the engine says.
    pub fn last(&self) -> LocalBoxFuture<'_, Result<i64>> {
        async move { Ok(self.engine.kept_range(&self.name).await?.last) }.boxed_local()
    }

    /// Receives all messages after the one with this number, or all that are published from now on.
    ///
    /// # Errors
    /// [`Error::TooMany`] of channels with subscribers, [`Error::Unsupported`] of an engine that keeps none, else what the engine says.
    pub fn follow(&self, after: Option<i64>) -> LocalBoxFuture<'_, Result<Follower>> {
        async move {
            let subscription = self.engine.subscribe(&self.name.sent_on).await?;
            let subscription = subscription.with_bearer(Box::new(Rc::clone(&self.engine)));
            let range = self.engine.kept_range(&self.name).await?;
            let after = after.unwrap_or(range.last);
            // Numbers can only be compared with those that are kept: without any, only the last one is known.
            let is_known = match range.oldest {
                _ if after == range.last => true,
                Some(oldest) => (oldest - 1..range.last).contains(&after),
                None => false,
            };
            let position = match (is_known, range.oldest) {
                (true, _) => after,
                (false, Some(oldest)) if after < range.last => oldest - 1,
                (false, _) => range.last,
            };
            Ok(Follower {
                channel: self.clone(),
                subscription,
                position,
                read: VecDeque::new(),
                is_behind: position < range.last,
                has_gap: !is_known,
            })
        }
        .boxed_local()
    }
}

/// Receives the messages of a channel that keeps them, each once and in order. Dropped, it receives no more.
#[derive(Debug)]
pub struct Follower {
    channel: KeptChannel,
    subscription: Subscription,
    /// The number of the last message that was given.
    position: i64,
    /// Those that come next.
    read: VecDeque<KeptMessage>,
    /// There may be more to read than what comes by itself.
    is_behind: bool,
    /// Messages are missing before the next one.
    has_gap: bool,
}

impl Follower {
    /// The number of the message that was given last, or from which on it follows. After [`FollowEvent::Missed`] that of the last one that is missing.
    #[must_use]
    pub fn position(&self) -> i64 {
        self.position
    }

    /// What comes next. Dropping the future loses nothing. While the engine fails, it waits and asks again.
    pub async fn next(&mut self) -> FollowEvent {
        loop {
            if std::mem::take(&mut self.has_gap) {
                return FollowEvent::Missed;
            }
            if let Some(message) = self.read.pop_front() {
                return self.give(message);
            }
            if self.is_behind {
                self.read_on().await;
                continue;
            }
            match self.subscription.recv().await {
                ChannelEvent::Message(payload) => {
                    if let Some(message) = self.take(&payload) {
                        return self.give(message);
                    }
                }
                ChannelEvent::Missed => self.is_behind = true,
            }
        }
    }

    fn give(&mut self, message: KeptMessage) -> FollowEvent {
        let KeptMessage { id, text } = message;
        self.position = id;
        FollowEvent::Message { id, text }
    }

    /// The message that came, if it is the next one.
    fn take(&mut self, payload: &str) -> Option<KeptMessage> {
        let (id, text) = payload.split_once('\n')?;
        let id: i64 = id.parse().ok()?;
        if id <= self.position {
            return None;
        }
        self.is_behind = id > self.position + 1;
        (!self.is_behind).then(|| KeptMessage {
            id,
            text: Arc::from(text),
        })
    }

    /// Reads what is kept after the last one.
    fn read_on(&mut self) -> LocalBoxFuture<'_, ()> {
        async move {
            let KeptChannel { engine, name, .. } = &self.channel;
            let read = engine.kept_after(name, self.position, FOLLOW_BATCH_MAX);
            match read.await {
                Ok(messages) => {
                    self.is_behind = messages.len() >= FOLLOW_BATCH_MAX;
                    let before_first = messages.first().map(|message| message.id - 1);
                    let gap_end = before_first.filter(|id| *id > self.position);
                    self.has_gap = gap_end.is_some();
                    self.position = gap_end.unwrap_or(self.position);
                    self.read = messages.into();
                }
                Err(error) => {
                    tracing::warn!("kept messages of the channel are not read yet: {error}");
                    sleep(LISTEN_PAUSE).await;
                }
            }
        }
        .boxed_local()
    }
}
