//! The transaction that statements which only read share, as far as one connection knows it, and what is in use in it. Asks no server.
//! Rule: the first statement that needs it begins it; the others wait.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use tsumugi_firebird_proto::handle::Transaction;

/// What a connection keeps for statements that only read.
#[derive(Default)]
pub(crate) struct Automatic {
    pub(crate) reading: ReadSlot,
    /// Statements and blobs that are in use.
    pub(crate) users: Cell<usize>,
    /// To be ended when nothing is in use any more.
    pub(crate) stale: RefCell<Vec<Transaction>>,
}

/// The transaction that is shared.
#[derive(Default)]
pub(crate) struct ReadSlot {
    pub(crate) state: Cell<State>,
    waiting: RefCell<Vec<Waker>>,
}

#[derive(Clone, Copy, Default)]
pub(crate) enum State {
    #[default]
    None,
    /// A caller waits for the server's answer.
    Beginning,
    Open(Transaction),
}

/// Held by the caller who begins it; if that leaves without success, the next one tries.
pub(crate) struct Beginning<'a>(pub(crate) &'a ReadSlot);

impl ReadSlot {
    pub(crate) fn set(&self, state: State) {
        self.state.set(state);
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// The transaction; none when it is the caller's turn to begin it.
    pub(crate) async fn wait(&self) -> Option<Transaction> {
        poll_fn(|cx| match self.state.get() {
            State::Open(transaction) => Poll::Ready(Some(transaction)),
            State::None => Poll::Ready(None),
            State::Beginning => {
                self.waiting.borrow_mut().push(cx.waker().clone());
                Poll::Pending
            }
        })
        .await
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if matches!(self.0.state.get(), State::Beginning) {
            self.0.set(State::None);
        }
    }
}
