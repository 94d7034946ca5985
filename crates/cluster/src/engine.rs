//! What keeps leases and carries messages for all processes: the trait that each engine implements. Keeps nothing itself.
//! Rule: an engine judges by a clock of its own, never by one of those that ask it, and a later holder of a name has a greater token.

use std::fmt::Debug;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::hub::Subscription;

/// An answer of an engine on its way. Stays on its thread.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A lease that is asked for.
#[derive(Clone, Debug)]
pub struct TakeRequest {
    /// What is to be held.
    pub name: String,
    /// A text that only this caller has, for this one lease: asking again with it is the same caller, whose answer was lost.
    pub holder: String,
    /// For how long, unless it is renewed.
    pub ttl: Duration,
    /// With a period the lease is given only when that long has passed since the last holder that ended with [`ReleaseKind::Ticked`] took it.
    pub period: Option<Duration>,
}

/// What the engine says to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakeAnswer {
    /// It is the caller's, from before this answer was sent, for its time.
    Granted {
        /// Greater than that of every holder before.
        token: i64,
    },
    /// Another one has it, or it is not due.
    Busy {
        /// How long that stays so at most, unless it is renewed.
        wait: Duration,
    },
}

/// A lease that one holds.
#[derive(Clone, Debug)]
pub struct LeaseClaim {
    /// What is held.
    pub name: String,
    /// The text of its holder, as in [`TakeRequest::holder`].
    pub holder: String,
    /// The token that it was given with.
    pub token: i64,
}

/// What becomes of the record of a lease that is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseKind {
    /// The next token is greater.
    Keep,
    /// The same; and a timer has ticked when this one was taken.
    Ticked,
    /// It may be removed: its tokens are not used.
    Forget,
}

/// What an engine keeps of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptRange {
    /// The number of the last message, 0 before the first.
    pub last: i64,
    /// That of the oldest one that is still kept; nothing where none is.
    pub oldest: Option<i64>,
}

/// A message that is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptMessage {
    /// Its number: one more than that of the message before.
    pub id: i64,
    /// What was published.
    pub text: Arc<str>,
}

impl Debug for KeptMessage {
    /// What was published does not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeptMessage({}, {} bytes)", self.id, self.text.len())
    }
}

/// A channel whose messages are kept, by its two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptChannelName {
    /// The name under which they are kept.
    pub name: String,
    /// The channel that they are sent on, which no other channel can be called.
    pub sent_on: String,
}

impl KeptChannelName {
    /// Names have no control characters, so none is like this.
    pub(crate) fn of(name: &str) -> KeptChannelName {
        KeptChannelName {
            name: name.to_owned(),
            sent_on: format!("{name}\tkept"),
        }
    }
}

/// What is said of an engine that keeps no messages.
const KEEPS_NONE: Error = Error::Unsupported {
    engine: "this engine of the cluster",
    what: "messages that are kept: use PostgreSQL or SQLite",
};

/// An engine that keeps no messages.
fn keeps_none<'a, T: 'a>() -> EngineFuture<'a, T> {
    Box::pin(ready(Err(KEEPS_NONE)))
}

/// An engine. It belongs to the thread that it was made on, with the connections that it uses.
///
/// All futures may be dropped at any time; a lease that was asked for may be held then.
pub trait ClusterEngine: Debug {
    /// Whether it keeps leases at all. One that cannot promise that a lease has one holder carries messages alone.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), which says what to use.
    fn check_leases(&self) -> Result<()> {
        Ok(())
    }

    /// Notes a timer of this period that has never ticked as one that has ticked now, unless it is there.
    fn begin_timer<'a>(&'a self, name: &'a str, period: Duration) -> EngineFuture<'a, ()>;

    /// Gives a lease that nobody has, whose time is over, or that this holder has already.
    fn take<'a>(&'a self, request: &'a TakeRequest) -> EngineFuture<'a, TakeAnswer>;

    /// Lets a lease go on for so long from now, if it is the claim's and its time is not over. Whether it is.
    fn renew<'a>(&'a self, claim: &'a LeaseClaim, ttl: Duration) -> EngineFuture<'a, bool>;

    /// Ends a lease of this holder; that it has none is no error.
    fn release<'a>(
        &'a self,
        name: &'a str,
        holder: &'a str,
        kind: ReleaseKind,
    ) -> EngineFuture<'a, ()>;

    /// The same without waiting, for what is dropped. Where it fails, the time of the lease ends it.
    fn abandon(&self, name: String, holder: String);

    /// Sends a message to all subscribers of a channel. All see what one caller sends one after the other in that order.
    fn publish<'a>(&'a self, channel: &'a str, message: &'a str) -> EngineFuture<'a, ()>;

    /// Begins to receive the messages of a channel: all that are sent after this has ended.
    fn subscribe<'a>(&'a self, channel: &'a str) -> EngineFuture<'a, Subscription>;

    /// Whether it keeps messages. One that does implements the three below, too.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), which says what to use.
    fn check_kept(&self) -> Result<()> {
        Err(KEEPS_NONE)
    }

    /// Keeps a message under the next number of its channel, lets those go that are older than the last so many, and sends `channel` the number
    /// and, after a line break, the message. Numbers have no gaps, and a reader that sees one sees all before it. Answers the number.
    fn publish_kept<'a>(
        &'a self,
        _channel: &'a KeptChannelName,
        _message: &'a str,
        _keep: i64,
    ) -> EngineFuture<'a, i64> {
        keeps_none()
    }

    /// What is kept of a channel.
    fn kept_range<'a>(&'a self, _channel: &'a KeptChannelName) -> EngineFuture<'a, KeptRange> {
        keeps_none()
    }

    /// The first so many kept messages whose numbers are greater than this one, in their order.
    fn kept_after<'a>(
        &'a self,
        _channel: &'a KeptChannelName,
        _after: i64,
        _most: usize,
    ) -> EngineFuture<'a, Vec<KeptMessage>> {
        keeps_none()
    }
}
