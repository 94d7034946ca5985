//! Serves connections: HTTP/1.1 and HTTP/2 on the same port, on the thread they were accepted on. Knows no listener and no route.
//! A connection costs a few allocations, a request none beyond hyper's own, as long as it has no body.

use std::{
    convert::Infallible,
    error::Error as StdError,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use http::{HeaderValue, Version, header::CONNECTION, request::Parts};
use hyper::{
    body::Incoming,
    rt::bounds::Http2ServerConnExec,
    server::conn::{http1, http2},
    service::{HttpService, Service, service_fn},
};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    body::{Completion, ResponseBody},
    byte_sum::{ByteSum, WorkerSums},
    connection_state::ConnectionState,
    handler::{HttpHandler, Spawn},
    host,
    limits::{HTTP2_WINDOW_BYTES, HYPER_BUFFER_BYTES_MIN, HYPER_HEADERS_MAX, HttpLimits},
    outbox::{self, Outbox},
    refusal,
    request::{Request, RequestBody, RequestNumbers},
    response::HttpResponse,
    switch::{Switch, Upgraded},
    timeout_supervisor::{SupervisedConnection, TimeoutSupervisor},
    transfer_coding,
    wire::{Wire, WireProtocol},
};

#[derive(Clone, Debug)]
struct Executor<E>(E);

impl<E: Spawn, F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for Executor<E> {
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpProtocol {
    /// Found from its first bytes: HTTP/2 with prior knowledge, or else HTTP/1.
    #[default]
    Sniffed,
    /// HTTP/1.0 or 1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// What is known of a connection besides its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionInfo {
    /// The client's address; none on a UNIX socket.
    pub peer: Option<SocketAddr>,
    /// The protocol, when something (such as TLS) has agreed on one.
    pub protocol: HttpProtocol,
}

/// What all connections of a worker share.
#[derive(Debug)]
pub struct HttpServer<E> {
    http1: http1::Builder,
    http2: http2::Builder<Executor<E>>,
    limits: Rc<HttpLimits>,
    sums: Rc<WorkerSums>,
    numbers: Rc<RequestNumbers>,
    outbox: Rc<Outbox>,
    spawn: E,
}

impl<E: Spawn> HttpServer<E> {
    /// A server with these limits.
    pub fn new(limits: HttpLimits, spawn: E) -> HttpServer<E> {
        let buffer_bytes = limits
            .connection_buffer_bytes_max
            .max(HYPER_BUFFER_BYTES_MIN);
        let mut http1 = http1::Builder::new();
        // The supervisor keeps the times, with one timer for a connection instead of one for each request.
        http1
            .header_read_timeout(None)
            // The supervisor sees the end of what a client sends, and whether it is more than that.
            .half_close(true)
            .max_header_size(limits.header_bytes_max)
            .max_buf_size(buffer_bytes.max(limits.header_bytes_max));
        if limits.headers_max != HYPER_HEADERS_MAX {
            http1.max_headers(limits.headers_max);
        }
        let (least, most) = HTTP2_WINDOW_BYTES.into_inner();
        let window_bytes = limits.connection_window_bytes_max.clamp(least, most);
        let mut http2 = http2::Builder::new(Executor(spawn.clone()));
        http2
            .initial_stream_window_size(window_bytes)
            .initial_connection_window_size(window_bytes)
            .max_concurrent_streams(limits.streams_max)
            .max_header_list_size(u32::try_from(limits.header_bytes_max).unwrap_or(u32::MAX))
            .max_send_buf_size(buffer_bytes);
        HttpServer {
            http1,
            http2,
            sums: Rc::new(WorkerSums::new(&limits)),
            limits: Rc::new(limits),
            numbers: Rc::new(RequestNumbers::new()),
            outbox: Rc::default(),
            spawn,
        }
    }

    /// The limits.
    pub fn limits(&self) -> &Rc<HttpLimits> {
        &self.limits
    }

    /// The bodies of requests that are in memory.
    pub fn bodies(&self) -> &Arc<ByteSum> {
        &self.sums.bodies
    }

