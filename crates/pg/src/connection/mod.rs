//! One connection, used by many callers at once: each writes its request and awaits its own answer. Knows no SQL.
//! Everything stays on one thread: the callers append to one buffer (`outbox`), a task (`pump`) sends it and cuts what comes back. Rule: a caller that leaves never disturbs the others; its answer is thrown away.

mod answer;
mod cancel;
mod open;
mod outbox;
mod pump;
mod slots;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tsumugi_pg_proto::Session;
use tsumugi_pg_proto::backend::{ServerError, TransactionStatus};
use tsumugi_pg_proto::connection::{Connection as Protocol, Reply, Request, Shape};
use tsumugi_pg_proto::frontend;

use crate::cache::Cache;
use crate::catalogue::Catalogue;
use crate::error::{Error, Result};
use crate::limits;
pub use answer::{Answer, Part, Parts};
pub use cancel::Cancel;
pub(crate) use outbox::FlushMode;
use outbox::Outbox;
pub(crate) use slots::Lost;
use slots::Slots;

/// Tells the requests of one connection apart.
pub(crate) type Ticket = u32;

/// What a caller of LISTEN, and whoever wants notices, is told.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Somebody notified a channel that this connection listens to.
    Notification {
        /// The server process that did; may be our own.
        process_id: u32,
        /// The channel.
        channel: String,
        /// What was said.
        payload: String,
    },
    /// The server warns.
    Notice(Box<ServerError>),
    /// A setting of the server has a new value.
    Parameter {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// The connection has ended; nothing comes after this.
    Ended,
}

/// How a connection behaves, besides what its server says.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// Statements kept prepared.
    pub statement_cache: usize,
    /// Whether statements may be prepared by name.
    pub pooling: Pooling,
    /// Bytes of one whole answer; a larger one has to be streamed.
    pub reply_bytes_max: usize,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour {
            statement_cache: limits::STATEMENT_CACHE_DEFAULT,
            pooling: Pooling::Session,
            reply_bytes_max: limits::REPLY_BYTES_DEFAULT,
        }
    }
}

/// What is between us and the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// Nothing, or a pooler that gives us one server session for as long as we are connected.
    #[default]
    Session,
    /// A pooler that may give us another session for every transaction: nothing may stay in a session, so statements are sent anew
    /// with each execution.
    Transaction,
}

/// Whoever wants to know what comes unasked.
type Observer = Box<dyn FnMut(Event)>;

/// A connection. Clones are the same connection; it ends when the last one has gone and nobody waits for an answer.
#[derive(Clone)]
pub struct Connection(pub(crate) Rc<Shared>);

pub(crate) struct Shared {
    pub(crate) protocol: RefCell<Protocol<Ticket>>,
    out: RefCell<Outbox>,
    slots: RefCell<Slots>,
    /// Bytes that the socket has taken, since the beginning.
    sent: Cell<u64>,
    /// Bytes that came from it.
    received: Cell<u64>,
    /// When somebody last asked for how long the server is silent: bytes in both directions, and since when it was so many.
    progress: Cell<(u64, Instant)>,
    pump: Cell<Option<Waker>>,
    /// The pump is to look again; it need not be woken a second time.
    rung: Cell<bool>,
    /// Callers waiting until the buffer has room.
    room: RefCell<Vec<Waker>>,
    /// Nothing is written while a request to cancel is on its way.
    held: Cell<bool>,
    /// A task looks after answers that nobody waits for.
    watching_abandoned: Cell<bool>,
    /// What is read bit by bit depends on the messages that its caller sends next: nobody else may write.
    reserved: Cell<bool>,
    /// What is sent before anything else once it no longer is.
    deferred: RefCell<Vec<Box<str>>>,
    /// A transaction was dropped, and nobody has begun another since: none may be open once all answers have come.
    orphaned: Cell<bool>,
    /// The handles are gone.
    closing: Cell<bool>,
    lost: RefCell<Option<Lost>>,
    cancel: Cancel,
    observer: RefCell<Option<Observer>>,
    pub(crate) behaviour: Behaviour,
    pub(crate) cache: RefCell<Cache>,
    pub(crate) catalogue: Catalogue,
}

