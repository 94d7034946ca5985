//! Calls in a transaction whose futures are dropped. Rule: what is not known to have happened is undone, and every caller gets an error.

use std::time::Duration;

use tokio::time::timeout;
use tsumugi_db::{Transaction, values};
use tsumugi_testkit::poll::pend;

use crate::{Kind, NUMBERS, Place, begin, insert, numbers, on_each};

/// How often each call is left.
const ROUNDS: usize = 5;
/// How often it is tried, because an answer may be quicker.
const TRIES: usize = 50;

/// The ways to call a transaction and leave before the answer.
const CALLS: &[&str] = &[
    "insert",
    "read",
    "script",
    "stream",
    "pipeline",
    "savepoint",
    "endless",
    "refused",
];

/// Those that only PostgreSQL has.
const COPIES: &[&str] = &["copy in", "copy in with data", "copy out"];

fn calls(kind: Kind) -> impl Iterator<Item = &'static str> {
    let copies = match kind {
        Kind::Postgres => COPIES,
        Kind::Sqlite | Kind::Firebird => &[],
    };
    CALLS.iter().chain(copies).copied()
}

/// Runs `round` with every call until it was left so many times; `round` says whether it was, or the answer was quicker.
async fn left(place: &Place, mut round: impl AsyncFnMut(&str) -> bool) {
    for call in calls(place.kind) {
        let mut left = 0;
        for _ in 0..TRIES {
            left += usize::from(round(call).await);
            if left == ROUNDS {
                break;
            }
        }
        assert!(left > 0, "{:?}: {call} was never left", place.kind);
    }
}

/// False when the answer was quicker.
async fn leave(tx: &Transaction, call: &str, place: &Place) -> bool {
    let sql = "insert into t(n) values (2)";
    match call {
        "insert" => pend(tx.execute(sql, []), 0).await.is_none(),
        "read" => pend(tx.query("select n from t", []), 0).await.is_none(),
        "script" => pend(tx.execute_script(sql), 0).await.is_none(),
        "stream" => pend(tx.stream(place.kind.numbers(), []), 0).await.is_none(),
        "pipeline" => {
            let statements = vec![(sql.into(), vec![]), (sql.into(), vec![])];
            pend(tx.pipeline(statements), 0).await.is_none()
        }
        "savepoint" => pend(tx.savepoint(), 0).await.is_none(),
        "endless" => {
            let endless = tx.query(place.kind.endless(), []);
            timeout(Duration::from_millis(50), endless).await.is_err()
        }
        "refused" => {
            let twice = tx.execute("insert into t(n) values (1)", []);
            pend(twice, 0).await.is_none()
        }
        "copy in" => pend(tx.copy_in("copy t from stdin"), 0).await.is_none(),
        "copy in with data" => {
            let mut copy = tx.copy_in("copy t from stdin").await.unwrap();
            copy.send(b"2\n").await.unwrap();
            pend(copy.finish(), 0).await.is_none()
        }
        "copy out" => pend(tx.copy_out("copy t to stdout"), 0).await.is_none(),
        other => unreachable!("{other}"),
    }
}

#[test]
fn a_call_that_is_left_ends_its_transaction() {
    on_each("?pool=1", async |db, place| {
        left(place, async |call| {
            let tx = begin(db).await;
            insert(&tx, 1).await;
            if !leave(&tx, call, place).await {
                return false;
            }
            let next = tx.execute("insert into t(n) values (3)", []).await;
            let context = format!("{:?}: {call}", place.kind);
            let next = next.expect_err(&context);
            assert_eq!(next.kind(), "TransactionRolledBack", "{context}: {next}");
            assert!(next.to_string().contains("not waited for"), "{next}");
            let commit = tx.commit().await.expect_err(&context);
            assert_eq!(
                commit.kind(),
                "TransactionRolledBack",
                "{context}: {commit}"
            );
            assert!(tx.savepoint().await.is_err());
            tx.roll_back().await.unwrap();
            // The only connection is free although the transaction was not dropped.
            assert_eq!(numbers(db).await, "", "{context}");
            true
        })
        .await;
    });
}

#[test]
fn a_call_that_is_left_within_a_savepoint_ends_all_of_its_transaction() {
    on_each("?pool=1", async |db, place| {
        left(place, async |call| {
            let tx = begin(db).await;
            insert(&tx, 1).await;
            let savepoint = tx.savepoint().await.unwrap();
            if !leave(&tx, call, place).await {
                return false;
            }
            let error = savepoint.roll_back().await.unwrap_err();
            assert_eq!(error.kind(), "TransactionRolledBack", "{call}: {error}");
            assert!(tx.commit().await.is_err());
            assert_eq!(numbers(db).await, "");
            true
        })
        .await;
    });
}

