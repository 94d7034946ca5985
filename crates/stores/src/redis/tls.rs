//! Which servers of Redis are believed, and how the application proves itself to them. Reads certificates; opens no connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::ring;
use tsumugi_http::{read_authorities, read_identity, system_authorities};

use crate::error::{Error, Result};

/// The files, which a store names or the server's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CertificateFiles {
    /// Authorities; those of the system without one.
    pub(super) authority: Option<PathBuf>,
    /// The application's certificate and its key.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
}

/// What connections are made with. Blocks.
pub(super) fn client_config(files: &CertificateFiles) -> Result<Arc<ClientConfig>> {
    let roots = match &files.authority {
        Some(path) => read_authorities(path).map_err(|error| Error::address(error.to_string()))?,
        None => system_authorities()
            .map_err(|error| Error::address(format!("{error}, or name a file by ca")))?,
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::address(error.to_string()))?
        .with_root_certificates(roots);
    let config = match &files.identity {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let (chain, key) = read_identity(certificate, key)
                .map_err(|error| Error::address(error.to_string()))?;
            config
                .with_client_auth_cert(chain, key)
                .map_err(|error| unusable(certificate, &error))?
        }
    };
    Ok(Arc::new(config))
}

fn unusable(path: &Path, error: &rustls::Error) -> Error {
    Error::address(format!("cannot use {}: {error}", path.display()))
}
