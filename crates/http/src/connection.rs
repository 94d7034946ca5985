//! Serves connections: HTTP/1.1 and HTTP/2 on the same port, on the thread they were accepted on. Knows no listener and no route.
//! A connection costs a few allocations, a request none beyond hyper's own, as long as it has no body.

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    rc::Rc,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use http::{HeaderValue, Version, header::CONNECTION, request::Parts};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::{Service, service_fn},
};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use crate::{
    body::{Completion, ResponseBody},
    byte_sum::ByteSum,
    connection_state::ConnectionState,
    error::Error,
    forwarding::RequestSource,
    handler::{HttpHandler, Spawn},
    host,
    limits::{HTTP2_WINDOW_BYTES, HYPER_BUFFER_BYTES_MIN, HYPER_HEADERS_MAX, HttpLimits},
    outbox, refusal,
    request::{Request, RequestBody, RequestScheme},
    response::HttpResponse,
    shared::{ConnectionShared, PeerIdentity, WorkerShared},
    switch::{Switch, Upgraded},
    timeout_supervisor::TimeoutSupervisor,
    transfer_coding,
    trusted_proxies::TrustedProxies,
    wire::Wire,
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
    /// Whether `peer` is who sends.
    pub identity: PeerIdentity,
    /// Whether the client speaks TLS.
    pub scheme: RequestScheme,
    /// The protocol, when something (such as TLS) has agreed on one.
    pub protocol: HttpProtocol,
}

/// What all connections of a worker share.
#[derive(Debug)]
pub struct HttpServer<E> {
    http1: http1::Builder,
    http2: http2::Builder<Executor<E>>,
    shared: Rc<WorkerShared>,
    spawn: E,
}

impl<E: Spawn> HttpServer<E> {
    /// A server with these limits, behind no proxy.
    pub fn new(limits: HttpLimits, spawn: E) -> HttpServer<E> {
        HttpServer::behind(TrustedProxies::default(), limits, spawn)
    }

    /// A server that believes these proxies who their clients are.
    pub fn behind(proxies: TrustedProxies, limits: HttpLimits, spawn: E) -> HttpServer<E> {
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
            shared: Rc::new(WorkerShared::new(limits, proxies)),
            spawn,
        }
    }

    /// The limits.
    pub fn limits(&self) -> &Rc<HttpLimits> {
        &self.shared.limits
    }

    /// The bodies of requests that are in memory.
    pub fn bodies(&self) -> &Arc<ByteSum> {
        &self.shared.sums.bodies
    }

    /// A connection's socket, with the outbox that all of them share.
    fn wire<I>(&self, io: I, state: &Rc<ConnectionState>) -> Wire<I>
    where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let outbox = &self.shared.outbox;
        if !outbox.has_flusher() {
            self.spawn.spawn(outbox::flusher(outbox));
        }
        Wire::new(io, Rc::clone(state), Rc::clone(outbox))
    }

    /// Serves a connection to its end. After `shutdown` resolves, the requests that have begun are finished and the connection closes;
    /// an idle one closes at once. Must run where `spawn` works, with timers.
    pub async fn serve<I, H, S>(&self, io: I, origin: ConnectionInfo, handler: Rc<H>, shutdown: S)
    where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
        H: HttpHandler,
        S: Future<Output = ()>,
    {
        let limits = self.limits();
        let state = Rc::new(ConnectionState::new(limits.linger_bytes_max));
        let mut wire = self.wire(io, &state);
        let mut shutdown = pin!(shutdown);
        let mut timer = pin!(tokio::time::sleep(Duration::ZERO));
        let mut supervisor = TimeoutSupervisor::new(
            Rc::clone(&state),
            Rc::clone(limits),
            shutdown.as_mut(),
            timer.as_mut(),
        );
        let version = match origin.protocol {
            HttpProtocol::Http1 => Version::HTTP_11,
            HttpProtocol::Http2 => Version::HTTP_2,
            HttpProtocol::Sniffed => {
                let sniffing = pin!(poll_fn(|cx| wire.poll_sniff(cx)));
                let sniffed = supervisor.supervise(sniffing, |_| Poll::Ready(()));
                // A client that has gone before its first byte is no event.
                let Some(Ok(Some(sniffed))) = sniffed.await else {
                    return;
                };
                sniffed
            }
        };
        let presence = wire.presence();
        let io = TokioIo::new(wire);
        let service = service(Rc::new(ConnectionShared {
            handler,
            state: Rc::clone(&state),
            worker: Rc::clone(&self.shared),
            source: RequestSource {
                client: origin.peer,
                scheme: origin.scheme,
            },
            identity: origin.identity,
        }));
        if version == Version::HTTP_2 {
            state.set_multiplexed();
            let connection = pin!(self.http2.serve_connection(io, service));
            let ended = supervisor.supervise(connection, |connection| {
                connection.graceful_shutdown();
                Poll::Pending
            });
            return log_end(ended.await);
        }
        supervisor.set_presence(presence);
        let mut connection = self.http1.serve_connection(io, service);
        let ended = supervisor.supervise(Pin::new(&mut connection), |connection| {
            connection.graceful_shutdown();
            Poll::Pending
        });
        let ended = ended.await;
        if let (Some(Ok(())), Some(switch)) = (&ended, state.take_switch()) {
            let http1::Parts { io, read_buf, .. } = connection.into_parts();
            return self.hand_over(io.into_inner(), &read_buf, switch).await;
        }
        if let Some(Err(error)) = &ended {
            let wire = connection.into_parts().io.into_inner();
            let answer = pin!(answer_last(wire, refusal::reason(error, limits)));
            supervisor.supervise(answer, |_| Poll::Pending).await;
        }
        log_end(ended);
    }

    /// Gives a connection to whom it is switched to, with what was read of it already.
    async fn hand_over<I>(&self, wire: Wire<I>, read: &[u8], switch: Switch)
    where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let limit = Duration::from_millis(self.limits().send_timeout_ms);
        if let Some((io, ahead)) = wire.into_parts(limit).await {
            let ahead = [read, &ahead].concat().into();
            let upgraded = Upgraded::new(io, ahead).counted(&self.shared.sums);
            switch.run(upgraded).await;
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
    connection: Rc<ConnectionShared<H>>,
) -> impl Service<
    http::Request<Incoming>,
    Response = http::Response<ResponseBody<H>>,
    Error = Infallible,
    Future: 'static,
