//! One connection: requests are written into one buffer, one task sends them and reads the answers. Knows no SQL.
//! The task, and the slots where answers wait for their callers, are those of `tsumugi_wire`; what it has to know of Firebird is in `protocol`.
//! Rule: a caller that leaves never disturbs the others; what was done for it is undone.

mod answer;
mod cancel;
mod driver;
mod ends;
mod open;
mod protocol;
mod responses;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::Instant;
use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_wire::{Delivery, Loss, PipelineRef, Protocol as _, Replies};

use self::driver::FirebirdDriver;
use crate::error::Result;
use crate::limits;

pub(crate) use self::answer::{Answer, Effect};
pub(crate) use self::driver::Writer;
pub(crate) use self::ends::TransactionEpoch;
pub(crate) use self::responses::Responses;

/// A connection. Clones are the same connection; it ends when the last one has gone and no answer is awaited.
#[derive(Clone)]
pub struct Connection(pub(crate) PipelineRef<FirebirdDriver>);

impl Connection {
    /// Whether statements can be sent.
    pub fn is_open(&self) -> bool {
        self.0.is_open()
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// How many answers are awaited, those included that the server keeps until it answers something else.
    pub fn awaited(&self) -> usize {
        self.0.driver.awaited()
    }

    /// Since when the oldest request has been waiting for its answer.
    pub fn unanswered_since(&self) -> Option<Instant> {
        self.0.unanswered_since()
    }

    /// Since when the server has owed an answer without a byte going in either direction. It owes none while it waits for its
    /// client, as for a caller who reads rows slowly. As exact as this is called often.
    pub fn silent_since(&self) -> Option<Instant> {
        self.0.silent_since()
    }

    /// Waits until the answers to everything sent so far have come. Afterwards the connection is clean, or it has ended.
    pub fn reset(&self) -> LocalBoxFuture<'_, ()> {
        async move {
            let settled = tokio::time::timeout(limits::RESET_TIMEOUT, self.0.settled()).await;
            if settled.is_err() {
                self.0.lose(Loss::unclean());
            }
        }
        .boxed_local()
    }

    /// Ends the connection; callers that wait for an answer get an error with this reason.
    pub fn abort(&self, reason: &'static str) {
        self.0.lose(Loss::aborted(reason));
    }

    /// Waits for an answer that means nothing but that the server is there.
    ///
    /// # Errors
    /// [`Error::Lost`](crate::Error::Lost).
    pub fn ping(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let mut asked =
                self.ask(|writer| writer.ask(Expect::Response, |requests| requests.ping()))?;
            asked.response().await.map(drop)
        }
        .boxed_local()
    }

    /// Writes one group of requests.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Usage`]; nothing was written.
    pub(crate) fn ask(
        &self,
        write: impl FnOnce(&mut Writer<'_>) -> Result<()>,
    ) -> Result<Responses> {
        // Dropped on failure, it gives the slot back.
        let (replies, ticket) = Replies::open(&self.0, Delivery::Pieces);
        FirebirdDriver::write(&self.0, ticket, write)?;
        Ok(Responses::new(replies, ticket))
    }

    /// Writes a group of requests whose answers no caller takes. If nothing can be sent now, the connection ends instead.
    pub(crate) fn send_unawaited(&self, write: impl FnOnce(&mut Writer<'_>) -> Result<()>) {
        FirebirdDriver::send_unawaited(&self.0, write);
    }

    /// Waits until the buffer for what is to be sent has room, so that it stays bounded when the server does not read.
    pub(crate) async fn room(&self) {
        self.0.room().await;
    }

    /// Rolls a transaction back that no longer has an owner.
    pub(crate) fn roll_back(&self, transaction: Transaction) {
        FirebirdDriver::roll_back(&self.0, transaction);
    }
}
