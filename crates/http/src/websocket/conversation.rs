//! A conversation over a WebSocket: reads ahead by one message, pings a silent client, and ends by a limit what does not end by itself.
//! Knows no handshake. Rule: when it is over, by either side, the handler has `websocket_close_ms` to end and is dropped then.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Sink, SinkExt as _, Stream};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::mpsc,
    time::{Instant, Sleep, sleep_until, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{self, error::ProtocolError, protocol::Role},
};
use tsumugi_trace::{SpanKind, brief_span, in_wait};

use super::{
    frame_gate::FrameGate,
    message::{Close, Message},
};
use crate::{
    error::{Error, Result},
    limits::{HttpLimits, WEBSOCKET_KEPT_BYTES, WEBSOCKET_PONGS_MAX, WEBSOCKET_READ_BYTES},
    switch::Upgraded,
    traffic::{QueuedBytes, Traffic},
};

/// What a client is told whose server drains, with 1001 (RFC 6455, section 7.4.1: an endpoint is going away, such as a server going down).
/// Not 1012, which is registered and not in the RFC: it has clients wait for 5 to 30 seconds, and another process may serve already.
const LEAVING: &str = "the server is leaving: connect again";

/// The application's end of a WebSocket.
#[derive(Debug)]
pub struct WebSocket {
    inbox: RefCell<mpsc::Receiver<Result<Message>>>,
    outbox: mpsc::Sender<OutgoingFrame>,
    closed: Rc<RefCell<Option<Close>>>,
    protocol: Option<String>,
    traffic: Rc<Traffic>,
    /// What to close with because a message found no room, or because somebody has cancelled the conversation.
    refused: RefCell<Option<Close>>,
}

#[derive(Debug)]
enum OutgoingFrame {
    Message(Message, QueuedBytes),
    Close(Close),
}

impl WebSocket {
    /// The next message; none when the client has closed or gone, or the server leaves. An error when it broke a rule or a limit,
    /// which has ended the conversation. One reader at a time.
    pub async fn receive(&self) -> Result<Option<Message>> {
        let received = poll_fn(|cx| self.inbox.borrow_mut().poll_recv(cx));
        let received = in_wait(|| brief_span(SpanKind::Client, "receive"), received);
        received.await.transpose()
    }

    /// Sends a message; waits while the client is slow.
    ///
    /// # Errors
    /// [`Error::Closed`] when the conversation is over; [`Error::Crowded`], or [`Error::TooLarge`] for a message that never will, when it
    /// has to wait for the client and does not fit beside what waits already (`websockets_bytes_max`).
    pub async fn send(&self, message: impl Into<Message>) -> Result<()> {
        let message = message.into();
        let queued = self.traffic.queue(message.length());
        let queued = queued.inspect_err(|error| {
            self.refused.replace(Some(error.into()));
        })?;
        let sent = self.outbox.send(OutgoingFrame::Message(message, queued));
        let sent = in_wait(|| brief_span(SpanKind::Client, "send"), sent);
        sent.await.map_err(|_| Error::Closed)
    }

    /// An operator ends the conversation: its handler, which is to give an error now, is not to blame.
    pub fn mark_cancelled(&self) {
        let close = Close::new(Close::POLICY, "ended by the operator of the server");
        self.refused.replace(Some(close));
    }

    /// Ends the conversation for a reason, after what was sent before. Without it a handler that returns ends it with 1000.
    ///
    /// # Errors
    /// [`Error::CloseFrame`] for a code or a reason that cannot be sent, [`Error::Closed`] when it is over already.
    pub async fn close(&self, code: u16, reason: &str) -> Result<()> {
        let close = OutgoingFrame::Close(Close::checked(code, reason)?);
        self.outbox.send(close).await.map_err(|_| Error::Closed)
    }

    /// Why the client closed, once it has.
    pub fn closed(&self) -> Option<Close> {
        self.closed.borrow().clone()
    }

    /// The protocol that was agreed on.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }
}

