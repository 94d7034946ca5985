//! Where the body of a response goes that is written while it is sent. Knows no connection.
//! Rule: a slow client makes its writer wait, and the writer of a client that has gone is dropped where it waits.

use std::rc::Rc;

use bytes::Bytes;
use tsumugi_server::dispatch::SharedSender;

use crate::error::{Error, Result};

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

    /// Sends a field behind the body, which [`StreamResponse::trailers`](crate::StreamResponse::trailers) has announced; the last value of a name
    /// counts. On HTTP/1.1 clients get it that ask with `TE: trailers`.
    ///
    /// # Errors
    /// [`Error::Usage`] when it was not announced, is none that can stand there, or is too long.
    pub fn trailer(&mut self, name: &str, value: &str) -> Result<()> {
        let mut sender = self.sender.borrow_mut();
        let sender = sender.as_mut().ok_or(tsumugi_http::Error::Closed)?;
        let set = sender.set_trailer_text(name, value);
        set.map_err(|error| Error::Usage(error.to_string().into()))
    }

    pub(crate) fn finish(self) {
        if let Some(sender) = self.sender.borrow_mut().take() {
            sender.finish();
        }
    }
}