#[test]
fn a_call_that_was_not_begun_leaves_its_transaction_open() {
    on_each("?pool=1", async |db, _| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        drop(tx.execute("insert into t(n) values (2)", []));
        drop(tx.commit());
        let savepoint = tx.savepoint().await.unwrap();
        insert(&tx, 3).await;
        drop(savepoint.release());
        insert(&tx, 4).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 4");
    });
}

#[test]
fn a_commit_that_is_left_has_happened_or_not() {
    on_each("?pool=1", async |db, place| {
        for times in 0.. {
            let tx = begin(db).await;
            insert(&tx, 1).await;
            insert(&tx, 2).await;
            let committed = pend(tx.commit(), times).await;
            let next = tx.execute("insert into t(n) values (3)", []).await;
            assert!(next.is_err(), "{:?} after {times}", place.kind);
            assert!(tx.commit().await.is_err());
            drop(tx);
            let found = numbers(db).await;
            assert!(found.is_empty() || found == "1 2", "{found}");
            db.execute("delete from t", []).await.unwrap();
            if let Some(committed) = committed {
                committed.unwrap();
                assert_eq!(found, "1 2");
                break;
            }
        }
    });
}

#[test]
fn a_savepoint_whose_release_is_left_keeps_nothing_by_half() {
    on_each("?pool=1", async |db, place| {
        for times in 0.. {
            let tx = begin(db).await;
            insert(&tx, 1).await;
            let savepoint = tx.savepoint().await.unwrap();
            insert(&tx, 2).await;
            let released = pend(savepoint.release(), times).await;
            let left = released.is_none();
            let committed = tx.commit().await;
            assert_eq!(committed.is_err(), left, "{:?} after {times}", place.kind);
            let expected = if left { "" } else { "1 2" };
            assert_eq!(numbers(db).await, expected);
            db.execute("delete from t", []).await.unwrap();
            if !left {
                break;
            }
        }
    });
}

#[test]
fn rows_that_are_not_waited_for_leave_the_transaction_open() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let mut stream = tx.stream(place.kind.numbers(), []).await.unwrap();
        let mut count = 0;
        loop {
            let Some(rows) = pend(stream.next(), 0).await else {
                tokio::task::yield_now().await;
                continue;
            };
            let Some(rows) = rows.unwrap() else { break };
            count += rows.len();
        }
        assert_eq!(count, NUMBERS);
        drop(stream);
        let mut stream = tx.stream(place.kind.numbers(), []).await.unwrap();
        stream.next().await.unwrap().unwrap();
        pend(stream.next(), 0).await;
        drop(stream);
        insert(&tx, 2).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 2");
    });
}

#[test]
fn calls_queued_in_a_transaction_that_ends_fail() {
    on_each("?pool=1&statement_timeout_ms=2000", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let endless = timeout(
            Duration::from_millis(50),
            tx.query(place.kind.endless(), []),
        );
        let behind = async {
            let _ = tx.execute("insert into t(n) values (?)", values![2]).await;
            tx.commit().await
        };
        let (endless, behind) = tokio::join!(endless, behind);
        assert!(endless.is_err());
        assert!(behind.is_err());
        assert_eq!(numbers(db).await, "");
    });
}

#[test]
fn commit_beside_a_running_call_comes_after_it() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        let sql = "insert into t(n) values (1)";
        let (inserted, committed) = tokio::join!(tx.execute(sql, []), tx.commit());
        inserted.unwrap();
        committed.unwrap();
        assert_eq!(numbers(db).await, "1", "{:?}", place.kind);
    });
}

#[test]
fn call_beside_a_commit_that_was_sent_is_refused() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let sql = "insert into t(n) values (2)";
        let (committed, inserted) = tokio::join!(tx.commit(), tx.execute(sql, []));
        committed.unwrap();
        let inserted = inserted.unwrap_err();
        assert_eq!(inserted.kind(), "ConnectionLost", "{:?}", place.kind);
        assert_eq!(numbers(db).await, "1", "{:?}", place.kind);
    });
}

#[test]
fn commit_waits_for_the_lock_of_the_schema_that_is_being_taken() {
    on_each("?statement_timeout_ms=120000", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let both = async { tokio::join!(tx.has_schema(), tx.commit()) };
        let ended = timeout(Duration::from_secs(60), both).await;
        let (_, committed) = ended.unwrap_or_else(|_| panic!("{:?}: it hangs", place.kind));
        committed.unwrap_or_else(|error| panic!("{:?}: {error}", place.kind));
        assert_eq!(numbers(db).await, "1", "{:?}", place.kind);
    });
}