> {
    service_fn(move |request: http::Request<Incoming>| {
        let received_at = Instant::now();
        let worker = &connection.worker;
        worker.outbox.flush_if_late(received_at);
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
        let settled = host::settle(&method, &uri, version, &mut headers)
            .and_then(|()| transfer_coding::check(&headers))
            .and_then(|()| connection.request_source(&mut headers));
        let source = *settled.as_ref().unwrap_or(&connection.source);
        let refusal = settled.err().map(|error| refuse(&error, version));
        let body = RequestBody::new(body, &worker.limits, &connection.state, &worker.sums);
        let load = body.load();
        // Boxed: it goes through many futures, each of which would hold it twice.
        let mut request = Box::new(Request {
            method,
            uri,
            version,
            headers: headers.into(),
            body,
            peer: source.client,
            scheme: source.scheme,
            received_at,
            number: worker.numbers.take(),
            mounted_path: None,
            activity: None,
        });
        let activity = request.begin_activity();
        let completion = Completion::begin(Rc::clone(&connection), &request, load, activity);
        async move {
            if let Some(refusal) = refusal {
                return Ok(completion.respond(refusal));
            }
            let response = {
                let ConnectionShared {
                    handler, worker, ..
                } = &*completion.connection;
                let activity = &completion.activity;
                let mut handling = pin!(handler.handle(request));
                // The clock was looked at when the request came; on HTTP/2 others may have run since.
                let mut is_fresh = version < Version::HTTP_2;
                let handled = poll_fn(|cx| {
                    if !std::mem::take(&mut is_fresh) {
                        worker.outbox.flush_if_late(Instant::now());
                    }
                    activity.enter(|| handling.as_mut().poll(cx))
                });
                handled.await
            };
            Ok(completion.respond(response))
        }
    })
}

/// The answer to a request that no handler gets. On HTTP/1 it is the last of its connection.
fn refuse(error: &Error, version: Version) -> HttpResponse {
    let refusal = HttpResponse::from_error(error);
    if version < Version::HTTP_2 {
        return refusal.with(CONNECTION, HeaderValue::from_static("close"));
    }
    refusal
}

/// The last bytes of a connection that hyper has refused, and its end. Nothing when it was not refused.
async fn answer_last<I>(mut wire: Wire<I>, reason: String) -> io::Result<()>
where
    I: AsyncRead + AsyncWrite + Unpin + 'static,
{
    if let Some(head) = wire.take_refusal() {
        wire.write_all(&refusal::with_body(&head, &reason)).await?;
        wire.shutdown().await?;
    }
    Ok(())
}
