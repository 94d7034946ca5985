//! The body of a streamed response: a queue between a handler and its connection, on one thread. Knows no socket.
//! The sender waits while the client is slow, so a response never takes more memory than the queue's limit and its largest piece.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::{Sleep, sleep};
use tsumugi_trace::{SpanKind, brief_span, in_wait};

use crate::{
    encoding::Encoding,
    error::{Error, Result},
    limits::HttpLimits,
    trailers::{ResponseTrailers, TrailerError},
};

/// The response was broken off by its sender. The connection ends without the end of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the response was broken off by its sender")]
pub struct StreamAborted;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Finished,
    Aborted,
    /// Aborted because the client took nothing.
    Stalled,
    /// The receiver is gone.
    Unwanted,
}

struct Shared {
    queue: RefCell<VecDeque<Bytes>>,
    queued_bytes: Cell<usize>,
    bytes_max: usize,
    send_timeout_ms: u64,
    state: Cell<State>,
    sender: Cell<Option<Waker>>,
    receiver: Cell<Option<Waker>>,
    /// What follows the last piece, set with the end.
    trailers: Cell<Option<Box<HeaderMap>>>,
    has_trailers: Cell<bool>,
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
pub struct Sender {
    shared: Rc<Shared>,
    /// Runs only while the sender waits for room.
    timer: Option<Pin<Box<Sleep>>>,
    trailers: Option<Box<ResponseTrailers>>,
}

/// The end that the connection reads from.
pub struct Receiver {
    shared: Rc<Shared>,
    /// The bytes still to come, when that is known before they are made.
    remaining: Option<u64>,
    encoding: Option<Box<Encoding>>,
}

/// A queue that holds up to `stream_buffer_bytes_max` bytes, or one larger piece.
pub(crate) fn channel(limits: &HttpLimits) -> (Sender, Receiver) {
    let shared = Rc::new(Shared {
        queue: RefCell::default(),
        queued_bytes: Cell::new(0),
        bytes_max: limits.stream_buffer_bytes_max,
        send_timeout_ms: limits.send_timeout_ms,
        state: Cell::new(State::Open),
        sender: Cell::new(None),
        receiver: Cell::new(None),
        trailers: Cell::new(None),
        has_trailers: Cell::new(false),
    });
    let sender = Sender {
        shared: Rc::clone(&shared),
        timer: None,
        trailers: None,
    };
    let receiver = Receiver {
        shared,
        remaining: None,
        encoding: None,
    };
    (sender, receiver)
}

impl Sender {
    /// Sends a piece; waits while the queue has no room for it. [`Error::Closed`] when the client has gone, [`Error::Stalled`] when it
    /// has taken nothing for `send_timeout_ms`; the response is then broken off.
    pub async fn send(&mut self, piece: Bytes) -> Result<()> {
        let room = poll_fn(|cx| self.poll_room(cx, piece.len()));
        in_wait(|| brief_span(SpanKind::Client, "send"), room).await?;
        if !piece.is_empty() {
            self.shared
                .queued_bytes
                .set(self.shared.queued_bytes.get() + piece.len());
            self.shared.queue.borrow_mut().push_back(piece);
            self.shared.wake_receiver();
        }
        Ok(())
    }

