//! Streams: batches of one snapshot, as many as are asked for.

use tsumugi_db::{BatchSize, Database, TransactionOptions, limits, values};

use super::{json, text, with, words};

/// Numbers from 1 on, made by the server.
const NUMBERS: &str = "with recursive n as (select 1 as i from rdb$database union all select i + 1 from n where i < 1000) \
     select first 5000 (a.i - 1) * 1000 + b.i as number, lpad('', 50, 'x') as padding from n a cross join n b order by 1";

async fn total(db: &Database, sql: &str) -> (usize, usize) {
    let mut stream = db.stream(sql, []).await.unwrap();
    let (mut rows, mut batches) = (0, 0);
    while let Some(batch) = stream.next().await.unwrap() {
        assert!(!batch.is_empty() && batch.len() <= limits::BATCH_MAX_ROWS);
        (rows, batches) = (rows + batch.len(), batches + 1);
    }
    assert!(stream.next().await.unwrap().is_none());
    (rows, batches)
}

#[test]
fn rows_come_in_batches() {
    with("", async |db| {
        let (rows, batches) = total(&db, NUMBERS).await;
        assert_eq!(rows, 5000);
        assert!(batches >= 5);
        assert_eq!(
            total(&db, "select 1 as one from rdb$database where 1 = 0").await,
            (0, 0)
        );
        let stream = db
            .stream("select 1 as one from rdb$database where 1 = 0", [])
            .await;
        assert_eq!(stream.unwrap().columns().name(0), Some("one"));
    });
}

#[test]
fn batches_have_at_most_as_many_rows_as_was_said() {
    with("", async |db| {
        let by = BatchSize::of(70).unwrap();
        let mut stream = db.stream_by(NUMBERS, [], by).await.unwrap();
        let mut rows = 0;
        while let Some(batch) = stream.next().await.unwrap() {
            assert!(batch.len() <= 70, "{}", batch.len());
            rows += batch.len();
        }
        assert_eq!(rows, 5000);
    });
}

#[test]
fn a_stream_sees_one_snapshot_and_gives_its_connection_back() {
    with("?pool=2", async |db| {
        words(&db).await;
        db.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap();
        for _ in 0..5 {
            let mut stream = db.stream("select word from words", []).await.unwrap();
            db.execute("update words set word = 'b'", []).await.unwrap();
            assert_eq!(
                text(&stream.next().await.unwrap().unwrap()).len(),
                r#"[{"word":"a"}]"#.len()
            );
            drop(stream);
        }
        // One that is left early as well.
        for _ in 0..5 {
            let mut stream = db.stream(NUMBERS, []).await.unwrap();
            stream.next().await.unwrap().unwrap();
        }
        assert_eq!(
            json(&db, "select word from words").await,
            r#"[{"word":"b"}]"#
        );
    });
}

#[test]
fn blobs_come_with_their_batches() {
    with("", async |db| {
        db.execute("create table notes(id int, body blob sub_type text)", [])
            .await
            .unwrap();
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        for number in 0..100 {
            let body = "紡".repeat(number);
            let insert = "insert into notes values (?, ?)";
            let number = i64::try_from(number).unwrap();
            tx.execute(insert, values![number, body]).await.unwrap();
        }
        tx.commit().await.unwrap();
        let mut stream = db
            .stream("select body from notes order by id", [])
            .await
            .unwrap();
        let mut expected = 0;
        while let Some(batch) = stream.next().await.unwrap() {
            assert!(batch.len() <= limits::BATCH_MAX_BLOBS);
            for row in batch.iter() {
                let body = row.value(0).unwrap().as_text().unwrap();
                assert_eq!(body.chars().count(), expected);
                expected += 1;
            }
        }
        assert_eq!(expected, 100);
    });
}

#[test]
fn a_stream_of_a_transaction_has_it_until_its_end() {
    with("", async |db| {
        words(&db).await;
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap();
        let mut stream = tx.stream("select word from words", []).await.unwrap();
        let busy = tx
            .query("select 1 from rdb$database", [])
            .await
            .unwrap_err();
        assert_eq!(busy.kind(), "UsageError");
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 1);
        drop(stream);
        tx.commit().await.unwrap();
        assert_eq!(
            json(&db, "select word from words").await,
            r#"[{"word":"a"}]"#
        );
    });
}

#[test]
fn an_error_comes_after_the_rows_before_it() {
    with("", async |db| {
        let sql = "with recursive n as (select 1 as i from rdb$database union all select i + 1 from n where i < 600) \
             select 100 / (500 - i) as q from n";
        let mut stream = db.stream(sql, []).await.unwrap();
        let mut rows = 0;
        let error = loop {
            match stream.next().await {
                Ok(Some(batch)) => rows += batch.len(),
                Ok(None) => panic!("there is no row 500"),
                Err(error) => break error,
            }
        };
        assert_eq!((rows, error.kind()), (499, "DataError"));
        let writes = db.stream("delete from rdb$database where 1 = 0", []).await;
        assert_eq!(writes.unwrap_err().kind(), "UsageError");
    });
}
