//! Points in a transaction on a server, to which it is rolled back. Knows no database's commands.
//! Rule: one that is dropped is undone before the transaction does anything else, with what waits for the commit since it was set.

use std::rc::{Rc, Weak};

use crate::error::{Error, Result};
use crate::log::opaque;
use crate::outcome::Abandon;

use super::step::{SavepointCommand, SavepointName};
use super::transactional::{TransactionInner, Transactional};

/// A point in a transaction. See [`crate::Savepoint`].
pub struct Savepoint<B: Transactional> {
    transaction: Weak<TransactionInner<B>>,
    name: SavepointName,
}

impl<B: Transactional> Savepoint<B> {
    pub(super) fn new(transaction: &Rc<TransactionInner<B>>, name: SavepointName) -> Savepoint<B> {
        Savepoint {
            transaction: Rc::downgrade(transaction),
            name,
        }
    }

    pub(crate) async fn release(self) -> Result<()> {
        self.finish(SavepointCommand::Release).await
    }

    pub(crate) async fn roll_back(self) -> Result<()> {
        self.finish(SavepointCommand::RollBack).await
    }

    /// Drops it, but leaves a spoiled transaction as it is.
    pub(crate) fn drop_unless_spoiled(self) {
        if let Some(transaction) = self.transaction.upgrade()
            && transaction.open().as_ref().is_some_and(B::is_spoiled)
        {
            drop(transaction.undo_savepoint(self.name.number));
        }
    }

    async fn finish(self, command: SavepointCommand) -> Result<()> {
        let Some(transaction) = self.transaction.upgrade() else {
            return Err(Error::closed(
                "transaction",
                "it was dropped before its savepoint",
            ));
        };
        let SavepointName { number, depth } = self.name;
        let open = transaction.ready().await?;
        transaction.savepoints.borrow().check(number)?;
        let sql = B::savepoint_sql(command, number, depth);
        transaction.command(&open, &sql).await?;
        match command {
            SavepointCommand::RollBack => drop(transaction.undo_savepoint(number)),
            SavepointCommand::Set | SavepointCommand::Release => {
                transaction.savepoints.borrow_mut().release(number);
            }
        }
        Ok(())
    }

    pub(crate) fn owner(&self) -> Weak<dyn Abandon> {
        let transaction: Weak<TransactionInner<B>> = self.transaction.clone();
        transaction
    }
}

impl<B: Transactional> Drop for Savepoint<B> {
    fn drop(&mut self) {
        let Some(transaction) = self.transaction.upgrade() else {
            return;
        };
        let SavepointName { number, depth } = self.name;
        let undone = transaction.undo_savepoint(number);
        let Some(open) = transaction.open().filter(|_| undone.is_some()) else {
            return;
        };
        let sql = B::savepoint_sql(SavepointCommand::RollBack, number, depth);
        if !B::send_command(&open, &sql) {
            transaction.undo.set(Some(self.name));
        }
    }
}

opaque!(Savepoint<B: Transactional>);
