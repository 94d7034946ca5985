//! Where replies wait for their callers, by ticket. Slots are used again, with their memory, so that a request in steady state allocates nothing.
//! Knows no protocol: `T` is what comes for a caller, `L` why a connection ended.
//! Rule: a slot is free when its last reply has come *and* its caller has taken it or has left; what comes for a caller that has left is
//! handed back, because the driver may have to undo it.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;

use crate::limits;
use crate::loss::{ReplyLoss, StatementFate};
use crate::send_buffer::ServerLatency;

/// Tells the requests of one connection apart. Those above 2³¹ have no slot: a driver may use them for requests without a caller.
pub type Ticket = u32;

/// One thing that comes for a caller: a reply, or a piece of one.
pub trait Item {
    /// Bytes that it keeps in memory while its caller reads slowly; 0 if a caller that waits for it waits for all of it.
    fn unread_bytes(&self) -> usize;
}

/// How a caller takes what comes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// All replies at once, when the last has come.
    Whole,
    /// One item after the other.
    Pieces,
}

#[derive(Debug)]
struct Slot<T, L> {
    /// Replies that are still to come.
    due: u32,
    caller: Caller,
    items: VecDeque<T>,
    /// Of `items`, by [`Item::unread_bytes`].
    unread_bytes: usize,
    lost: Option<ReplyLoss<L>>,
    waker: Option<Waker>,
    requested_at: Option<Instant>,
    /// Where in the stream of written bytes the first request begins.
    offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    /// The slot is free.
    None,
    Present(Delivery),
    /// Left before the last reply came.
    Gone,
}

#[derive(Debug)]
pub(crate) struct Slots<T, L> {
    slots: Vec<Slot<T, L>>,
    free: Vec<Ticket>,
    /// Slots whose callers are there and have replies to come.
    waiting: usize,
    /// Replies that have come.
    finished: u64,
    watchers: Vec<Waker>,
    latency: ServerLatency,
}

impl<T, L> Default for Slots<T, L> {
    fn default() -> Self {
        Slots {
            slots: Vec::new(),
            free: Vec::new(),
            waiting: 0,
            finished: 0,
            watchers: Vec::new(),
            latency: ServerLatency::default(),
        }
    }
}

impl<T, L> Default for Slot<T, L> {
    fn default() -> Self {
        Slot {
            due: 0,
            caller: Caller::None,
            items: VecDeque::new(),
            unread_bytes: 0,
            lost: None,
            waker: None,
            requested_at: None,
            offset: 0,
        }
    }
}

impl<T: Item, L: Clone> Slots<T, L> {
    /// A slot for a caller. Its first request begins at `offset` of the stream of written bytes.
    pub(crate) fn open(&mut self, delivery: Delivery, offset: u64) -> Ticket {
        self.take(Caller::Present(delivery), offset)
    }

    /// A slot for replies that no caller waits for, and without which the connection is not clean.
    pub(crate) fn open_abandoned(&mut self, offset: u64) -> Ticket {
        self.take(Caller::Gone, offset)
    }

