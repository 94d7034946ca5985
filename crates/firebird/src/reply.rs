//! The rows of a statement that was run outside of any transaction, and the transaction of its own that it may still be in. Runs nothing.
//! Rule: a caller that drops it before [`Reply::finish`] has undone the statement, unless its commit went with it.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_firebird_proto::handle::Transaction;

use crate::blob::BlobReader;
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::rows::Rows;
use crate::single::{Single, Turn};

/// What a statement outside of any transaction answered. Other statements of the connection that write wait until it has ended.
pub struct Reply {
    connection: Connection,
    rows: Rows,
    open: Option<Open>,
}

/// A transaction that waits for its commit. It ends before others have their turn.
struct Open {
    single: Single,
    _turn: Turn,
}

impl Reply {
    pub(crate) fn ended(connection: &Connection, rows: Rows) -> Reply {
        Reply {
            connection: connection.clone(),
            rows,
            open: None,
        }
    }

    pub(crate) fn open(connection: &Connection, rows: Rows, single: Single, turn: Turn) -> Reply {
        Reply {
            connection: connection.clone(),
            rows,
            open: Some(Open {
                single,
                _turn: turn,
            }),
        }
    }

    /// The rows. Whether they stay is known when it is finished.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Opens a blob of the rows, as [`Connection::blob`] does; also one that a procedure has made, which goes with the transaction.
    ///
    /// # Errors
    /// As there.
    pub fn blob(&self, id: u64, stored_as: Option<u8>) -> LocalBoxFuture<'_, Result<BlobReader>> {
        async move {
            match self.transaction() {
                Some(transaction) => {
                    let connection = &self.connection;
                    let opened = connection.blob_within(transaction, id, stored_as).await;
                    opened.map_err(Error::after_partial_send)
                }
                None => self.connection.blob(id, stored_as).await,
            }
        }
        .boxed_local()
    }

    fn transaction(&self) -> Option<Transaction> {
        let open = self.open.as_ref()?;
        Some(open.single.transaction())
    }

    /// Commits what the statement did, if that has not been done.
    ///
    /// # Errors
    /// [`Error::Server`](crate::Error::Server): the statement is undone then. [`Error::Lost`](crate::Error::Lost).
    pub async fn finish(self) -> Result<Rows> {
        if let Some(open) = self.open {
            open.commit().await?;
        }
        Ok(self.rows)
    }
}

impl Open {
    /// The statement has run, and what it did in a transaction of its own, or took from a sequence, is kept.
    fn commit(self) -> LocalBoxFuture<'static, Result<()>> {
        async move {
            let Open { single, _turn } = self;
            single.commit().await.map_err(Error::after_partial_send)
        }
        .boxed_local()
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
