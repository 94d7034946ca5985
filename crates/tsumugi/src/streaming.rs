//! Where the body of a response goes that is written while it is sent. Knows no connection.
//! Rule: a slow client makes its writer wait, and the writer of a client that has gone is dropped where it waits.

use std::rc::Rc;

use bytes::Bytes;
use tsumugi_server::dispatch::SharedSender;

use crate::error::Result;

/// Where the body of a response goes.
#[derive(Debug)]
pub struct Output {
    sender: SharedSender,
}

impl Output {
    pub(crate) fn new(sender: &SharedSender) -> Output {
        Output {
            sender: Rc::clone(sender),
        }
    }

    /// Sends a piece; waits while the client is slow. An error when it has gone: return then.
    pub async fn write(&mut self, piece: impl Into<Bytes>) -> Result<()> {
        let taken = self.sender.borrow_mut().take();
        let mut sender = taken.ok_or(tsumugi_http::Error::Closed)?;
        let sent = sender.send(piece.into()).await;
        *self.sender.borrow_mut() = Some(sender);
        Ok(sent?)
    }

    pub(crate) fn finish(self) {
        if let Some(sender) = self.sender.borrow_mut().take() {
            sender.finish();
        }
    }
}
