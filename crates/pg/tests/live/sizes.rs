//! As much as the protocol allows, and a little more: parameters, columns, rows, pipelines.

use tsumugi_pg::{Error, Parameters};
use tsumugi_pg_proto::types::{Encode as _, EncodeError, Encoded, Type};

use crate::{code, int, is_clean, open, run};

struct Same(i32, usize);

impl Parameters for Same {
    fn count(&self) -> usize {
        self.1
    }

    fn encode(
        &self,
        _: usize,
        ty: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<Encoded, EncodeError> {
        self.0.encode(ty, out)
    }
}

#[test]
fn statement_with_the_most_parameters_runs_and_one_more_is_refused() {
    run(async {
        let db = open("").await;
        let places: Vec<_> = (1..=65_535).map(|n| format!("${n}::int4")).collect();
        let sql = format!("select cardinality(array[{}])", places.join(","));
        let rows = db.query(&sql, &Same(1, 65_535)).await.unwrap();
        assert_eq!(int(&rows), 65_535);
        let error = db.query(&sql, &Same(1, 65_536)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the statement has 65535 parameters and 65536 values were given"
        );
        assert!(
            db.query("select $65536::int4", &Same(1, 65_536))
                .await
                .is_err()
        );
        is_clean(&db).await;
    });
}

#[test]
fn row_with_the_most_columns_of_a_table_is_read() {
    run(async {
        let db = open("").await;
        let columns: Vec<_> = (0..1600).map(|n| format!("{n} as c{n}")).collect();
        let rows = db
            .query(&format!("select {}", columns.join(",")), &())
            .await
            .unwrap();
        assert_eq!(rows.columns().len(), 1600);
        let row = rows.first().unwrap().unwrap();
        assert_eq!(row.value::<i32>(1599).unwrap(), 1599);
        assert_eq!(row.find::<i32>("c777").unwrap(), 777);
    });
}

#[test]
fn big_pipelines_in_both_directions_at_once_do_not_block_each_other() {
    run(async {
        let db = open("").await;
        let tasks: Vec<_> = (0..10_000_i32)
            .map(|number| {
                let db = db.clone();
                tokio::task::spawn_local(async move {
                    let text = format!("{number:010240}");
                    let rows = db.query("select $1::text", &(&*text,)).await.unwrap();
                    let row = rows.first().unwrap().unwrap();
                    assert_eq!(row.value::<&str>(0).unwrap(), text);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        is_clean(&db).await;
    });
}

#[test]
fn portal_gives_as_many_rows_as_it_is_asked_for() {
    run(async {
        let db = open("").await;
        let mut rows = db
            .stream_by("select n from generate_series(1, $1::int4) n", &(5,), 2)
            .await
            .unwrap();
        let mut batches = Vec::new();
        rows.limit_next(1);
        while let Some(batch) = rows.next().await.unwrap() {
            batches.push(batch.len());
            if batches.len() == 1 || batches.len() == 2 {
                rows.limit_next(1);
            }
        }
        assert_eq!(batches, [2, 1, 1, 1]);
        is_clean(&db).await;
    });
}

#[test]
fn empty_text_and_several_statements_are_distinguished() {
    run(async {
        let db = open("").await;
        for empty in ["", "-- nothing", "/* nothing */ "] {
            let rows = db.query(empty, &()).await.unwrap();
            assert_eq!((rows.len(), rows.columns().len()), (0, 0));
        }
        assert_eq!(code(db.query("select 1; select 2", &()).await), "42601");
        db.script("select 1; select 2").await.unwrap();
        db.script("").await.unwrap();
        assert!(matches!(
            db.query("select 'a\0b'", &()).await,
            Err(Error::Usage(_))
        ));
        is_clean(&db).await;
    });
}
