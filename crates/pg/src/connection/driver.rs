//! PostgreSQL's protocol as the connection's task needs it, and what the driver keeps for one connection. Knows no socket and no SQL of callers.
//! Rule: a request is written and awaited whole or not at all.

use std::cell::{Cell, RefCell};

use bytes::{Bytes, BytesMut};
use tokio::time::timeout;
use tsumugi_pg_proto::backend::{ServerError, TransactionStatus};
use tsumugi_pg_proto::connection::{Connection as Queue, Event as Cut, Reply, Request, Shape};
use tsumugi_pg_proto::{Session, Violation, frontend};
use tsumugi_wire::limits::CANCEL_AGAIN_AFTER;
use tsumugi_wire::{
    CancelOutcome, Delivery, FlushMode, Item, Loss, LossReason, Pipeline, PipelineRef, Protocol,
    ReasonOf, Replies, Ticket,
};

use super::behaviour::Behaviour;
use super::cancel::Cancel;
use super::event::{Event, Observer};
use crate::cache::Cache;
use crate::catalogue::Catalogue;
use crate::error::{Error, Result};
use crate::log_position::LogPosition;
use crate::xact::Xact;

/// The function of the server that waits for its synchronous standbys. It warns when that wait is cancelled, in the server's language; the transaction
/// stays committed.
const STANDBY_WAIT: &str = "SyncRepWaitForLSN";

/// A whole reply as the protocol cut it.
pub(crate) type ServerReply = Reply<Ticket>;

/// What the driver keeps for one connection.
pub(crate) struct PostgresDriver {
    pub(crate) queue: RefCell<Queue<Ticket>>,
    /// What is read piece by piece depends on the messages that its caller sends next: no other may write.
    reserved: Cell<bool>,
    /// What is sent before anything else once it no longer is.
    deferred: RefCell<Vec<Box<str>>>,
    /// A transaction was dropped, and none was begun since: none may be open once all replies have come.
    pub(super) orphaned: Cell<bool>,
    cancel: Cancel,
    pub(super) observer: Observer,
    pub(crate) behaviour: Behaviour,
    pub(crate) cache: RefCell<Cache>,
    pub(crate) catalogue: Catalogue,
    /// The transaction that was begun last.
    pub(crate) xact: Xact,
    /// The place in the log that the server said last.
    pub(crate) log_position: Cell<Option<LogPosition>>,
    /// A COMMIT whose reply is awaited.
    commit: Cell<Option<Ticket>>,
    /// The server is asked to end the wait of a COMMIT.
    pub(super) interrupts: Cell<bool>,
    /// The request that has been committed although no synchronous standby has confirmed it.
    unreplicated: Cell<Option<Ticket>>,
}

/// What came for a caller.
#[derive(Debug)]
pub(crate) enum ReplyItem {
    /// The whole reply to one request.
    Whole(ServerReply),
    /// A request was done and committed, and the server has stopped waiting for its synchronous standbys.
    Unreplicated,
    /// It was too large; its end is still to come.
    TooLarge { reply_bytes_max: usize },
    /// A part of one that is read piece by piece.
    Chunk(ReplyChunk),
}

/// What came for a caller who reads a reply piece by piece.
#[derive(Debug)]
pub(crate) enum ReplyChunk {
    /// Whole messages of one kind.
    Part { tag: u8, bytes: Bytes },
    /// A piece of a long message; so much of it is still to come.
    Fragment { bytes: Bytes, left: usize },
    /// The server waits for COPY data.
    CopyIn(Bytes),
    /// ReadyForQuery.
    End,
    /// ReadyForQuery, of what was committed although no synchronous standby has confirmed it.
    UnreplicatedEnd,
}

impl Item for ReplyItem {
    fn unread_bytes(&self) -> usize {
        match self {
            ReplyItem::Chunk(
                ReplyChunk::Part { bytes, .. }
                | ReplyChunk::Fragment { bytes, .. }
                | ReplyChunk::CopyIn(bytes),
            ) => bytes.len(),
            ReplyItem::Chunk(ReplyChunk::End | ReplyChunk::UnreplicatedEnd)
            | ReplyItem::Whole(_)
            | ReplyItem::Unreplicated
            | ReplyItem::TooLarge { .. } => 0,
        }
    }
}

impl PostgresDriver {
    pub(super) fn new(session: &Session, cancel: Cancel, behaviour: Behaviour) -> PostgresDriver {
        PostgresDriver {
            queue: RefCell::new(Queue::new(session, behaviour.reply_bytes_max)),
            reserved: Cell::new(false),
            deferred: RefCell::default(),
            orphaned: Cell::new(false),
            cancel,
            observer: Observer::default(),
            behaviour,
            cache: RefCell::new(Cache::new(behaviour.statement_cache)),
            catalogue: Catalogue::default(),
            xact: Xact::default(),
            log_position: Cell::new(None),
            commit: Cell::new(None),
            interrupts: Cell::new(false),
            unreplicated: Cell::new(None),
        }
    }

