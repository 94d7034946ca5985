//! Direct TLS, which needs PostgreSQL 17 and so a server of ours: what is offered, and what is refused.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tsumugi_pg::{Error, Phase};

use crate::{AUTHENTICATION_OK, READY, connect};

/// What a client offered and said.
struct Seen {
    protocol: Option<Vec<u8>>,
    name: Option<String>,
    version: u32,
}

struct Stub {
    port: u16,
    root: PathBuf,
    seen: tokio::sync::oneshot::Receiver<Seen>,
    _folder: tempfile::TempDir,
}

/// A server that speaks TLS from the first byte, with a certificate for localhost, and knows these protocols.
async fn stub(protocols: &[&[u8]]) -> Stub {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.crt");
    std::fs::write(&root, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, seen) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else {
            return;
        };
        let session = stream.get_ref().1;
        let (protocol, name) = (
            session.alpn_protocol().map(<[u8]>::to_vec),
            session.server_name().map(str::to_owned),
        );
        let Ok(length) = stream.read_u32().await else {
            return;
        };
        let version = stream.read_u32().await.unwrap();
        let mut rest = vec![0; usize::try_from(length).unwrap() - 8];
        stream.read_exact(&mut rest).await.unwrap();
        stream
            .write_all(&[AUTHENTICATION_OK, READY].concat())
            .await
            .unwrap();
        stream.flush().await.unwrap();
        let _ = sender.send(Seen {
            protocol,
            name,
            version,
        });
        let _ = stream.read_u8().await;
    });
    Stub {
        port,
        root,
        seen,
        _folder: folder,
    }
}

fn words(stub: &Stub, more: &str) -> String {
    format!(
        "host=localhost hostaddr=127.0.0.1 port={} sslmode=verify-full sslrootcert={} sslnegotiation=direct {more}",
        stub.port,
        stub.root.display()
    )
}

#[tokio::test]
async fn tls_begins_at_once_and_names_the_protocol() {
    for (more, name) in [("", Some("localhost")), ("sslsni=0", None)] {
        let stub = stub(&[b"postgresql"]).await;
        let connected = connect(&words(&stub, more)).await.unwrap();
        assert!(connected.stream.is_encrypted());
        let seen = stub.seen.await.unwrap();
        assert_eq!(seen.protocol.as_deref(), Some(&b"postgresql"[..]));
        assert_eq!(seen.name.as_deref(), name);
        // No request for TLS came before: this is the start-up message of protocol 3.
        assert_eq!(seen.version >> 16, 3);
    }
}

#[tokio::test]
async fn server_for_another_protocol_is_refused() {
    for protocols in [&[][..], &[&b"http/1.1"[..]]] {
        let stub = stub(protocols).await;
        match connect(&words(&stub, "")).await {
            Err(
                error @ Error::Connect {
                    phase: Phase::Tls, ..
                },
            ) => {
                let text = error.to_string();
                assert!(
                    text.contains("did not agree to the protocol")
                        || text.contains("NoApplicationProtocol"),
                    "{text}"
                );
            }
            other => panic!("{:?}", other.err()),
        }
    }
}

#[tokio::test]
async fn certificate_is_checked_in_direct_tls_too() {
    let (stub, other) = (stub(&[b"postgresql"]).await, stub(&[b"postgresql"]).await);
    let wrong_root = words(&stub, &format!("sslrootcert={}", other.root.display()));
    let text = connect(&wrong_root).await.err().unwrap().to_string();
    assert!(text.contains("(TLS): invalid peer certificate: "), "{text}");
    let wrong_name = words(&other, "host=elsewhere.example");
    let text = connect(&wrong_name).await.err().unwrap().to_string();
    assert!(
        text.contains("connect by a name of the certificate"),
        "{text}"
    );
}
