//! TLS for accepted connections: certificate and key from files or from a source that may change them, handshakes, HTTP/2 or HTTP/1.1 by
//! agreement. Knows no listener.
//! The rule: the key is read, used and never shown; a client gets `tls_handshake_ms` and no more.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{
        ProducesTickets, ResolvesServerCert, WebPkiClientVerifier, danger::ClientCertVerifier,
    },
};
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsAcceptor;
use tsumugi_worker::SocketStream;

use crate::version::{VERSION_1, begins_with_version_1};
use crate::{
    certificate_dates::CertificateDates,
    connection::HttpProtocol,
    error::{Error, Result},
    incoming_stream::IncomingStream,
    limits::HttpLimits,
};

/// The protocol by which an authority looks who controls a name (RFC 8737). Nothing is spoken in it.
pub const ACME_TLS_PROTOCOL: &[u8] = b"acme-tls/1";

/// Stands for the end of a certificate where there is none.
const NO_CERTIFICATE: i64 = i64::MIN;

/// Where certificates come from that are in no file of the user's. The certificate of each handshake is the one that it has at that moment.
pub trait CertificateSource: ResolvesServerCert {
    /// Looks for a newer certificate; called at SIGHUP. May wait for a disk, and for nothing else.
    fn refresh(&self);

    /// When the certificate ends, in seconds since 1970; none while there is none.
    fn expires_at(&self) -> Option<i64>;
}

/// Where certificate and key are. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct ServerTls {
    origin: CertificateOrigin,
    /// Whose certificates clients must show; none when they need not show any.
    client_authority: Option<Arc<Path>>,
    /// One for all workers, so that a session begun on one is resumed on another.
    tickets: Arc<dyn ProducesTickets>,
}

#[derive(Clone, Debug)]
enum CertificateOrigin {
    Files {
        certificate: Arc<Path>,
        key: Arc<Path>,
        /// When the certificate that was read last ends.
        expires_at: Arc<AtomicI64>,
    },
    Source(Arc<dyn CertificateSource>),
}

/// Whether the other side may be an authority that looks who controls a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Challenges {
    Refused,
    Answered,
}

/// Shakes hands with what was read at one moment.
#[derive(Clone)]
pub struct Acceptor {
    tls: TlsAcceptor,
    challenges: Challenges,
    /// What a client speaks that agrees on nothing.
    fallback: HttpProtocol,
}

/// A protocol that TLS can agree on (ALPN, RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlpnProtocol {
    /// `h2`.
    Http2,
    /// `http/1.1`.
    Http1,
}

impl AlpnProtocol {
    /// The protocol that is registered under this name, if it is served.
    pub fn from_name(name: &str) -> Option<AlpnProtocol> {
        [AlpnProtocol::Http2, AlpnProtocol::Http1]
            .into_iter()
            .find(|protocol| protocol.name() == name)
    }

    /// The registered name.
    pub fn name(self) -> &'static str {
        match self {
            AlpnProtocol::Http2 => "h2",
            AlpnProtocol::Http1 => "http/1.1",
        }
    }
}

impl ServerTls {
    /// A chain of certificates and the key of its first, both in PEM; the key in PKCS#8, SEC1 or PKCS#1. Reads neither yet.
    pub fn new(certificate: PathBuf, key: PathBuf) -> Result<ServerTls> {
        let tickets = ring::Ticketer::new().map_err(|error| unusable(&certificate, error))?;
        Ok(ServerTls {
            origin: CertificateOrigin::Files {
                certificate: certificate.into(),
                key: key.into(),
                expires_at: Arc::new(AtomicI64::new(NO_CERTIFICATE)),
            },
            client_authority: None,
            tickets,
        })
    }

    /// Whatever certificate a source has at each handshake; while it has none, handshakes are refused.
    pub fn from_source(source: Arc<dyn CertificateSource>) -> Result<ServerTls> {
        let tickets = ring::Ticketer::new().map_err(|error| Error::TlsSetup(error.to_string()))?;
        Ok(ServerTls {
            origin: CertificateOrigin::Source(source),
            client_authority: None,
            tickets,
        })
    }

    /// When the certificate ends, in seconds since 1970; none while there is none.
    pub fn expires_at(&self) -> Option<i64> {
        match &self.origin {
            CertificateOrigin::Files { expires_at, .. } => {
                let end = expires_at.load(Ordering::Relaxed);
                (end != NO_CERTIFICATE).then_some(end)
            }
            CertificateOrigin::Source(source) => source.expires_at(),
        }
    }

    /// Only clients with a certificate of these authorities (PEM) are served. Reads nothing yet.
    #[must_use]
    pub fn with_client_authority(self, authority: PathBuf) -> ServerTls {
        ServerTls {
            client_authority: Some(authority.into()),
            ..self
        }
    }

