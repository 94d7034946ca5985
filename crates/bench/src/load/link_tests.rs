//! The load over HTTP/2 and TLS, against a server of hyper's that does what a test says.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use super::*;

const HELLO: &[u8] = b"hello\n";
const STREAMS: usize = 8;

/// What the server saw and does.
#[derive(Default)]
struct ServerLog {
    requests: AtomicU64,
    connections: AtomicU64,
    at_once: AtomicU64,
    most_at_once: AtomicU64,
    /// A connection is closed after so many requests.
    closes_after: u64,
    /// Every tenth request takes so long.
    tenth_ms: u64,
}

impl ServerLog {
    async fn answer(&self) -> Response<Full<Bytes>> {
        let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        let ms = if number.is_multiple_of(10) {
            self.tenth_ms
        } else {
            1
        };
        sleep(Duration::from_millis(ms)).await;
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Response::new(Full::new(Bytes::from_static(HELLO)))
    }

    async fn converse<S>(self: Arc<ServerLog>, stream: S, protocol: LoadProtocol)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        self.connections.fetch_add(1, Ordering::SeqCst);
        let seen = Arc::clone(&self);
        let (count, full) = (AtomicU64::new(0), Arc::new(Notify::new()));
        let ends = Arc::clone(&full);
        let service = service_fn(move |_: http::Request<Incoming>| {
            let seen = Arc::clone(&seen);
            if seen.closes_after == count.fetch_add(1, Ordering::SeqCst) + 1 {
                full.notify_one();
            }
            async move { Ok::<_, Infallible>(seen.answer().await) }
        });
        let io = TokioIo::new(stream);
        let conversation = async {
            match protocol {
                LoadProtocol::Http1 => http1::Builder::new().serve_connection(io, service).await,
                LoadProtocol::Http2 { .. } => {
                    let builder = http2::Builder::new(TokioExecutor::new());
                    builder.serve_connection(io, service).await
                }
            }
        };
        tokio::select! {
            // What the load leaves is no failure of the server's.
            ended = conversation => drop(ended),
            () = ends.notified() => {}
        }
    }
}

fn serve(transport: LoadTransport, seen: ServerLog) -> (SocketAddr, Arc<ServerLog>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let seen = Arc::new(seen);
    let shared = Arc::clone(&seen);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime
            .unwrap()
            .block_on(accept(listener, transport, shared));
    });
    (address, seen)
}

async fn accept(
    listener: TcpListener,
    transport: LoadTransport,
    seen: Arc<ServerLog>,
) -> Infallible {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let tls = TlsAcceptor::from(Arc::new(certificate(transport.protocol)));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (tls, seen) = (tls.clone(), Arc::clone(&seen));
        tokio::spawn(async move {
            if transport.tls {
                let stream = tls.accept(stream).await.unwrap();
                seen.converse(stream, transport.protocol).await;
            } else {
                seen.converse(stream, transport.protocol).await;
            }
        });
    }
}

/// Of nobody in particular.
fn certificate(protocol: LoadProtocol) -> ServerConfig {
    let made = rcgen::generate_simple_self_signed(["nobody".to_owned()]).unwrap();
    let key = made.signing_key.serialize_der().try_into().unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth();
    let mut config = config
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = match protocol {
        LoadProtocol::Http1 => vec![b"http/1.1".to_vec()],
        LoadProtocol::Http2 { .. } => vec![b"h2".to_vec()],
    };
    config
}

fn hello() -> LoadRequest {
    LoadRequest::get("/hello", ExpectedBody::Same(HELLO.to_vec()))
}

fn load(address: SocketAddr, transport: LoadTransport, pace: Pace) -> LoadOutcome {
    let plan = LoadPlan {
        address,
        transport,
        requests: &[hello()],
        connection_use: ConnectionUse::default(),
        connections: 4,
        threads: 2,
        pace,
        warm_up: Duration::from_millis(200),
        length: Duration::from_millis(1_000),
    };
    run(&plan, &StopFlag::default(), || Ok(0.0)).unwrap()
}

const fn http2(tls: bool) -> LoadTransport {
    let protocol = LoadProtocol::Http2 { streams: STREAMS };
    LoadTransport { protocol, tls }
}

#[test]
fn http2_has_its_streams_under_way_on_each_connection_and_http1_one_request() {
    let http1 = LoadTransport {
        protocol: LoadProtocol::Http1,
        tls: true,
    };
    for (transport, most) in [(http2(false), 32), (http2(true), 32), (http1, 4)] {
        let (address, seen) = serve(transport, ServerLog::default());
        let outcome = load(address, transport, Pace::Closed);
        assert_eq!(outcome.tally.first, None, "{transport:?}");
        assert!(outcome.tally.requests > 0, "{transport:?}");
        assert_eq!(seen.connections.load(Ordering::SeqCst), 4, "{transport:?}");
        let at_once = seen.most_at_once.load(Ordering::SeqCst);
        assert!(
            (most / 2..=most).contains(&at_once),
            "{at_once} at once over {transport:?}"
        );
    }
}

#[test]
fn delays_of_some_requests_over_http2_are_their_percentiles() {
    let transport = http2(false);
    let tenth = ServerLog {
        tenth_ms: 1_500,
        ..ServerLog::default()
    };
    let (address, _) = serve(transport, tenth);
    let outcome = load(address, transport, Pace::Open(100.0));
    assert_eq!((outcome.tally.first, outcome.tally.requests), (None, 100));
    let ms = |percentile| outcome.tally.latency.value_at_percentile(percentile) as f64 / 1e6;
    assert!(ms(80.0) < 1_500.0 && ms(92.0) >= 1_500.0);
}

#[test]
fn a_connection_that_broke_is_opened_again_and_its_requests_are_errors() {
    let transport = http2(true);
    let closing = ServerLog {
        closes_after: 20,
        ..ServerLog::default()
    };
    let (address, seen) = serve(transport, closing);
    let outcome = load(address, transport, Pace::Open(200.0));
    assert!(outcome.tally.errors > 0);
    assert!(seen.requests.load(Ordering::SeqCst) > 4 * 20);
    assert!(seen.connections.load(Ordering::SeqCst) > 4);
}
