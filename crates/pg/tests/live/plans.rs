//! The statements that a connection keeps prepared: how many, by what, and what happens when they no longer fit the tables.

use std::rc::Rc;

use tsumugi_pg::{Atomicity, Connection, Error, Statement};

use crate::{code, int, is_clean, open, run};

async fn known(db: &Connection) -> i32 {
    let count = "select count(*)::int4 from pg_prepared_statements";
    int(&db.query(count, &()).await.unwrap())
}

#[test]
fn thousands_of_statements_leave_no_more_prepared_than_the_limit() {
    run(async {
        let db = open("?statement_cache=100").await;
        for number in 0..3000 {
            let rows = db.query(&format!("select {number}"), &()).await.unwrap();
            assert_eq!(int(&rows), number);
        }
        assert!(known(&db).await <= 100);
    });
}

#[test]
fn evictions_under_load_mix_no_statements_up() {
    run(async {
        let db = open("?statement_cache=8").await;
        let tasks: Vec<_> = (0..50)
            .map(|task: i32| {
                let db = db.clone();
                tokio::task::spawn_local(async move {
                    for round in 0..60 {
                        let number = (task * 7 + round * 13) % 40;
                        let sql = format!("select $1::int4 * 0 + {number}");
                        let rows = db.query(&sql, &(round,)).await.unwrap();
                        assert_eq!(int(&rows), number);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        for _ in 0..20 {
            is_clean(&db).await;
        }
        assert!(known(&db).await <= 8, "{}", known(&db).await);
    });
}

#[test]
fn a_pipeline_of_more_statements_than_are_kept_runs() {
    run(async {
        let db = open("?statement_cache=4").await;
        let texts: Vec<_> = (0..50).map(|n| format!("select {n}")).collect();
        let statements: Vec<_> = texts
            .iter()
            .map(|sql| Statement { sql, values: &() })
            .collect();
        for atomicity in [Atomicity::Each, Atomicity::All] {
            let outcomes = db.pipeline(&statements, atomicity).await.unwrap();
            for (n, outcome) in outcomes.into_iter().enumerate() {
                assert_eq!(int(&outcome.unwrap()), i32::try_from(n).unwrap());
            }
        }
        for _ in 0..20 {
            is_clean(&db).await;
        }
        assert!(known(&db).await <= 4);
    });
}

#[test]
fn several_callers_prepare_the_same_new_statement_once() {
    run(async {
        let db = Rc::new(open("").await);
        let sql = "select $1::int4 + 1000";
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let db = Rc::clone(&db);
                tokio::task::spawn_local(async move {
                    let rows = db.query(sql, &(number,)).await.unwrap();
                    assert_eq!(int(&rows), number + 1000);
                })
            })
            .collect();
        // The one who prepares it leaves.
        tokio::task::yield_now().await;
        tasks[0].abort();
        for task in tasks.into_iter().skip(1) {
            task.await.unwrap();
        }
        is_clean(&db).await;
        let count =
            "select count(*)::int4 from pg_prepared_statements where statement like '%+ 1000'";
        assert_eq!(int(&db.query(count, &()).await.unwrap()), 1);
        // When it cannot be prepared, all are told.
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let db = Rc::clone(&db);
                tokio::task::spawn_local(async move { code(db.query("selec 1", &()).await) })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap(), "42601");
        }
    });
}

#[test]
fn the_same_text_with_other_types_is_another_statement() {
    run(async {
        let db = open("").await;
        let sql = "select pg_typeof($1)::text";
        let named = async |hints: &[u32], value: &str| {
            let rows = db.query_hinted(sql, hints, &(value.to_owned(),)).await?;
            rows.first()?.unwrap().value::<String>(0)
        };
        assert_eq!(named(&[25], "x").await.unwrap(), "text");
        assert_eq!(named(&[1043], "x").await.unwrap(), "character varying");
        assert_eq!(named(&[25], "x").await.unwrap(), "text");
        let number = db.query_hinted(sql, &[20], &(5_i64,)).await.unwrap();
        let row = number.first().unwrap().unwrap();
        assert_eq!(row.value::<&str>(0).unwrap(), "bigint");
    });
}

#[test]
fn a_changed_table_is_prepared_anew_outside_a_transaction_and_an_error_inside() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(a int); insert into t values (1)")
            .await
            .unwrap();
        let sql = "select * from t";
        assert_eq!(db.query(sql, &()).await.unwrap().columns().len(), 1);
        db.script("alter table t add b text default 'b'")
            .await
            .unwrap();
        let rows = db.query(sql, &()).await.unwrap();
        assert_eq!(rows.columns().len(), 2);
        let row = rows.first().unwrap().unwrap();
        assert_eq!(row.find::<&str>("b").unwrap(), "b");
        let transaction = db.begin(Default::default()).await.unwrap();
        db.script("alter table t add c int").await.unwrap();
        assert_eq!(code(db.query(sql, &()).await), "0A000");
        transaction.roll_back().await.unwrap();
        assert_eq!(db.query(sql, &()).await.unwrap().columns().len(), 2);
        // A session that has forgotten everything.
        db.script("deallocate all").await.unwrap();
        assert_eq!(db.query(sql, &()).await.unwrap().columns().len(), 2);
        db.script("alter table t add d int").await.unwrap();
        let statement = Statement { sql, values: &() };
        let outcomes = db.pipeline(&[statement], Atomicity::Each).await.unwrap();
        assert!(matches!(outcomes[0], Err(Error::Server(_))));
        let outcomes = db.pipeline(&[statement], Atomicity::Each).await.unwrap();
        assert_eq!(outcomes[0].as_ref().unwrap().columns().len(), 3);
    });
}

#[test]
fn a_discarded_session_keeps_nothing() {
    run(async {
        let db = open("").await;
        db.query("select $1::int4", &(1,)).await.unwrap();
        db.discard().await;
        assert_eq!(known(&db).await, 1);
        is_clean(&db).await;
    });
}
