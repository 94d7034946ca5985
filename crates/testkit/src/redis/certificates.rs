//! Certificates of a throwaway server of Redis: an authority, the server's for 127.0.0.1 and `localhost`, and a client's. Not for any other use.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

/// Files in PEM.
#[derive(Clone, Debug)]
pub struct RedisCertificates {
    /// The authority that signed both others.
    pub authority: PathBuf,
    /// What the server shows.
    pub server: PathBuf,
    /// The private key of the server's certificate.
    pub server_key: PathBuf,
    /// A client's.
    pub client: PathBuf,
    /// The private key of the client's certificate.
    pub client_key: PathBuf,
}

impl RedisCertificates {
    /// Makes them in a directory.
    pub(crate) fn make(folder: &Path) -> RedisCertificates {
        let mut parameters = CertificateParams::default();
        parameters
            .distinguished_name
            .push(DnType::CommonName, "authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("ring makes such keys");
        let authority = parameters.self_signed(&key).expect("the parameters fit");
        let authority = authority.pem();
        let issuer = Issuer::new(parameters, key);
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text)
                .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
            path
        };
        let (server, server_key) = signed(&["localhost", "127.0.0.1"], "server", &issuer);
        let (client, client_key) = signed(&[], "client", &issuer);
        RedisCertificates {
            authority: write("authority.crt", &authority),
            server: write("server.crt", &server),
            server_key: write("server.key", &server_key),
            client: write("client.crt", &client),
            client_key: write("client.key", &client_key),
        }
    }
}

/// A certificate and its key.
fn signed(names: &[&str], subject: &str, by: &Issuer<'static, KeyPair>) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).expect("the names fit");
    parameters
        .distinguished_name
        .push(DnType::CommonName, subject);
    let key = KeyPair::generate().expect("ring makes such keys");
    let certificate = parameters.signed_by(&key, by).expect("the parameters fit");
    (certificate.pem(), key.serialize_pem())
}