    /// Reads the files as they are now. Blocks, so it is nothing for a worker's thread.
    pub fn read(&self) -> Result<Acceptor> {
        let clients = match &self.client_authority {
            Some(path) => client_verifier(path)?,
            None => WebPkiClientVerifier::no_client_auth(),
        };
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map(|config| config.with_client_cert_verifier(clients));
        let (mut config, challenges) = match &self.origin {
            CertificateOrigin::Files {
                certificate,
                key,
                expires_at,
            } => {
                let (chain, key) = read_identity(certificate, key)?;
                let dates = chain.first().and_then(CertificateDates::of);
                let config = builder.and_then(|config| config.with_single_cert(chain, key));
                // The library's errors name what is wrong with the certificate and never quote the key.
                let config = config.map_err(|error| unusable(certificate, error))?;
                let end = dates.map_or(NO_CERTIFICATE, |dates| dates.not_after);
                expires_at.store(end, Ordering::Relaxed);
                (config, Challenges::Refused)
            }
            CertificateOrigin::Source(source) => {
                source.refresh();
                let builder = builder.map_err(|error| Error::TlsSetup(error.to_string()))?;
                let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(source) as _;
                (builder.with_cert_resolver(resolver), Challenges::Answered)
            }
        };
        config.ticketer = Arc::clone(&self.tickets);
        Ok(Acceptor::new(
            config,
            challenges,
            &[AlpnProtocol::Http2, AlpnProtocol::Http1],
        ))
    }
}

/// The chain of certificates and the key of its first that two PEM files hold. Blocks.
///
/// # Errors
/// [`Error::Certificate`], which never quotes the key.
pub fn read_identity(
    certificate: &Path,
    key: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let chain = read_chain(certificate)?;
    if begins_with_version_1(&chain) {
        return Err(unusable(certificate, VERSION_1));
    }
    Ok((chain, read_key(key)?))
}

/// The authorities whose certificates a PEM file holds. Blocks.
///
/// # Errors
/// [`Error::Certificate`].
pub fn read_authorities(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in read_chain(path)? {
        roots
            .add(certificate)
            .map_err(|error| unusable(path, error))?;
    }
    Ok(roots)
}

/// The authorities that this system trusts, or those of `SSL_CERT_FILE`. Blocks.
///
/// # Errors
/// [`Error::NoAuthorities`] where there is none that can be read.
pub fn system_authorities() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs().certs;
    let (added, _) = roots.add_parsable_certificates(found);
    match added {
        0 => Err(Error::NoAuthorities),
        _ => Ok(roots),
    }
}

fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let bytes = std::fs::read(path).map_err(|error| unusable(path, error))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(path, error))?;
    if chain.is_empty() {
        return Err(unusable(path, "it holds no PEM certificate"));
    }
    Ok(chain)
}

fn client_verifier(path: &Path) -> Result<Arc<dyn ClientCertVerifier>> {
    let roots = read_authorities(path)?;
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| unusable(path, error))
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let bytes = std::fs::read(path).map_err(|error| unusable(path, error))?;
    // What the parser says may quote the file, so it stays unsaid.
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|_| {
        unusable(
            path,
            "it holds no PEM private key in PKCS#8, SEC1 or PKCS#1",
        )
    })
}

fn unusable(path: &Path, reason: impl ToString) -> Error {
    Error::Certificate {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

impl Acceptor {
    fn new(
        mut config: ServerConfig,
        challenges: Challenges,
        protocols: &[AlpnProtocol],
    ) -> Acceptor {
        let names = protocols.iter().map(|protocol| protocol.name().into());
        config.alpn_protocols = names.collect();
        if challenges == Challenges::Answered {
            config.alpn_protocols.push(ACME_TLS_PROTOCOL.into());
        }
        Acceptor {
            tls: TlsAcceptor::from(Arc::new(config)),
            challenges,
            fallback: match protocols {
                [AlpnProtocol::Http2] => HttpProtocol::Http2,
                _ => HttpProtocol::Http1,
            },
        }
    }

    /// The same certificate, but only these protocols are agreed on, best first.
    #[must_use]
    pub fn with_protocols(&self, protocols: &[AlpnProtocol]) -> Acceptor {
        let config = ServerConfig::clone(self.tls.config());
        Acceptor::new(config, self.challenges, protocols)
    }

    /// Shakes hands. The protocol is the one that both sides know; a client that offers none speaks HTTP/1, or HTTP/2 where that is the only one.
    pub fn accept(
        &self,
        io: SocketStream,
        limits: &HttpLimits,
    ) -> LocalBoxFuture<'_, Result<(IncomingStream, HttpProtocol)>> {
        self.handshake(io, limits.tls_handshake_ms).boxed_local()
    }

    async fn handshake(
        &self,
        io: SocketStream,
        limit_ms: u64,
    ) -> Result<(IncomingStream, HttpProtocol)> {
        let accepted = tokio::time::timeout(Duration::from_millis(limit_ms), self.tls.accept(io));
        let mut stream = accepted
            .await
            .map_err(|_| Error::HandshakeTimeout { limit_ms })?
            .map_err(Error::Handshake)?;
        if stream.get_ref().1.alpn_protocol() == Some(ACME_TLS_PROTOCOL) {
            // The certificate was the answer. The authority may have gone already.
            let end = Duration::from_millis(limit_ms);
            let _ = tokio::time::timeout(end, stream.shutdown()).await;
            return Err(Error::Challenge);
        }
        let protocol = match stream.get_ref().1.alpn_protocol() {
            Some(name) if name == AlpnProtocol::Http2.name().as_bytes() => HttpProtocol::Http2,
            Some(_) => HttpProtocol::Http1,
            None => self.fallback,
        };
        Ok((IncomingStream::Tls(Box::new(stream)), protocol))
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Acceptor")
    }
}
