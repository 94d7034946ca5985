//! The socket under a connection: notes what moves, returns what was read ahead, and closes without losing the last answer.
//! Adds no system call to reads and writes and no buffer of its own past the first bytes.

use std::{
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{
    limits::{MERGED_BYTES_MAX, SNIFF_BYTES_MAX},
    vitals::Vitals,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sniffed {
    Http1,
    Http2,
}

pub(crate) struct Wire<I> {
    io: I,
    vitals: Rc<Vitals>,
    /// Bytes that were read ahead.
    ahead: Bytes,
    shutdown: Shutdown,
}

#[derive(Clone, Copy)]
enum Shutdown {
    Sending,
    Draining { left: usize },
}

impl<I: AsyncRead + AsyncWrite + Unpin> Wire<I> {
    pub(crate) fn new(io: I, vitals: Rc<Vitals>) -> Wire<I> {
        Wire {
            io,
            vitals,
            ahead: Bytes::new(),
            shutdown: Shutdown::Sending,
        }
    }

    /// The socket, and what was read ahead of it.
    pub(crate) fn into_parts(self) -> (I, Bytes) {
        (self.io, self.ahead)
    }

    /// Reads until the first bytes tell the protocol. They will be read again. `None` when the client has closed.
    pub(crate) fn poll_sniff(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Sniffed>>> {
        loop {
            let mut memory = [MaybeUninit::uninit(); SNIFF_BYTES_MAX];
            let mut buffer = ReadBuf::uninit(&mut memory);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut buffer))?;
            if buffer.filled().is_empty() {
                return Poll::Ready(Ok(None));
            }
            self.ahead = if self.ahead.is_empty() {
                Bytes::copy_from_slice(buffer.filled())
            } else {
                [&self.ahead, buffer.filled()].concat().into()
            };
            let known = self.ahead.len().min(PREFACE.len());
            if self.ahead.get(..known) != PREFACE.get(..known) {
                return Poll::Ready(Ok(Some(Sniffed::Http1)));
            }
            if known == PREFACE.len() {
                return Poll::Ready(Ok(Some(Sniffed::Http2)));
            }
        }
    }

    /// Reads and drops what the client still sends. Closing with unread bytes would reset the connection, and the client could lose the
    /// answer that explains the close.
    fn poll_drain(&mut self, cx: &mut Context<'_>, left: &mut usize) -> Poll<()> {
        while *left > 0 {
            let mut memory = [MaybeUninit::uninit(); 4096];
            let mut buffer = ReadBuf::uninit(&mut memory);
            match ready!(Pin::new(&mut self.io).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {
                    *left = left.saturating_sub(buffer.filled().len())
                }
                _ => return Poll::Ready(()),
            }
        }
        Poll::Ready(())
    }

    /// A head and a small body in one piece: the copy takes a tenth of what the system spends on a second piece.
    fn poll_write_merged(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut memory = [MaybeUninit::uninit(); MERGED_BYTES_MAX];
        let mut merged = ReadBuf::uninit(&mut memory);
        for slice in slices {
            merged.put_slice(slice);
        }
        Pin::new(&mut self.io).poll_write(cx, merged.filled())
    }

    fn note_written(&self, result: &Poll<io::Result<usize>>) {
        match result {
            Poll::Pending => self.vitals.write_blocked(),
            Poll::Ready(_) => self.vitals.bytes_written(),
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Wire<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.ahead.is_empty() {
            let length = this.ahead.len().min(buffer.remaining());
            buffer.put_slice(this.ahead.get(..length).unwrap_or_default());
            this.ahead.advance(length);
            this.vitals.bytes_read();
            return Poll::Ready(Ok(()));
        }
        let filled = buffer.filled().len();
        ready!(Pin::new(&mut this.io).poll_read(cx, buffer))?;
        if buffer.filled().len() > filled {
            this.vitals.bytes_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.note_written(&result);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = if slices.len() > 1
            && slices.iter().map(|slice| slice.len()).sum::<usize>() <= MERGED_BYTES_MAX
        {
            self.poll_write_merged(cx, slices)
        } else {
            Pin::new(&mut self.io).poll_write_vectored(cx, slices)
        };
        self.note_written(&result);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Shutdown::Sending = self.shutdown {
            ready!(Pin::new(&mut self.io).poll_shutdown(cx))?;
            let left = self.vitals.linger_bytes();
            if left > 0 {
                self.vitals.set_lingering();
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
