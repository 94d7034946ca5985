//! The transactions that one connection keeps begun for the next statements that may write outside of any. Begins none.
//! Rule: the oldest is given first, because the server keeps old versions of rows for its sake.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use tsumugi_firebird_proto::handle::Transaction;

use crate::limits::SPARE_TRANSACTIONS_MAX;

/// The transactions of one connection that are begun ahead.
#[derive(Default)]
pub(crate) struct SpareTransactions {
    /// Begun, and nothing was done in them; the oldest first.
    pub(crate) spare: RefCell<VecDeque<Transaction>>,
    /// The fewest of those that were there since this was last looked at.
    unused: Cell<usize>,
    /// How many are being begun.
    pub(crate) beginning: Cell<usize>,
    /// Statements that wait for one of those.
    waiting: Cell<usize>,
    /// A statement holds rows of its own from one write to the next.
    pub(crate) busy: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

/// A statement that waits for a transaction that is being begun.
struct Waiting<'a>(&'a SpareTransactions);

impl SpareTransactions {
    pub(crate) fn wait(&self, cx: &Context<'_>) {
        self.wakers.borrow_mut().push(cx.waker().clone());
    }

    pub(crate) fn wake(&self) {
        for waker in self.wakers.take() {
            waker.wake();
        }
    }

    /// One that was being begun is there, or could not be begun.
    pub(crate) fn register_begun(&self, transaction: Option<Transaction>) {
        self.beginning.set(self.beginning.get().saturating_sub(1));
        self.spare.borrow_mut().extend(transaction);
        self.wake();
    }

    /// The connection has ended.
    pub(crate) fn lose(&self) {
        self.beginning.set(0);
        self.spare.borrow_mut().clear();
        self.wake();
    }

    pub(crate) fn has_room(&self) -> bool {
        self.spare.borrow().len() + self.beginning.get() < SPARE_TRANSACTIONS_MAX
    }

    /// The oldest that is spare.
    fn take(&self) -> Option<Transaction> {
        let mut spare = self.spare.borrow_mut();
        let oldest = spare.pop_front();
        self.unused.set(self.unused.get().min(spare.len()));
        oldest
    }

    /// Those that no statement needed since this was called last, the oldest.
    pub(crate) fn take_unused(&self) -> Vec<Transaction> {
        let mut spare = self.spare.borrow_mut();
        let unused = self.unused.get().min(spare.len());
        let taken = spare.drain(..unused).collect();
        self.unused.set(spare.len());
        taken
    }

    /// A spare one, or one that is being begun and that no other statement waits for.
    pub(crate) async fn next(&self) -> Option<Transaction> {
        let mut mine = None;
        poll_fn(|cx| {
            if let Some(transaction) = self.take() {
                return Poll::Ready(Some(transaction));
            }
            let others = self.waiting.get() - usize::from(mine.is_some());
            if self.beginning.get() <= others {
                return Poll::Ready(None);
            }
            mine.get_or_insert_with(|| Waiting::new(self));
            self.wait(cx);
            Poll::Pending
        })
        .await
    }
}

impl<'a> Waiting<'a> {
    fn new(spares: &'a SpareTransactions) -> Waiting<'a> {
        spares.waiting.set(spares.waiting.get() + 1);
        Waiting(spares)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}