/// Why nothing more is read from or written to a conversation.
#[derive(Debug)]
enum End {
    /// The client said so; what answers it is on its way.
    Closed,
    /// The connection is broken.
    Gone,
    /// This is to be said.
    Say(Close),
    /// The client takes nothing, so nothing can be said.
    Stalled,
}

/// Talks over a connection that was switched. What the handler gives; none when it had to be dropped. `leave` resolves when the server
/// wants to go. A handler that keeps the socket for longer than itself finds it closed.
pub async fn converse<T, E>(
    upgraded: Upgraded,
    protocol: Option<String>,
    limits: &HttpLimits,
    leave: impl Future<Output = ()>,
    handler: impl AsyncFnOnce(&Rc<WebSocket>) -> Result<T, E>,
) -> Option<Result<T, E>> {
    let (to_handler, inbox) = mpsc::channel(1);
    let (outbox, mut from_handler) = mpsc::channel(1);
    let closed = Rc::new(RefCell::new(None));
    let socket = Rc::new(WebSocket {
        inbox: RefCell::new(inbox),
        outbox,
        closed: Rc::clone(&closed),
        protocol,
        traffic: upgraded.traffic(),
        refused: RefCell::default(),
    });
    let mut pump = Pump::new(upgraded, limits, closed).await;
    let mut handler = pin!(handler(&socket));
    let ended = tokio::select! {
        biased;
        outcome = &mut handler => Ok(outcome),
        end = pump.run(&to_handler, &mut from_handler, leave) => Err(end),
    };
    drop(to_handler);
    let grace = Duration::from_millis(limits.websocket_close_ms);
    match ended {
        Ok(outcome) => {
            let close = match outcome {
                Ok(_) => Close::new(Close::NORMAL, ""),
                Err(_) => {
                    let refused = socket.refused.take();
                    refused.unwrap_or_else(|| Close::new(Close::FAILED, "the handler failed"))
                }
            };
            let _ = timeout(grace, pump.hang_up(from_handler, close)).await; // who does not answer in time is left
            Some(outcome)
        }
        Err(end) => {
            from_handler.close();
            let ending = timeout(grace, pump.end(end));
            let (outcome, _) = tokio::join!(timeout(grace, handler), ending);
            outcome.ok()
        }
    }
}

/// Moves messages between the connection and the handler.
struct Pump<'l> {
    stream: WebSocketStream<FrameGate<Upgraded>>,
    gate: FrameGate<Upgraded>,
    /// Messages, pings and pongs that the stream has given.
    read: u64,
    /// The longest message that went through the stream's buffers, and the longest for which they may stay.
    bulk: u64,
    kept: u64,
    traffic: Rc<Traffic>,
    limits: &'l HttpLimits,
    closed: Rc<RefCell<Option<Close>>>,
    writing: Writing,
    /// Pongs among them. Nothing more is read while they are as many as may wait.
    pongs: usize,
    /// When the client was last asked whether it is there.
    pinged_at: Cell<Option<Instant>>,
}

/// Whether bytes wait to be taken by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    Nothing,
    Since(Instant),
}

enum Event {
    Flushed,
    Came(Message),
    /// A ping or pong: only that it came counts.
    Sign,
    End(End),
    /// The connection broke a rule.
    Broke(Error, Close),
}

impl From<Error> for Event {
    /// A limit that was broken.
    fn from(error: Error) -> Event {
        let close = Close::from(&error);
        Event::Broke(error, close)
    }
}