impl Connection {
    /// Takes over a stream after start-up; `leftover` is what was read beyond it. Spawns the connection's task on the
    /// current thread's runtime, which must be one for futures that are not `Send`.
    pub fn new<S>(
        stream: S,
        leftover: BytesMut,
        session: &Session,
        cancel: Cancel,
        behaviour: Behaviour,
    ) -> Connection
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let shared = Rc::new(Shared {
            protocol: RefCell::new(Protocol::new(session, behaviour.reply_bytes_max)),
            out: RefCell::new(Outbox::new()),
            slots: RefCell::default(),
            sent: Cell::new(0),
            received: Cell::new(0),
            progress: Cell::new((0, Instant::now())),
            pump: Cell::new(None),
            rung: Cell::new(true),
            room: RefCell::default(),
            held: Cell::new(false),
            watching_abandoned: Cell::new(false),
            reserved: Cell::new(false),
            deferred: RefCell::default(),
            orphaned: Cell::new(false),
            closing: Cell::new(false),
            lost: RefCell::new(None),
            cancel,
            observer: RefCell::new(None),
            behaviour,
            cache: RefCell::new(Cache::new(behaviour.statement_cache)),
            catalogue: Catalogue::default(),
        });
        tokio::task::spawn_local(pump::Pump::new(stream, leftover, Rc::clone(&shared)));
        Connection(shared)
    }

    /// Whether statements can be sent.
    pub fn is_open(&self) -> bool {
        self.0.lost.borrow().is_none()
            && !self.0.held.get()
            && self.0.protocol.borrow().fatal().is_none()
    }

    /// What the last answer said about the session's transaction.
    pub fn status(&self) -> TransactionStatus {
        self.0.protocol.borrow().status()
    }

    /// How many answers are awaited.
    pub fn awaited(&self) -> usize {
        self.0.protocol.borrow().awaited()
    }

    /// Since when the oldest request has been waiting for its answer.
    pub fn unanswered_since(&self) -> Option<Instant> {
        let oldest = self.0.protocol.borrow().oldest()?;
        self.0.slots.borrow().asked_at(oldest)
    }

    /// Since when the server has owed an answer without a byte going in either direction. It owes none while it waits for its
    /// client, as for somebody who reads rows slowly. As exact as this is called often.
    pub fn silent_since(&self) -> Option<Instant> {
        let protocol = self.0.protocol.borrow();
        let owes = protocol.oldest().is_some_and(|oldest| {
            !protocol.awaits_copy_data() && !self.0.slots.borrow().has_news(oldest)
        });
        let bytes = self.0.sent.get() + self.0.received.get();
        let (before, since) = self.0.progress.get();
        if owes && bytes == before {
            return Some(since);
        }
        let now = Instant::now();
        self.0.progress.set((bytes, now));
        owes.then_some(now)
    }

    /// A setting that the server reports, such as `server_version`, `server_encoding` or `TimeZone`, as it is now.
    pub fn parameter(&self, name: &str) -> Option<String> {
        let protocol = self.0.protocol.borrow();
        protocol.parameters().value(name).map(str::to_owned)
    }

    /// All settings that the server reports, with their values as they are now.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let protocol = self.0.protocol.borrow();
        let known = protocol.parameters().iter();
        known
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// Calls `observer` for what comes unasked: notifications, notices, changed settings. It replaces an earlier one.
    pub fn observe(&self, observer: impl FnMut(Event) + 'static) {
        *self.0.observer.borrow_mut() = Some(Box::new(observer));
    }

    /// Waits until the answers to everything sent so far have come, and leaves a transaction that is open. Afterwards the
    /// connection is clean, or it has ended.
    pub async fn reset(&self) {
        let reset = async {
            self.0.settled().await;
            if self.status() != TransactionStatus::Idle && self.is_alive() {
                self.simple("ROLLBACK")?.await?;
            }
            Ok::<(), Error>(())
        };
        let done = tokio::time::timeout(limits::RESET_TIMEOUT, reset).await;
        if !matches!(done, Ok(Ok(()))) || self.status() != TransactionStatus::Idle {
            self.0.lose(Lost::unclean());
        }
    }

    /// Ends the connection; whoever waits for an answer gets an error with this reason.
    pub fn abort(&self, reason: &'static str) {
        self.0.lose(Lost::aborted(reason));
    }

    /// Throws away whatever the session was told: settings, temporary tables, locks, subscriptions, prepared statements.
    /// Afterwards the connection is as new, or it has ended.
    pub async fn discard(&self) {
        self.0.cache.borrow_mut().clear();
        let discarded = async { self.simple("DISCARD ALL")?.await };
        match tokio::time::timeout(limits::RESET_TIMEOUT, discarded).await {
            Ok(Ok(reply)) if reply.error.is_none() => {}
            _ => self.0.lose(Lost::unclean()),
        }
    }

    /// Sends a statement without values whose answer nobody waits for, before whatever is asked next: at once, or as soon as the rows or
    /// COPY data that are on their way have ended or were dropped. If it cannot be sent then, the connection ends instead.
    pub fn tell(&self, sql: &str) {
        if self.0.reserved.get() {
            self.0.deferred.borrow_mut().push(sql.into());
        } else {
            self.0.send_untended(sql);
        }
    }

    /// Leaves the transaction that is open, or will be once what was sent has run. As with [`Connection::tell`] nobody waits for the
    /// answer.
    pub(crate) fn leave_transaction(&self) {
        self.0.orphaned.set(true);
        self.tell("ROLLBACK");
    }

    /// A transaction is begun, and whoever does that sees to its end.
    pub(crate) fn enter_transaction(&self) {
        self.0.orphaned.set(false);
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.0.lost.borrow().is_none()
    }

    /// Asks by the simple protocol, which takes several statements and no values.
    pub(crate) fn simple(&self, sql: &str) -> Result<Answer> {
        self.ask(1, FlushMode::Now, |request, ticket| {
            Ok(request.query(sql, ticket, Shape::Whole)?)
        })
    }

    /// Writes one request and awaits its whole answer.
    pub(crate) fn ask(
        &self,
        requests: u32,
        haste: FlushMode,
        write: impl FnMut(Request<'_, Ticket>, Ticket) -> Result<()>,
    ) -> Result<Answer> {
        let ticket = self.0.write(requests, haste, write)?;
        Ok(Answer::new(Rc::clone(&self.0), ticket))
    }

    /// Writes one request and awaits its answer message by message.
    pub(crate) fn ask_parts(
        &self,
        write: impl FnMut(Request<'_, Ticket>, Ticket) -> Result<()>,
    ) -> Result<Parts> {
        let ticket = self.0.write(1, FlushMode::Now, write)?;
        self.0.slots.borrow_mut().stream(ticket);
        Ok(Parts::new(Rc::clone(&self.0), ticket))
    }

    /// Gives up the COPY that was asked for last.
    pub(crate) fn give_copy_up(&self) {
        self.0.append(|protocol, out| {
            let given_up = protocol.copy_give_up(out, "the caller gave it up");
            debug_assert!(given_up.is_ok(), "the newest request is a COPY");
        });
    }

    /// Waits until the buffer for what is to be sent has room, so that it stays bounded when the server does not read.
    pub(crate) async fn room(&self) {
        std::future::poll_fn(|cx| {
            if self.0.out.borrow().bytes.len() < limits::OUT_BYTES_MAX || !self.is_alive() {
                return std::task::Poll::Ready(());
            }
            self.0.room.borrow_mut().push(cx.waker().clone());
            std::task::Poll::Pending
        })
        .await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.let_go(2);
    }
}

impl Shared {
    /// Writes `requests` requests under one ticket; all of them or none.
    fn write(
        &self,
        requests: u32,
        haste: FlushMode,
        mut write: impl FnMut(Request<'_, Ticket>, Ticket) -> Result<()>,
    ) -> Result<Ticket> {
        if let Some(lost) = &*self.lost.borrow() {
            return Err(Error::lost(lost, crate::error::StatementFate::No));
        }
        if self.reserved.get() {
            return Err(Error::Reserved);
        }
        let mut protocol = self.protocol.borrow_mut();
        let mut out = self.out.borrow_mut();
        let start = out.bytes.len();
        let offset = self.sent.get() + start as u64;
        let ticket = self.slots.borrow_mut().open(requests, offset);
        for done in 0..requests {
            let written = write(protocol.request(&mut out.bytes), ticket);
            if let Err(error) = written {
                out.bytes.truncate(start);
                protocol.take_back(done as usize);
                self.slots.borrow_mut().take_back(ticket);
                self.cache.borrow_mut().taken_back();
                return Err(error);
            }
        }
        self.cache.borrow_mut().written();
        out.appended(requests as usize, haste);
        drop((protocol, out));
        self.ring();
        Ok(ticket)
    }

    /// Others may write again, behind what was to be sent meanwhile.
    fn end_reservation(self: &Rc<Self>) {
        self.reserved.set(false);
        for sql in self.deferred.take() {
            self.send_untended(&sql);
        }
    }

    /// Sends a statement without values whose answer nobody waits for, or ends the connection.
    fn send_untended(self: &Rc<Self>, sql: &str) {
        let sent = self.write(1, FlushMode::Now, |request, ticket| {
            Ok(request.query(sql, ticket, Shape::Whole)?)
        });
        match sent {
            Ok(ticket) => drop(Answer::new(Rc::clone(self), ticket)),
            Err(_) => self.lose(Lost::unclean()),
        }
    }

    /// One of those who hold the connection goes. If besides it there is only the task, that may end. `holders` counts both.
    fn let_go(self: &Rc<Self>, holders: usize) {
        if Rc::strong_count(self) <= holders {
            self.closing.set(true);
            self.ring();
        }
    }

    /// Appends messages that belong to a request under way.
    pub(crate) fn append<T>(
        &self,
        write: impl FnOnce(&mut Protocol<Ticket>, &mut BytesMut) -> T,
    ) -> T {
        let mut out = self.out.borrow_mut();
        let written = write(&mut self.protocol.borrow_mut(), &mut out.bytes);
        out.press();
        drop(out);
        self.ring();
        written
    }

    /// A caller has gone. What waits goes out: the sooner its answer comes, and is thrown away, the sooner the connection is clean.
    fn press(&self) {
        let mut out = self.out.borrow_mut();
        if !out.bytes.is_empty() {
            out.press();
            drop(out);
            self.ring();
        }
    }

    /// Wakes the pump.
    fn ring(&self) {
        if !self.rung.replace(true)
            && let Some(pump) = self.pump.take()
        {
            pump.wake();
        }
    }

    /// Tells everybody who waits that the connection has ended.
    pub(crate) fn lose(&self, lost: Lost) {
        if self.lost.borrow().is_some() {
            return;
        }
        let tickets: Vec<Ticket> = self.protocol.borrow_mut().end().collect();
        let mut slots = self.slots.borrow_mut();
        for ticket in tickets {
            slots.lose(ticket, &lost, self.sent.get());
        }
        drop(slots);
        *self.lost.borrow_mut() = Some(lost);
        for waker in self.room.take() {
            waker.wake();
        }
        self.slots.borrow_mut().wake_watchers();
        self.ring();
        self.tell(Event::Ended);
    }

    fn tell(&self, event: Event) {
        let observer = self.observer.borrow_mut().take();
        if let Some(mut observer) = observer {
            observer(event);
            let mut place = self.observer.borrow_mut();
            if place.is_none() {
                *place = Some(observer);
            }
        } else if let Event::Notice(notice) = event {
            tracing::debug!(target: "tsumugi_pg", "{notice}");
        }
    }

    /// Resolves when no answer is awaited and no request to cancel is on its way, or the connection has ended.
    async fn settled(&self) {
        std::future::poll_fn(|cx| {
            let settled = self.protocol.borrow().awaited() == 0 && !self.held.get();
            if settled || self.lost.borrow().is_some() {
                return std::task::Poll::Ready(());
            }
            self.slots.borrow_mut().watch(cx.waker());
            std::task::Poll::Pending
        })
        .await;
    }

    /// Resolves when another answer has come, none is awaited, or the connection has ended.
    async fn quiet(&self) {
        let answered = self.slots.borrow().answers();
        std::future::poll_fn(|cx| {
            if self.slots.borrow().answers() != answered
                || self.protocol.borrow().awaited() == 0
                || self.lost.borrow().is_some()
            {
                return std::task::Poll::Ready(());
            }
            self.slots.borrow_mut().watch(cx.waker());
            std::task::Poll::Pending
        })
        .await;
    }

    fn terminate(&self) {
        let mut out = self.out.borrow_mut();
        frontend::terminate(&mut out.bytes);
        out.press();
    }
}

/// How long the server gets to stop an abandoned statement by itself before it is asked to.
pub(crate) const CANCEL_AFTER: Duration = Duration::from_millis(10);

/// When an abandoned statement goes on all the same: the request may have come before the server had begun it.
pub(crate) const CANCEL_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// An answer as the protocol cut it.
pub(crate) type ServerReply = Reply<Ticket>;
