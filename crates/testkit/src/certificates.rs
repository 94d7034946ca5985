//! The certificate of a test server on loopback, made anew for each, and the authority that signed it. Not for any other use.

use std::path::{Path, PathBuf};

use rcgen::{ExtendedKeyUsagePurpose, PKCS_ECDSA_P256_SHA256};

use crate::postgres::certificates::{Dates, authority, signed};

/// Files in PEM.
#[derive(Clone, Debug)]
pub struct ServerCertificate {
    /// The authority that signed the server's.
    pub authority: PathBuf,
    /// What the server shows, for `localhost`, `127.0.0.1` and `::1`.
    pub server: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Makes one in a directory.
#[must_use]
pub fn server_certificate(directory: &Path) -> ServerCertificate {
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    };
    let (issuer, authority_pem) = authority("authority", &PKCS_ECDSA_P256_SHA256, Dates::Now);
    let (server, key) = signed(
        &["localhost", "127.0.0.1", "::1"],
        "server",
        ExtendedKeyUsagePurpose::ServerAuth,
        &issuer,
    );
    ServerCertificate {
        authority: write("authority.crt", &authority_pem),
        server: write("server.crt", &server),
        key: write("server.key", &key),
    }
}
