//! Streams in transactions. Rule: until one has ended its transaction does nothing else, and it is no way around the transaction's methods.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::{begin, insert, numbers, on_each};

#[test]
fn stream_of_a_command_that_ends_its_transaction_is_refused() {
    on_each("?pool=1", async |db, place| {
        for command in ["commit", "rollback", "savepoint s"] {
            let tx = begin(db).await;
            insert(&tx, 1).await;
            let refused = tx.stream(command, []).await.unwrap_err();
            let context = format!("{:?}: {command}", place.kind);
            assert_eq!(refused.kind(), "UsageError", "{context}: {refused}");
            insert(&tx, 2).await;
            tx.roll_back().await.unwrap();
            assert_eq!(numbers(db).await, "", "{context}");
        }
    });
}

#[test]
fn stream_that_has_ended_and_is_dropped_leaves_a_later_one_open() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        let mut first = tx.stream("select n from t", []).await.unwrap();
        while first.next().await.unwrap().is_some() {}
        let second = tx.stream(place.kind.numbers(), []).await.unwrap();
        drop(first);
        let refused = tx.execute("delete from t", []).await.unwrap_err();
        assert_eq!(refused.kind(), "UsageError", "{:?}", place.kind);
        drop(second);
        insert(&tx, 1).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1", "{:?}", place.kind);
    });
}

#[test]
fn connection_of_a_stream_that_has_ended_is_free_before_it_is_dropped() {
    on_each("?pool=1&acquire_timeout_ms=60000", async |db, place| {
        let mut stream = db.stream(place.kind.numbers(), []).await.unwrap();
        while stream.next().await.unwrap().is_some() {}
        let other = db.stream("select n from t", []).await;
        assert!(other.is_ok(), "{:?}: {other:?}", place.kind);
        assert!(stream.next().await.unwrap().is_none());
    });
}

#[test]
fn stream_dropped_while_its_next_rows_are_computed_leaves_its_transaction_usable() {
    let options = "?pool=1&statement_timeout_ms=20000";
    on_each(options, async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let mut stream = tx.stream(place.kind.stalling(), []).await.unwrap();
        assert!(stream.next().await.unwrap().is_some(), "{:?}", place.kind);
        // Rows that have come may be read, until there are none.
        while let Ok(next) = timeout(Duration::from_millis(300), stream.next()).await {
            assert!(next.unwrap().is_some(), "{:?}: no stall", place.kind);
        }
        drop(stream);
        sleep(Duration::from_millis(100)).await;
        insert(&tx, 2).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 2", "{:?}", place.kind);
    });
}

#[test]
fn stream_that_is_not_read_gives_its_connection_back() {
    let options = "?pool=1&idle_timeout_ms=1500&acquire_timeout_ms=60000";
    on_each(options, async |db, place| {
        let mut idle = db.stream(place.kind.numbers(), []).await.unwrap();
        assert!(idle.next().await.unwrap().is_some());
        let other = db.stream("select n from t", []).await;
        assert!(other.is_ok(), "{:?}: {other:?}", place.kind);
        let ended = idle.next().await.unwrap_err();
        assert_eq!(ended.kind(), "ConnectionLost", "{:?}: {ended}", place.kind);
        let text = ended.to_string();
        assert!(text.contains("idle_timeout"), "{:?}: {text}", place.kind);
        assert!(idle.next().await.unwrap().is_none(), "{:?}", place.kind);
    });
}
