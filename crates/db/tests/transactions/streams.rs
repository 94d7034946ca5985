//! Streams in transactions. Rule: until one has ended its transaction does nothing else, and it is no way around the transaction's methods.

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
    on_each("?pool=1&acquire_timeout_ms=3000", async |db, place| {
        let mut stream = db.stream(place.kind.numbers(), []).await.unwrap();
        while stream.next().await.unwrap().is_some() {}
        let other = db.stream("select n from t", []).await;
        assert!(other.is_ok(), "{:?}: {other:?}", place.kind);
        assert!(stream.next().await.unwrap().is_none());
    });
}