    /// A connection's socket, with the outbox that all of them share.
    fn wire<I>(&self, io: I, state: &Rc<ConnectionState>) -> Wire<I>
    where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        if !self.outbox.has_flusher() {
            self.spawn.spawn(outbox::flusher(&self.outbox));
        }
        Wire::new(io, Rc::clone(state), Rc::clone(&self.outbox))
    }

    /// Serves a connection to its end. After `shutdown` resolves, the requests that have begun are finished and the connection closes;
    /// an idle one closes at once. Must run where `spawn` works, with timers.
    pub async fn serve<I, H, S>(&self, io: I, origin: ConnectionInfo, handler: Rc<H>, shutdown: S)
    where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
        H: HttpHandler,
        S: Future<Output = ()>,
    {
        let state = Rc::new(ConnectionState::new(self.limits.linger_bytes_max));
        let mut wire = self.wire(io, &state);
        let mut shutdown = pin!(shutdown);
        let mut timer = pin!(tokio::time::sleep(Duration::ZERO));
        let mut supervisor = TimeoutSupervisor::new(
            Rc::clone(&state),
            Rc::clone(&self.limits),
            shutdown.as_mut(),
            timer.as_mut(),
        );
        let protocol = match origin.protocol {
            HttpProtocol::Http1 => WireProtocol::Http1,
            HttpProtocol::Http2 => WireProtocol::Http2,
            HttpProtocol::Sniffed => match supervisor
                .supervise(pin!(Sniffing {
                    wire: &mut wire,
                    stop: DrainState::No
                }))
                .await
            {
                Some(Some(sniffed)) => sniffed,
                _ => return,
            },
        };
        let presence = wire.presence();
        let io = TokioIo::new(wire);
        let service = service(
            handler,
            Rc::clone(&state),
            Rc::clone(&self.limits),
            Rc::clone(&self.sums),
            Rc::clone(&self.numbers),
            Rc::clone(&self.outbox),
            origin.peer,
        );
        let ended = match protocol {
            WireProtocol::Http1 => {
                supervisor.set_presence(presence);
                let mut connection = self.http1.serve_connection(io, service);
                let ended = supervisor.supervise(Pin::new(&mut connection)).await;
                if let (Some(Ok(())), Some(switch)) = (&ended, state.take_switch()) {
                    let http1::Parts { io, read_buf, .. } = connection.into_parts();
                    return self.hand_over(io.into_inner(), &read_buf, switch).await;
                }
                if let Some(Err(error)) = &ended {
                    let wire = connection.into_parts().io.into_inner();
                    let answer = LastAnswer::new(wire, error, &self.limits);
                    supervisor.supervise(pin!(answer)).await;
                }
                ended
            }
            WireProtocol::Http2 => {
                state.set_multiplexed();
                supervisor
                    .supervise(pin!(self.http2.serve_connection(io, service)))
                    .await
            }
        };
        log_end(ended);
    }

    /// Gives a connection to whom it is switched to, with what was read of it already.
    async fn hand_over<I>(&self, wire: Wire<I>, read: &[u8], switch: Switch)
    where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let limit = Duration::from_millis(self.limits.send_timeout_ms);
        if let Some((io, ahead)) = wire.into_parts(limit).await {
            let ahead = [read, &ahead].concat().into();
            switch
                .run(Upgraded::new(io, ahead).counted(&self.sums))
                .await;
        }
    }
}

/// Says in the log why a connection has ended, unless it was at an end.
fn log_end(ended: Option<hyper::Result<()>>) {
    match ended {
        Some(Ok(())) => {}
        // Its client has been told; whoever runs the server looks for the reason here.
        Some(Err(error)) if error.is_parse() => {
            let status = if error.is_parse_too_large() { 431 } else { 400 };
            tracing::info!(%error, status, "a request could not be read");
        }
        Some(Err(error)) => tracing::debug!(%error, "connection failed"),
        None => tracing::debug!(
            "connection closed: the client has gone or took longer than the limits allow"
        ),
    }
}

