//! Serves HTTP/2 connections on the thread they were accepted on, from preface to drain. Knows no gRPC and no database.
//! A client that says nothing at first, is not there any more, or takes none of its answers, loses its connection by a named limit.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use h2::server::{Builder, Connection, SendResponse};
use h2::{Ping, PingPong, RecvStream};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};
use tsumugi_worker::WorkerHandle;

use super::authority::Mask;
use super::busy_poll::BusyPoll;
use super::call_gate::CallGate;
use super::outbound::{ClientProgress, OutboundPiece};
use crate::limits::{
    CALLS_PER_TURN, CONNECTION_WINDOW_BYTES, CONNECTION_WINDOW_BYTES_MIN, CONNECTION_WINDOW_PARTS,
    FRAME_BYTES_MAX, READ_TURN_BYTES, RESET_STREAMS_MAX, RpcLimits, SEND_BUFFER_BYTES,
    STREAM_WINDOW_BYTES,
};

/// What all connections of a worker share.
#[derive(Debug)]
pub(crate) struct Connections {
    worker: WorkerHandle,
    http2: Builder,
    /// What is left for the windows of connections to come.
    windows: Cell<usize>,
    busy_poll: Rc<BusyPoll>,
    preface: Duration,
    keep_alive: Duration,
    keep_alive_answer: Duration,
    send_timeout: Duration,
}

/// The window of a connection; what was taken for it is free for others when this is dropped.
struct ConnectionWindow<'c> {
    windows: &'c Cell<usize>,
    taken: usize,
    bytes: u32,
}

impl Drop for ConnectionWindow<'_> {
    fn drop(&mut self) {
        self.windows.set(self.windows.get() + self.taken);
    }
}

impl Connections {
    pub(crate) fn new(worker: &WorkerHandle, limits: &RpcLimits) -> Connections {
        let mut http2 = Builder::new();
        http2
            .initial_window_size(STREAM_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES_MAX)
            .max_concurrent_streams(limits.streams_max)
            .max_header_list_size(limits.header_bytes_max)
            .max_send_buffer_size(SEND_BUFFER_BYTES)
            .max_pending_accept_reset_streams(RESET_STREAMS_MAX);
        Connections {
            worker: worker.clone(),
            http2,
            windows: Cell::new(limits.inbound_bytes_max),
            busy_poll: BusyPoll::new(Duration::from_micros(limits.awake_us), Instant::now()),
            preface: Duration::from_millis(limits.preface_ms),
            keep_alive: Duration::from_millis(limits.keep_alive_ms),
            keep_alive_answer: Duration::from_millis(limits.keep_alive_answer_ms),
            send_timeout: Duration::from_millis(limits.send_timeout_ms),
        }
    }

    /// How much a new connection's client may send before it is taken.
    fn window(&self) -> ConnectionWindow<'_> {
        let left = self.windows.get();
        let part = u32::try_from(left / CONNECTION_WINDOW_PARTS).unwrap_or(u32::MAX);
        let bytes = part.clamp(CONNECTION_WINDOW_BYTES_MIN, CONNECTION_WINDOW_BYTES);
        let taken = left.min(bytes as usize);
        self.windows.set(left - taken);
        ConnectionWindow {
            windows: &self.windows,
            taken,
            bytes,
        }
    }

    /// Serves a connection to its end; with a mask, what the client names as its authority does not matter. After `shutdown` resolves, calls that have begun are finished and the connection closes.
    pub(crate) async fn serve<I, S>(
        &self,
        io: I,
        mask: Option<Mask>,
        gate: Rc<CallGate>,
        shutdown: S,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + 'static,
        S: Future<Output = ()>,
    {
        let mut shutdown = pin!(shutdown);
        let window = self.window();
        let mut http2 = self.http2.clone();
        http2.initial_connection_window_size(window.bytes);
        let heard = Rc::new(Cell::new(Instant::now()));
        let progress = Arc::new(ClientProgress::new(Arc::clone(&gate.lane.outbound)));
        let io = ActivityStream {
            io,
            at: Rc::clone(&heard),
            busy_poll: Rc::clone(&self.busy_poll),
            mask,
            progress: Arc::clone(&progress),
            answered: true,
            turn: 0,
        };
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(self.preface, http2.handshake(io)) => shaken,
            () = &mut shutdown => return,
        };
        let Ok(Ok(mut connection)) = shaken else {
            return;
        };
        let mut presence = Presence::new(self, heard, connection.ping_pong());
        let mut patience = SendTimeout::new(self, Arc::clone(&progress));
        let mut open = true;
        loop {
            tokio::select! {
                biased;
                ended = self.accept(&mut connection, &gate, &progress) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "connection failed");
                    }
                    return;
                }
                () = &mut shutdown, if open => {
                    open = false;
                    connection.graceful_shutdown();
                }
                why = poll_fn(|context| match presence.poll(context) {
                    Poll::Pending => patience.poll(context),
                    gone => gone,
                }) => {
                    tracing::debug!("connection closed: its client {why}");
                    return;
                }
            }
        }
    }

    /// Takes calls until the connection ends.
    async fn accept<I: AsyncRead + AsyncWrite + Unpin>(
        &self,
        connection: &mut Connection<I, OutboundPiece>,
        gate: &Rc<CallGate>,
        progress: &Arc<ClientProgress>,
    ) -> Result<(), h2::Error> {
        poll_fn(|context| {
            for _ in 0..CALLS_PER_TURN {
                match std::task::ready!(connection.poll_accept(context)) {
                    Some(Ok((request, respond))) => self.begin(gate, progress, request, respond),
                    Some(Err(error)) => return Poll::Ready(Err(error)),
                    None => return Poll::Ready(Ok(())),
                }
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }

    /// Begins a call. Most are answered here and now; one that has to wait goes on as a task of its own.
    fn begin(
        &self,
        gate: &Rc<CallGate>,
        progress: &Arc<ClientProgress>,
        request: Request<RecvStream>,
        respond: SendResponse<OutboundPiece>,
    ) {
        let mut call = Box::pin(call(
            Rc::clone(gate),
            Arc::clone(progress),
            request,
            respond,
        ));
        // This wakes no task: the task looks anew at what there is.
        let mut context = Context::from_waker(Waker::noop());
        if call.as_mut().poll(&mut context).is_pending() {
            drop(self.worker.spawn(call));
        }
    }
}

/// One call from its metadata to the last byte of its answer. Ends early when the client takes it back or the connection ends.
async fn call(
    gate: Rc<CallGate>,
    progress: Arc<ClientProgress>,
    request: Request<RecvStream>,
    mut respond: SendResponse<OutboundPiece>,
) {
    let reply = {
        let mut answer = pin!(gate.answer(request));
        poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Ready(reply) => Poll::Ready(Some(reply)),
            Poll::Pending => respond.poll_reset(context).map(|_| None),
        })
        .await
    };
    if let Some(reply) = reply
        && let Err(error) = reply.send(&mut respond, progress).await
    {
        tracing::debug!(%error, "an answer was not taken");
    }
}

