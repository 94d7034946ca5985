//! New connections: names to addresses, TCP, TLS, HTTP. Not their reuse.
//! Looking up names and reading certificates block, so they happen off the worker.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tsumugi_http::{OutgoingHttp, OutgoingStream, system_authorities};
use tsumugi_worker::WorkerHandle;

use super::target::{Scheme, TargetUrl};
use super::{Error, Reach, Sender};
use crate::limits::CallLimits;
use crate::public_address::is_public;

/// Opens connections.
pub(crate) struct HttpConnector {
    worker: WorkerHandle,
    connect_ms_max: u64,
    addresses_max: usize,
    header_bytes_max: usize,
    certificates: Option<PathBuf>,
    tls: OnceCell<Arc<ClientConfig>>,
    internet: Internet,
}

/// What names mean, and which addresses are public.
#[derive(Clone, Copy)]
pub(crate) struct Internet {
    pub look_up: fn(&str, u16) -> io::Result<Vec<SocketAddr>>,
    pub is_public: fn(IpAddr) -> bool,
}

impl Default for Internet {
    fn default() -> Internet {
        Internet {
            look_up: |host, port| Ok((host, port).to_socket_addrs()?.collect()),
            is_public,
        }
    }
}

impl HttpConnector {
    pub fn new(
        worker: &WorkerHandle,
        limits: &CallLimits,
        certificates: Option<PathBuf>,
        internet: Internet,
    ) -> HttpConnector {
        HttpConnector {
            worker: worker.clone(),
            connect_ms_max: limits.connect_ms_max,
            addresses_max: limits.addresses_max,
            header_bytes_max: limits.header_bytes_max,
            certificates,
            tls: OnceCell::new(),
            internet,
        }
    }

    /// A connection that is ready for a request.
    pub async fn open(&self, target: &TargetUrl, reach: Reach) -> Result<Sender, Error> {
        let ms = self.connect_ms_max;
        match timeout(Duration::from_millis(ms), self.connect(target, reach)).await {
            Ok(result) => result,
            Err(_) => Err(Error::ConnectTimeout {
                place: target.place(),
                ms,
            }),
        }
    }

    async fn connect(&self, target: &TargetUrl, reach: Reach) -> Result<Sender, Error> {
        let failed = |reason: String| Error::Connect {
            place: target.place(),
            reason,
        };
        let addresses = self.addresses(target).await.map_err(failed)?;
        // These are the addresses that are connected to: the name is not looked up again.
        let is_public = |address: &SocketAddr| (self.internet.is_public)(address.ip());
        if reach == Reach::PublicOnly && !addresses.iter().all(is_public) {
            return Err(Error::NotPublic {
                place: target.place(),
            });
        }
        let connector;
        let tls = match target.scheme {
            Scheme::Http => None,
            Scheme::Https => {
                let config = self.tls.get_or_try_init(|| self.configuration());
                connector = TlsConnector::from(Arc::clone(config.await.map_err(failed)?));
                let name = ServerName::try_from(target.origin().host.clone())
                    .map_err(|_| failed("no certificate can be for this host name".to_owned()))?;
                Some((&connector, name))
            }
        };
        let limit = Duration::from_millis(self.connect_ms_max);
        let stream = OutgoingStream::open(&addresses, limit, tls).await;
        let stream = stream.map_err(|error| failed(error.to_string()))?;
        self.handshake(stream, target).await
    }

    async fn addresses(&self, target: &TargetUrl) -> Result<Vec<SocketAddr>, String> {
        let (host, port, max) = (
            target.origin().host.clone(),
            target.origin().port,
            self.addresses_max,
        );
        if let Ok(address) = host.parse() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let look_up = self.internet.look_up;
        let look_up = move || {
            look_up(&host, port).map(|mut found| {
                found.truncate(max);
                found
            })
        };
        let found = self.worker.offload(look_up).await;
        let found = found.map_err(|error| error.to_string())?;
        match found {
            Ok(addresses) if addresses.is_empty() => Err("the name has no address".to_owned()),
            Ok(addresses) => Ok(addresses),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn handshake(&self, stream: OutgoingStream, target: &TargetUrl) -> Result<Sender, Error> {
        let begun = stream.http1(Some(self.header_bytes_max)).await;
        let OutgoingHttp { sender, connection } =
            begun.map_err(|error| Error::of(target.place(), error))?;
        // What fails is reported to the request that waits.
        let ended = async move { drop(connection.await) };
        drop(self.worker.spawn_boxed(Box::pin(ended)));
        Ok(sender)
    }

    async fn configuration(&self) -> Result<Arc<ClientConfig>, String> {
        let protocols = [b"http/1.1".as_slice()];
        tls_configuration(&self.worker, self.certificates.clone(), &protocols).await
    }
}

/// How TLS is spoken with servers that have certificates of this file, else of those of `SSL_CERT_FILE`, else of the system's.
///
/// # Errors
/// What is wrong with the certificates.
pub fn tls_configuration<'t>(
    worker: &'t WorkerHandle,
    certificates: Option<PathBuf>,
    protocols: &'t [&'t [u8]],
) -> LocalBoxFuture<'t, Result<Arc<ClientConfig>, String>> {
    configure(worker, certificates, protocols).boxed_local()
}

async fn configure(
    worker: &WorkerHandle,
    certificates: Option<PathBuf>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, String> {
    let loaded = worker.offload(move || load(certificates)).await;
    let roots = loaded.map_err(|error| error.to_string())??;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// The certificates to trust. Blocks.
fn load(file: Option<PathBuf>) -> Result<RootCertStore, String> {
    let Some(path) = file else {
        return system_authorities().map_err(|error| error.to_string());
    };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect)
        .map_err(|error| format!("the certificates of {}: {error}", path.display()))?;
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates) {
        (0, _) => Err(format!("{} holds no certificate to trust", path.display())),
        _ => Ok(roots),
    }
}