/// Makes requests for the handler out of what hyper read.
fn service<H: HttpHandler>(
    handler: Rc<H>,
    state: Rc<ConnectionState>,
    limits: Rc<HttpLimits>,
    sums: Rc<WorkerSums>,
    numbers: Rc<RequestNumbers>,
    outbox: Rc<Outbox>,
    peer: Option<SocketAddr>,
) -> impl Service<
    http::Request<Incoming>,
    Response = http::Response<ResponseBody<H>>,
    Error = Infallible,
    Future: 'static,
> {
    service_fn(move |request: http::Request<Incoming>| {
        let received_at = Instant::now();
        let (
            Parts {
                method,
                uri,
                version,
                mut headers,
                ..
            },
            body,
        ) = request.into_parts();
        let settled = host::settle(&method, &uri, version, &mut headers);
        let settled = settled.and_then(|()| transfer_coding::check(&headers));
        let body = RequestBody::new(body, &limits, &state, &sums);
        let load = body.load();
        // Boxed: it goes through many futures, each of which would hold it twice.
        let request = Box::new(Request {
            method,
            uri,
            version,
            headers: headers.into(),
            body,
            peer,
            received_at,
            number: numbers.take(),
            mounted_path: None,
        });
        let answers = Arc::clone(&sums.answers);
        let (handler, state) = (Rc::clone(&handler), Rc::clone(&state));
        let mut completion = Completion::begin(handler, state, answers, &request);
        completion.load = load;
        let outbox = Rc::clone(&outbox);
        async move {
            if let Err(error) = settled {
                let mut refusal = HttpResponse::from_error(&error);
                if version < Version::HTTP_2 {
                    let close = HeaderValue::from_static("close");
                    refusal.headers.insert(CONNECTION, close);
                }
                return Ok(completion.respond(refusal));
            }
            let response = {
                let mut handling = pin!(completion.handler.handle(request));
                let handled = poll_fn(|cx| {
                    let polled = handling.as_mut().poll(cx);
                    outbox.flush_if_late();
                    polled
                });
                handled.await
            };
            Ok(completion.respond(response))
        }
    })
}

/// The last bytes of a connection that hyper has refused, and its end. Nothing when it was not refused.
struct LastAnswer<I> {
    wire: Wire<I>,
    bytes: Option<Vec<u8>>,
    written: usize,
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> LastAnswer<I> {
    fn new(mut wire: Wire<I>, error: &hyper::Error, limits: &HttpLimits) -> LastAnswer<I> {
        let head = wire.take_refusal();
        LastAnswer {
            bytes: head.map(|head| refusal::with_body(&head, &refusal::reason(error, limits))),
            wire,
            written: 0,
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> Future for LastAnswer<I> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(bytes) = &this.bytes else {
            return Poll::Ready(Ok(()));
        };
        while let Some(left) = bytes.get(this.written..).filter(|left| !left.is_empty()) {
            this.written += ready!(Pin::new(&mut this.wire).poll_write(cx, left))?;
        }
        Pin::new(&mut this.wire).poll_shutdown(cx)
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> SupervisedConnection for LastAnswer<I> {
    fn wind_down(self: Pin<&mut Self>) {}
}

/// The first bytes of a connection.
struct Sniffing<'w, I> {
    wire: &'w mut Wire<I>,
    stop: DrainState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DrainState {
    No,
    Yes,
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> Future for Sniffing<'_, I> {
    type Output = Option<WireProtocol>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<WireProtocol>> {
        if self.stop == DrainState::Yes {
            return Poll::Ready(None);
        }
        // A client that has gone before its first byte is no event.
        self.wire
            .poll_sniff(cx)
            .map(|sniffed| sniffed.ok().flatten())
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin + 'static> SupervisedConnection for Sniffing<'_, I> {
    fn wind_down(mut self: Pin<&mut Self>) {
        self.stop = DrainState::Yes;
    }
}

impl<I, S, B> SupervisedConnection for http1::Connection<I, S>
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    fn wind_down(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, S, B, E> SupervisedConnection for http2::Connection<I, S, E>
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn StdError + Send + Sync>>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    B: http_body::Body + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
    E: Http2ServerConnExec<S::Future, B>,
{
    fn wind_down(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}
