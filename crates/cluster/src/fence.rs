//! Whether a fencing token is still the last one, asked in the transaction that depends on it. Renews nothing.
//! Rule: from the answer to the end of the transaction no one else gets the lease.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_db::{Executor, Family, values};

use crate::error::{Error, Result};

/// Succeeds if nobody has taken the lock since this token was given, and keeps others from it until the transaction has ended. A renewal
/// waits for that too: a transaction that lasts longer than the lock's time loses it. The database is the one that the cluster is over.
///
/// # Errors
/// [`Error::Lost`] where another one has taken the lock; [`Error::Usage`] outside of a transaction, and of a database that keeps no locks because
/// the cluster is over something else; what the database says.
pub fn fence<'a>(
    executor: &'a Executor,
    name: &'a str,
    token: i64,
) -> LocalBoxFuture<'a, Result<()>> {
    async move {
        let Executor::Transaction(transaction) = executor else {
            return Err(Error::Usage(
                "fence belongs in a transaction: what it has found holds until that ends"
                    .to_owned(),
            ));
        };
        let sql = match transaction.dialect().family {
            Family::Firebird => {
                return Err(Error::Unsupported {
                    engine: "Firebird",
                    what: "locks of a cluster: fence is for the database of `cluster`",
                });
            }
            // Its transactions that write take turns.
            Family::Sqlite => "select 1 from tsumugi_leases where name = ? and token = ?",
            Family::Postgres => {
                "select 1 from tsumugi_leases where name = ? and token = ? for share"
            }
        };
        let found = match transaction.query(sql, values![name, token]).await {
            Err(error) if lacks_table(&error) => {
                return Err(Error::Usage(
                    "this database keeps no locks: fence is for the database of `cluster`"
                        .to_owned(),
                ));
            }
            found => found?,
        };
        match found.is_empty() {
            false => Ok(()),
            true => Err(Error::Lost {
                name: name.to_owned(),
                reason: Some(format!("{token} is not its last token")),
            }),
        }
    }
    .boxed_local()
}

/// Whether the database has never kept a lock: `cluster` is over another one, or over a store.
fn lacks_table(error: &tsumugi_db::Error) -> bool {
    matches!(error, tsumugi_db::Error::UndefinedTable { .. })
}