    fn take(&mut self, caller: Caller, offset: u64) -> Ticket {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            Ticket::try_from(self.slots.len() - 1).unwrap_or(Ticket::MAX)
        });
        if let Some(slot) = self.slot(ticket) {
            slot.caller = caller;
            slot.offset = offset;
        }
        ticket
    }

    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot<T, L>> {
        self.slots.get_mut(usize::try_from(ticket).ok()?)
    }

    fn look(&self, ticket: Ticket) -> Option<&Slot<T, L>> {
        self.slots.get(usize::try_from(ticket).ok()?)
    }

    /// So many more replies will come.
    pub(crate) fn expect(&mut self, ticket: Ticket, replies: u32) {
        let Some(slot) = self.slot(ticket).filter(|_| replies > 0) else {
            return;
        };
        let begins = slot.due == 0 && matches!(slot.caller, Caller::Present(_));
        slot.due += replies;
        slot.requested_at = Some(Instant::now());
        self.waiting += usize::from(begins);
    }

    /// Something has come for a caller. It is handed back if there is none.
    pub(crate) fn deliver(&mut self, ticket: Ticket, item: T) -> Option<T> {
        let Some(slot) = self.slot(ticket) else {
            return Some(item);
        };
        let Caller::Present(delivery) = slot.caller else {
            return Some(item);
        };
        slot.unread_bytes += item.unread_bytes();
        slot.items.push_back(item);
        if delivery == Delivery::Pieces
            && let Some(waker) = slot.waker.take()
        {
            waker.wake();
        }
        None
    }

    /// One reply has come to its end.
    pub(crate) fn finish(&mut self, ticket: Ticket) {
        let mut quick = false;
        let unknown = self.latency == ServerLatency::Unknown;
        if let Some(slot) = self.slot(ticket) {
            quick = unknown
                && slot
                    .requested_at
                    .is_some_and(|at| at.elapsed() <= limits::SHORT_LATENCY);
            let was_due = slot.due > 0;
            slot.due = slot.due.saturating_sub(1);
            if was_due && slot.due == 0 {
                self.settle(ticket);
            }
        }
        if quick {
            self.latency = ServerLatency::Short;
        }
        self.finished += 1;
        self.wake_watchers();
    }

    /// No more replies are to come for a slot.
    fn settle(&mut self, ticket: Ticket) {
        let Some(slot) = self.slot(ticket) else {
            return;
        };
        match slot.caller {
            Caller::Present(_) => {
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
                self.waiting -= 1;
            }
            Caller::Gone => self.release(ticket),
            Caller::None => {}
        }
    }

    /// The connection has ended; up to `sent` of the stream of written bytes may have reached the server.
    pub(crate) fn lose(&mut self, lost: &L, sent: u64) {
        for index in 0..self.slots.len() {
            let Some(ticket) = Ticket::try_from(index).ok() else {
                break;
            };
            let Some(slot) = self.slot(ticket) else {
                break;
            };
            let due = std::mem::take(&mut slot.due) > 0;
            if due || slot.caller == Caller::Present(Delivery::Pieces) {
                slot.lost = Some(ReplyLoss {
                    lost: lost.clone(),
                    fate: if slot.offset >= sent {
                        StatementFate::No
                    } else {
                        StatementFate::Perhaps
                    },
                });
            }
            if due {
                self.settle(ticket);
            }
        }
        self.wake_watchers();
    }

    /// All items of a caller, when the last reply has come. The slot is free afterwards.
    pub(crate) fn poll_whole(
        &mut self,
        ticket: Ticket,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut VecDeque<T>),
    ) -> Poll<Result<(), ReplyLoss<L>>> {
        let Some(slot) = self.slot(ticket) else {
            return Poll::Pending;
        };
        if slot.due > 0 {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let result = match slot.lost.take() {
            Some(lost) => Err(lost),
            None => {
                take(&mut slot.items);
                Ok(())
            }
        };
        self.release(ticket);
        Poll::Ready(result)
    }

    /// The next item of a caller. What came before the connection ended comes first.
    pub(crate) fn poll_next(
        &mut self,
        ticket: Ticket,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, ReplyLoss<L>>> {
        let Some(slot) = self.slot(ticket) else {
            return Poll::Pending;
        };
        if let Some(item) = slot.items.pop_front() {
            slot.unread_bytes -= item.unread_bytes();
            return Poll::Ready(Ok(item));
        }
        if let Some(lost) = &slot.lost {
            return Poll::Ready(Err(lost.clone()));
        }
        debug_assert!(slot.due > 0, "a caller waits for what it requested");
        slot.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// What has come for a caller and was not taken.
    pub(crate) fn take_item(&mut self, ticket: Ticket) -> Option<T> {
        let slot = self.slot(ticket)?;
        let item = slot.items.pop_front()?;
        slot.unread_bytes -= item.unread_bytes();
        Some(item)
    }

    /// The caller leaves; true when replies are still to come for it.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> bool {
        let Some(slot) = self.slot(ticket) else {
            return false;
        };
        if slot.due == 0 {
            self.release(ticket);
            return false;
        }
        let was_present = matches!(slot.caller, Caller::Present(_));
        slot.caller = Caller::Gone;
        slot.items.clear();
        slot.unread_bytes = 0;
        slot.waker = None;
        self.waiting -= usize::from(was_present);
        true
    }

    fn release(&mut self, ticket: Ticket) {
        let Some(slot) = self.slot(ticket) else {
            return;
        };
        let mut items = std::mem::take(&mut slot.items);
        items.clear();
        if items.capacity() > limits::SLOT_ITEMS_MAX {
            items = VecDeque::new();
        }
        *slot = Slot {
            items,
            ..Slot::default()
        };
        self.free.push(ticket);
    }

    pub(crate) fn requested_at(&self, ticket: Ticket) -> Option<Instant> {
        self.look(ticket)?.requested_at
    }

    /// Whether a caller waits for a reply.
    pub(crate) fn has_callers(&self) -> bool {
        self.waiting > 0
    }

    /// How the caller takes what comes; none when it has left.
    pub(crate) fn delivery(&self, ticket: Ticket) -> Option<Delivery> {
        match self.look(ticket)?.caller {
            Caller::Present(delivery) => Some(delivery),
            Caller::None | Caller::Gone => None,
        }
    }

    /// Whether so much waits for the caller that no more is read.
    pub(crate) fn is_choked(&self, ticket: Ticket) -> bool {
        self.look(ticket)
            .is_some_and(|slot| slot.unread_bytes >= limits::UNREAD_BYTES_MAX)
    }

    /// Whether there is something that the caller can take now, were it the end of the connection.
    pub(crate) fn has_news(&self, ticket: Ticket) -> bool {
        self.look(ticket).is_some_and(|slot| {
            let in_pieces = slot.caller == Caller::Present(Delivery::Pieces);
            let can_take = in_pieces || slot.due == 0;
            (can_take && !slot.items.is_empty()) || slot.lost.is_some()
        })
    }

    /// Whether replies are still to come.
    pub(crate) fn is_due(&self, ticket: Ticket) -> bool {
        self.look(ticket).is_some_and(|slot| slot.due > 0)
    }

    /// How many replies have come so far.
    pub(crate) fn finished(&self) -> u64 {
        self.finished
    }

    /// How soon the server replies, by the replies that have come.
    pub(crate) fn latency(&self) -> ServerLatency {
        self.latency
    }

    /// Wakes `waker` at the next end of a reply, or of the connection.
    pub(crate) fn watch(&mut self, waker: &Waker) {
        self.watchers.push(waker.clone());
    }

    pub(crate) fn wake_watchers(&mut self) {
        for watcher in self.watchers.drain(..) {
            watcher.wake();
        }
    }
}
