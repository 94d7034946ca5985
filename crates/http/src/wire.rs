//! The socket under a connection: notes what moves, returns what was read ahead, postpones small writes to the end of the worker's
//! turn, and closes without losing the last answer. Adds no system call to reads and writes.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    rc::{Rc, Weak},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::{Buf, Bytes, BytesMut};
use http::Version;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::timeout,
};

use crate::{
    connection_state::ConnectionState,
    frames::FrameScanner,
    limits::{POSTPONED_BYTES_MAX, SNIFF_BYTES_MAX},
    outbox::{Outbox, OutboxSink},
    refusal,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) struct Wire<I> {
    socket: Rc<Socket<I>>,
    outbox: Rc<Outbox>,
    /// Where in a frame of HTTP/2 the bytes that leave are.
    frames: FrameScanner,
    shutdown: Shutdown,
    /// The head of hyper's answer to what is no request, which it sends without a body.
    refusal: Option<Vec<u8>>,
}

/// Whether the client is still there, for tasks that wait for something else.
pub(crate) trait Presence {
    /// Ready when the client has closed its sending side, or the connection is lost. What comes instead is read again later.
    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// What the connection and the outbox write to, each in its own time.
struct Socket<I> {
    io: RefCell<I>,
    state: Rc<ConnectionState>,
    /// Bytes that were read ahead.
    ahead: RefCell<Bytes>,
    /// The end was read ahead.
    is_at_end: Cell<bool>,
    /// Whether bytes of this connection lie in the outbox.
    is_postponed: Cell<bool>,
    /// What left the outbox and found no room.
    unsent: RefCell<BytesMut>,
    /// What a write out of the outbox failed with, until the connection asks.
    failed: RefCell<Option<io::Error>>,
}

#[derive(Clone, Copy)]
enum Shutdown {
    Sending,
    Draining { left: usize },
}

impl<I: AsyncWrite + Unpin> Socket<I> {
    /// Writes what found no room, and returns an earlier failure.
    fn poll_unsent(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        let mut unsent = self.unsent.borrow_mut();
        if unsent.is_empty() {
            return Poll::Ready(Ok(()));
        }
        while !unsent.is_empty() {
            let written = Pin::new(&mut *self.io.borrow_mut()).poll_write(cx, &unsent);
            self.note_written(&written);
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                length => unsent.advance(length),
            }
        }
        *unsent = BytesMut::new(); // an idle connection keeps no room
        Poll::Ready(Ok(()))
    }

    /// Wakes the connection.
    fn fail(&self, error: io::Error) {
        self.failed.replace(Some(error));
        self.state.wake();
    }

