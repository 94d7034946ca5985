//! What a protocol has to say to be pipelined ([`Protocol`]), and what the callers of one connection and its task share ([`Pipeline`]).
//! Sends and reads nothing. Rule: a request goes into the send buffer whole or not at all, in the order in which its replies are expected.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::ops::Deref;
use std::rc::Rc;
use std::task::{Poll, Waker};

use bytes::BytesMut;
use tokio::time::Instant;

use crate::limits;
use crate::loss::{Loss, LossReason, ReplyLoss, StatementFate};
use crate::send_buffer::{FlushMode, SendBuffer};
use crate::slots::{Delivery, Item, Slots, Ticket};

/// One protocol, with what its driver keeps for one connection. Knows bytes, not sockets; the server replies in the order of the requests.
pub trait Protocol: Sized + 'static {
    /// What comes for a caller.
    type Item: Item;
    /// What is cut out of the bytes that came.
    type Event;
    /// How the server may break the protocol.
    type Violation: fmt::Display;
    /// What the server may say when it closes the connection.
    type Farewell: fmt::Display;
    /// What bytes pass between here and the socket.
    type Layers: Transform<ReasonOf<Self>> + Unpin;

    /// Why a connection ends when the server takes no request to cancel in time.
    const CANCEL_FAILED: &'static str;

    /// Cuts the next event off `input`; none when more bytes are needed.
    ///
    /// # Errors
    /// The connection ends.
    fn cut(&self, input: &mut BytesMut) -> Result<Option<Self::Event>, Self::Violation>;

    /// Hands an event out, by [`Pipeline::deliver`] and [`Pipeline::finish`] where it belongs to a request.
    ///
    /// # Errors
    /// The connection ends.
    fn dispatch(pipeline: &Pipeline<Self>, event: Self::Event) -> Result<(), ReasonOf<Self>>;

    /// Undoes what was done for a caller that has left. To throw `item` away is often enough.
    fn discard(pipeline: &Pipeline<Self>, item: Self::Item) {
        let _ = (pipeline, item);
    }

    /// How many replies are awaited.
    fn awaited(&self) -> usize;

    /// Whether a reply comes without another request.
    fn will_answer(&self) -> bool {
        self.awaited() > 0
    }

    /// Whose reply comes next, if one comes without another request.
    fn oldest(&self) -> Option<Ticket>;

    /// Whether the server waits for more of the oldest request, and owes nothing meanwhile.
    fn awaits_caller(&self) -> bool {
        false
    }

    /// How many bytes are certainly missing before [`Protocol::cut`] can go on; a hint for the next read's room.
    fn missing(&self) -> usize;

    /// What the server said before it closed the socket.
    fn farewell(&self) -> Option<Self::Farewell> {
        None
    }

    /// The connection has ended: nothing is awaited any longer.
    fn abandon(&self);

    /// Called when the connection has ended and its callers know.
    fn on_end(pipeline: &Pipeline<Self>);

    /// Appends what the server is sent when the last handle has gone.
    fn goodbye(&self, out: &mut BytesMut);

    /// Appends a request to cancel that goes in a write of its own; see [`Pipeline::send_cancel`].
    fn write_cancel(&self, out: &mut BytesMut) {
        let _ = out;
    }

    /// Whether the server can be asked to stop.
    fn can_cancel(&self) -> bool {
        true
    }

    /// Whether the server may be asked to stop now, as far as what it runs is concerned.
    fn may_interrupt(&self) -> bool {
        true
    }

    /// Has the server stop what no caller waits for. Nothing is sent meanwhile but by [`Pipeline::send_cancel`]. It is given up after
    /// [`limits::CANCEL_TIMEOUT`].
    fn cancel(pipeline: &PipelineRef<Self>) -> impl Future<Output = CancelOutcome>;

    /// Runs after a request to cancel, when others may send again.
    fn after_cancel(pipeline: &PipelineRef<Self>) -> impl Future<Output = ()> {
        let _ = pipeline;
        std::future::ready(())
    }
}

/// What became of a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// It can hit nothing that is sent from now on.
    Over,
    /// It may still hit what comes next, or could stop nothing.
    Uncertain,
}

/// Why a connection of a protocol ended.
pub type LossOf<P> = Loss<<P as Protocol>::Farewell, <P as Protocol>::Violation>;

/// The reason in it.
pub type ReasonOf<P> = LossReason<<P as Protocol>::Farewell, <P as Protocol>::Violation>;

/// What bytes pass between a protocol and the socket: compression, encryption. Every byte passes once, in the order of the stream.
pub trait Transform<R> {
    /// Makes all of `out` ready for the socket, and says how many bytes that are; 0 if they pass as they are.
    ///
    /// # Errors
    /// The connection ends.
    fn seal(&mut self, out: &mut BytesMut) -> Result<usize, R>;