/// Whether the client is there: one that is silent is pinged.
struct Presence {
    every: Duration,
    answer: Duration,
    /// When bytes came last.
    heard: Rc<Cell<Instant>>,
    ping: Option<PingPong>,
    /// When it was pinged, unless it has answered.
    pinged_at: Option<Instant>,
    look: Pin<Box<Sleep>>,
}

impl Presence {
    fn new(
        connections: &Connections,
        heard: Rc<Cell<Instant>>,
        ping: Option<PingPong>,
    ) -> Presence {
        Presence {
            every: connections.keep_alive,
            answer: connections.keep_alive_answer,
            heard,
            ping,
            pinged_at: None,
            look: Box::pin(tokio::time::sleep(connections.keep_alive)),
        }
    }

    /// Resolves when it has not answered.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<&'static str> {
        while self.look.as_mut().poll(context).is_ready() {
            let (now, heard) = (Instant::now(), self.heard.get());
            if self.pinged_at.is_some_and(|pinged_at| heard <= pinged_at) {
                return Poll::Ready("did not answer within keep_alive_answer_ms");
            }
            self.pinged_at = None;
            let mut next = heard + self.every;
            if next <= now {
                if let Some(ping) = &mut self.ping {
                    // The last answer makes way for the next question.
                    let _ = ping.poll_pong(context);
                    if let Err(error) = ping.send_ping(Ping::opaque()) {
                        tracing::debug!(%error, "a client could not be pinged");
                    }
                }
                self.pinged_at = Some(now);
                next = now + self.answer;
            }
            self.look.as_mut().reset(next);
        }
        Poll::Pending
    }
}

/// Whether the client takes its answers.
struct SendTimeout {
    half: Duration,
    progress: Arc<ClientProgress>,
    /// How far it was when it was seen standing still.
    stalled: Option<u64>,
    look: Pin<Box<Sleep>>,
}

impl SendTimeout {
    fn new(connections: &Connections, progress: Arc<ClientProgress>) -> SendTimeout {
        // A look in half the time: who is seen standing still twice has stood still for at least half, at most the whole of it.
        let half = connections.send_timeout / 2;
        SendTimeout {
            half,
            progress,
            stalled: None,
            look: Box::pin(tokio::time::sleep(half)),
        }
    }

    /// Resolves when it has taken nothing for too long.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<&'static str> {
        while self.look.as_mut().poll(context).is_ready() {
            let now = self.progress.stalled_at();
            if now.is_some() && now == self.stalled {
                return Poll::Ready("took nothing within send_timeout_ms");
            }
            self.stalled = now;
            self.look.as_mut().reset(Instant::now() + self.half);
        }
        Poll::Pending
    }
}

/// A stream that notes when something came.
struct ActivityStream<I> {
    io: I,
    at: Rc<Cell<Instant>>,
    busy_poll: Rc<BusyPoll>,
    mask: Option<Mask>,
    progress: Arc<ClientProgress>,
    /// Whether something was written since something was read.
    answered: bool,
    /// Bytes read in this turn.
    turn: usize,
}

impl<I> ActivityStream<I> {
    /// Notes what was written, and hands it on.
    fn wrote(&mut self, written: Poll<std::io::Result<usize>>) -> Poll<std::io::Result<usize>> {
        self.answered = true;
        if let Poll::Ready(Ok(bytes)) = &written {
            self.busy_poll.moved(*bytes);
        }
        written
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for ActivityStream<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.turn >= READ_TURN_BYTES {
            // The calls take what has come before more does.
            self.turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let filled = buffer.filled().len();
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if read.is_pending() {
            self.turn = 0;
        } else {
            let read = buffer.filled().len() - filled;
            self.turn += read;
            if let Some(mask) = &mut self.mask
                && let Some(new) = buffer.filled_mut().get_mut(filled..)
            {
                mask.apply(new);
            }
            let now = Instant::now();
            self.at.set(now);
            // More of a large message, or room for more of an answer, says nothing about when the next call comes.
            let is_next =
                std::mem::take(&mut self.answered) && self.progress.stalled_at().is_none();
            if is_next {
                self.busy_poll.came(now);
            }
            self.busy_poll.moved(read);
        }
        read
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for ActivityStream<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(context, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(context, slices);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
