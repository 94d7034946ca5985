//! A connected byte stream, TCP or UNIX, and its other end. Knows no protocol.
//! TCP streams have `TCP_NODELAY` set before a service sees them: the writer decides what is a packet.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use socket2::Socket;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Peer {
    /// A TCP client.
    Tcp(SocketAddr),
    /// A client on this machine, through a UNIX socket.
    Unix,
}

impl Peer {
    /// Its address; none on a UNIX socket.
    pub fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(address),
            Self::Unix => None,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix => formatter.write_str("unix"),
        }
    }
}

/// The same for streams of either kind.
macro_rules! either {
    ($this:expr, $stream:ident => $done:expr) => {
        match $this {
            SocketStream::Tcp($stream) => $done,
            SocketStream::Unix($stream) => $done,
        }
    };
}

/// A connected stream of either kind.
#[derive(Debug)]
pub enum SocketStream {
    /// TCP over IPv4 or IPv6.
    Tcp(TcpStream),
    /// A UNIX stream socket.
    Unix(UnixStream),
}

impl SocketStream {
    /// Registers a connected, non-blocking socket with this worker's event loop.
    pub(crate) fn adopt(socket: Socket, peer: Peer) -> io::Result<Self> {
        Ok(match peer {
            Peer::Tcp(_) => Self::from(TcpStream::from_std(socket.into())?),
            Peer::Unix => Self::Unix(UnixStream::from_std(socket.into())?),
        })
    }

    /// Takes the socket out of this worker's event loop, so that another worker can adopt it.
    pub(crate) fn release(self) -> io::Result<Socket> {
        Ok(either!(self, stream => stream.into_std()?.into()))
    }

    /// Waits until the stream is ready for `interest`.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        either!(self, stream => stream.ready(interest).await)
    }

    /// Waits until something can be written, or the peer has gone.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    /// Reads what is there. `WouldBlock` when nothing is, 0 at the end.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        either!(self, stream => stream.try_read(buffer))
    }

    /// Writes what fits. `WouldBlock` when nothing does.
    pub fn try_write(&self, buffer: &[u8]) -> io::Result<usize> {
        either!(self, stream => stream.try_write(buffer))
    }
}

impl From<TcpStream> for SocketStream {
    fn from(stream: TcpStream) -> Self {
        // Fails only when the client has already gone, which the first read reports better.
        let _ = stream.set_nodelay(true);
        Self::Tcp(stream)
    }
}

impl AsyncRead for SocketStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_read(context, buffer))
    }
}

impl AsyncWrite for SocketStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write(context, buffer))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_write_vectored(context, buffers))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => Pin::new(stream).poll_shutdown(context))
    }
}