    /// Makes what the socket put into `input` from `from` on readable for the protocol.
    ///
    /// # Errors
    /// The connection ends.
    fn open(&mut self, input: &mut BytesMut, from: usize) -> Result<(), R>;

    /// Makes some more readable of what has come before.
    ///
    /// # Errors
    /// The connection ends.
    fn open_more(&mut self, input: &mut BytesMut) -> Result<(), R>;
}

/// Bytes pass as they are.
impl<R> Transform<R> for () {
    fn seal(&mut self, _: &mut BytesMut) -> Result<usize, R> {
        Ok(0)
    }

    fn open(&mut self, _: &mut BytesMut, _: usize) -> Result<(), R> {
        Ok(())
    }

    fn open_more(&mut self, _: &mut BytesMut) -> Result<(), R> {
        Ok(())
    }
}

/// What the callers of one connection and its task share.
pub struct Pipeline<P: Protocol> {
    /// What the driver keeps for the connection.
    pub driver: P,
    pub(crate) out: RefCell<SendBuffer>,
    pub(crate) slots: RefCell<Slots<P::Item, LossOf<P>>>,
    /// Bytes that went in either direction, since the beginning.
    moved: Cell<u64>,
    /// When a caller last asked for how long the server is silent: bytes in both directions, and since when it was so many.
    progress: Cell<(u64, Instant)>,
    pub(crate) pump: Cell<Option<Waker>>,
    /// The pump is to look again; it need not be woken a second time.
    pub(crate) rung: Cell<bool>,
    /// Callers waiting until the send buffer has room.
    pub(crate) room: RefCell<Vec<Waker>>,
    /// Nothing is sent while the server is asked to cancel.
    pub(crate) is_paused: Cell<bool>,
    /// A request to cancel is to be sent by itself.
    pub(crate) cancelling: Cell<bool>,
    /// What is done when a caller leaves. A pointer is its boxed edge: replies are dropped in many crates.
    pub(crate) on_abandon: fn(&PipelineRef<P>),
    /// A task looks after replies that no caller waits for.
    pub(crate) watching_abandoned: Cell<bool>,
    /// The handles are gone.
    pub(crate) closing: Cell<bool>,
    lost: RefCell<Option<LossOf<P>>>,
}

impl<P: Protocol> Pipeline<P> {
    pub(crate) fn new(driver: P, on_abandon: fn(&PipelineRef<P>)) -> Self {
        Pipeline {
            driver,
            out: RefCell::new(SendBuffer::new()),
            slots: RefCell::default(),
            moved: Cell::new(0),
            progress: Cell::new((0, Instant::now())),
            pump: Cell::new(None),
            rung: Cell::new(true),
            room: RefCell::default(),
            is_paused: Cell::new(false),
            cancelling: Cell::new(false),
            on_abandon,
            watching_abandoned: Cell::new(false),
            closing: Cell::new(false),
            lost: RefCell::new(None),
        }
    }

    /// Whether the connection has not ended.
    pub fn is_alive(&self) -> bool {
        self.lost.borrow().is_none()
    }

    /// Whether requests are sent: it has not ended, and no request to cancel is on its way.
    pub fn is_open(&self) -> bool {
        self.is_alive() && !self.is_paused.get()
    }

    /// Since when the oldest request has been waiting for its reply.
    pub fn unanswered_since(&self) -> Option<Instant> {
        let oldest = self.driver.oldest()?;
        self.slots.borrow().requested_at(oldest)
    }

    /// Since when the server has owed a reply without a byte going in either direction. It owes none while it waits for its
    /// client, as for a caller that reads rows slowly. As exact as this is called often.
    pub fn silent_since(&self) -> Option<Instant> {
        let oldest = self.driver.oldest();
        let owes = oldest.is_some_and(|oldest| {
            !self.driver.awaits_caller() && !self.slots.borrow().has_news(oldest)
        });
        let bytes = self.moved.get();
        let (before, since) = self.progress.get();
        if owes && bytes == before {
            return Some(since);
        }
        let now = Instant::now();
        self.progress.set((bytes, now));
        owes.then_some(now)
    }

    /// Opens a slot for replies that no caller waits for, and without which the connection is not clean.
    pub fn open_abandoned(&self) -> Ticket {
        let offset = self.out.borrow().end();
        self.slots.borrow_mut().open_abandoned(offset)
    }

    /// Gives a slot back whose request was not written.
    pub fn close(&self, ticket: Ticket) {
        self.slots.borrow_mut().leave(ticket);
    }

    /// So many more replies will come for `ticket`.
    pub fn expect(&self, ticket: Ticket, replies: u32) {
        self.slots.borrow_mut().expect(ticket, replies);
    }

