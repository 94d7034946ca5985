//! Where the body of a response goes that is written while it is sent. Knows no connection.
//! Rule: a slow client makes its writer wait, and the writer of a client that has gone is dropped where it waits.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use bytes::Bytes;
use tsumugi_http::Sender;

use crate::error::Result;

/// Where the body of a response goes.
#[derive(Debug)]
pub struct Output {
    sender: SharedSender,
}

/// The sender of a body, shared by its writer and by who watches the client. Absent while a piece is being sent.
pub(crate) type SharedSender = Rc<RefCell<Option<Sender>>>;

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

/// Runs what writes a body; nothing when the client goes first, and the writer is dropped where it waits.
pub(crate) async fn until_gone<T>(
    writer: impl Future<Output = T>,
    sender: &SharedSender,
) -> Option<T> {
    let mut writer = pin!(writer);
    poll_fn(|cx| {
        if let Poll::Ready(value) = writer.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        // While a piece is being sent, `send` notices by itself.
        if let Some(sender) = sender.borrow_mut().as_mut()
            && pin!(sender.closed()).poll(cx).is_ready()
        {
            return Poll::Ready(None);
        }
        Poll::Pending
    })
    .await
}
