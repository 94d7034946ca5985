//! One conversation with a mail server: TCP, TLS, EHLO, AUTH, and one mail after the other. The commands are lettre's. Not a pool.
//! Rule: what a server sends without being asked anew is bounded, whatever lettre does with it; a password is sent over TLS or to this machine only.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, AsyncTokioStream, Certificate, CertificateStore, TlsParameters,
};
use lettre::transport::smtp::extension::ClientId;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tsumugi_http::connect_first;
use tsumugi_worker::WorkerHandle;

use crate::address::{Encryption, SmtpUrl};
use crate::error::Error;
use crate::limits::REPLY_BYTES_MAX;

/// Opens connections to one server.
pub(crate) struct SmtpConnector {
    worker: WorkerHandle,
    url: SmtpUrl,
    certificates: Option<PathBuf>,
    connect_limit: Duration,
    tls: OnceCell<Arc<ClientConfig>>,
    start_tls: OnceCell<TlsParameters>,
}

/// A connection whose last mail was taken.
pub(crate) struct SmtpConnection(AsyncSmtpConnection);

impl SmtpConnector {
    /// All addresses of the server together have `connect_limit` until one of them answers.
    pub fn new(
        worker: &WorkerHandle,
        url: SmtpUrl,
        certificates: Option<PathBuf>,
        connect_limit: Duration,
    ) -> Self {
        SmtpConnector {
            worker: worker.clone(),
            url,
            certificates,
            connect_limit,
            tls: OnceCell::new(),
            start_tls: OnceCell::new(),
        }
    }

    pub fn place(&self) -> String {
        self.url.place()
    }

    fn failed(&self, reason: impl fmt::Display) -> Error {
        Error::Connect {
            place: self.place(),
            reason: reason.to_string(),
        }
    }

    /// A connection that takes mails.
    pub async fn open(&self) -> Result<SmtpConnection, Error> {
        let of = |error| Error::of(&self.place(), error);
        let stream = self.tcp().await?;
        let peer = stream.peer_addr().map_err(|error| self.failed(error))?;
        let own = stream.local_addr().map_err(|error| self.failed(error))?;
        let name = match own.ip() {
            IpAddr::V4(address) => ClientId::Ipv4(address),
            IpAddr::V6(address) => ClientId::Ipv6(address),
        };
        let metered = MeteredStream {
            stream,
            left: REPLY_BYTES_MAX,
            cleartext: (self.url.encryption == Encryption::StartTls).then(CleartextReply::default),
        };
        let stream: Box<dyn AsyncTokioStream> = match self.url.encryption {
            Encryption::Tls => Box::new(EncryptedStream {
                stream: self.shake_hands(metered).await?,
                peer,
            }),
            Encryption::StartTls | Encryption::None => Box::new(metered),
        };
        let connected = AsyncSmtpConnection::connect_with_transport(stream, &name).await;
        let mut connection = connected.map_err(of)?;
        if self.url.encryption == Encryption::StartTls {
            let parameters = self.start_tls.get_or_try_init(|| self.parameters()).await?;
            let encrypted = connection.starttls(parameters.clone(), &name).await;
            encrypted.map_err(of)?;
        }
        if let Some((user, password)) = &self.url.credentials {
            let credentials = Credentials::new(user.clone(), password.clone());
            let known = [Mechanism::Plain, Mechanism::Login];
            connection.auth(&known, &credentials).await.map_err(of)?;
        }
        Ok(SmtpConnection(connection))
    }

    /// The first address that answers.
    async fn tcp(&self) -> Result<TcpStream, Error> {
        let (host, port) = (self.url.host.clone(), self.url.port);
        let look_up = self
            .worker
            .offload(move || std::net::ToSocketAddrs::to_socket_addrs(&(host.as_str(), port)));
        let found = look_up.await.map_err(|error| self.failed(error))?;
        let found = found.map_err(|error| self.failed(error))?;
        let connected = connect_first(found.as_slice(), self.connect_limit).await;
        connected.map_err(|error| self.failed(error))
    }

    async fn shake_hands(&self, stream: MeteredStream) -> Result<TlsStream<MeteredStream>, Error> {
        let config = self.tls.get_or_try_init(|| async {
            let read =
                tsumugi_client::tls_configuration(&self.worker, self.certificates.clone(), &[]);
            read.await.map_err(|reason| self.failed(reason))
        });
        let config = Arc::clone(config.await?);
        let name = ServerName::try_from(self.url.host.clone());
        let name = name.map_err(|_| self.failed("no certificate can be for this host name"))?;
        let shaken = TlsConnector::from(config).connect(name, stream).await;
        shaken.map_err(|error| self.failed(format!("TLS: {error}")))
    }

