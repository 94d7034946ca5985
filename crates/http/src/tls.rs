//! TLS for accepted connections: reads certificate and key, shakes hands, agrees on HTTP/2 or HTTP/1.1. Knows no listener.
//! The rule: the key is read, used and never shown; a client gets `tls_handshake_ms` and no more.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ProducesTickets, WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::version::{VERSION_1, begins_with_version_1};
use crate::{
    connection::HttpProtocol,
    error::{Error, Result},
    limits::HttpLimits,
};

/// Where certificate and key are. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct ServerTls {
    certificate: Arc<Path>,
    key: Arc<Path>,
    /// Whose certificates clients must show; none when they need not show any.
    client_authority: Option<Arc<Path>>,
    /// One for all workers, so that a session begun on one is resumed on another.
    tickets: Arc<dyn ProducesTickets>,
}

/// Shakes hands with what was read at one moment.
#[derive(Clone)]
pub struct Acceptor {
    tls: TlsAcceptor,
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
        let tickets = ring::Ticketer::new().map_err(|error| Error::Certificate {
            path: certificate.clone(),
            reason: error.to_string(),
        })?;
        Ok(ServerTls {
            certificate: certificate.into(),
            key: key.into(),
            client_authority: None,
            tickets,
        })
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
        let (chain, key) = read_identity(&self.certificate, &self.key)?;
        let clients = match &self.client_authority {
            Some(path) => client_verifier(path)?,
            None => WebPkiClientVerifier::no_client_auth(),
        };
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .and_then(|config| {
                config
                    .with_client_cert_verifier(clients)
                    .with_single_cert(chain, key)
            });
        // The library's errors name what is wrong with the certificate and never quote the key.
        let mut config = config.map_err(|error| unusable(&self.certificate, error))?;
        config.ticketer = Arc::clone(&self.tickets);
        Ok(Acceptor::new(
            config,
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
    fn new(mut config: ServerConfig, protocols: &[AlpnProtocol]) -> Acceptor {
        let names = protocols.iter().map(|protocol| protocol.name().into());
        config.alpn_protocols = names.collect();
        Acceptor {
            tls: TlsAcceptor::from(Arc::new(config)),
            fallback: match protocols {
                [AlpnProtocol::Http2] => HttpProtocol::Http2,
                _ => HttpProtocol::Http1,
            },
        }
    }

    /// The same certificate, but only these protocols are agreed on, best first.
    #[must_use]
    pub fn with_protocols(&self, protocols: &[AlpnProtocol]) -> Acceptor {
        Acceptor::new(ServerConfig::clone(self.tls.config()), protocols)
    }

    /// Shakes hands. The protocol is the one that both sides know; a client that offers none speaks HTTP/1, or HTTP/2 where that is the only one.
    pub async fn accept<I>(
        &self,
        io: I,
        limits: &HttpLimits,
    ) -> Result<(TlsStream<I>, HttpProtocol)>
    where
        I: AsyncRead + AsyncWrite + Unpin,
    {
        let limit_ms = limits.tls_handshake_ms;
        let shaken = tokio::time::timeout(Duration::from_millis(limit_ms), self.tls.accept(io));
        let stream = shaken
            .await
            .map_err(|_| Error::HandshakeTimeout { limit_ms })?
            .map_err(Error::Handshake)?;
        let protocol = match stream.get_ref().1.alpn_protocol() {
            Some(name) if name == AlpnProtocol::Http2.name().as_bytes() => HttpProtocol::Http2,
            Some(_) => HttpProtocol::Http1,
            None => self.fallback,
        };
        Ok((stream, protocol))
    }
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Acceptor")
    }
}
