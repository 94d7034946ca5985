//! The body of a streamed response: a queue between a handler and its connection, on one thread. Knows no socket.
//! The sender waits while the client is slow, so a response never takes more memory than the queue's limit and its largest piece.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::error::{Error, Result};

/// The response was broken off by its sender. The connection ends without the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response was broken off by its sender")]
pub struct StreamAborted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Finished,
    Aborted,
    /// The receiver is gone.
    Unwanted,
}

struct Shared {
    queue: RefCell<VecDeque<Bytes>>,
    queued_bytes: Cell<usize>,
    bytes_max: usize,
    state: Cell<State>,
    sender: Cell<Option<Waker>>,
    receiver: Cell<Option<Waker>>,
}

impl Shared {
    fn wake_sender(&self) {
        if let Some(waker) = self.sender.take() {
            waker.wake();
        }
    }

    fn wake_receiver(&self) {
        if let Some(waker) = self.receiver.take() {
            waker.wake();
        }
    }
}

/// The end that the handler writes to. Dropping it without [`Sender::finish`] breaks the response off, so a handler that is cancelled
/// never leaves a response that looks complete.
pub struct Sender(Rc<Shared>);

/// The end that the connection reads from.
pub struct Receiver(Rc<Shared>);

/// A queue that holds up to `bytes_max` bytes, or one larger piece.
pub(crate) fn channel(bytes_max: usize) -> (Sender, Receiver) {
    let shared = Rc::new(Shared {
        queue: RefCell::default(),
        queued_bytes: Cell::new(0),
        bytes_max,
        state: Cell::new(State::Open),
        sender: Cell::new(None),
        receiver: Cell::new(None),
    });
    (Sender(Rc::clone(&shared)), Receiver(shared))
}

impl Sender {
    /// Sends a piece; waits while the queue has no room for it. [`Error::Closed`] when the client has gone.
    pub async fn send(&mut self, piece: Bytes) -> Result<()> {
        poll_fn(|cx| self.poll_room(cx, piece.len())).await?;
        if !piece.is_empty() {
            self.0
                .queued_bytes
                .set(self.0.queued_bytes.get() + piece.len());
            self.0.queue.borrow_mut().push_back(piece);
            self.0.wake_receiver();
        }
        Ok(())
    }

    fn poll_room(&self, cx: &mut Context<'_>, length: usize) -> Poll<Result<()>> {
        let queued = self.0.queued_bytes.get();
        if self.0.state.get() == State::Unwanted {
            Poll::Ready(Err(Error::Closed))
        } else if queued == 0 || queued + length <= self.0.bytes_max {
            Poll::Ready(Ok(()))
        } else {
            self.0.sender.set(Some(cx.waker().clone()));
            Poll::Pending
        }
    }

    /// Resolves when the client has gone and nothing that is sent can arrive any more.
    pub async fn closed(&mut self) {
        poll_fn(|cx| {
            if self.0.state.get() == State::Unwanted {
                return Poll::Ready(());
            }
            self.0.sender.set(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Whether the client has gone.
    pub fn is_closed(&self) -> bool {
        self.0.state.get() == State::Unwanted
    }

    /// Ends the response as complete.
    pub fn finish(self) {
        self.end(State::Finished);
    }

    /// Ends the response as broken: the connection closes without the end of the body, so the client sees that something is missing.
    pub fn abort(self) {
        self.end(State::Aborted);
    }

    fn end(&self, state: State) {
        if self.0.state.get() == State::Open {
            self.0.state.set(state);
            self.0.wake_receiver();
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end(State::Aborted);
    }
}

impl Receiver {
    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, StreamAborted>>> {
        let piece = self.0.queue.borrow_mut().pop_front();
        if let Some(piece) = piece {
            self.0
                .queued_bytes
                .set(self.0.queued_bytes.get().saturating_sub(piece.len()));
            self.0.wake_sender();
            return Poll::Ready(Some(Ok(piece)));
        }
        match self.0.state.get() {
            State::Finished | State::Unwanted => Poll::Ready(None),
            State::Aborted => Poll::Ready(Some(Err(StreamAborted))),
            State::Open => {
                self.0.receiver.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.0.state.get() == State::Finished && self.0.queue.borrow().is_empty()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if self.0.state.get() == State::Open {
            self.0.state.set(State::Unwanted);
        }
        self.0.queue.borrow_mut().clear();
        self.0.wake_sender();
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sender")
            .field("state", &self.0.state.get())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Receiver")
            .field("state", &self.0.state.get())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin};

    use super::*;

    fn poll<T>(future: impl Future<Output = T>) -> Poll<T> {
        pin!(future)
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    }

    fn next(receiver: &mut Receiver) -> Poll<Option<Result<Bytes, StreamAborted>>> {
        receiver.poll_piece(&mut Context::from_waker(Waker::noop()))
    }

    const PIECE: Bytes = Bytes::from_static(b"1234");

    #[test]
    fn the_sender_waits_past_the_limit_until_there_is_room() {
        let (mut sender, mut receiver) = channel(8);
        assert!(poll(sender.send(PIECE)).is_ready());
        assert!(poll(sender.send(PIECE)).is_ready());
        assert!(poll(sender.send(Bytes::from_static(b"5"))).is_pending());
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Ok(PIECE))));
        assert!(poll(sender.send(Bytes::from_static(b"5"))).is_ready());
    }

    #[test]
    fn one_piece_larger_than_the_limit_goes_through_alone() {
        let (mut sender, mut receiver) = channel(2);
        assert!(poll(sender.send(PIECE)).is_ready());
        assert!(poll(sender.send(PIECE)).is_pending());
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Ok(PIECE))));
        assert!(poll(sender.send(PIECE)).is_ready());
    }

    #[test]
    fn only_finish_ends_the_body_well() {
        let (mut sender, mut receiver) = channel(8);
        assert!(poll(sender.send(PIECE)).is_ready());
        sender.finish();
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Ok(PIECE))));
        assert_eq!(next(&mut receiver), Poll::Ready(None));

        let (sender, mut receiver) = channel(8);
        drop(sender);
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Err(StreamAborted))));

        let (sender, mut receiver) = channel(8);
        sender.abort();
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Err(StreamAborted))));
    }

    #[test]
    fn the_sender_learns_that_the_client_has_gone() {
        let (mut sender, receiver) = channel(8);
        assert!(poll(sender.closed()).is_pending());
        drop(receiver);
        assert!(sender.is_closed());
        assert!(poll(sender.closed()).is_ready());
        assert!(matches!(
            poll(sender.send(PIECE)),
            Poll::Ready(Err(Error::Closed))
        ));
    }
}
