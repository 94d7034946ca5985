//! TLS on the application's port: versions, a certificate that is replaced, keys that cannot be used.
//! Certificates are made by each test for itself; none is kept in the repository.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::rig::{Answer, PATIENCE, folder, request, serve, until};

/// Makes a certificate for localhost in `folder`; answers it in PEM.
pub fn certify(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    made.cert.pem()
}

const TLS: [&str; 4] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

pub fn tls(
    address: &str,
    certificate: &str,
    protocols: &[&str],
) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream)?;
    }
    Ok(StreamOwned::new(connection, stream))
}

#[test]
fn tls_speaks_what_the_client_asks_for_and_reloads_its_certificate() {
    let folder = folder(&[("app.rb", b"get('/') { \"#{request.version}\" }")]);
    let first = certify(folder.path());
    let socket = folder.path().join("app.sock");
    let unix = format!("unix:{}", socket.display());
    let options = [&["--listen", "127.0.0.1:0", "--listen", &unix], &TLS[..]].concat();
    let mut served = serve(folder, &options);
    let address = served.word_after("listening on https://");
    let version = |certificate: &str, protocols: &[&str]| {
        let mut stream = tls(&address, certificate, protocols).unwrap();
        stream
            .write_all(request("GET", "/", "").as_bytes())
            .unwrap();
        Answer::read(stream).text()
    };
    assert_eq!(version(&first, &["http/1.1"]), "1.1");
    assert_eq!(version(&first, &[]), "1.1");
    let mut second_version = tls(&address, &first, &["h2", "http/1.1"]).unwrap();
    assert_eq!(second_version.conn.alpn_protocol(), Some(&b"h2"[..]));
    second_version
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let mut frame = [0; 9];
    second_version.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "no SETTINGS but {frame:?}");

    // A UNIX socket stays plain.
    let mut plain = UnixStream::connect(&socket).unwrap();
    plain.write_all(request("GET", "/", "").as_bytes()).unwrap();
    assert_eq!(Answer::read(plain).text(), "1.1");
    // A client without TLS gets nothing, and no other notices.
    let mut stranger = TcpStream::connect(&address).unwrap();
    stranger
        .write_all(request("GET", "/", "").as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"));

    let second = certify(served.folder.path());
    served.signal("-HUP");
    until("the new certificate", || {
        tls(&address, &second, &[]).is_ok()
    });
    assert!(tls(&address, &first, &[]).is_err());
    fs::write(served.path("key.pem"), "broken").unwrap();
    served.signal("-HUP");
    served.word_after("not reloaded");
    assert_eq!(version(&second, &[]), "1.1");
}

#[test]
fn unusable_key_is_reported_without_showing_it() {
    let folder = folder(&[
        ("app.rb", b"get('/') { 'x' }"),
        ("key.pem", b"-----BEGIN PRIVATE KEY-----\nS3CR3T\n"),
    ]);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
    let options = [&["--listen", "127.0.0.1:0"], &TLS[..]].concat();
    let mut served = serve(folder, &options);
    let mut text = String::new();
    served.log.read_to_string(&mut text).unwrap();
    assert!(
        text.contains("cannot use key.pem") && !text.contains("S3CR3T"),
        "{text}"
    );
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
}
