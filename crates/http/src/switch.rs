//! A connection that leaves HTTP (RFC 9110 section 7.8): what its bytes are given to, and what was read of them already.
//! Knows no other protocol. Rule: the receiver of the bytes has the connection to itself, in the task and the place that it had before.

use std::{
    fmt,
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{byte_stream::ByteStream, byte_sum::WorkerSums, traffic::Traffic};

/// What goes on with a connection once the response with status 101 is sent. Dropped unused when the client goes before.
pub struct Switch(Box<dyn FnOnce(Upgraded) -> UpgradeFuture>);

type UpgradeFuture = Pin<Box<dyn Future<Output = ()>>>;

impl Switch {
    /// The connection is closed when the future ends.
    pub fn new<F: Future<Output = ()> + 'static>(
        converse: impl FnOnce(Upgraded) -> F + 'static,
    ) -> Switch {
        Switch(Box::new(|upgraded| Box::pin(converse(upgraded))))
    }

    /// Goes on with a connection, to its end.
    pub async fn run(self, upgraded: Upgraded) {
        (self.0)(upgraded).await;
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Switch")
    }
}

/// The bytes of a connection that has left HTTP.
pub struct Upgraded {
    io: Box<dyn ByteStream>,
    /// Bytes that came with the request.
    ahead: Bytes,
    traffic: Rc<Traffic>,
}

impl Upgraded {
    /// A connection of which `ahead` was read already.
    pub fn new(io: impl AsyncRead + AsyncWrite + Unpin + 'static, ahead: Bytes) -> Upgraded {
        Upgraded {
            io: Box::new(io),
            ahead,
            traffic: Traffic::uncounted(),
        }
    }

    /// The same; what is in memory of its messages counts for its worker.
    pub(crate) fn counted(self, sums: &WorkerSums) -> Upgraded {
        Upgraded {
            traffic: Traffic::new(&sums.messages, &sums.kept),
            ..self
        }
    }

    pub(crate) fn traffic(&self) -> Rc<Traffic> {
        Rc::clone(&self.traffic)
    }
}

impl fmt::Debug for Upgraded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Upgraded")
            .field("traffic", &self.traffic)
            .finish_non_exhaustive()
    }
}

impl AsyncRead for Upgraded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let length = self.ahead.len().min(buffer.remaining());
        match self.ahead.get(..length) {
            Some(ahead) if !ahead.is_empty() => {
                buffer.put_slice(ahead);
                self.ahead.advance(length);
            }
            _ => ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?,
        }
        let came = self.traffic.came(buffer.filled().len() - before);
        Poll::Ready(came.map_err(io::Error::other))
    }
}

impl AsyncWrite for Upgraded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, bytes))?;
        self.traffic.went(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, slices))?;
        self.traffic.went(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
