//! Connections to other servers as one type, in the clear or over TLS, and HTTP/1.1 over them. Looks up no name and keeps no connection.
//! Boxed edge: TLS and HTTP of a client, with streams of either kind as one type.

use std::pin::pin;
use std::{io, net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::{byte_stream::ByteStream, connect_first::connect_first};

/// A connection to another server.
pub struct OutgoingStream(Box<dyn ByteStream + Send>);

/// HTTP/1.1 over a connection.
pub struct OutgoingHttp {
    /// Takes requests.
    pub sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes while it is polled. Ends when the sender is dropped, or the connection is lost.
    pub connection: BoxFuture<'static, hyper::Result<()>>,
}

impl OutgoingHttp {
    /// The outcome of `exchange`, which is what is done with the sender; `connection` moves its bytes meanwhile. A server may close the connection
    /// with its answer: what has come is read all the same.
    ///
    /// # Errors
    /// Of the connection, where it failed before the exchange had ended.
    pub async fn run<T>(
        connection: BoxFuture<'static, hyper::Result<()>>,
        exchange: impl Future<Output = T>,
    ) -> hyper::Result<T> {
        let mut exchange = pin!(exchange);
        tokio::select! {
            biased;
            outcome = &mut exchange => return Ok(outcome),
            ended = connection => ended?,
        }
        Ok(exchange.await)
    }
}

impl OutgoingStream {
    /// A connection to the first of these addresses that answers, with TLS over it where the server has a name for that. `limit` is for all addresses
    /// together, each of which gets its share; the handshake of TLS has no limit of its own, so callers have one for the whole.
    ///
    /// # Errors
    /// As [`connect_first`]; of the handshake, with `TLS: ` before the text. A certificate that is not taken is `InvalidData`.
    pub fn open<'a>(
        addresses: &'a [SocketAddr],
        limit: Duration,
        tls: Option<(&'a TlsConnector, ServerName<'static>)>,
    ) -> BoxFuture<'a, io::Result<OutgoingStream>> {
        async move {
            let stream = connect_first(addresses, limit).await?;
            let _ = stream.set_nodelay(true); // slower without it, but it works
            let Some((connector, name)) = tls else {
                return Ok(OutgoingStream(Box::new(stream)));
            };
            let encrypted = connector.connect(name, stream).await;
            let encrypted =
                encrypted.map_err(|error| io::Error::new(error.kind(), format!("TLS: {error}")))?;
            Ok(OutgoingStream(Box::new(encrypted)))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{ClientConfig, RootCertStore, crypto::ring};
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    /// What comes of a connection to a server that says this at once, over TLS where it has a name for that.
    async fn open(says: &[u8], name: Option<&'static str>) -> io::Result<OutgoingStream> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let tls = name.map(|name| (&connector, ServerName::try_from(name).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addresses = [listener.local_addr()?];
        let serve = async {
            let (mut stream, _) = listener.accept().await?;
            stream.write_all(says).await
        };
        let limit = Duration::from_secs(5);
        let (opened, served) = tokio::join!(OutgoingStream::open(&addresses, limit, tls), serve);
        served?;
        opened
    }

    #[tokio::test(flavor = "current_thread")]
    async fn server_without_tls_is_connected_to_only_in_the_clear() {
        let plain = b"220 this is no TLS\r\n";
        open(plain, None).await.unwrap();
        let error = open(plain, Some("localhost")).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().starts_with("TLS: "), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn name_without_addresses_is_not_found() {
        let opened = OutgoingStream::open(&[], Duration::from_secs(5), None).await;
        assert_eq!(opened.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
