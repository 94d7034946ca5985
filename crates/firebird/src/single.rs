//! The transactions of statements that may write and are run outside of any: one for each, shared with no other. Knows no statement.
//! In the write that commits one the next is begun, so that a statement finds one ready and takes no more writes than in a transaction that
//! all would share. Rule: a transaction is given to one statement and, once something was done in it, never to another; the oldest is given first,
//! because the server keeps old versions of rows for its sake.

use std::future::poll_fn;
use std::task::Poll;

use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::parameters::{Access, Isolation, TransactionParameters, Wait};

use crate::connection::{Connection, Effect, Writer};
use crate::error::{Error, Result};

/// The transaction of one statement. Dropped before its commit was written, it is rolled back.
pub(crate) struct Single {
    connection: Connection,
    transaction: Transaction,
    state: State,
    /// The write of its commit begins one for the next statement.
    begins_spare: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was done in it.
    Spare,
    Used,
    /// The commit was written, and its answer decides.
    Ending,
}

/// The right to hold rows of one's own from one write to the next. A statement that met such a row would make the server wait for a commit
/// that comes behind it on the same connection.
pub(crate) struct Turn(Connection);

/// What a statement sees is what was committed when a row is read, and it waits for a row that another changes.
fn parameters() -> TransactionParameters {
    TransactionParameters {
        isolation: Isolation::ReadCommitted,
        access: Access::ReadWrite,
        wait: Wait::Forever,
        ..TransactionParameters::default()
    }
}

impl Connection {
    /// A transaction for one statement.
    pub(crate) async fn single(&self) -> Result<Single> {
        let transaction = match self.0.driver.spares.next().await {
            Some(transaction) => transaction,
            None => self.begin_handle(parameters()).await?,
        };
        Ok(Single {
            connection: self.clone(),
            transaction,
            state: State::Spare,
            begins_spare: false,
        })
    }

    /// Waits until no statement holds rows from one write to the next. What is written before anything else is waited for is safe.
    pub(crate) async fn wait_for_row_holder(&self) {
        poll_fn(|cx| {
            if !self.0.driver.spares.busy.get() || !self.is_alive() {
                return Poll::Ready(());
            }
            self.0.driver.spares.wait(cx);
            Poll::Pending
        })
        .await;
    }

    /// The same; then this one holds them.
    pub(crate) async fn turn(&self) -> Turn {
        self.wait_for_row_holder().await;
        self.0.driver.spares.busy.set(true);
        Turn(self.clone())
    }

    /// Ends the transactions that are kept begun for statements that write, but for as many as were used at once since this was called last.
    /// While one is open the server keeps, for its sake, old versions of rows that others change.
    pub fn end_unused_spares(&self) {
        self.end(self.0.driver.spares.take_unused());
    }

    /// Takes the spare transactions to end them.
    pub(crate) fn take_spares(&self) -> Vec<Transaction> {
        self.0.driver.spares.spare.take().into()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.0.driver.spares.busy.set(false);
        self.0.0.driver.spares.wake();
    }
}

impl Single {
    pub(crate) fn transaction(&self) -> Transaction {
        self.transaction
    }

    /// Something is done in it from here on.
    pub(crate) fn begin_use(&mut self) {
        self.state = State::Used;
    }

    /// Writes its commit, and begins one for the next statement if that is worth it; see [`Single::committing`].
    pub(crate) fn write_commit(&mut self, writer: &mut Writer<'_>) -> Result<()> {
        let (database, transaction) = (self.connection.0.driver.database, self.transaction);
        let effect = Effect::Commits(transaction);
        writer.ask_to(effect, Expect::Response, |requests| {
            requests.commit(transaction)
        })?;
        self.begins_spare = self.connection.0.driver.spares.has_room();
        if self.begins_spare {
            writer.begin_spare(|requests| requests.transaction(database, &parameters()))?;
        }
        Ok(())
    }

    /// The commit was written: from here on its answer decides, even if its caller has left.
    pub(crate) fn committing(&mut self) {
        let beginning = &self.connection.0.driver.spares.beginning;
        beginning.set(beginning.get() + usize::from(self.begins_spare));
        self.state = State::Ending;
    }

    /// Commits by itself.
    pub(crate) async fn commit(mut self) -> Result<()> {
        let connection = self.connection.clone();
        let mut asked = connection.ask(|writer| self.write_commit(writer))?;
        self.committing();
        let answer = asked.response().await.map(drop);
        self.ended(answer)
    }

    /// What the answer to the commit said. One that was refused is rolled back.
    pub(crate) fn ended(mut self, outcome: Result<()>) -> Result<()> {
        if let Err(Error::Server(_)) = outcome {
            self.state = State::Used;
        }
        outcome
    }
}

impl Drop for Single {
    fn drop(&mut self) {
        if !self.connection.is_alive() {
            return;
        }
        let spares = &self.connection.0.driver.spares;
        match self.state {
            State::Ending => {}
            State::Spare if spares.has_room() => {
                spares.spare.borrow_mut().push_back(self.transaction);
                spares.wake();
            }
            State::Spare | State::Used => self.connection.roll_back(self.transaction),
        }
    }
}
