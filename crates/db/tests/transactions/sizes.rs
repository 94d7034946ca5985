//! Statements that write and give more than `rows_max_bytes`: what is kept of them.

use crate::{Kind, Place, numbers, on_each};

/// Inserts 1 and gives more than the limit of these tests.
fn large(place: &Place) -> &'static str {
    match place.kind {
        Kind::Sqlite => "insert into t(n) values (1) returning n, hex(zeroblob(20000))",
        Kind::Postgres => "insert into t(n) values (1) returning n, repeat('x', 40000)",
        Kind::Firebird => "select n, text from enlarge",
    }
}

const PROCEDURE: &str = "create procedure enlarge returns (n integer, text varchar(8000)) as begin
  insert into t(n) values (1); n = 1; text = lpad('', 8000, 'x'); suspend; suspend; end";

#[test]
fn write_whose_rows_are_too_large_is_undone_where_that_is_possible() {
    on_each("?pool=1&rows_max_bytes=10000", async |db, place| {
        if place.kind == Kind::Firebird {
            db.execute(PROCEDURE, []).await.unwrap();
        }
        let refused = db.query(large(place), []).await.unwrap_err();
        assert_eq!(refused.kind(), "LimitExceeded", "{refused}");
        // PostgreSQL has committed it before its rows are there.
        let kept = place.kind == Kind::Postgres;
        let expected = if kept { "1" } else { "" };
        assert_eq!(numbers(db).await, expected, "{:?}", place.kind);
        db.execute("delete from t", []).await.unwrap();
        // In a transaction it is the statement that failed.
        let tx = crate::begin(db).await;
        crate::insert(&tx, 2).await;
        let savepoint = tx.savepoint().await.unwrap();
        let refused = tx.query(large(place), []).await.unwrap_err();
        assert_eq!(refused.kind(), "LimitExceeded", "{refused}");
        savepoint.roll_back().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "2", "{:?}", place.kind);
    });
}
