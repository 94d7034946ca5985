//! What a caller holds while answers are on the way. Decodes nothing.
//! Rule: dropping it leaves the requests to their fate and the connection clean.

use std::future::poll_fn;
use std::rc::Rc;

use tsumugi_firebird_proto::Response;

use super::slots::{Answer, Ticket};
use super::{Shared, Writer, cancel};
use crate::error::{Error, Result, StatementFate};

/// Answers to one group of requests, and to those that follow it.
pub(crate) struct Asked {
    shared: Rc<Shared>,
    ticket: Ticket,
}

impl Asked {
    pub(super) fn new(shared: Rc<Shared>, ticket: Ticket) -> Self {
        Asked { shared, ticket }
    }

    /// The next answer, in the order of the requests.
    ///
    /// # Errors
    /// [`Error::Lost`].
    pub(crate) async fn next(&mut self) -> Result<Answer> {
        let answer = poll_fn(|cx| self.shared.slots.borrow_mut().poll(self.ticket, cx)).await;
        // The pump may have stopped reading because this caller was slow.
        self.shared.ring();
        answer
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
    /// As [`super::Connection::ask`].
    pub(crate) fn more(&mut self, write: impl FnOnce(&mut Writer<'_>) -> Result<()>) -> Result<()> {
        let written = self.shared.write(self.ticket, write);
        written.map_err(|error| match error {
            // What came before was sent.
            Error::Lost { reason, .. } => Error::Lost {
                reason,
                ran: StatementFate::Perhaps,
            },
            other => other,
        })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let (due, orphans) = self.shared.slots.borrow_mut().leave(self.ticket);
        for orphan in orphans {
            self.shared.undo(orphan);
        }
        if due {
            cancel::abandoned(&self.shared);
        }
        self.shared.let_go(2);
    }
}
