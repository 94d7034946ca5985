//! A connection without TLS, until its first bytes: a server that speaks TLS is named as such. Reads on as the stream itself then.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What a server of TLS begins with when it was spoken to without: a record that is an alert (RFC 8446 section 5.1). A frame of HTTP/2
/// would begin with 21 as a length of more than a million bytes, which no server begins with.
const ALERT: u8 = 21;
const ADVICE: &str = "reach it by tkrzw+tls://HOST:PORT, with the authorities that vouch for it (--tls-ca, or ca: in Ruby)";

pub(crate) struct PlainStream {
    stream: TcpStream,
    state: StreamState,
}

#[derive(PartialEq, Eq)]
enum StreamState {
    /// The server has said nothing yet.
    Silent,
    Answered,
}

impl PlainStream {
    pub(crate) fn new(stream: TcpStream) -> PlainStream {
        PlainStream {
            stream,
            state: StreamState::Silent,
        }
    }
}

impl AsyncRead for PlainStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let filled = buffer.filled().len();
        let read = ready!(Pin::new(&mut this.stream).poll_read(cx, buffer));
        if this.state == StreamState::Answered {
            return Poll::Ready(read);
        }
        this.state = StreamState::Answered;
        let explained = |text: String| Poll::Ready(Err(io::Error::other(text)));
        match (read, buffer.filled().get(filled)) {
            (Ok(()), Some(&ALERT)) => explained(format!("the server speaks TLS: {ADVICE}")),
            (Ok(()), Some(_)) => Poll::Ready(Ok(())),
            (Ok(()), None) => explained(format!(
                "the server closed it before it said anything; if it speaks TLS, {ADVICE}"
            )),
            (Err(error), _) => explained(format!(
                "the server said nothing before this: {error}; if it speaks TLS, {ADVICE}"
            )),
        }
    }
}

impl AsyncWrite for PlainStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
