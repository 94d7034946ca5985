//! Savepoints that are dropped, in any order and while rows are on their way. Rule: what was done since is undone before anything else is.

use tsumugi_db::{RowStream, Transaction, ValueRef};

use crate::{Kind, begin, insert, numbers, on_each};

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

/// Drops a savepoint while a COPY is open in it, which `copy` begins and ends.
fn check_copy(copy: impl AsyncFn(&Transaction, &dyn Fn())) {
    on_each("?pool=1", async |db, place| {
        if place.kind != Kind::Postgres {
            return;
        }
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let savepoint = tx.savepoint().await.unwrap();
        insert(&tx, 2).await;
        let savepoint = std::cell::Cell::new(Some(savepoint));
        copy(&tx, &|| drop(savepoint.take())).await;
        insert(&tx, 4).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 4");
    });
}

#[test]
fn savepoint_dropped_while_data_are_copied_in_is_undone() {
    check_copy(async |tx, drop_savepoint| {
        let mut copy = tx.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"3\n").await.unwrap();
        drop_savepoint();
        assert_eq!(copy.finish().await.unwrap(), 1);
    });
    check_copy(async |tx, drop_savepoint| {
        let mut copy = tx.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"3\n").await.unwrap();
        drop_savepoint();
        drop(copy);
    });
}

#[test]
fn savepoint_dropped_while_data_are_copied_out_is_undone() {
    check_copy(async |tx, drop_savepoint| {
        let mut copy = tx.copy_out("copy t to stdout").await.unwrap();
        drop_savepoint();
        while copy.next().await.unwrap().is_some() {}
    });
    check_copy(async |tx, drop_savepoint| {
        let many = "copy (select generate_series(1, 100000)) to stdout";
        let mut copy = tx.copy_out(many).await.unwrap();
        copy.next().await.unwrap().unwrap();
        drop_savepoint();
        drop(copy);
    });
}

#[test]
fn savepoint_that_outlives_its_outer_one_ends_no_later_one() {
    on_each("?pool=1", async |db, place| {
        for end in ["drop", "release", "roll_back"] {
            let tx = begin(db).await;
            let outer = tx.savepoint().await.unwrap();
            let old = tx.savepoint().await.unwrap();
            outer.release().await.unwrap();
            let outer = tx.savepoint().await.unwrap();
            insert(&tx, 1).await;
            let inner = tx.savepoint().await.unwrap();
            insert(&tx, 2).await;
            let context = format!("{:?}: {end}", place.kind);
            let ended = match end {
                "release" => old.release().await,
                "roll_back" => old.roll_back().await,
                _ => {
                    drop(old);
                    Ok(())
                }
            };
            if end != "drop" {
                let refused = ended.expect_err(&context);
                assert!(refused.to_string().contains("has ended"), "{refused}");
            }
            insert(&tx, 3).await;
            inner.roll_back().await.unwrap();
            outer.release().await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(numbers(db).await, "1", "{context}");
            db.execute("delete from t", []).await.unwrap();
        }
    });
}

#[test]
fn savepoint_that_cannot_be_made_is_not_gone_back_to() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        let outer = tx.savepoint().await.unwrap();
        insert(&tx, 1).await;
        let stream = tx.stream(place.kind.numbers(), []).await.unwrap();
        let refused = tx.savepoint().await.unwrap_err();
        assert_eq!(refused.kind(), "UsageError", "{refused}");
        drop(stream);
        insert(&tx, 2).await;
        outer.release().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 2", "{:?}", place.kind);
    });
}

#[test]
fn savepoint_made_after_an_error_leaves_its_outer_one_to_go_back_to() {
    on_each("?pool=1", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let outer = tx.savepoint().await.unwrap();
        insert(&tx, 2).await;
        let twice = tx.execute("insert into t(n) values (1)", []).await;
        assert_eq!(twice.unwrap_err().kind(), "UniqueViolation");
        // PostgreSQL makes none before the error is undone.
        let inner = tx.savepoint().await;
        assert_eq!(inner.is_err(), place.kind == Kind::Postgres);
        drop(inner);
        outer.roll_back().await.unwrap();
        let next = tx.savepoint().await.unwrap();
        insert(&tx, 3).await;
        next.release().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 3", "{:?}", place.kind);
    });
}

#[test]
fn savepoint_gone_back_to_is_over_on_the_server() {
    on_each("?pool=1", async |db, place| {
        if place.kind != Kind::Postgres {
            return;
        }
        for end in ["roll_back", "drop"] {
            let tx = begin(db).await;
            let savepoint = tx.savepoint().await.unwrap();
            insert(&tx, 1).await;
            match end {
                "roll_back" => savepoint.roll_back().await.unwrap(),
                _ => drop(savepoint),
            }
            // Else each one would be within the one before, for as long as the transaction lasts: a savepoint that has written has a number
            // of its own, on which the server holds a lock.
            insert(&tx, 2).await;
            let locks = "select count(*) from pg_locks where locktype = 'transactionid' and pid = pg_backend_pid()";
            let rows = tx.query(locks, []).await.unwrap();
            let count = rows.first().unwrap().values().next();
            assert_eq!(count, Some(ValueRef::Integer(1)), "{end}");
        }
    });
}
