//! The transaction of statements that only read and are run outside of any: all share one, which stays open. Knows no statement.
//! A transaction keeps hold of the tables it has read, too, until it ends: as long as it is open they cannot be dropped.
//! Rule: the first statement that needs it begins it, and it ends when it is to be let go and no statement reads in it.

use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::parameters::{Access, Isolation, TransactionParameters, Wait};

use crate::automatic::{Beginning, State};
use crate::connection::Connection;
use crate::error::Result;

/// A statement or a blob in use.
pub(crate) struct InUse(Connection);

impl InUse {
    pub(crate) fn of(connection: &Connection) -> InUse {
        let users = &connection.0.driver.automatic.users;
        users.set(users.get() + 1);
        InUse(connection.clone())
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let automatic = &self.0.0.driver.automatic;
        automatic.users.set(automatic.users.get() - 1);
        if automatic.users.get() == 0 {
            let stale = automatic.stale.take();
            self.0.end(stale);
        }
    }
}

/// What only reads sees what was committed when a row is read, and holds nothing back.
pub(crate) fn reading() -> TransactionParameters {
    TransactionParameters {
        isolation: Isolation::ReadCommitted,
        access: Access::ReadOnly,
        wait: Wait::Forever,
        ..TransactionParameters::default()
    }
}

impl Connection {
    /// The transaction for a statement that only reads. It sees what was committed when a row is read.
    pub(crate) async fn automatic(&self) -> Result<Transaction> {
        let place = &self.0.driver.automatic.reading;
        if let Some(transaction) = place.wait().await {
            return Ok(transaction);
        }
        place.set(State::Beginning);
        let beginning = Beginning(place);
        let transaction = self.begin_handle(reading()).await?;
        place.set(State::Open(transaction));
        drop(beginning);
        Ok(transaction)
    }

    /// Whether this is still the transaction for statements that belong to none. It may have ended while somebody waited.
    pub(crate) fn is_automatic(&self, transaction: Transaction) -> bool {
        let place = &self.0.driver.automatic.reading;
        matches!(place.state.get(), State::Open(open) if open == transaction)
    }

    /// Lets go of the tables that statements outside of any transaction have read: at once, if no more than `mine` of what is in
    /// use is still in use; else what reads may read on first. What writes has ended its transaction.
    pub(crate) fn release_table_locks(&self, mine: usize) {
        let automatic = &self.0.driver.automatic;
        if let Some(reading) = self.forget_automatic() {
            automatic.stale.borrow_mut().push(reading);
        }
        if automatic.users.get() <= mine {
            let stale = automatic.stale.take();
            self.end(stale);
        }
    }

    pub(crate) fn end(&self, transactions: impl IntoIterator<Item = Transaction>) {
        let mut transactions = transactions.into_iter().peekable();
        if transactions.peek().is_none() || !self.is_alive() {
            return;
        }
        self.send_unawaited(|writer| {
            for transaction in transactions {
                writer.register_commit(transaction)?;
            }
            Ok(())
        });
    }

    /// Whoever calls this ends the transaction, if it is one. The next statement begins another.
    pub(crate) fn forget_automatic(&self) -> Option<Transaction> {
        let place = &self.0.driver.automatic.reading;
        match place.state.get() {
            State::Open(transaction) => {
                place.set(State::None);
                Some(transaction)
            }
            State::None | State::Beginning => None,
        }
    }
}
