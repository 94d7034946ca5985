//! What keeps leases and carries messages for all processes: the trait that each engine implements. Keeps nothing itself.
//! Rule: an engine judges by a clock of its own, never by one of those that ask it, and a later holder of a name has a greater token.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::error::Result;
use crate::hub::Subscription;

/// An answer of an engine on its way. Stays on its thread.
pub type EngineFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A lease that is asked for.
#[derive(Clone, Debug)]
pub struct TakeRequest {
    /// What is to be held.
    pub name: String,
    /// The one who asks. Nobody else has this text, and it is of this one lease: asking again with it is the same caller, who did not get the answer.
    pub holder: String,
    /// For how long, unless it is renewed.
    pub ttl: Duration,
    /// With a period it is given only so long after the holder before took it who ended with [`ReleaseKind::Ticked`].
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
    /// The one who holds it.
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

/// An engine. It belongs to the thread that it was made on, with the connections that it uses.
///
/// All futures may be dropped at any time; a lease that was asked for may be held then.
pub trait ClusterEngine: Debug {
    /// Notes a timer that has never ticked as one that has ticked now, unless it is there.
    fn begin_timer<'a>(&'a self, name: &'a str) -> EngineFuture<'a, ()>;

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
}