    fn poll_room(&mut self, cx: &mut Context<'_>, length: usize) -> Poll<Result<()>> {
        let queued = self.shared.queued_bytes.get();
        let limit_ms = self.shared.send_timeout_ms;
        match self.shared.state.get() {
            State::Unwanted => return Poll::Ready(Err(Error::Closed)),
            State::Stalled | State::Aborted | State::Finished => {
                return Poll::Ready(Err(Error::Stalled { limit_ms }));
            }
            State::Open if queued == 0 || queued + length <= self.shared.bytes_max => {
                self.timer = None;
                return Poll::Ready(Ok(()));
            }
            State::Open => {}
        }
        self.shared.sender.set(Some(cx.waker().clone()));
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep(Duration::from_millis(limit_ms))));
        ready!(timer.as_mut().poll(cx));
        self.end(State::Stalled);
        Poll::Ready(Err(Error::Stalled { limit_ms }))
    }

    /// Resolves when the client has gone and nothing that is sent can arrive any more.
    pub async fn closed(&mut self) {
        poll_fn(|cx| {
            if self.shared.state.get() == State::Unwanted {
                return Poll::Ready(());
            }
            self.shared.sender.set(Some(cx.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Whether the client has gone.
    pub fn is_closed(&self) -> bool {
        self.shared.state.get() == State::Unwanted
    }

    /// Lets the fields follow the body that a head like this one announces: see [`trailers::announcement`](crate::trailers::announcement).
    pub fn announce(&mut self, head: &HeaderMap) {
        if head.contains_key(http::header::TRAILER) {
            self.trailers = Some(Box::new(ResponseTrailers::announced_by(head)));
        }
    }

    /// Has a field follow the body, in place of one of the same name. On HTTP/1.1 a client gets it that asks with `TE: trailers`, on HTTP/1.0
    /// none does.
    ///
    /// # Errors
    /// When the head has not announced it, or when it would be more than there may be.
    pub fn set_trailer(
        &mut self,
        name: HeaderName,
        value: HeaderValue,
    ) -> Result<(), TrailerError> {
        self.trailers.get_or_insert_default().set(name, value)
    }

    /// The same for a name and a value that come as texts.
    ///
    /// # Errors
    /// When they are none of a field, and where [`Self::set_trailer`] fails.
    pub fn set_trailer_text(&mut self, name: &str, value: &str) -> Result<(), TrailerError> {
        self.trailers.get_or_insert_default().set_text(name, value)
    }

    /// Ends the response as complete.
    pub fn finish(mut self) {
        let trailers = self.trailers.take();
        let trailers = trailers.map(|trailers| trailers.into_fields());
        if let Some(trailers) = trailers.filter(|trailers| !trailers.is_empty())
            && self.shared.state.get() == State::Open
        {
            self.shared.trailers.set(Some(Box::new(trailers)));
            self.shared.has_trailers.set(true);
        }
        self.end(State::Finished);
    }

    /// Ends the response as broken: the connection closes without the end of the body, so the client sees that something is missing.
    pub fn abort(self) {
        self.end(State::Aborted);
    }

    fn end(&self, state: State) {
        if self.shared.state.get() == State::Open {
            self.shared.state.set(state);
            self.shared.wake_receiver();
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.end(State::Aborted);
    }
}

impl Receiver {
    /// The next piece; `None` at the end. For readers that are no connection, such as a client in the same process.
    pub async fn piece(&mut self) -> Option<Result<Bytes, StreamAborted>> {
        poll_fn(|cx| self.poll_piece(cx)).await
    }

    /// From now on the pieces go through an encoder.
    pub(crate) fn encode(&mut self, encoding: Box<Encoding>) {
        self.remaining = None;
        self.encoding = Some(encoding);
    }

    /// The sender promises this many bytes.
    pub(crate) fn promise(&mut self, length: u64) {
        self.remaining = Some(length);
    }

    /// The bytes still to come, when they have been promised.
    pub(crate) fn remaining(&self) -> Option<u64> {
        self.remaining
    }

    pub(crate) fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, StreamAborted>>> {
        let Some(encoding) = &mut self.encoding else {
            let piece = ready!(self.shared.poll_piece(cx));
            if let (Some(remaining), Some(Ok(piece))) = (&mut self.remaining, &piece) {
                *remaining = remaining.saturating_sub(piece.len() as u64);
            }
            return Poll::Ready(piece);
        };
        loop {
            if let Some(piece) = encoding.next() {
                return Poll::Ready(Some(Ok(piece)));
            }
            match ready!(self.shared.poll_piece(cx)) {
                Some(Ok(piece)) => encoding.feed(piece),
                Some(Err(aborted)) => return Poll::Ready(Some(Err(aborted))),
                None => return Poll::Ready(encoding.finish().map(Ok)),
            }
        }
    }

    /// What follows the last piece, once.
    pub fn take_trailers(&mut self) -> Option<HeaderMap> {
        self.shared.has_trailers.set(false);
        self.shared.trailers.take().map(|trailers| *trailers)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        if self.shared.has_trailers.get() {
            return false;
        }
        match (&self.encoding, self.remaining) {
            (Some(encoding), _) => encoding.is_finished(),
            (None, Some(0)) => true,
            (None, _) => {
                self.shared.state.get() == State::Finished && self.shared.queue.borrow().is_empty()
            }
        }
    }
}

impl Shared {
    fn poll_piece(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamAborted>>> {
        let piece = self.queue.borrow_mut().pop_front();
        if let Some(piece) = piece {
            self.queued_bytes
                .set(self.queued_bytes.get().saturating_sub(piece.len()));
            self.wake_sender();
            return Poll::Ready(Some(Ok(piece)));
        }
        match self.state.get() {
            State::Finished | State::Unwanted => Poll::Ready(None),
            State::Aborted | State::Stalled => Poll::Ready(Some(Err(StreamAborted))),
            State::Open => {
                self.receiver.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if self.shared.state.get() == State::Open {
            self.shared.state.set(State::Unwanted);
        }
        self.shared.queue.borrow_mut().clear();
        self.shared.wake_sender();
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Sender")
            .field("state", &self.shared.state.get())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Receiver")
            .field("state", &self.shared.state.get())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn channel(bytes_max: usize) -> (Sender, Receiver) {
        let limits = HttpLimits {
            stream_buffer_bytes_max: bytes_max,
            send_timeout_ms: 50,
            ..HttpLimits::default()
        };
        super::channel(&limits)
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    }

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
        let runtime = runtime();
        let _guard = runtime.enter();
        let (mut sender, mut receiver) = channel(8);
        assert!(poll(sender.send(PIECE)).is_ready());
        assert!(poll(sender.send(PIECE)).is_ready());
        assert!(poll(sender.send(Bytes::from_static(b"5"))).is_pending());
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Ok(PIECE))));
        assert!(poll(sender.send(Bytes::from_static(b"5"))).is_ready());
    }

    #[test]
    fn one_piece_larger_than_the_limit_goes_through_alone() {
        let runtime = runtime();
        let _guard = runtime.enter();
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
    fn trailers_follow_the_last_piece_of_a_body_that_ends_well() {
        let head: HeaderMap = [(http::header::TRAILER, HeaderValue::from_static("x-sum"))]
            .into_iter()
            .collect();
        let sum = || (HeaderName::from_static("x-sum"), HeaderValue::from(7));
        let (mut sender, mut receiver) = channel(8);
        sender.announce(&head);
        assert!(poll(sender.send(PIECE)).is_ready());
        let (name, value) = sum();
        sender.set_trailer(name, value).unwrap();
        sender.finish();
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Ok(PIECE))));
        assert!(!receiver.is_at_end());
        assert_eq!(next(&mut receiver), Poll::Ready(None));
        assert_eq!(receiver.take_trailers().unwrap()["x-sum"], "7");
        assert!(receiver.is_at_end());

        let (mut sender, mut receiver) = channel(8);
        sender.announce(&head);
        let (name, value) = sum();
        sender.set_trailer(name, value).unwrap();
        sender.abort();
        assert_eq!(next(&mut receiver), Poll::Ready(Some(Err(StreamAborted))));
        assert_eq!(receiver.take_trailers(), None);

        let (mut sender, _receiver) = channel(8);
        let (name, value) = sum();
        let refused = sender.set_trailer(name.clone(), value);
        assert_eq!(refused, Err(TrailerError::Unannounced(name)));
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

    #[test]
    fn a_client_that_takes_nothing_ends_the_response() {
        runtime().block_on(async {
            let (mut sender, mut receiver) = channel(4);
            sender.send(PIECE).await.unwrap();
            let error = sender.send(PIECE).await.unwrap_err().to_string();
            assert!(error.contains("send_timeout_ms (50 ms)"), "{error}");
            assert!(matches!(
                sender.send(PIECE).await,
                Err(Error::Stalled { .. })
            ));
            sender.finish();
            assert_eq!(next(&mut receiver), Poll::Ready(Some(Ok(PIECE))));
            assert_eq!(next(&mut receiver), Poll::Ready(Some(Err(StreamAborted))));
        });
    }
}