    /// A COMMIT is written: until its reply has come nothing is cancelled, because that would end the wait for a synchronous standby.
    pub(crate) fn begin_commit(&self, ticket: Ticket) {
        self.xact.end();
        self.commit.set(Some(ticket));
        self.unreplicated.set(None);
    }

    /// Whether the reply to a COMMIT is awaited, or was when the connection was lost.
    pub(crate) fn is_committing(&self) -> bool {
        self.commit.get().is_some()
    }

    /// The server is asked to stop what it still runs for this connection, which is lost.
    pub(super) fn stop_after_loss(&self) {
        self.cancel.send_unawaited();
    }

    /// Whether the server said, before the connection was lost, that it has committed and waits for its standbys no longer.
    pub(crate) fn is_unreplicated(&self) -> bool {
        self.unreplicated.get().is_some()
    }

    /// What the server warns of, of the request whose reply comes next.
    fn note_warning(&self, notice: &ServerError) {
        if notice.routine.as_deref() == Some(STANDBY_WAIT) {
            self.unreplicated.set(self.oldest());
        }
    }

    /// A reply has come to its end: whether what it did is committed and not confirmed by a standby.
    fn note_end(&self, ticket: Ticket) -> bool {
        if self.commit.get() == Some(ticket) {
            self.commit.set(None);
        }
        let is_unreplicated = self.unreplicated.get() == Some(ticket);
        if is_unreplicated {
            self.unreplicated.set(None);
        }
        is_unreplicated
    }

    /// Writes `requests` requests under one ticket; all of them or none.
    pub(super) fn write(
        wire: &Pipeline<PostgresDriver>,
        ticket: Ticket,
        requests: u32,
        flush: FlushMode,
        mut write: impl FnMut(Request<'_, Ticket>, Ticket) -> Result<()>,
    ) -> Result<()> {
        let driver = &wire.driver;
        wire.request(requests as usize, flush, |out| {
            if driver.reserved.get() {
                return Err(Error::Reserved);
            }
            let mut queue = driver.queue.borrow_mut();
            for done in 0..requests {
                if let Err(error) = write(queue.request(out), ticket) {
                    queue.take_back(done as usize);
                    driver.cache.borrow_mut().taken_back();
                    return Err(error);
                }
            }
            driver.cache.borrow_mut().written();
            wire.expect(ticket, requests);
            Ok(())
        })
    }

    /// Sends a statement without values whose reply no caller waits for, before whatever is requested next: at once, or as soon as the
    /// reservation ends. If it cannot be sent then, the connection ends instead.
    pub(super) fn send_unawaited(wire: &PipelineRef<PostgresDriver>, sql: &str) {
        if wire.driver.reserved.get() {
            wire.driver.deferred.borrow_mut().push(sql.into());
            return;
        }
        // Dropped at once, it sees to the reply.
        let (_replies, ticket) = Replies::open(wire, Delivery::Whole);
        let written = PostgresDriver::write(wire, ticket, 1, FlushMode::Now, |request, ticket| {
            Ok(request.query(sql, ticket, Shape::Whole)?)
        });
        if written.is_err() {
            wire.lose(Loss::unclean());
        }
    }

    /// No other caller may write.
    pub(super) fn reserve(wire: &Pipeline<PostgresDriver>) {
        wire.driver.reserved.set(true);
    }

    /// Others may write again, behind what was to be sent meanwhile.
    pub(super) fn end_reservation(wire: &PipelineRef<PostgresDriver>) {
        wire.driver.reserved.set(false);
        for sql in wire.driver.deferred.take() {
            PostgresDriver::send_unawaited(wire, &sql);
        }
    }

    /// The request to cancel may have hit the very ROLLBACK of a transaction that was dropped. Then it is still open.
    fn leave_orphaned_transaction(wire: &Pipeline<PostgresDriver>) {
        let failed = wire.driver.queue.borrow().status() == TransactionStatus::Failed;
        if !failed || !wire.driver.orphaned.get() || wire.driver.awaited() > 0 {
            return;
        }
        let ticket = wire.open_abandoned();
        let again = PostgresDriver::write(wire, ticket, 1, FlushMode::Now, |request, ticket| {
            Ok(request.query("ROLLBACK", ticket, Shape::Whole)?)
        });
        if again.is_err() {
            wire.close(ticket);
        }
    }

    /// A COPY FROM STDIN that no caller sends data for.
    fn refuse_copy_in(wire: &Pipeline<PostgresDriver>) {
        let refused = wire.append(|out| {
            let mut queue = wire.driver.queue.borrow_mut();
            queue.copy_fail(out, "COPY FROM STDIN has to be run by copy_in")
        });
        debug_assert!(refused.is_ok(), "the server has just asked for data");
    }
}

impl Protocol for PostgresDriver {
    type Item = ReplyItem;
    type Event = Cut<Ticket>;
    type Violation = Violation;
    type Farewell = Box<ServerError>;
    type Layers = ();

