//! Streams: batches, snapshot, backpressure, early end.

use tsumugi_db::{Error, RowStream, TransactionOptions, limits};
use tsumugi_testkit::poll::pend;

use crate::{count, eventually, open, pause, run};

fn numbers(last: usize) -> String {
    format!(
        "with recursive c(x) as (select 1 union all select x + 1 from c where x < {last}) select x from c"
    )
}

const ENDLESS_ROWS: &str =
    "with recursive c(x) as (select 1 union all select x + 1 from c) select x from c";

async fn lengths(mut stream: RowStream) -> Vec<usize> {
    let mut lengths = Vec::new();
    while let Some(rows) = stream.next().await.unwrap() {
        lengths.push(rows.len());
    }
    assert!(stream.next().await.unwrap().is_none());
    lengths
}

#[test]
fn batches_are_bounded_by_rows_and_by_bytes() {
    run(async {
        let f = open("").await;
        let max = limits::BATCH_MAX_ROWS;
        assert_eq!(
            lengths(f.db.stream(numbers(max), []).await.unwrap()).await,
            [max]
        );
        assert_eq!(
            lengths(f.db.stream(numbers(2 * max + 1), []).await.unwrap()).await,
            [max, max, 1]
        );
        let big = format!(
            "select zeroblob({}) from ({})",
            limits::BATCH_MAX_BYTES / 2,
            numbers(5)
        );
        assert_eq!(
            lengths(f.db.stream(big, []).await.unwrap()).await,
            [2, 2, 1]
        );
        assert_eq!(
            lengths(f.db.stream("select * from t", []).await.unwrap()).await,
            Vec::<usize>::new()
        );
    });
}

#[test]
fn one_row_may_be_as_large_as_a_result() {
    run(async {
        let f = open("rows_max_bytes=1000005").await;
        assert_eq!(
            lengths(f.db.stream("select zeroblob(1000000)", []).await.unwrap()).await,
            [1]
        );
        let error =
            f.db.stream("select zeroblob(1000001)", [])
                .await
                .unwrap_err();
        assert!(
            matches!(
                error,
                Error::TooLarge {
                    limit: "rows_max_bytes",
                    max: 1_000_005,
                    ..
                }
            ),
            "{error:?}"
        );
    });
}

#[test]
fn columns_are_known_without_rows() {
    run(async {
        let f = open("").await;
        let stream = f.db.stream("select id, n as 名 from t", []).await.unwrap();
        assert_eq!(stream.columns().names().collect::<Vec<_>>(), ["id", "名"]);
    });
}

#[test]
fn all_batches_are_of_one_snapshot() {
    run(async {
        let f = open("").await;
        f.db.execute(
            format!("insert into t(n) {}", numbers(3 * limits::BATCH_MAX_ROWS)),
            [],
        )
        .await
        .unwrap();
        let mut stream =
            f.db.stream("select id from t order by id", [])
                .await
                .unwrap();
        let first = stream.next().await.unwrap().unwrap();
        f.db.execute("delete from t", []).await.unwrap();
        let mut rows = first.len();
        while let Some(batch) = stream.next().await.unwrap() {
            rows += batch.len();
        }
        assert_eq!((rows, count(&f.db).await), (3 * limits::BATCH_MAX_ROWS, 0));
    });
}

#[test]
fn nothing_is_read_until_it_is_asked_for() {
    run(async {
        let f = open("").await;
        let before = f.db.snapshot().statements;
        let mut stream = f.db.stream(ENDLESS_ROWS, []).await.unwrap();
        stream.next().await.unwrap().unwrap();
        pause(50).await;
        assert_eq!(f.db.snapshot().statements, before + 1);
        for batch in 1..5 {
            let rows = stream.next().await.unwrap().unwrap();
            let first = rows
                .first()
                .unwrap()
                .value(0)
                .unwrap()
                .as_integer()
                .unwrap();
            assert_eq!(first, (batch * limits::BATCH_MAX_ROWS + 1) as i64);
        }
        assert_eq!(f.db.snapshot().statements, before + 5);
    });
}

