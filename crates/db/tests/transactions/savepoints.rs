//! Savepoints that are dropped, in any order and while rows are on their way. Rule: what was done since is undone before anything else is.

use tsumugi_db::RowStream;

use crate::{begin, insert, numbers, on_each};

/// Drops two savepoints while a stream is open that was opened in the inner one, then does `end` with the stream.
fn check(end: impl AsyncFn(RowStream)) {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let outer = tx.savepoint().await.unwrap();
        insert(&tx, 2).await;
        let inner = tx.savepoint().await.unwrap();
        insert(&tx, 3).await;
        let mut stream = tx.stream(place.kind.numbers(), []).await.unwrap();
        stream.next().await.unwrap().unwrap();
        drop(inner);
        drop(outer);
        end(stream).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1", "{:?}", place.kind);
    });
}

#[test]
fn savepoint_dropped_before_its_dropped_stream_is_undone() {
    check(async |stream| drop(stream));
}

#[test]
fn savepoint_dropped_before_its_stream_is_read_to_the_end_is_undone() {
    check(async |mut stream| while stream.next().await.unwrap().is_some() {});
}

#[test]
fn rows_inserted_after_a_dropped_savepoint_are_kept() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        let savepoint = tx.savepoint().await.unwrap();
        insert(&tx, 1).await;
        let stream = tx.stream(place.kind.numbers(), []).await.unwrap();
        drop(savepoint);
        drop(stream);
        insert(&tx, 1).await;
        let savepoint = tx.savepoint().await.unwrap();
        insert(&tx, 2).await;
        savepoint.release().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 2", "{:?}", place.kind);
    });
}

#[test]
fn savepoint_that_an_open_stream_keeps_from_release_is_undone() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let savepoint = tx.savepoint().await.unwrap();
        insert(&tx, 2).await;
        let stream = tx.stream(place.kind.numbers(), []).await.unwrap();
        assert_eq!(tx.commit().await.unwrap_err().kind(), "UsageError");
        let refused = savepoint.release().await.unwrap_err();
        assert_eq!(refused.kind(), "UsageError", "{refused}");
        drop(stream);
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1", "{:?}", place.kind);
    });
}

#[test]
fn a_transaction_dropped_while_a_stream_is_open_is_rolled_back() {
    on_each("?pool=2", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let mut stream = tx.stream(place.kind.numbers(), []).await.unwrap();
        stream.next().await.unwrap().unwrap();
        drop(tx);
        drop(stream);
        assert_eq!(numbers(db).await, "", "{:?}", place.kind);
    });
}

#[test]
fn savepoint_that_outlives_its_outer_one_is_over() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        for release in [true, false] {
            let outer = tx.savepoint().await.unwrap();
            insert(&tx, if release { 1 } else { 2 }).await;
            let inner = tx.savepoint().await.unwrap();
            insert(&tx, if release { 3 } else { 4 }).await;
            if release {
                outer.release().await.unwrap();
            } else {
                outer.roll_back().await.unwrap();
            }
            drop(inner);
        }
        insert(&tx, 5).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 3 5", "{:?}", place.kind);
    });
}

#[test]
fn transaction_goes_on_after_a_dropped_savepoint_undoes_an_error() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let savepoint = tx.savepoint().await.unwrap();
        let twice = tx.execute("insert into t(n) values (1)", []).await;
        assert_eq!(twice.unwrap_err().kind(), "UniqueViolation");
        drop(savepoint);
        insert(&tx, 2).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 2", "{:?}", place.kind);
    });
}
