//! The smallest native server, for measuring: one thread per core, each with its own listener on the same port, answering "hello".
//! `hello 127.0.0.1:8080 2` serves through this crate, `hello 127.0.0.1:8080 2 bare` through hyper alone, `hello 127.0.0.1:8080 2 least`
//! through no server at all: it reads the fields, looks at nothing and sends what it holds ready, so no server on tokio can cost less.

use std::{convert::Infallible, future::pending, io, net::SocketAddr, pin::Pin, rc::Rc, thread};

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{LocalSet, spawn_local},
};
use tsumugi_http::{
    ConnectionInfo, HttpHandler, HttpLimits, HttpResponse, HttpServer, Match, Request, RouteTable,
    SpawnLocal,
};

#[global_allocator]
static ALLOCATOR: tsumugi_allocator::Allocator = tsumugi_allocator::Allocator;

/// What is held of a client's requests.
const BUFFER_BYTES: usize = 8192;
/// Fields of a request.
const FIELDS_MAX: usize = 64;
/// As long as an answer of the others.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 5\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\nhello";

type Task = Pin<Box<dyn Future<Output = ()>>>;

struct Hello {
    router: RouteTable<&'static str>,
}

impl HttpHandler for Hello {
    type Note = ();

    fn begin(&self, _: &Request) {}

    async fn handle(&self, request: Box<Request>) -> HttpResponse {
        match self.router.find(&request.method, request.uri.path()) {
            Match::Found(found) => {
                let mut response = HttpResponse::text(StatusCode::OK, *found.value);
                response.summary.pattern = Some(found.pattern.clone());
                response
            }
            _ => HttpResponse::not_found(),
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let address: SocketAddr = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("the address to listen on");
    let threads: usize = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("the number of threads");
    let serve = match arguments.next().as_deref() {
        Some("bare") => bare,
        Some("least") => least,
        _ => ours,
    };
    let workers: Vec<_> = (0..threads)
        .map(|_| thread::spawn(move || work(address, serve)))
        .collect();
    for worker in workers {
        worker.join().expect("a worker panicked");
    }
}

fn work(address: SocketAddr, serve: fn(TcpListener) -> Task) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, async move {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )
        .expect("a socket");
        socket.set_reuse_port(true).expect("SO_REUSEPORT");
        socket
            .set_nonblocking(true)
            .expect("a socket that does not block");
        socket.bind(&address.into()).expect("a free port");
        socket.listen(4096).expect("a listener");
        serve(TcpListener::from_std(socket.into()).expect("a listener")).await;
    });
}

fn ours(listener: TcpListener) -> Task {
    Box::pin(async move {
        let mut router = RouteTable::new();
        router
            .insert(Method::GET, "/hello", &[], "hello")
            .expect("a route");
        let handler = Rc::new(Hello { router });
        let server = Rc::new(HttpServer::new(HttpLimits::default(), SpawnLocal));
        loop {
            let (stream, peer) = accept(&listener).await;
            let (server, handler) = (Rc::clone(&server), Rc::clone(&handler));
            let origin = ConnectionInfo {
                peer: Some(peer),
                ..ConnectionInfo::default()
            };
            spawn_local(async move { server.serve(stream, origin, handler, pending()).await });
        }
    })
}

fn bare(listener: TcpListener) -> Task {
    Box::pin(async move {
        loop {
            let (stream, _) = accept(&listener).await;
            let service = service_fn(async |_: http::Request<Incoming>| {
                let mut response = http::Response::new(Full::new(Bytes::from_static(b"hello")));
                response.headers_mut().insert(
                    CONTENT_TYPE,
                    HeaderValue::from_static("text/plain; charset=utf-8"),
                );
                Ok::<_, Infallible>(response)
            });
            spawn_local(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    })
}

fn least(listener: TcpListener) -> Task {
    Box::pin(async move {
        loop {
            let (stream, _) = accept(&listener).await;
            spawn_local(answer(stream));
        }
    })
}

/// Answers requests without bodies until the client goes or sends something else.
async fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut received = Vec::with_capacity(BUFFER_BYTES);
    let mut answers = Vec::with_capacity(BUFFER_BYTES);
    while stream.read_buf(&mut received).await? > 0 {
        let mut parsed = 0;
        loop {
            let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
            let mut request = httparse::Request::new(&mut fields);
            match request.parse(&received[parsed..]) {
                Ok(httparse::Status::Complete(length)) => parsed += length,
                Ok(httparse::Status::Partial) if received.len() < BUFFER_BYTES => break,
                _ => return Ok(()),
            }
            answers.extend_from_slice(ANSWER);
        }
        received.drain(..parsed);
        stream.write_all(&answers).await?;
        answers.clear();
    }
    Ok(())
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    let (stream, peer) = listener.accept().await.expect("a connection");
    stream.set_nodelay(true).expect("TCP_NODELAY");
    (stream, peer)
}
