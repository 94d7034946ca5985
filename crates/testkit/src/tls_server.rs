//! A server behind TLS on loopback, for tests of what calls one. Checks nothing of what it is sent.
//! Rule: it serves one connection after the other, until the process ends.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection of a client of [`tls_server`], whose handshake is done with the first bytes.
pub type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// Serves each connection by `serve`, with the certificates and the key of these files of PEM; its address.
///
/// # Panics
/// When the files cannot be read or are of no use together.
pub fn tls_server(
    certificates: &Path,
    key: &Path,
    serve: impl Fn(TlsStream) + Send + 'static,
) -> SocketAddr {
    let chain = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .unwrap_or_else(|error| panic!("no certificates in {}: {error}", certificates.display()));
    let key = PrivateKeyDer::from_pem_file(key)
        .unwrap_or_else(|error| panic!("no private key in {}: {error}", key.display()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let config = Arc::new(config.expect("a certificate and its key"));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port of loopback");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a configuration");
            serve(StreamOwned::new(connection, stream));
        }
    });
    address
}

/// The same that gives this answer to the first bytes of each client, whatever they are.
///
/// # Panics
/// As [`tls_server`].
pub fn tls_server_that_answers(
    certificates: &Path,
    key: &Path,
    answer: impl Into<Vec<u8>>,
) -> SocketAddr {
    let answer = answer.into();
    tls_server(certificates, key, move |mut stream| {
        // A client that does not trust the certificate leaves before.
        if stream.read(&mut [0; 4_096]).is_ok_and(|read| read > 0) {
            let _ = stream.write_all(&answer);
            let _ = stream.flush();
        }
    })
}
