//! The transactions of statements that are run outside of any: one that only reads and stays open, and one that is committed after
//! each statement and stays open too. Knows no statement.
//! Rule: each is begun when it is first needed, by one of those who need it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::parameters::{Access, Isolation, TransactionParameters, Wait};

use crate::connection::{Connection, Creates};
use crate::error::Result;

#[derive(Default)]
pub(crate) struct Automatic {
    reading: Place,
    writing: Place,
}

#[derive(Default)]
struct Place {
    state: Cell<State>,
    waiting: RefCell<Vec<Waker>>,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    None,
    /// Somebody waits for the server's answer.
    Beginning,
    Open(Transaction),
}

/// Whoever begins it; gone without success, the next one tries.
struct Beginning<'a>(&'a Place);

impl Place {
    fn set(&self, state: State) {
        self.state.set(state);
        for waker in self.waiting.take() {
            waker.wake();
        }
    }

    /// The transaction; none when it is the caller's turn to begin it.
    async fn wait(&self) -> Option<Transaction> {
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

impl Automatic {
    fn place(&self, access: Access) -> &Place {
        match access {
            Access::ReadOnly => &self.reading,
            Access::ReadWrite => &self.writing,
        }
    }
}

impl Connection {
    /// The transaction for a statement that belongs to none. Both see what was committed when a row is read.
    pub(crate) async fn automatic(&self, access: Access) -> Result<Transaction> {
        let place = self.0.automatic.place(access);
        if let Some(transaction) = place.wait().await {
            return Ok(transaction);
        }
        place.set(State::Beginning);
        let beginning = Beginning(place);
        let parameters = TransactionParameters {
            isolation: Isolation::ReadCommitted,
            access,
            wait: Wait::Forever,
            ..TransactionParameters::default()
        };
        let mut asked = self.ask(Creates::Transaction, |writer| {
            writer.ask(Expect::Response, |requests| {
                requests.transaction(self.0.database, &parameters);
                Ok(())
            })
        })?;
        let transaction = Transaction(asked.response().await?.object);
        place.set(State::Open(transaction));
        drop(beginning);
        Ok(transaction)
    }

    /// Whether this is still the transaction for statements that belong to none. It may have ended while somebody waited.
    pub(crate) fn is_automatic(&self, access: Access, transaction: Transaction) -> bool {
        let place = self.0.automatic.place(access);
        matches!(place.state.get(), State::Open(open) if open == transaction)
    }

    /// Whoever calls this ends the transaction, if it is one. The next statement begins another.
    pub(crate) fn forget_automatic(&self, access: Access) -> Option<Transaction> {
        let place = self.0.automatic.place(access);
        match place.state.get() {
            State::Open(transaction) => {
                place.set(State::None);
                Some(transaction)
            }
            State::None | State::Beginning => None,
        }
    }
}