#[test]
fn a_stream_keeps_its_reader_until_it_ends_or_is_dropped() {
    run(async {
        let f = open("pool=1&acquire_timeout_ms=100").await;
        let mut stream = f.db.stream(ENDLESS_ROWS, []).await.unwrap();
        stream.next().await.unwrap().unwrap();
        let error = f.db.query("select 1", []).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::PoolTimeout {
                    connection: "reader",
                    ..
                }
            ),
            "{error:?}"
        );
        f.db.execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        drop(stream);
        assert_eq!(count(&f.db).await, 1);
        let whole = f.db.stream("select 1", []).await.unwrap();
        assert_eq!(count(&f.db).await, 1);
        drop(whole);
    });
}

#[test]
fn dropping_the_future_of_a_batch_loses_no_row() {
    run(async {
        let f = open("").await;
        let last = 20 * limits::BATCH_MAX_ROWS;
        let mut stream = f.db.stream(numbers(last), []).await.unwrap();
        let (mut rows, mut dropped) = (0, 0);
        loop {
            match pend(stream.next(), 0).await {
                None => {
                    dropped += 1;
                    tokio::task::yield_now().await;
                }
                Some(Ok(Some(batch))) => rows += batch.len(),
                Some(Ok(None)) => break,
                Some(Err(error)) => panic!("{error}"),
            }
        }
        assert_eq!(rows, last);
        assert!(dropped > 0);
    });
}

#[test]
fn an_idle_stream_ends_with_an_error_and_frees_its_reader() {
    run(async {
        let f = open("pool=1&idle_timeout_ms=100").await;
        let mut stream = f.db.stream(ENDLESS_ROWS, []).await.unwrap();
        stream.next().await.unwrap().unwrap();
        eventually("the reader is free", || {
            f.db.snapshot().connections_busy == 0
        })
        .await;
        assert_eq!(count(&f.db).await, 0);
        let error = stream.next().await.unwrap_err();
        assert!(error.to_string().contains("idle_timeout"), "{error}");
        assert!(stream.next().await.unwrap().is_none());
    });
}

#[test]
fn errors_come_at_the_beginning_or_between_batches() {
    run(async {
        let f = open("statement_timeout_ms=150&pool=1").await;
        assert_eq!(
            f.db.stream("select * from nowhere", [])
                .await
                .unwrap_err()
                .kind(),
            "UndefinedTable"
        );
        assert_eq!(
            f.db.stream("delete from t", []).await.unwrap_err().kind(),
            "UsageError"
        );
        assert_eq!(
            f.db.stream("pragma user_version = 3", [])
                .await
                .unwrap_err()
                .kind(),
            "UsageError"
        );
        let late = format!(
            "select x, abs(iif(x > 1500, -9223372036854775807 - 1, x)) from ({})",
            numbers(2_000)
        );
        let mut stream = f.db.stream(late, []).await.unwrap();
        assert_eq!(
            stream.next().await.unwrap().unwrap().len(),
            limits::BATCH_MAX_ROWS
        );
        assert_eq!(stream.next().await.unwrap_err().kind(), "Error");
        assert!(stream.next().await.unwrap().is_none());
        let error =
            f.db.stream(format!("{ENDLESS_ROWS} where x < 0"), [])
                .await
                .unwrap_err();
        assert_eq!(error.kind(), "QueryCanceled");
        assert_eq!(count(&f.db).await, 0);
    });
}

#[test]
fn a_transaction_streams_its_own_changes_and_nothing_else_meanwhile() {
    run(async {
        let f = open("").await;
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute(format!("insert into t(n) {}", numbers(2_500)), [])
            .await
            .unwrap();
        let mut stream = tx.stream("select n from t", []).await.unwrap();
        stream.next().await.unwrap().unwrap();
        let error = tx.execute("delete from t", []).await.unwrap_err();
        assert!(error.to_string().contains("stream"), "{error}");
        drop(stream);
        tx.execute("delete from t where n > 2000", [])
            .await
            .unwrap();
        assert_eq!(
            lengths(tx.stream("select n from t", []).await.unwrap()).await,
            [1_000, 1_000]
        );
        tx.commit().await.unwrap();
        assert_eq!(count(&f.db).await, 2_000);
    });
}