    const CANCEL_FAILED: &'static str =
        "the server took no request to cancel in time, and might cancel what comes next";

    fn cut(&self, input: &mut BytesMut) -> Result<Option<Self::Event>, Violation> {
        self.queue.borrow_mut().poll(input)
    }

    fn dispatch(wire: &Pipeline<PostgresDriver>, event: Self::Event) -> Result<(), ReasonOf<Self>> {
        let chunk = |token, chunk| wire.deliver(token, ReplyItem::Chunk(chunk));
        let is_read_in_pieces = |token| wire.delivery(token) == Some(Delivery::Pieces);
        match event {
            Cut::Reply(reply) => {
                let token = reply.token;
                let is_unreplicated = wire.driver.note_end(token) && reply.error.is_none();
                let item = match is_unreplicated {
                    true => ReplyItem::Unreplicated,
                    false => ReplyItem::Whole(reply),
                };
                wire.deliver(token, item);
                wire.finish(token);
            }
            Cut::Part { token, tag, bytes } => chunk(token, ReplyChunk::Part { tag, bytes }),
            Cut::Fragment { token, bytes, left } => {
                chunk(token, ReplyChunk::Fragment { bytes, left });
            }
            Cut::End { token, .. } => {
                let end = match wire.driver.note_end(token) {
                    true => ReplyChunk::UnreplicatedEnd,
                    false => ReplyChunk::End,
                };
                // After one that was too large its caller waits for nothing but that there is no more.
                if is_read_in_pieces(token) {
                    chunk(token, end);
                }
                wire.finish(token);
            }
            Cut::TooLarge {
                token,
                reply_bytes_max,
            } => wire.deliver(token, ReplyItem::TooLarge { reply_bytes_max }),
            Cut::CopyIn { token, bytes } if is_read_in_pieces(token) => {
                chunk(token, ReplyChunk::CopyIn(bytes));
            }
            Cut::CopyIn { .. } => PostgresDriver::refuse_copy_in(wire),
            Cut::Notification {
                process_id,
                channel,
                payload,
            } => wire.driver.observer.report(Event::Notification {
                process_id,
                channel,
                payload,
            }),
            Cut::Notice(notice) => {
                wire.driver.note_warning(&notice);
                wire.driver.observer.report(Event::Notice(notice));
            }
            Cut::Parameter { name, value } => {
                wire.driver
                    .observer
                    .report(Event::Parameter { name, value });
            }
            Cut::Fatal(error) => return Err(LossReason::Closed(Some(error))),
            _ => {}
        }
        Ok(())
    }

    fn awaited(&self) -> usize {
        self.queue.borrow().awaited()
    }

    fn oldest(&self) -> Option<Ticket> {
        self.queue.borrow().oldest()
    }

    fn awaits_caller(&self) -> bool {
        self.queue.borrow().awaits_copy_data()
    }

    fn missing(&self) -> usize {
        self.queue.borrow().missing()
    }

    fn farewell(&self) -> Option<Box<ServerError>> {
        self.queue.borrow().fatal().cloned().map(Box::new)
    }

    fn abandon(&self) {
        let mut queue = self.queue.borrow_mut();
        let owes = queue.awaited() > 0;
        queue.end().for_each(drop);
        drop(queue);
        // Of a COMMIT it is found out first what has become of it, within a time that is not known here.
        if owes && !self.is_committing() {
            self.stop_after_loss();
        }
    }

    fn on_end(wire: &Pipeline<PostgresDriver>) {
        wire.driver.observer.report(Event::Ended);
    }

    fn goodbye(&self, out: &mut BytesMut) {
        frontend::terminate(out);
    }

    fn can_cancel(&self) -> bool {
        self.cancel.is_possible()
    }

    fn may_interrupt(&self) -> bool {
        self.commit.get().is_none()
    }

    async fn cancel(wire: &PipelineRef<Self>) -> CancelOutcome {
        wire.driver.cancel.send().await
    }

    async fn after_cancel(wire: &PipelineRef<Self>) {
        // The request may have come before the server had begun the statement; then it is sent again.
        let _ = timeout(CANCEL_AGAIN_AFTER, wire.another_reply()).await;
        PostgresDriver::leave_orphaned_transaction(wire);
    }
}
