//! Serves HTTP/2 connections on the thread they were accepted on, from preface to drain. Knows no gRPC and no database.
//! A client that says nothing at first, is not there any more, or takes none of its answers, loses its connection by a named limit.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tsumugi_worker::Worker;

use super::door::Door;
use super::outbound::{Outbound, Progress};
use crate::limits::{
    CONNECTION_WINDOW_BYTES, Limits, RESET_STREAMS_MAX, SEND_BUFFER_BYTES, STREAM_WINDOW_BYTES,
};

/// Starts the tasks of calls under the worker's watchdog.
#[derive(Clone, Debug)]
struct OnWorker(Worker);

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for OnWorker {
    fn execute(&self, future: F) {
        drop(self.0.spawn(future));
    }
}

/// What all connections of a worker share.
#[derive(Debug)]
pub(crate) struct Connections {
    http2: http2::Builder<OnWorker>,
    preface: Duration,
    send_timeout: Duration,
}

impl Connections {
    pub(crate) fn new(worker: &Worker, limits: &Limits) -> Connections {
        let mut http2 = http2::Builder::new(OnWorker(worker.clone()));
        http2
            .timer(TokioTimer::new())
            .auto_date_header(false)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_concurrent_streams(limits.streams_max)
            .max_header_list_size(limits.header_bytes_max)
            .max_send_buf_size(SEND_BUFFER_BYTES)
            .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
            .keep_alive_interval(Duration::from_millis(limits.keep_alive_ms))
            .keep_alive_timeout(Duration::from_millis(limits.keep_alive_answer_ms));
        Connections {
            http2,
            preface: Duration::from_millis(limits.preface_ms),
            send_timeout: Duration::from_millis(limits.send_timeout_ms),
        }
    }

    /// Serves a connection to its end. After `shutdown` resolves, calls that have begun are finished and the connection closes.
    pub(crate) async fn serve<I, S>(&self, mut io: I, door: Rc<Door>, shutdown: S)
    where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
        S: Future<Output = ()>,
    {
        let mut shutdown = pin!(shutdown);
        let begun = tokio::select! {
            begun = tokio::time::timeout(self.preface, is_http2(&mut io)) => begun.unwrap_or(false),
            () = &mut shutdown => false,
        };
        if !begun {
            return;
        }
        let io = TokioIo::new(Begun { io, ahead: PREFACE });
        let progress = Arc::new(Progress::new(Arc::clone(&door.lane.outbound)));
        let seen = Arc::clone(&progress);
        let service = service_fn(move |request: Request<Incoming>| {
            let (door, progress) = (Rc::clone(&door), Arc::clone(&progress));
            // Boxed, because hyper and tokio move what they are to run several times before they do.
            Box::pin(async move {
                Ok::<Response<Outbound>, Infallible>(door.answer(request, progress).await)
            })
        });
        let mut connection = pin!(self.http2.serve_connection(io, service));
        let mut open = true;
        let mut stalled = None;
        // A look in half the time: who is seen standing still twice has stood still for at least half, at most the whole of it.
        let mut look = pin!(tokio::time::sleep(self.send_timeout / 2));
        loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "connection failed");
                    }
                    return;
                }
                () = &mut shutdown, if open => {
                    open = false;
                    connection.as_mut().graceful_shutdown();
                }
                () = &mut look => {
                    let now = seen.stalled_at();
                    if now.is_some() && now == stalled {
                        tracing::debug!("connection closed: its client took nothing within send_timeout_ms");
                        return;
                    }
                    stalled = now;
                    look.as_mut().reset(tokio::time::Instant::now() + self.send_timeout / 2);
                }
            }
        }
    }
}

/// What every HTTP/2 client sends first (RFC 9113 section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Reads what a client begins with. `false` when it has gone or speaks something else.
async fn is_http2<I: AsyncRead + Unpin>(io: &mut I) -> bool {
    let mut memory = [0; PREFACE.len()];
    let mut buffer = ReadBuf::new(&mut memory);
    poll_fn(|context| {
        loop {
            let before = buffer.filled().len();
            match Pin::new(&mut *io).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if buffer.filled().len() > before => {}
                Poll::Ready(_) => return Poll::Ready(false),
                Poll::Pending => return Poll::Pending,
            }
            if !PREFACE.starts_with(buffer.filled()) {
                return Poll::Ready(false);
            }
            if buffer.remaining() == 0 {
                return Poll::Ready(true);
            }
        }
    })
    .await
}

/// A stream whose preface was read already.
struct Begun<I> {
    io: I,
    ahead: &'static [u8],
}

impl<I: AsyncRead + Unpin> AsyncRead for Begun<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.ahead.is_empty() {
            return Pin::new(&mut self.io).poll_read(context, buffer);
        }
        let (now, later) = self
            .ahead
            .split_at(self.ahead.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.ahead = later;
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Begun<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
