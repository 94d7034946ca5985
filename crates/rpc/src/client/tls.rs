//! Which servers a client believes, and how it proves itself: certificates in PEM. Knows no connection.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::ring;
use tsumugi_http::{read_authorities, read_identity};

use crate::error::{Error, Result};

/// What a client has read of its certificates. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ClientConfig>);

/// How a client proves itself to servers that ask for it.
#[derive(Clone, Copy, Debug)]
pub struct ClientIdentity<'a> {
    /// The certificate and its chain.
    pub certificate: &'a Path,
    /// The private key, in PKCS#8, SEC1 or PKCS#1.
    pub key: &'a Path,
}

impl Tls {
    /// Reads the authorities that servers are verified by, and the client's own certificate if it has one. Blocks.
    ///
    /// # Errors
    /// [`Error::Certificate`] when a file cannot be used.
    pub fn read(authority: &Path, identity: Option<ClientIdentity<'_>>) -> Result<Tls> {
        let roots = read_authorities(authority).map_err(Error::certificate)?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
            .map_err(|error| unusable(authority, error))?
            .with_root_certificates(roots);
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some(ClientIdentity { certificate, key }) => {
                let (chain, private) =
                    read_identity(certificate, key).map_err(Error::certificate)?;
                config
                    .with_client_auth_cert(chain, private)
                    .map_err(|error| unusable(certificate, error))?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Tls(Arc::new(config)))
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0)
    }
}

fn unusable(path: &Path, reason: impl ToString) -> Error {
    Error::Certificate {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
