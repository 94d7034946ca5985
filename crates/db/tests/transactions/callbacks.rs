//! What waits for a commit: run once it has come, in order, and not at all where it has not, or where a savepoint around it was undone.
//! Rule: what a row of the same place would become is what a callback becomes.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::rc::Rc;

use futures_util::FutureExt as _;
use tsumugi_db::{Database, Transaction};
use tsumugi_testkit::poll::pend;

use crate::{Kind, begin, insert, numbers, on_each};

/// The numbers of callbacks that have run.
#[derive(Clone, Default)]
struct Ran(Rc<RefCell<Vec<i64>>>);

impl Ran {
    /// Inserts a number and has it noted after the commit.
    async fn add(&self, tx: &Transaction, n: i64) {
        insert(tx, n).await;
        let ran = self.clone();
        tx.after_commit(move || ran.0.borrow_mut().push(n));
    }

    fn shown(&self) -> String {
        let ran = self.0.borrow();
        ran.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
    }

    /// What has run is what the table holds.
    async fn check(&self, db: &Database, expected: &str, kind: Kind) {
        assert_eq!(self.shown(), expected, "{kind:?}");
        assert_eq!(numbers(db).await, expected, "{kind:?}");
        // What has not run is not kept either.
        assert_eq!(Rc::strong_count(&self.0), 1, "{kind:?}");
    }
}

#[test]
fn callbacks_of_savepoints_run_where_these_are_kept() {
    on_each("?pool=1", async |db, place| {
        let ran = Ran::default();
        let tx = begin(db).await;
        ran.add(&tx, 1).await;
        let rolled_back = tx.savepoint().await.unwrap();
        ran.add(&tx, 2).await;
        let within = tx.savepoint().await.unwrap();
        ran.add(&tx, 3).await;
        within.release().await.unwrap();
        rolled_back.roll_back().await.unwrap();
        let dropped = tx.savepoint().await.unwrap();
        ran.add(&tx, 4).await;
        drop(dropped);
        ran.add(&tx, 5).await;
        let released = tx.savepoint().await.unwrap();
        ran.add(&tx, 6).await;
        let within = tx.savepoint().await.unwrap();
        ran.add(&tx, 7).await;
        within.roll_back().await.unwrap();
        released.release().await.unwrap();
        ran.add(&tx, 8).await;
        assert_eq!(ran.shown(), "");
        tx.commit().await.unwrap();
        drop(tx);
        ran.check(db, "1 5 6 8", place.kind).await;
    });
}

#[test]
fn callback_that_panics_takes_no_other_with_it() {
    on_each("?pool=1", async |db, place| {
        let ran = Ran::default();
        let tx = begin(db).await;
        ran.add(&tx, 1).await;
        for reason in ["first", "second"] {
            tx.after_commit(move || resume_unwind(Box::new(reason)));
        }
        ran.add(&tx, 2).await;
        let panic = AssertUnwindSafe(tx.commit()).catch_unwind().await;
        let panic = panic.expect_err("a callback panicked");
        assert_eq!(panic.downcast_ref(), Some(&"first"), "{:?}", place.kind);
        drop(tx);
        ran.check(db, "1 2", place.kind).await;
    });
}

#[test]
fn callbacks_of_a_transaction_that_is_not_committed_do_not_run() {
    on_each("?pool=1", async |db, place| {
        let ran = Ran::default();
        let tx = begin(db).await;
        ran.add(&tx, 1).await;
        tx.roll_back().await.unwrap();
        drop(tx);
        ran.check(db, "", place.kind).await;
        let tx = begin(db).await;
        ran.add(&tx, 1).await;
        drop(tx);
        ran.check(db, "", place.kind).await;
        // It holds its transaction, and does not keep it open.
        let tx = Rc::new(begin(db).await);
        let own = Rc::clone(&tx);
        tx.after_commit(move || drop(own));
        tx.forget_after_commit();
        assert_eq!(Rc::strong_count(&tx), 1);
    });
}

#[test]
fn callbacks_of_a_commit_that_fails_or_is_not_waited_for_do_not_run() {
    on_each("?pool=1", async |db, place| {
        let ran = Ran::default();
        if place.kind != Kind::Firebird {
            let deferred =
                "create table child(n integer references t(n) deferrable initially deferred)";
            db.execute(deferred, []).await.unwrap();
            let tx = begin(db).await;
            ran.add(&tx, 1).await;
            tx.execute("insert into child values (7)", [])
                .await
                .unwrap();
            assert_eq!(tx.commit().await.unwrap_err().kind(), "ForeignKeyViolation");
            drop(tx);
            ran.check(db, "", place.kind).await;
        }
        let tx = begin(db).await;
        ran.add(&tx, 2).await;
        // Where it is not answered at once, its caller does not know how it ended.
        let expected = match pend(tx.commit(), 0).await {
            Some(_) => "2",
            None => "",
        };
        drop(tx);
        assert_eq!(ran.shown(), expected, "{:?}", place.kind);
    });
}
