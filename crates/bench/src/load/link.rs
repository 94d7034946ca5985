//! Connections that hyper speaks for: HTTP/2, and HTTP/1.1 over TLS. One is shared by its streams, and opened again when it broke.
//! Rule: certificates are not verified. A load keeps no secret, and the servers it is for are mostly those of its user.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::spawn_local;
use tokio_rustls::TlsConnector;

use super::{LoadProtocol, LoadTransport};
use crate::limits::{HTTP2_WINDOW_BYTES, RESPONSE_BYTES_MAX};

/// Where links lead, and how. Cheap to clone.
#[derive(Clone)]
pub struct LoadTarget {
    address: SocketAddr,
    protocol: LoadProtocol,
    tls: Option<TlsConnector>,
    uri: Uri,
}

impl LoadTarget {
    /// For `path` at `address`.
    pub fn new(address: SocketAddr, path: &str, transport: LoadTransport) -> Result<LoadTarget> {
        let scheme = if transport.tls { "https" } else { "http" };
        let uri: Uri = format!("{scheme}://{address}{path}")
            .parse()
            .with_context(|| format!("{path} is no path of a URL"))?;
        let tls = transport
            .tls
            .then(|| configuration(transport.protocol))
            .transpose()?;
        Ok(LoadTarget {
            address,
            protocol: transport.protocol,
            tls: tls.map(|config| TlsConnector::from(Arc::new(config))),
            uri,
        })
    }

    /// Another path there.
    pub fn at(&self, path: &str) -> Result<LoadTarget> {
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = Some(path.parse().context("this is no path of a URL")?);
        Ok(LoadTarget {
            uri: Uri::from_parts(parts)?,
            ..self.clone()
        })
    }

    async fn open(&self) -> Result<Sender> {
        let stream = TcpStream::connect(self.address)
            .await
            .with_context(|| format!("cannot connect to {}", self.address))?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => self.handshake(stream).await,
            Some(tls) => {
                let name = ServerName::from(self.address.ip());
                let stream = tls.connect(name, stream).await.context("TLS")?;
                self.handshake(stream).await
            }
        }
    }

    async fn handshake<S>(&self, stream: S) -> Result<Sender>
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let io = TokioIo::new(stream);
        Ok(match self.protocol {
            LoadProtocol::Http1 => {
                let (sender, connection) = http1::handshake(io).await?;
                // It ends with its sender; what fails is reported to the request that waits.
                spawn_local(async move { drop(connection.await) });
                Sender::Http1(sender)
            }
            LoadProtocol::Http2 { .. } => {
                let (sender, connection) = http2::Builder::new(Local)
                    .initial_stream_window_size(HTTP2_WINDOW_BYTES)
                    .initial_connection_window_size(HTTP2_WINDOW_BYTES)
                    .handshake(io)
                    .await?;
                spawn_local(async move { drop(connection.await) });
                Sender::Http2(sender)
            }
        })
    }
}

/// Starts hyper's tasks on the thread of the load.
#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        spawn_local(async move { drop(future.await) });
    }
}

type Body = Empty<Bytes>;

enum Sender {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

impl Sender {
    fn is_closed(&self) -> bool {
        match self {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    async fn send(&mut self, request: Request<Body>) -> hyper::Result<Response<Incoming>> {
        match self {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

/// A connection, and the next when it broke.
pub struct LoadLink {
    target: LoadTarget,
    sender: RefCell<Option<Sender>>,
    /// Held by the stream that opens the next connection, so that streams that lost theirs share one.
    opening: Mutex<()>,
}

impl LoadLink {
    /// Connects.
    pub async fn open(target: LoadTarget) -> Result<LoadLink> {
        let sender = target.open().await?;
        Ok(LoadLink {
            target,
            sender: RefCell::new(Some(sender)),
            opening: Mutex::new(()),
        })
    }

    /// Asks, and waits for the whole answer: its status and body. Who does not wait for it has left.
    pub async fn fetch(&self) -> Result<(u16, Bytes)> {
        self.fetch_from(&self.target).await
    }

    /// The same for another path of the target's.
    pub async fn fetch_from(&self, target: &LoadTarget) -> Result<(u16, Bytes)> {
        let mut sender = self.sender().await?;
        let request = Request::get(target.uri.clone());
        let request = match sender {
            Sender::Http1(_) => request.header(http::header::HOST, self.target.address.to_string()),
            Sender::Http2(_) => request,
        };
        let answer = sender.send(request.body(Body::new())?).await?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), RESPONSE_BYTES_MAX);
        let body = body.collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("the answer ended early: {error}"))?;
        self.put_back(sender);
        Ok((status, body.to_bytes()))
    }

    /// Of HTTP/1.1 the only one, of HTTP/2 one more.
    async fn sender(&self) -> Result<Sender> {
        if let Some(sender) = self.take() {
            return Ok(sender);
        }
        let _opening = self.opening.lock().await;
        // Another stream may have opened it meanwhile.
        if let Some(sender) = self.take() {
            return Ok(sender);
        }
        let sender = self.target.open().await?;
        let again = match &sender {
            Sender::Http1(_) => None,
            Sender::Http2(sender) => Some(Sender::Http2(sender.clone())),
        };
        *self.sender.borrow_mut() = again;
        Ok(sender)
    }

    fn take(&self) -> Option<Sender> {
        let mut kept = self.sender.borrow_mut();
        if kept.as_ref().is_none_or(Sender::is_closed) {
            *kept = None;
            return None;
        }
        match &*kept {
            Some(Sender::Http2(sender)) => Some(Sender::Http2(sender.clone())),
            _ => kept.take(),
        }
    }

    fn put_back(&self, sender: Sender) {
        if matches!(sender, Sender::Http1(_)) {
            *self.sender.borrow_mut() = Some(sender);
        }
    }
}

/// TLS that offers this protocol.
pub fn configuration(protocol: LoadProtocol) -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(AnyCertificate(Arc::clone(&provider)));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![match protocol {
        LoadProtocol::Http1 => b"http/1.1".to_vec(),
        LoadProtocol::Http2 { .. } => b"h2".to_vec(),
    }];
    Ok(config)
}

/// Takes every certificate, as long as the server has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
