//! Connections to other servers as one type, in the clear or over TLS, and HTTP/1.1 over them. Looks up no name and keeps no connection.
//! Rule: what HTTP and TLS of a client are made of is generated here and once, not in each crate that calls other servers.

use std::io;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// A connection to another server.
pub struct OutgoingStream(Box<dyn Duplex>);

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<I: AsyncRead + AsyncWrite + Send + Unpin> Duplex for I {}

/// HTTP/1.1 over a connection.
pub struct OutgoingHttp {
    /// Takes requests.
    pub sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes while it is polled. Ends when the sender is dropped, or the connection is lost.
    pub connection: BoxFuture<'static, hyper::Result<()>>,
}

impl From<TcpStream> for OutgoingStream {
    fn from(stream: TcpStream) -> OutgoingStream {
        OutgoingStream(Box::new(stream))
    }
}

impl OutgoingStream {
    /// TLS over a connection, with the server of this name.
    ///
    /// # Errors
    /// Of the handshake.
    pub fn encrypt<'c>(
        connector: &'c TlsConnector,
        name: ServerName<'static>,
        stream: TcpStream,
    ) -> BoxFuture<'c, io::Result<OutgoingStream>> {
        async move {
            let stream = connector.connect(name, stream).await?;
            Ok(OutgoingStream(Box::new(stream)))
        }
        .boxed()
    }

    /// HTTP/1.1 over it, where heads of answers have at most so many bytes, or as many as hyper takes.
    ///
    /// # Errors
    /// Of hyper.
    pub fn http1(
        self,
        header_bytes_max: Option<usize>,
    ) -> BoxFuture<'static, hyper::Result<OutgoingHttp>> {
        let mut builder = http1::Builder::new();
        if let Some(bytes_max) = header_bytes_max {
            builder.max_buf_size(bytes_max).max_header_size(bytes_max);
        }
        async move {
            let (sender, connection) = builder.handshake(TokioIo::new(self.0)).await?;
            let connection = connection.boxed();
            Ok(OutgoingHttp { sender, connection })
        }
        .boxed()
    }
}

impl std::fmt::Debug for OutgoingStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("OutgoingStream")
    }
}

impl std::fmt::Debug for OutgoingHttp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("OutgoingHttp")
    }
}