    /// Writes so many requests: all of what `write` appends or, if it fails, nothing.
    ///
    /// # Errors
    /// That of `write`, and that the connection has ended.
    pub fn request<T, E: From<ReplyLoss<LossOf<P>>>>(
        &self,
        requests: usize,
        flush: FlushMode,
        write: impl FnOnce(&mut BytesMut) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(lost) = &*self.lost.borrow() {
            let (lost, fate) = (lost.clone(), StatementFate::No);
            return Err(ReplyLoss { lost, fate }.into());
        }
        let written = self.out.borrow_mut().append(requests, flush, write)?;
        self.ring();
        Ok(written)
    }

    /// Appends messages that belong to a request under way.
    pub fn append<T>(&self, write: impl FnOnce(&mut BytesMut) -> T) -> T {
        let appended: Result<T, std::convert::Infallible> =
            self.out
                .borrow_mut()
                .append(0, FlushMode::Now, |out| Ok(write(out)));
        self.ring();
        match appended {
            Ok(appended) => appended,
            Err(never) => match never {},
        }
    }

    /// What waits to be sent goes at the end of the turn.
    pub(crate) fn flush(&self) {
        let mut out = self.out.borrow_mut();
        if !out.is_empty() {
            out.flush();
            drop(out);
            self.ring();
        }
    }

    /// Sends a request to cancel by itself, before anything else.
    pub fn send_cancel(&self) {
        self.cancelling.set(true);
        self.ring();
    }

    /// Something has come for a caller; discarded if that has left.
    pub fn deliver(&self, ticket: Ticket, item: P::Item) {
        let abandoned = self.slots.borrow_mut().deliver(ticket, item);
        if let Some(item) = abandoned {
            P::discard(self, item);
        }
    }

    /// One reply has come to its end.
    pub fn finish(&self, ticket: Ticket) {
        self.slots.borrow_mut().finish(ticket);
    }

    /// How the caller takes what comes for it; none when it has left.
    pub fn delivery(&self, ticket: Ticket) -> Option<Delivery> {
        self.slots.borrow().delivery(ticket)
    }

    /// Waits until the send buffer has room, so that it stays bounded when the server does not read.
    pub async fn room(&self) {
        poll_fn(|cx| {
            if self.out.borrow().len() < limits::OUT_BYTES_MAX || !self.is_alive() {
                return Poll::Ready(());
            }
            self.room.borrow_mut().push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Waits until no reply is awaited that will come, and no request to cancel is on its way, or the connection has ended.
    pub async fn settled(&self) {
        poll_fn(|cx| {
            if !self.driver.will_answer() && !self.is_paused.get() || !self.is_alive() {
                return Poll::Ready(());
            }
            self.slots.borrow_mut().watch(cx.waker());
            Poll::Pending
        })
        .await;
    }

    /// Waits until another reply has come, none will come, or the connection has ended.
    pub async fn another_reply(&self) {
        let finished = self.slots.borrow().finished();
        poll_fn(|cx| {
            if self.slots.borrow().finished() != finished
                || !self.driver.will_answer()
                || !self.is_alive()
            {
                return Poll::Ready(());
            }
            self.slots.borrow_mut().watch(cx.waker());
            Poll::Pending
        })
        .await;
    }

    /// Ends the connection: all callers that wait get this reason. The first one counts.
    pub fn lose(&self, lost: LossOf<P>) {
        if !self.is_alive() {
            return;
        }
        self.driver.abandon();
        let sent = self.out.borrow().sent();
        *self.lost.borrow_mut() = Some(lost.clone());
        self.slots.borrow_mut().lose(&lost, sent);
        for waker in self.room.take() {
            waker.wake();
        }
        self.ring();
        P::on_end(self);
    }

    /// Wakes the pump.
    pub(crate) fn ring(&self) {
        if !self.rung.replace(true)
            && let Some(pump) = self.pump.take()
        {
            pump.wake();
        }
    }

    pub(crate) fn moved(&self, bytes: usize) {
        self.moved.set(self.moved.get() + bytes as u64);
    }
}

/// Holds a connection open. It ends when the last handle has gone and no reply is awaited.
pub struct PipelineRef<P: Protocol>(pub(crate) Rc<Pipeline<P>>);

impl<P: Protocol> Clone for PipelineRef<P> {
    fn clone(&self) -> Self {
        PipelineRef(Rc::clone(&self.0))
    }
}

impl<P: Protocol> Deref for PipelineRef<P> {
    type Target = Pipeline<P>;

    fn deref(&self) -> &Pipeline<P> {
        &self.0
    }
}

impl<P: Protocol> Drop for PipelineRef<P> {
    fn drop(&mut self) {
        // Besides this one there is only the task's.
        if Rc::strong_count(&self.0) <= 2 {
            self.0.closing.set(true);
            self.0.ring();
        }
    }
}
