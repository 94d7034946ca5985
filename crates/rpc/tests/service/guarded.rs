//! Who may come in, and how it ends: TLS, certificates of clients, tokens, drain, loss of the server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tsumugi_http::ServerTls;
use tsumugi_rpc::client::{ClientIdentity, Options, Tls};
use tsumugi_rpc::server::{TokenFile, UnixClients};
use tsumugi_rpc::{Client, ClientLimits, Error, GrpcCode, RpcTarget};
use tsumugi_worker::{Exit, ListenAddress};

use crate::raw_client::{RawClient, frame, raw_reply};
use crate::rig::{Rig, on_loop};

/// An authority and what it has signed, as PEM files.
struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Authority { folder, issuer }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate and its key.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let params =
            CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (pem, key_file) = (
            self.file(&format!("{name}.pem")),
            self.file(&format!("{name}.key")),
        );
        std::fs::write(&pem, certificate.pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        (pem, key_file)
    }
}

fn client(target: &str, tls: Option<Tls>, token: Option<&str>) -> Client {
    let options = Options {
        tls,
        token: token.map(str::to_owned),
        limits: ClientLimits {
            connect_ms_max: 3_000,
            ..ClientLimits::default()
        },
    };
    Client::new(target.parse::<RpcTarget>().unwrap(), options).unwrap()
}

fn trusting(authority: &Authority, identity: Option<&(PathBuf, PathBuf)>) -> Tls {
    let identity = identity.map(|(certificate, key)| ClientIdentity { certificate, key });
    Tls::read(&authority.file("ca.pem"), identity).unwrap()
}

#[test]
fn tls_refuses_clients_that_do_not_trust_its_authority() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.sign("server");
    let rig = Rig::with(|settings, _, _| {
        settings.tls = Some(ServerTls::new(certificate, key).unwrap());
    });
    let target = format!("tkrzw+tls://{}", rig.tcp());
    on_loop(async {
        let kv = client(&target, Some(trusting(&authority, None)), None);
        assert_eq!(kv.echo("private").await.unwrap(), "private");
        let error = client(&target, Some(trusting(&other, None)), None)
            .echo("x")
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Connect { .. }), "{error}");
        let error = client(&format!("tkrzw://{}", rig.tcp()), None, None)
            .echo("x")
            .await
            .unwrap_err();
        assert!(
            matches!(error, Error::Lost { .. } | Error::Connect { .. }),
            "{error}"
        );
        // The system guards the socket.
        let unix = format!("tkrzw+unix:{}", rig.unix().display());
        assert_eq!(
            client(&unix, None, None).echo("plain").await.unwrap(),
            "plain"
        );
    });
}

#[test]
fn certificate_out_of_its_dates_is_refused_though_it_is_trusted() {
    for (from, to, refused) in [
        (1990, 4000, None),
        (1990, 2020, Some("certificate expired")),
        (3000, 4000, Some("certificate not valid yet")),
    ] {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(to, 1, 1);
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (pem, key_file) = (folder.path().join("own.pem"), folder.path().join("own.key"));
        std::fs::write(&pem, params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        let rig = Rig::with(|settings, _, _| {
            settings.tls = Some(ServerTls::new(pem.clone(), key_file).unwrap());
        });
        let tls = Tls::read(&pem, None).unwrap();
        on_loop(async {
            let kv = client(&format!("tkrzw+tls://{}", rig.tcp()), Some(tls), None);
            match (kv.echo("x").await, refused) {
                (Ok(answer), None) => assert_eq!(answer, "x"),
                (Err(error), Some(refused)) => {
                    assert!(matches!(error, Error::Connect { .. }), "{error}");
                    assert!(error.to_string().contains(refused), "{error}");
                }
                (answer, _) => panic!("{from} to {to}: {answer:?}"),
            }
        });
    }
}

#[test]
fn client_certificate_is_required_when_an_authority_for_clients_is_set() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (certificate, key) = authority.sign("server");
    let rig = Rig::with(|settings, _, _| {
        let tls = ServerTls::new(certificate, key).unwrap();
        settings.tls = Some(tls.with_client_authority(authority.file("ca.pem")));
    });
    let target = format!("tkrzw+tls://{}", rig.tcp());
    let (known, unknown) = (authority.sign("client"), other.sign("client"));
    on_loop(async {
        let echo = async |identity: Option<&(PathBuf, PathBuf)>| {
            client(&target, Some(trusting(&authority, identity)), None)
                .echo("x")
                .await
        };
        assert_eq!(echo(Some(&known)).await.unwrap(), "x");
        assert!(echo(None).await.is_err());
        assert!(echo(Some(&unknown)).await.is_err());
    });
}

