//! What a caller holds while answers are on the way. Decodes nothing.
//! Rule: dropping it leaves the requests to their fate and the connection clean.

use std::future::poll_fn;

use tsumugi_firebird_proto::Response;
use tsumugi_wire::{Replies, Ticket};

use super::answer::Answer;
use super::driver::{FirebirdDriver, Writer};
use crate::error::{Error, Result};

/// Answers to one group of requests, and to those that follow it.
pub(crate) struct Responses {
    replies: Replies<FirebirdDriver>,
    ticket: Ticket,
}

impl Responses {
    pub(super) fn new(replies: Replies<FirebirdDriver>, ticket: Ticket) -> Self {
        Responses { replies, ticket }
    }

    /// The next answer, in the order of the requests.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub(crate) async fn next(&mut self) -> Result<Answer> {
        let item = poll_fn(|cx| self.replies.poll_next(cx)).await?;
        Ok(item.answer)
    }

    /// The next answer, which is a response.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Server`].
    pub(crate) async fn response(&mut self) -> Result<Response> {
        match self.next().await? {
            Answer::Response(outcome) | Answer::Sql(_, outcome) => outcome.map_err(Error::Server),
            Answer::Rows(_, _) => unreachable!("the protocol gives what the writer expects"),
        }
    }

    /// Writes further requests whose answers come here.
    ///
    /// # Errors
    /// [`Error::Lost`], [`Error::Usage`]; nothing was written.
    pub(crate) fn more(&mut self, write: impl FnOnce(&mut Writer<'_>) -> Result<()>) -> Result<()> {
        let written = FirebirdDriver::write(self.replies.pipeline(), self.ticket, write);
        written.map_err(Error::after_partial_send)
    }
}