    async fn parameters(&self) -> Result<TlsParameters, Error> {
        let (host, file) = (self.url.host.clone(), self.certificates.clone());
        let read = self
            .worker
            .offload(move || -> Result<TlsParameters, String> {
                let mut builder = TlsParameters::builder(host);
                if let Some(file) = file {
                    let pem = std::fs::read(&file).map_err(|error| {
                        format!("the certificates of {}: {error}", file.display())
                    })?;
                    let certificates =
                        Certificate::from_pem(&pem).map_err(|error| error.to_string())?;
                    builder = builder
                        .certificate_store(CertificateStore::None)
                        .add_root_certificate(certificates);
                }
                builder.build_rustls().map_err(|error| error.to_string())
            });
        let read = read.await.map_err(|error| self.failed(error))?;
        read.map_err(|reason| self.failed(reason))
    }
}

impl SmtpConnection {
    /// Whether the server still listens.
    pub async fn is_alive(&mut self) -> bool {
        self.0.test_connected().await
    }

    /// Sends one mail; the server's answer. After an error the connection is of no use.
    pub async fn send(
        &mut self,
        place: &str,
        envelope: &Envelope,
        bytes: &[u8],
    ) -> Result<String, Error> {
        let response = self.0.send(envelope, bytes).await;
        let response = response.map_err(|error| Error::of(place, error))?;
        Ok(response.first_line().unwrap_or_default().to_owned())
    }
}

/// A socket that ends when its server has sent more than an answer since it was last written to.
#[derive(Debug)]
struct MeteredStream {
    stream: TcpStream,
    left: usize,
    /// Until TLS begins that STARTTLS asks for.
    cleartext: Option<CleartextReply>,
}

/// What a server has answered in the clear since it was last written to. Whoever is between could add answers to it that would be taken for those
/// to what is asked over TLS.
#[derive(Debug, Default)]
struct CleartextReply(Vec<u8>);

impl CleartextReply {
    /// Adds what came; an error when there is anything behind the reply.
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        let mut rest = self.0.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end + 1);
            // `250-` goes on, `250 ` and `250` are the last line.
            if line.get(3) == Some(&b'-') {
                rest = behind;
                continue;
            }
            return match behind {
                [] => Ok(()),
                _ => Err(io::Error::other(
                    "the server, or a party in between, sends more than one answer before TLS has begun",
                )),
            };
        }
        Ok(())
    }
}

/// The first byte of TLS, which is that of no command.
const TLS_HANDSHAKE: u8 = 22;

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        if let (Some(cleartext), Some(came)) = (&mut self.cleartext, buffer.filled().get(before..))
        {
            cleartext.add(came)?;
        }
        match self.left.checked_sub(read) {
            Some(left) => {
                self.left = left;
                Poll::Ready(Ok(()))
            }
            None => {
                let message = format!(
                    "the server sends more than REPLY_BYTES_MAX ({REPLY_BYTES_MAX}) at once"
                );
                Poll::Ready(Err(io::Error::other(message)))
            }
        }
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.left = REPLY_BYTES_MAX;
        if bytes.first() == Some(&TLS_HANDSHAKE) {
            self.cleartext = None;
        }
        if let Some(cleartext) = &mut self.cleartext {
            cleartext.0.clear();
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl AsyncTokioStream for MeteredStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

/// TLS from the first byte.
#[derive(Debug)]
struct EncryptedStream {
    stream: TlsStream<MeteredStream>,
    peer: SocketAddr,
}

impl AsyncRead for EncryptedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for EncryptedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl AsyncTokioStream for EncryptedStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_behind_one_reply_is_refused_before_tls() {
        for (pieces, is_one) in [
            (&["220 go\r\n"][..], true),
            (&["250-a\r\n", "250-", "b\r\n250 c\r\n"], true),
            (&["250\r\n"], true),
            (&["220 g"], true),
            (&["220 go\r\n250 AUTH PLAIN\r\n"], false),
            (&["220 go\r\n", "2"], false),
            (&["250-a\r\n250 b\r\n220 go\r\n"], false),
        ] {
            let mut reply = CleartextReply::default();
            let mut added = pieces.iter().map(|piece| reply.add(piece.as_bytes()));
            assert_eq!(added.all(|added| added.is_ok()), is_one, "{pieces:?}");
        }
    }
}