    fn note_written(&self, result: &Poll<io::Result<usize>>) {
        match result {
            Poll::Pending => self.state.write_blocked(),
            Poll::Ready(_) => self.state.bytes_written(),
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> Presence for Socket<I> {
    fn poll_end(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.ahead.borrow().is_empty() {
            return Poll::Pending; // a client that has sent more is looked for when that has been read
        }
        let mut memory = [MaybeUninit::uninit(); SNIFF_BYTES_MAX];
        let mut buffer = ReadBuf::uninit(&mut memory);
        ready!(Pin::new(&mut *self.io.borrow_mut()).poll_read(cx, &mut buffer))?;
        if buffer.filled().is_empty() {
            self.is_at_end.set(true);
            return Poll::Ready(Ok(()));
        }
        self.ahead.replace(Bytes::copy_from_slice(buffer.filled()));
        Poll::Pending
    }
}

impl<I: AsyncWrite + Unpin> OutboxSink for Socket<I> {
    fn send(&self, bytes: &[u8]) {
        self.is_postponed.set(false);
        if self.failed.borrow().is_some() {
            return; // what comes behind a gap is of no use
        }
        // No task waits here. The connection is woken instead, and asks again with a waker of its own.
        let cx = &mut Context::from_waker(Waker::noop());
        let mut unsent = self.unsent.borrow_mut();
        let mut left = bytes;
        while unsent.is_empty() && !left.is_empty() {
            let written = Pin::new(&mut *self.io.borrow_mut()).poll_write(cx, left);
            self.note_written(&written);
            match written.map(|written| written.and_then(not_zero)) {
                Poll::Ready(Ok(length)) => left = left.get(length..).unwrap_or_default(),
                Poll::Ready(Err(error)) => return self.fail(error),
                Poll::Pending => break,
            }
        }
        if !left.is_empty() {
            unsent.extend_from_slice(left);
            return self.state.wake();
        }
        // TLS has taken it, but may hold it.
        match Pin::new(&mut *self.io.borrow_mut()).poll_flush(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => self.fail(error),
            Poll::Pending => self.state.wake(),
        }
    }
}

fn not_zero(length: usize) -> io::Result<usize> {
    match length {
        0 => Err(io::ErrorKind::WriteZero.into()),
        length => Ok(length),
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> Wire<I> {
    pub(crate) fn new(io: I, state: Rc<ConnectionState>, outbox: Rc<Outbox>) -> Wire<I> {
        let socket = Socket {
            io: RefCell::new(io),
            state,
            ahead: RefCell::default(),
            is_at_end: Cell::new(false),
            is_postponed: Cell::new(false),
            unsent: RefCell::default(),
            failed: RefCell::new(None),
        };
        Wire {
            socket: Rc::new(socket),
            outbox,
            frames: FrameScanner::default(),
            shutdown: Shutdown::Sending,
            refusal: None,
        }
    }

    /// Hyper's answer to what is no request, when it was not sent.
    pub(crate) fn take_refusal(&mut self) -> Option<Vec<u8>> {
        self.refusal.take()
    }

    /// Takes hyper's answer to what is no request back from the outbox. It is the only answer that ends a connection on which bytes have come
    /// that are part of no request.
    fn take_back_refusal(&mut self) -> bool {
        let state = &self.socket.state;
        if self.socket.is_postponed.get() && state.has_unknown_bytes() {
            self.refusal = self.outbox.take_back(&self.socket, refusal::begin);
        }
        self.refusal.is_some()
    }

    /// The socket, and what was read ahead of it; none when its last bytes cannot be sent within `limit`.
    pub(crate) async fn into_parts(self, limit: Duration) -> Option<(I, Bytes)> {
        let sent = poll_fn(|cx| {
            ready!(self.poll_sent(cx))?;
            Pin::new(&mut *self.socket.io.borrow_mut()).poll_flush(cx)
        });
        let Ok(Ok(())) = timeout(limit, sent).await else {
            tracing::debug!("connection closed: its client does not take the last answer");
            return None;
        };
        let socket = Rc::into_inner(self.socket)?;
        Some((socket.io.into_inner(), socket.ahead.into_inner()))
    }

    /// What tells whether the client is there.
    pub(crate) fn presence(&self) -> Weak<dyn Presence> {
        Rc::<Socket<I>>::downgrade(&self.socket)
    }

    fn poll_io_read(&self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket.io.borrow_mut()).poll_read(cx, buffer)
    }

    /// Sends what was postponed, at once.
    fn poll_sent(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.socket.is_postponed.get() {
            self.outbox.flush();
        }
        self.socket.poll_unsent(cx)
    }

    /// Reads until the first bytes tell the protocol: of HTTP/1 both versions are one. They will be read again. `None` when the client has closed.
    pub(crate) fn poll_sniff(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Version>>> {
        loop {
            let mut memory = [MaybeUninit::uninit(); SNIFF_BYTES_MAX];
            let mut buffer = ReadBuf::uninit(&mut memory);
            ready!(self.poll_io_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Ok(None));
            }
            let mut ahead = self.socket.ahead.borrow_mut();
            *ahead = if ahead.is_empty() {
                Bytes::copy_from_slice(buffer.filled())
            } else {
                [&ahead, buffer.filled()].concat().into()
            };
            let known = ahead.len().min(PREFACE.len());
            if ahead.get(..known) != PREFACE.get(..known) {
                return Poll::Ready(Ok(Some(Version::HTTP_11)));
            }
            if known == PREFACE.len() {
                return Poll::Ready(Ok(Some(Version::HTTP_2)));
            }
        }
    }

    /// Reads and drops what the client still sends. Closing with unread bytes would reset the connection, and the client could lose the
    /// answer that explains the close.
    fn poll_drain(&mut self, cx: &mut Context<'_>, left: &mut usize) -> Poll<()> {
        while *left > 0 {
            let mut memory = [MaybeUninit::uninit(); 4096];
            let mut buffer = ReadBuf::uninit(&mut memory);
            match ready!(self.poll_io_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    *left = left.saturating_sub(buffer.filled().len())
                }
                _ => return Poll::Ready(()),
            }
        }
        Poll::Ready(())
    }

    /// Postpones a small write; a large one leaves at once, behind what was postponed.
    fn poll_write_slices(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(self.poll_slices(cx, slices))?;
        if self.socket.state.is_multiplexed() && self.frames.advance(slices, written) {
            self.socket.state.stream_moved();
        }
        Poll::Ready(Ok(written))
    }

    fn poll_slices(&self, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        ready!(self.socket.poll_unsent(cx))?;
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if total <= POSTPONED_BYTES_MAX {
            self.outbox.put(&self.socket, slices);
            self.socket.is_postponed.set(true);
            return Poll::Ready(Ok(total));
        }
        ready!(self.poll_sent(cx))?;
        let written = Pin::new(&mut *self.socket.io.borrow_mut()).poll_write_vectored(cx, slices);
        self.socket.note_written(&written);
        written
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> AsyncRead for Wire<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let mut ahead = this.socket.ahead.borrow_mut();
        if !ahead.is_empty() {
            let length = ahead.len().min(buffer.remaining());
            buffer.put_slice(ahead.get(..length).unwrap_or_default());
            ahead.advance(length);
            this.socket.state.bytes_read();
            return Poll::Ready(Ok(()));
        }
        drop(ahead);
        if this.socket.is_at_end.get() {
            return Poll::Ready(Ok(()));
        }
        let filled = buffer.filled().len();
        ready!(this.poll_io_read(cx, buffer))?;
        if buffer.filled().len() > filled {
            this.socket.state.bytes_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> AsyncWrite for Wire<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_slices(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_slices(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.io.borrow().is_write_vectored()
    }

    /// What was postponed is on its way: its time comes without a poll.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.socket.poll_unsent(cx))?;
        if self.socket.is_postponed.get() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut *self.socket.io.borrow_mut()).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Shutdown::Sending = self.shutdown {
            if self.take_back_refusal() {
                return Poll::Ready(Ok(())); // whoever takes it closes the connection
            }
            ready!(self.poll_sent(cx))?;
            ready!(Pin::new(&mut *self.socket.io.borrow_mut()).poll_shutdown(cx))?;
            let left = self.socket.state.linger_bytes();
            if left > 0 {
                self.socket.state.set_lingering();
            }
            self.shutdown = Shutdown::Draining { left };
        }
        if let Shutdown::Draining { mut left } = self.shutdown {
            let drained = self.poll_drain(cx, &mut left);
            self.shutdown = Shutdown::Draining { left };
            ready!(drained);
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Whether a write of `length` bytes waits for the end of the turn. It must arrive whole either way, and before the end.
    async fn is_postponed(length: usize) -> bool {
        let (server, mut client) = tokio::io::duplex(64 * 1024);
        let state = Rc::new(ConnectionState::new(0));
        let mut wire = Wire::new(server, state, Rc::default());
        wire.write_all(&vec![b'x'; length]).await.unwrap();
        let is_postponed = wire.socket.is_postponed.get();
        wire.shutdown().await.unwrap();
        let mut arrived = Vec::new();
        client.read_to_end(&mut arrived).await.unwrap();
        assert_eq!(arrived.len(), length);
        is_postponed
    }

    #[tokio::test]
    async fn one_byte_more_than_is_copied_leaves_at_once() {
        assert!(is_postponed(POSTPONED_BYTES_MAX).await);
        assert!(!is_postponed(POSTPONED_BYTES_MAX + 1).await);
    }

    /// Takes everything and holds it, as TLS does over a socket that is full.
    struct HoldingSocket;

    impl AsyncRead for HoldingSocket {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for HoldingSocket {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn bytes_held_by_the_socket_are_no_blocked_write() {
        let state = Rc::new(ConnectionState::new(0));
        let outbox = Rc::<Outbox>::default();
        let mut wire = Wire::new(HoldingSocket, Rc::clone(&state), Rc::clone(&outbox));
        wire.write_all(b"x").await.unwrap();
        outbox.flush();
        assert!(!wire.socket.is_postponed.get(), "it has left");
        assert_ne!(
            state.wait(),
            Some(crate::connection_state::ConnectionWait::Room)
        );
    }
}
