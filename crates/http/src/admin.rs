//! The pages for operators of the server: /healthz, /ready and /metrics, and whatever else an [`AdminSource`] has. Knows no application and no
//! worker. They are served by a thread of their own, so that they answer when every worker is stuck; what they show comes from the source.

use std::{
    cell::Cell,
    future::pending,
    io,
    net::{self, SocketAddr},
    os::unix,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use http::{
    HeaderValue, Method, StatusCode,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE},
};
use tokio::{
    net::{TcpListener, UnixListener},
    sync::watch,
    task::{LocalSet, spawn_local},
    time::sleep,
};
use tsumugi_worker::SocketStream;

use crate::{
    connection::{ConnectionInfo, HttpServer},
    exposition::Exposition,
    handler::{HttpHandler, SpawnLocal},
    incoming_stream::IncomingStream,
    limits::{ADMIN_CONNECTIONS_MAX, ADMIN_FIRST_MS_MAX, ADMIN_LAST_MS_MAX, HttpLimits},
    request::Request,
    response::HttpResponse,
};

/// Answers what the pages show, on the admin thread.
pub trait AdminSource: Send + Sync + 'static {
    /// Whether requests are welcome; if not, why not.
    fn ready(&self) -> Result<(), String>;

    /// The figures of this moment.
    fn metrics(&self) -> Exposition;

    /// The answer to a request for anything else; none when there is nothing. It runs on the admin thread, beside the pages of this address.
    fn answer(&self, request: AdminRequest) -> Option<AdminAnswer<'_>> {
        let _ = request;
        None
    }
}

/// A response that is being made.
pub type AdminAnswer<'s> = Pin<Box<dyn Future<Output = HttpResponse> + 's>>;

/// A request for none of /healthz, /ready and /metrics. Nothing about it has been checked.
#[derive(Debug)]
pub struct AdminRequest {
    /// The request.
    pub request: Box<Request>,
    /// The address that it came to; none on a UNIX socket.
    pub address: Option<SocketAddr>,
}

/// A bound socket for the pages.
#[derive(Debug)]
pub enum AdminListener {
    /// TCP.
    Tcp(net::TcpListener),
    /// A UNIX socket.
    Unix(unix::net::UnixListener),
}

/// Pages that are served on one address. They go on when it is dropped.
#[derive(Debug)]
pub struct AdminServer {
    stopped: watch::Sender<bool>,
    thread: thread::JoinHandle<()>,
}

impl AdminServer {
    /// Closes the listener and idle connections. The address answers as long as another process listens on the same socket.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Whether the last page has been answered after it was stopped, or took too long.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }
}

/// Serves the pages until the process ends, or until they are stopped.
pub fn start(listener: AdminListener, source: Arc<dyn AdminSource>) -> io::Result<AdminServer> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = {
        let _entered = runtime.enter();
        Open::new(listener)?
    };
    let (stopped, stop) = watch::channel(false);
    let serve = move || LocalSet::new().block_on(&runtime, serve(listener, source, stop));
    let thread = thread::Builder::new()
        .name("tsumugi-admin".to_owned())
        .spawn(serve)?;
    Ok(AdminServer { stopped, thread })
}

/// Resolves when the pages are stopped; never when nobody can stop them any more.
async fn stopped(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stopped| *stopped).await.is_err() {
        pending().await
    }
}

/// The same for a connection, which is given the time to bring the request that it was opened for.
async fn stopped_after_first(stop: watch::Receiver<bool>) {
    let first = sleep(Duration::from_millis(ADMIN_FIRST_MS_MAX));
    tokio::join!(stopped(stop), first);
}

/// A listener on the runtime of the admin thread.
enum Open {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener),
}

impl Open {
    fn new(listener: AdminListener) -> io::Result<Open> {
        Ok(match listener {
            AdminListener::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?;
                Open::Tcp(TcpListener::from_std(listener)?, address)
            }
            AdminListener::Unix(listener) => {
                listener.set_nonblocking(true)?;
                Open::Unix(UnixListener::from_std(listener)?)
            }
        })
    }

    /// A connection, and its client's address.
    async fn accept(&self) -> io::Result<(SocketStream, Option<SocketAddr>)> {
        Ok(match self {
            Open::Tcp(listener, _) => {
                let (stream, peer) = listener.accept().await?;
                (stream.into(), Some(peer))
            }
            Open::Unix(listener) => (SocketStream::Unix(listener.accept().await?.0), None),
        })
    }

    fn address(&self) -> Option<SocketAddr> {
        match self {
            Open::Tcp(_, address) => Some(*address),
            Open::Unix(_) => None,
        }
    }
}

