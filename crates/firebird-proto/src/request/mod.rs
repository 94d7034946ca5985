//! Requests, written into the caller's buffer: one function a packet. Knows no answer and no order: `connection` keeps what is expected.
//! Source: protocol chapter "Requests". Rule: a packet is written whole or not at all; what can be too long is looked at first.

mod blob;
mod events;
mod statement;

pub use events::EventId;
pub use statement::{Free, Message};

use bytes::{BufMut, BytesMut};

use crate::error::Misuse;
use crate::handle::{Database, Transaction};
use crate::parameters::TransactionParameters;
use crate::wire::{put_cstring, sendable};
use crate::{Version, op};

/// Where the packets of one connection are written to.
#[derive(Debug)]
pub struct Requests<'a> {
    out: &'a mut BytesMut,
    version: Version,
}

/// What op_cancel does to the statement that runs; the numbers are the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// From now on nothing is cancelled.
    Disable = 1,
    /// Undoes [`Cancel::Disable`].
    Enable = 2,
    /// Whatever runs fails with [`crate::GdsCode::CANCELLED`].
    Raise = 3,
}

/// Which information of a database or a blob is asked for, by the server's numbers.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    /// The numbers.
    pub items: &'a [u8],
    /// The longest answer: what does not fit is cut, and says so.
    pub bytes_max: u16,
}

impl<'a> Requests<'a> {
    /// Writes after what is in `out` already.
    pub fn new(out: &'a mut BytesMut, version: Version) -> Self {
        Self { out, version }
    }

    /// op_attach: opens `file`, an alias of the server or a path there. Answered by a response with the handle.
    ///
    /// # Errors
    /// [`Misuse::Length`], as of every function here that takes a text or a block; nothing was written.
    pub fn attach(&mut self, file: &str, parameters: &[u8]) -> Result<(), Misuse> {
        self.open(op::ATTACH, file, parameters)
    }

    /// op_create: creates `file` and opens it. Answered by a response with the handle.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn create(&mut self, file: &str, parameters: &[u8]) -> Result<(), Misuse> {
        self.open(op::CREATE, file, parameters)
    }

    fn open(&mut self, op: u32, file: &str, parameters: &[u8]) -> Result<(), Misuse> {
        sendable(file.as_bytes(), "database's name")?;
        sendable(parameters, "parameter block")?;
        self.words([op, 0]);
        put_cstring(self.out, file.as_bytes());
        put_cstring(self.out, parameters);
        Ok(())
    }

    /// op_detach. Answered by a response; open transactions must have ended.
    pub fn detach(&mut self, database: Database) {
        self.words([op::DETACH, database.0]);
    }

    /// op_drop_database: deletes the file. Answered by a response.
    pub fn drop_database(&mut self, database: Database) {
        self.words([op::DROP_DATABASE, database.0]);
    }

    /// op_disconnect. Not answered: the server closes the connection.
    pub fn disconnect(&mut self) {
        self.words([op::DISCONNECT]);
    }

    /// op_ping. Answered by a response.
    pub fn ping(&mut self) {
        self.words([op::PING]);
    }

    /// op_cancel. Not answered. A write of its own, between two packets.
    pub fn cancel(&mut self, kind: Cancel) {
        self.words([op::CANCEL, kind as u32]);
    }

    /// op_transaction. Answered by a response with the handle.
    pub fn transaction(&mut self, database: Database, parameters: &TransactionParameters) {
        self.words([op::TRANSACTION, database.0]);
        put_cstring(self.out, &parameters.block());
    }

    /// op_commit. Answered by a response; cursors are closed.
    pub fn commit(&mut self, transaction: Transaction) {
        self.words([op::COMMIT, transaction.0]);
    }

    /// op_commit_retaining: what was done is kept, and the transaction goes on with its cursors.
    pub fn commit_retaining(&mut self, transaction: Transaction) {
        self.words([op::COMMIT_RETAINING, transaction.0]);
    }

    /// op_rollback. Answered by a response; cursors are closed.
    pub fn rollback(&mut self, transaction: Transaction) {
        self.words([op::ROLLBACK, transaction.0]);
    }

    /// op_rollback_retaining: what was done is undone, and the transaction goes on.
    pub fn rollback_retaining(&mut self, transaction: Transaction) {
        self.words([op::ROLLBACK_RETAINING, transaction.0]);
    }

    /// op_info_database. Answered by a response with [`crate::info`] as data.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn database_info(&mut self, database: Database, asked: Items<'_>) -> Result<(), Misuse> {
        self.info(op::INFO_DATABASE, database.0, asked)
    }

    fn info(&mut self, op: u32, object: u32, asked: Items<'_>) -> Result<(), Misuse> {
        sendable(asked.items, "list of information items")?;
        self.words([op, object, 0]);
        put_cstring(self.out, asked.items);
        self.words([asked.bytes_max.into()]);
        Ok(())
    }

    fn words<const N: usize>(&mut self, words: [u32; N]) {
        self.out.reserve(4 * N);
        for word in words {
            self.out.put_u32(word);
        }
    }
}

#[cfg(test)]
mod tests;
