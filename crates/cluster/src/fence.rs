//! Whether a fencing token is still the last one, asked in the transaction that depends on it. Renews nothing.
//! Rule: from the answer to the end of the transaction no one else gets the lease.

use tsumugi_db::{Executor, Transaction, values};

use crate::error::{Error, Result};

/// Succeeds if nobody has taken the lock since this token was given, and keeps others from it until the transaction has ended. A renewal
/// waits for that too: a transaction that lasts longer than the lock's time loses it. The database is the one that the cluster is over.
///
/// # Errors
/// [`Error::Lost`] where another one has taken the lock; [`Error::Usage`] outside of a transaction; what the database says.
pub async fn fence(executor: &Executor, name: &str, token: i64) -> Result<()> {
    let Executor::Transaction(transaction) = executor else {
        return Err(Error::Usage(
            "fence belongs in a transaction: what it has found holds until that ends".to_owned(),
        ));
    };
    let sql = match &**transaction {
        // Its transactions that write take turns.
        Transaction::Sqlite(_) => "select 1 from tsumugi_leases where name = ? and token = ?",
        _ => "select 1 from tsumugi_leases where name = ? and token = ? for share",
    };
    let found = transaction.query(sql, values![name, token]).await?;
    match found.is_empty() {
        false => Ok(()),
        true => Err(Error::Lost {
            name: name.to_owned(),
            reason: Some(format!("{token} is not its last token")),
        }),
    }
}
