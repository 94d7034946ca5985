//! The profiles of HttpArena that hyper serves without a framework, to be measured beside ours. Not part of the product.
//! A worker is one thread with its own runtime and listeners: `arena-hyper PLAIN TLS_HTTP1 TLS H2C WORKERS`, four addresses. The items are in
//! `ARENA_DATASET`, the certificate in `ARENA_CERTIFICATE` and `ARENA_KEY`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use bench_peers::arena::{Items, addresses, certificate, listen, query};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::task::{LocalSet, spawn_local};
use tokio_rustls::TlsAcceptor;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// How a port is spoken to.
#[derive(Clone)]
struct Port {
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    http2: bool,
}

fn main() -> Result<(), Error> {
    let ([plain, tls_http1, tls, h2c], workers) = addresses()?;
    let acceptor = |protocol: &[u8]| certificate(protocol).map(TlsAcceptor::from);
    let port = |address, tls, http2| Port {
        address,
        tls,
        http2,
    };
    let ports = [
        port(plain, None, false),
        port(tls_http1, Some(acceptor(b"http/1.1")?), false),
        port(tls, Some(acceptor(b"h2")?), true),
        port(h2c, None, true),
    ];
    let items = Arc::new(Items::load()?);
    let threads: Vec<_> = (0..workers)
        .map(|_| {
            let (ports, items) = (ports.clone(), Arc::clone(&items));
            thread::spawn(move || work(ports, items))
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a worker panicked")??;
    }
    Ok(())
}

fn work(ports: [Port; 4], items: Arc<Items>) -> Result<(), Error> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async move {
        let mut accepting = Vec::new();
        for port in ports {
            let listener = TcpListener::from_std(listen(port.address)?)?;
            accepting.push(spawn_local(accept(listener, port, Arc::clone(&items))));
        }
        for port in accepting {
            port.await??;
        }
        Ok(())
    })
}

async fn accept(listener: TcpListener, port: Port, items: Arc<Items>) -> Result<(), Error> {
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (port, items) = (port.clone(), Arc::clone(&items));
        spawn_local(async move {
            match port.tls {
                None => serve(stream, port.http2, items).await,
                // A client that speaks no TLS is gone.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, port.http2, items).await;
                    }
                }
            }
        });
    }
}

#[derive(Clone, Copy)]
struct Local;

impl<F: Future + 'static> hyper::rt::Executor<F> for Local {
    fn execute(&self, future: F) {
        spawn_local(async move { drop(future.await) });
    }
}

async fn serve<S>(stream: S, http2: bool, items: Arc<Items>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let service = service_fn(move |request| answer(request, Arc::clone(&items)));
    let io = TokioIo::new(stream);
    // What a client breaks ends its connection and nothing else.
    let _ = match http2 {
        true => {
            http2::Builder::new(Local)
                .serve_connection(io, service)
                .await
        }
        false => {
            let mut builder = http1::Builder::new();
            builder
                .pipeline_flush(true)
                .serve_connection(io, service)
                .await
        }
    };
}

fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    let value = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, value);
    response
}

async fn answer(
    request: Request<Incoming>,
    items: Arc<Items>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, mut body) = request.into_parts();
    let terms = head.uri.query().unwrap_or_default();
    let sum = || query(terms, "a").unwrap_or(0) + query(terms, "b").unwrap_or(0);
    let path = head.uri.path();
    let text = match path {
        "/pipeline" => "ok".to_owned(),
        "/baseline11" | "/baseline2" if head.method == Method::GET => sum().to_string(),
        "/baseline11" => {
            let bytes = body
                .collect()
                .await
                .map(|body| body.to_bytes())
                .unwrap_or_default();
            let number = std::str::from_utf8(&bytes)
                .ok()
                .and_then(|text| text.trim().parse().ok());
            (sum() + number.unwrap_or(0_i64)).to_string()
        }
        "/upload" => {
            let mut size = 0;
            while let Some(Ok(frame)) = body.frame().await {
                size += frame.data_ref().map_or(0, Bytes::len);
            }
            size.to_string()
        }
        path => {
            let count = path
                .strip_prefix("/json/")
                .and_then(|count| count.parse().ok());
            if let Some(count) = count {
                return Ok(typed(
                    "application/json",
                    items.json(count, query(terms, "m").unwrap_or(1)),
                ));
            }
            let mut missing = typed("text/plain", "not found");
            *missing.status_mut() = StatusCode::NOT_FOUND;
            return Ok(missing);
        }
    };
    Ok(typed("text/plain", text))
}