fn with_tokens(unix: UnixClients) -> Rig {
    Rig::with(|settings, _, folder| {
        let path = folder.path().join("tokens");
        std::fs::write(&path, "0123456789abcdef\nfedcba9876543210\n").unwrap();
        settings.tokens = Some(TokenFile { path, unix });
    })
}

async fn code(target: &str, token: Option<&str>) -> GrpcCode {
    match client(target, None, token).echo("x").await {
        Ok(_) => GrpcCode::Ok,
        Err(Error::Refused { code, .. }) => code,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn token_is_required_but_on_unix_sockets() {
    let rig = with_tokens(UnixClients::Trusted);
    let (tcp, unix) = (
        format!("tkrzw://{}", rig.tcp()),
        format!("tkrzw+unix:{}", rig.unix().display()),
    );
    on_loop(async {
        for (token, expected) in [
            (Some("0123456789abcdef"), GrpcCode::Ok),
            (Some("fedcba9876543210"), GrpcCode::Ok),
            (Some("0123456789abcdeX"), GrpcCode::Unauthenticated),
            (None, GrpcCode::Unauthenticated),
        ] {
            assert_eq!(code(&tcp, token).await, expected, "{token:?}");
        }
        assert_eq!(code(&unix, None).await, GrpcCode::Ok);
        // Health is for everybody.
        let bare = crate::raw_client::RawClient::connect(rig.tcp()).await;
        assert_eq!(
            bare.call_at("/grpc.health.v1.Health/Check", &[vec![]])
                .await
                .code,
            0
        );
        let refused = bare
            .call_at(
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                &[vec![]],
            )
            .await;
        assert_eq!(refused.code, 16);
    });
}

#[test]
fn token_is_required_on_unix_sockets_when_set() {
    let rig = with_tokens(UnixClients::Asked);
    let unix = format!("tkrzw+unix:{}", rig.unix().display());
    on_loop(async {
        assert_eq!(code(&unix, None).await, GrpcCode::Unauthenticated);
        assert_eq!(code(&unix, Some("0123456789abcdef")).await, GrpcCode::Ok);
    });
}

#[test]
fn a_drain_answers_what_waits_and_ends_streams() {
    let rig = Rig::start();
    let handle = rig.handle.clone();
    on_loop(async {
        let kv = rig.client();
        let mut cursor = kv.iterate(1).await.unwrap();
        cursor.send(&Default::default()).await.unwrap();
        cursor.receive().await.unwrap().unwrap();
        let mut stream = kv.stream(1).await.unwrap();
        let bare = RawClient::connect(rig.tcp()).await;
        let (watch, mut watching) = bare.begin("/grpc.health.v1.Health/Watch").await.unwrap();
        watching.send_data(frame(b"").into(), true).unwrap();
        let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
        let (reflected, _asking) = bare.begin(reflection).await.unwrap();
        let waiting = kv.clone();
        let waiting =
            tokio::task::spawn_local(
                async move { waiting.pop_first(Duration::from_secs(3_600)).await },
            );
        tokio::time::sleep(Duration::from_millis(100)).await;
        handle.drain();
        for side in [watch, reflected] {
            assert_eq!(raw_reply(side).await.code, GrpcCode::Unavailable as i32);
        }
        assert_eq!(waiting.await.unwrap().unwrap(), None);
        for ended in [
            cursor.receive().await.map(drop),
            stream.receive().await.map(drop),
        ] {
            let unavailable = GrpcCode::Unavailable;
            assert!(
                matches!(&ended, Err(Error::Refused { code, .. }) if *code == unavailable),
                "{ended:?}"
            );
        }
    });
    assert_eq!(rig.ended(), Exit::Drained);
}

#[test]
fn a_client_connects_again_when_its_server_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kv.sock");
    let on = |path: &Path| {
        let path = path.to_owned();
        Rig::with(move |_, config, _| config.listen = vec![ListenAddress::Unix(path)])
    };
    let rig = on(&path);
    on_loop(async {
        let options = Options {
            limits: ClientLimits {
                connect_ms_max: 20_000,
                ..ClientLimits::default()
            },
            ..Options::default()
        };
        let target: RpcTarget = format!("tkrzw+unix:{}", path.display()).parse().unwrap();
        let kv = Client::new(target, options).unwrap();
        let waiting = kv.clone();
        let waiting =
            tokio::task::spawn_local(
                async move { waiting.pop_first(Duration::from_secs(3_600)).await },
            );
        assert_eq!(kv.echo("here").await.unwrap(), "here");
        // It ends at once; whether the last answer still comes is a matter of luck.
        drop(rig);
        let lost = waiting.await.unwrap();
        assert!(
            matches!(lost, Err(Error::Lost { .. }) | Ok(None)),
            "{lost:?}"
        );
        let again = kv.clone();
        let again = tokio::task::spawn_local(async move { again.echo("back").await });
        tokio::time::sleep(Duration::from_millis(200)).await;
        let _rig = on(&path);
        assert_eq!(again.await.unwrap().unwrap(), "back");
    });
}

#[test]
fn absent_server_is_an_error_within_the_time_to_connect() {
    on_loop(async {
        let folder = tempfile::tempdir().unwrap();
        let target = format!("tkrzw+unix:{}", folder.path().join("nobody.sock").display());
        let error = client(&target, None, None).echo("x").await.unwrap_err();
        assert!(matches!(error, Error::Connect { .. }), "{error}");
    });
}

/// A certificate of X.509 version 1, its key and its authority.
fn version_1(file: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/version1");
    folder.join(file)
}

#[test]
fn a_certificate_of_version_1_is_refused_with_what_to_do() {
    let (certificate, key) = (version_1("leaf.pem"), version_1("leaf.key"));
    let server = ServerTls::new(certificate.clone(), key.clone()).unwrap();
    let identity = ClientIdentity {
        certificate: &certificate,
        key: &key,
    };
    let client = Tls::read(&version_1("ca.pem"), Some(identity));
    let errors = [
        server.read().err().unwrap().to_string(),
        client.unwrap_err().to_string(),
    ];
    for text in errors {
        for piece in ["leaf.pem", "version 1", "subjectAltName"] {
            assert!(text.contains(piece), "{text}");
        }
    }
}

/// An error with its causes.
fn story(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", story(cause)),
        None => error.to_string(),
    }
}

#[test]
fn client_of_a_server_with_a_version_1_certificate_gets_a_hint() {
    on_loop(async {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::from_pem_file(version_1("leaf.key")).unwrap();
        let key = provider.key_provider.load_private_key(key).unwrap();
        let leaf = CertificateDer::from_pem_file(version_1("leaf.pem")).unwrap();
        let certified = rustls::sign::CertifiedKey::new(vec![leaf], key);
        let resolver = rustls::sign::SingleCertAndKey::from(certified);
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = async {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                drop(acceptor.accept(stream).await);
            }
        };
        let tls = Tls::read(&version_1("ca.pem"), None).unwrap();
        let kv = client(&format!("tkrzw+tls://localhost:{port}"), Some(tls), None);
        let error = tokio::select! {
            answer = kv.get("a") => answer.unwrap_err(),
            () = serve => unreachable!("it ends with the answer"),
        };
        let text = story(&error);
        assert!(text.contains("X.509 version 1"), "{text}");
    });
}
