//! A connection's stream, in the clear or over TLS, as one type. Knows no protocol.
//! Rule: all that serves a connection is compiled for this type alone, not again for streams over TLS.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;
use tsumugi_worker::SocketStream;

/// A stream that is served.
#[derive(Debug)]
pub enum IncomingStream {
    /// In the clear.
    Plain(SocketStream),
    /// Over TLS.
    Tls(Box<TlsStream<SocketStream>>),
}

impl From<SocketStream> for IncomingStream {
    fn from(stream: SocketStream) -> IncomingStream {
        IncomingStream::Plain(stream)
    }
}

/// The same for streams of either kind.
macro_rules! either {
    ($this:expr, $stream:ident => $done:expr) => {
        match $this {
            IncomingStream::Plain($stream) => $done,
            IncomingStream::Tls($stream) => $done,
        }
    };
}

impl AsyncRead for IncomingStream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_read(cx, buffer))
    }
}

impl AsyncWrite for IncomingStream {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write(cx, bytes))
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(cx, slices))
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        either!(self, stream => stream.is_write_vectored())
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(cx))
    }
}