impl<'l> Pump<'l> {
    async fn new(
        upgraded: Upgraded,
        limits: &'l HttpLimits,
        closed: Rc<RefCell<Option<Close>>>,
    ) -> Pump<'l> {
        let traffic = upgraded.traffic();
        let gate = FrameGate::new(upgraded);
        Pump {
            stream: stream(&gate, limits).await,
            gate,
            read: 0,
            bulk: 0,
            kept: WEBSOCKET_KEPT_BYTES,
            traffic,
            limits,
            closed,
            writing: Writing::Nothing,
            pongs: 0,
            pinged_at: Cell::new(None),
        }
    }

    /// Until the conversation has an end that is not the handler's.
    async fn run(
        &mut self,
        to_handler: &mpsc::Sender<Result<Message>>,
        from_handler: &mut mpsc::Receiver<OutgoingFrame>,
        leave: impl Future<Output = ()>,
    ) -> End {
        let mut leave = pin!(leave);
        let mut timer = pin!(sleep_until(self.ping_at()));
        let mut room = None;
        loop {
            if self.bulk > self.kept {
                self.shrink().await;
            }
            let reads = room.is_some() && self.pongs < WEBSOCKET_PONGS_MAX;
            self.arm(timer.as_mut(), reads);
            tokio::select! {
                biased;
                () = &mut leave => return End::Say(Close::new(Close::GOING_AWAY, LEAVING)),
                event = poll_fn(|cx| self.poll_event(cx, reads)) => match event {
                    Event::Flushed | Event::Sign => {}
                    Event::Came(message) => deliver(&mut room, Ok(message)),
                    Event::End(end) => return end,
                    Event::Broke(error, close) => {
                        deliver(&mut room, Err(error));
                        return End::Say(close);
                    }
                },
                outgoing = from_handler.recv(), if self.writing == Writing::Nothing => match outgoing {
                    Some(OutgoingFrame::Message(message, queued)) => {
                        drop(queued);
                        self.begin(message.into());
                    }
                    Some(OutgoingFrame::Close(close)) => return End::Say(close),
                    // The handler holds the socket, so this cannot be.
                    None => return End::Gone,
                },
                permit = to_handler.reserve(), if room.is_none() => {
                    room = permit.ok();
                    self.traffic.message_taken();
                    // Nothing was read while the handler was at work, pongs neither: the client's silence begins now.
                    self.traffic.listen_again();
                }
                () = timer.as_mut() => if let Some(end) = self.late(reads) {
                    return end;
                },
            }
        }
    }

    /// Gives a frame to the connection; [`Event::Flushed`] tells when the client's side has all of it.
    fn begin(&mut self, message: tungstenite::Message) {
        self.traffic.begin(message.len());
        self.bulk = self.bulk.max(message.len() as u64);
        // What fails here fails again when it is flushed.
        let _ = Pin::new(&mut self.stream).start_send(message);
        self.writing = Writing::Since(Instant::now());
    }

    /// Gives large buffers back, unless few enough are kept. They hold nothing once all that came has been read and all is sent.
    async fn shrink(&mut self) {
        if self.writing != Writing::Nothing || !self.gate.is_even(self.read) {
            return;
        }
        // For each direction.
        if self.traffic.kept.try_set(2 * self.bulk) {
            self.kept = self.bulk;
        } else {
            self.stream = stream(&self.gate, self.limits).await;
            self.traffic.kept.try_set(0);
            (self.bulk, self.kept) = (0, WEBSOCKET_KEPT_BYTES);
        }
    }

    /// A ping has come, whose pong goes behind what is being written.
    fn pong_waits(&mut self) {
        self.pongs += 1;
        if self.writing == Writing::Nothing {
            self.writing = Writing::Since(Instant::now());
        }
    }

    /// Everything has been taken by the client's side.
    fn flushed(&mut self) {
        self.writing = Writing::Nothing;
        self.traffic.flushed();
        if std::mem::take(&mut self.pongs) >= WEBSOCKET_PONGS_MAX {
            // Nothing was read while the pongs waited: the client's silence begins now.
            self.traffic.listen_again();
        }
    }

    /// Until the client's side has everything, or never will. When there is no room for what it does not take, it is left without a word:
    /// part of a message has gone already.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(flushed) => {
                self.flushed();
                Poll::Ready(flushed.map_err(|_| End::Gone))
            }
            Poll::Pending => match self.traffic.block() {
                Ok(()) => Poll::Pending,
                Err(_) => Poll::Ready(Err(End::Gone)),
            },
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, reads: bool) -> Poll<Event> {
        if self.writing != Writing::Nothing
            && let Poll::Ready(flushed) = self.poll_flush(cx)
        {
            return Poll::Ready(match flushed {
                Ok(()) => Event::Flushed,
                Err(end) => Event::End(end),
            });
        }
        if !reads {
            return Poll::Pending;
        }
        let read = Pin::new(&mut self.stream).poll_next(cx);
        read.map(|read| self.event(read))
    }

    fn event(&mut self, read: Option<tungstenite::Result<tungstenite::Message>>) -> Event {
        use tungstenite::Message as Frame;
        if let Some(Ok(frame)) = &read {
            self.read += 1;
            self.bulk = self.bulk.max(frame.len() as u64);
        }
        match read {
            Some(Ok(Frame::Text(text))) => Event::Came(Message::Text(text.as_str().to_owned())),
            Some(Ok(Frame::Binary(bytes))) => Event::Came(Message::Binary(bytes)),
            Some(Ok(Frame::Close(frame))) => {
                *self.closed.borrow_mut() = Some(frame.into());
                Event::End(End::Closed)
            }
            Some(Ok(frame @ (Frame::Ping(_) | Frame::Pong(_)))) => {
                self.traffic.control_read(frame.len());
                if frame.is_ping() {
                    self.pong_waits();
                }
                Event::Sign
            }
            Some(Ok(Frame::Frame(_))) => Event::Sign,
            Some(Err(tungstenite::Error::Capacity(_))) => Event::from(Error::TooLarge {
                name: "websocket_message_bytes_max",
                limit: self.limits.websocket_message_bytes_max as u64,
            }),
            Some(Err(tungstenite::Error::Io(error))) => match error.downcast::<Error>() {
                Ok(error @ Error::Malformed(what)) => {
                    Event::Broke(error, Close::new(Close::PROTOCOL, what))
                }
                Ok(error) => Event::from(error),
                Err(_) => Event::End(End::Gone),
            },
            Some(Err(tungstenite::Error::Utf8(_))) => {
                let close = Close::new(Close::NO_TEXT, "text is UTF-8");
                Event::Broke(Error::Malformed("text of a WebSocket"), close)
            }
            Some(Err(tungstenite::Error::Protocol(error)))
                if error != ProtocolError::ResetWithoutClosingHandshake =>
            {
                let close = Close::new(Close::PROTOCOL, error.to_string());
                Event::Broke(Error::Malformed("frame of a WebSocket"), close)
            }
            Some(Err(_)) | None => Event::End(End::Gone),
        }
    }

    /// When to look whether the client is late. One of which nothing is read cannot be silent.
    fn deadline(&self, reads: bool) -> Instant {
        let due = match self.writing {
            Writing::Nothing => self.ping_at(),
            Writing::Since(since) => self.stalled_at(since),
        };
        match reads {
            true => due.min(self.silent_at().min(self.unfinished_at())),
            false => due,
        }
    }

    /// When a client is asked whether it is there. Also while nothing is read: that one has gone then shows when the ping cannot be sent.
    fn ping_at(&self) -> Instant {
        let read_at = self.traffic.read_at.get();
        let quiet_since = self.pinged_at.get().map_or(read_at, |at| at.max(read_at));
        quiet_since + Duration::from_millis(self.limits.websocket_idle_ms) / 2
    }

    fn silent_at(&self) -> Instant {
        self.traffic.read_at.get() + Duration::from_millis(self.limits.websocket_idle_ms)
    }

    /// When a message whose first bytes have come must have ended.
    fn unfinished_at(&self) -> Instant {
        let since = self.traffic.unfinished_since();
        let since = since.unwrap_or_else(|| self.traffic.read_at.get());
        since + Duration::from_millis(self.limits.websocket_idle_ms)
    }

    fn stalled_at(&self, since: Instant) -> Instant {
        let taken_at = self.traffic.written_at.get().max(since);
        taken_at + Duration::from_millis(self.limits.send_timeout_ms)
    }

    /// The timer is moved only when it has fired or would fire too late.
    fn arm(&self, timer: Pin<&mut Sleep>, reads: bool) {
        let deadline = self.deadline(reads);
        if timer.is_elapsed() || timer.deadline() > deadline {
            timer.reset(deadline);
        }
    }

    /// What to do when the timer fires.
    fn late(&mut self, reads: bool) -> Option<End> {
        let now = Instant::now();
        if let Writing::Since(since) = self.writing
            && now >= self.stalled_at(since)
        {
            return Some(End::Stalled);
        }
        let late = [
            (self.silent_at(), "nothing came"),
            (self.unfinished_at(), "a message had no end"),
        ];
        if let Some((_, what)) = late.iter().find(|(at, _)| reads && now >= *at) {
            let idle_ms = self.limits.websocket_idle_ms;
            let reason = format!("{what} within websocket_idle_ms ({idle_ms} ms)");
            return Some(End::Say(Close::new(Close::GOING_AWAY, reason)));
        }
        if now >= self.ping_at() && self.writing == Writing::Nothing {
            self.pinged_at.set(Some(now));
            self.begin(tungstenite::Message::Ping(Default::default()));
        }
        None
    }

    /// Sends what the handler left and says the end.
    async fn hang_up(&mut self, mut from_handler: mpsc::Receiver<OutgoingFrame>, mut close: Close) {
        from_handler.close();
        while let Some(outgoing) = from_handler.recv().await {
            match outgoing {
                OutgoingFrame::Message(message, queued) => {
                    drop(queued);
                    self.begin(message.into());
                    if poll_fn(|cx| self.poll_flush(cx)).await.is_err() {
                        return;
                    }
                }
                OutgoingFrame::Close(said) => {
                    close = said;
                    break;
                }
            }
        }
        self.end(End::Say(close)).await;
    }

    /// Says the end, waits for the client's, and closes the connection so that the client can still read what was said.
    async fn end(&mut self, end: End) {
        match end {
            End::Gone | End::Stalled => return,
            End::Closed => {
                let _ = self.stream.flush().await; // the answer; a client that has gone needs none
            }
            End::Say(close) => {
                if self.stream.close(Some(close.into())).await.is_ok() {
                    self.read_until_close().await;
                }
            }
        }
        let _ = self.stream.get_mut().shutdown().await;
        // After its close a client sends nothing more.
        if self.closed.borrow().is_none() {
            self.linger().await;
        }
    }

    /// Until the client has closed too, or breaks a rule.
    async fn read_until_close(&mut self) {
        while let Some(Ok(message)) = futures_util::StreamExt::next(&mut self.stream).await {
            if let tungstenite::Message::Close(frame) = message {
                self.closed.borrow_mut().get_or_insert(frame.into());
            }
            self.traffic.message_taken();
        }
    }

    /// Reads and drops what the client still sends: closing with unread bytes would reset the connection.
    async fn linger(&mut self) {
        self.traffic.discard();
        let mut left = self.limits.linger_bytes_max;
        let mut memory = [0; WEBSOCKET_READ_BYTES];
        let lingering = async {
            while left > 0 {
                match self.stream.get_mut().read(&mut memory).await {
                    Ok(read @ 1..) => left = left.saturating_sub(read),
                    _ => return,
                }
            }
        };
        let limit = Duration::from_millis(self.limits.linger_ms);
        let _ = timeout(limit, lingering).await;
    }
}

/// The protocol over a connection, with buffers that hold nothing.
async fn stream(
    gate: &FrameGate<Upgraded>,
    limits: &HttpLimits,
) -> WebSocketStream<FrameGate<Upgraded>> {
    let config = tungstenite::protocol::WebSocketConfig::default()
        .read_buffer_size(WEBSOCKET_READ_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(limits.websocket_message_bytes_max))
        .max_frame_size(Some(limits.websocket_message_bytes_max));
    WebSocketStream::from_raw_socket(gate.clone(), Role::Server, Some(config)).await
}

/// Puts a message into the room that was kept for it.
fn deliver(room: &mut Option<mpsc::Permit<'_, Result<Message>>>, message: Result<Message>) {
    if let Some(room) = room.take() {
        room.send(message);
    }
}
