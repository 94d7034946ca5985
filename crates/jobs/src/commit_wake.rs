//! Wakes the workers of this process once behind each transaction that has pushed jobs, however many. Pushes none.
//! Rule: it waits as the transaction's own callbacks do, so that a savepoint that is undone takes it along, and the next push asks for it anew.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use tsumugi_db::Transaction;

use crate::wake::wake_process;

thread_local! {
    /// Transactions behind which workers are woken, by their addresses.
    static WAITING: RefCell<HashSet<usize>> = RefCell::default();
}

/// A transaction that waits. It goes with its callback, which goes with the transaction.
struct CommitWake(usize);

impl Drop for CommitWake {
    fn drop(&mut self) {
        // A thread that ends has none any more.
        let _ = WAITING.try_with(|waiting| waiting.borrow_mut().remove(&self.0));
    }
}

/// Has the workers of this process look for jobs when the transaction has committed.
pub(crate) fn wake_after_commit(transaction: &Rc<Transaction>) {
    let address = Rc::as_ptr(transaction).addr();
    if !WAITING.with_borrow_mut(|waiting| waiting.insert(address)) {
        return;
    }
    let wake = CommitWake(address);
    transaction.after_commit(move || {
        drop(wake);
        wake_process();
    });
}

#[cfg(test)]
mod tests {
    use tsumugi_db::{Database, Options, TransactionOptions};

    use super::*;

    fn waiting() -> usize {
        WAITING.with_borrow(HashSet::len)
    }

    #[test]
    fn transaction_waits_once_however_many_jobs_it_pushes_and_not_behind_its_end() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build().unwrap();
        runtime.block_on(async {
            let url = "sqlite::memory:?name=commit_wake";
            let database = Database::connect(url, Options::default()).await.unwrap();
            for commits in [true, false] {
                let options = TransactionOptions::default();
                let transaction = Rc::new(database.begin(options).await.unwrap());
                let undone = transaction.savepoint().await.unwrap();
                wake_after_commit(&transaction);
                wake_after_commit(&transaction);
                assert_eq!(waiting(), 1);
                undone.roll_back().await.unwrap();
                assert_eq!(waiting(), 0);
                wake_after_commit(&transaction);
                wake_after_commit(&transaction);
                assert_eq!(waiting(), 1);
                match commits {
                    true => transaction.commit().await.unwrap(),
                    false => drop(transaction),
                }
                assert_eq!(waiting(), 0);
            }
        });
    }
}