async fn serve(listener: Open, source: Arc<dyn AdminSource>, stop: watch::Receiver<bool>) {
    let server = Rc::new(HttpServer::new(HttpLimits::default(), SpawnLocal));
    let address = listener.address();
    let pages = Rc::new(Pages { source, address });
    let open = Rc::new(Cell::new(0));
    let mut end = pin!(stopped(stop.clone()));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut end => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Mostly a want of descriptors, which takes a moment to pass.
                tracing::warn!(%error, "the admin listener could not accept");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        if open.get() >= ADMIN_CONNECTIONS_MAX {
            continue;
        }
        open.set(open.get() + 1);
        let (server, pages, open) = (Rc::clone(&server), Rc::clone(&pages), Rc::clone(&open));
        let end = stopped_after_first(stop.clone());
        let info = ConnectionInfo {
            peer,
            ..ConnectionInfo::default()
        };
        spawn_local(async move {
            let stream = IncomingStream::from(stream);
            server.serve(stream, info, pages, end).await;
            open.set(open.get() - 1);
        });
    }
    drop(listener);
    let since = Instant::now();
    while open.get() > 0 && since.elapsed() < Duration::from_millis(ADMIN_LAST_MS_MAX) {
        sleep(Duration::from_millis(5)).await;
    }
}

struct Pages {
    source: Arc<dyn AdminSource>,
    address: Option<SocketAddr>,
}

impl HttpHandler for Pages {
    type Note = ();

    fn begin(&self, _: &Request) {}

    async fn handle(&self, request: Box<Request>) -> HttpResponse {
        let response = match request.uri.path() {
            "/healthz" | "/ready" | "/metrics" => self.page(&request),
            _ => self.rest(request).await,
        };
        response.with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
    }
}

impl Pages {
    fn page(&self, request: &Request) -> HttpResponse {
        if request.method != Method::GET && request.method != Method::HEAD {
            return HttpResponse::text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n")
                .with(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        match request.uri.path() {
            "/healthz" => HttpResponse::text(StatusCode::OK, "alive\n"),
            "/ready" => match self.source.ready() {
                Ok(()) => HttpResponse::text(StatusCode::OK, "ready\n"),
                Err(reason) => HttpResponse::refusal(StatusCode::SERVICE_UNAVAILABLE, &reason),
            },
            _ => {
                let media_type = HeaderValue::from_static(Exposition::MEDIA_TYPE);
                HttpResponse::new(StatusCode::OK, self.source.metrics().into_text())
                    .with(CONTENT_TYPE, media_type)
            }
        }
    }

    async fn rest(&self, request: Box<Request>) -> HttpResponse {
        let address = self.address;
        match self.source.answer(AdminRequest { request, address }) {
            Some(answer) => answer.await,
            None => {
                let known = "there are /healthz, /ready and /metrics\n";
                HttpResponse::text(StatusCode::NOT_FOUND, known)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    struct Source;

    impl AdminSource for Source {
        fn ready(&self) -> Result<(), String> {
            Ok(())
        }

        fn metrics(&self) -> Exposition {
            Exposition::default()
        }
    }

    #[test]
    fn connection_that_was_opened_before_the_stop_brings_its_request_and_the_thread_ends() {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = start(AdminListener::Tcp(listener), Arc::new(Source)).unwrap();
        let ask = |mut stream: net::TcpStream| {
            let request = b"GET /ready HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
            stream.write_all(request).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        // The thread accepts connections in their order.
        let opened = net::TcpStream::connect(address).unwrap();
        assert!(ask(net::TcpStream::connect(address).unwrap()).is_ok());
        server.stop();
        let answer = ask(opened).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
        let since = Instant::now();
        while !server.is_finished() && since.elapsed() < Duration::from_secs(10) {
            thread::park_timeout(Duration::from_millis(5));
        }
        assert!(server.is_finished());
    }
}
