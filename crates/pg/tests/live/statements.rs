//! Statements by many callers on one connection.

use std::rc::Rc;
use std::time::Duration;

use tsumugi_pg::{Atomicity, Error, Statement};

use crate::{code, int, open, poll_once, run};

#[test]
fn row_comes_back_with_its_types() {
    run(async {
        let db = open("").await;
        let rows = db
            .query(
                "select $1::int4 + 1 as n, $2::text as t, null::int8 as nothing",
                &(41, "紡ぎ"),
            )
            .await
            .unwrap();
        let row = rows.first().unwrap().unwrap();
        assert_eq!(row.value::<i32>(0).unwrap(), 42);
        assert_eq!(row.find::<&str>("t").unwrap(), "紡ぎ");
        assert_eq!(row.value::<Option<i64>>(2).unwrap(), None);
        assert_eq!(rows.len(), 1);
    });
}

#[test]
fn error_between_two_pipelined_statements_is_only_its_callers() {
    run(async {
        let db = open("").await;
        let (a, b, c) = tokio::join!(
            db.query("select 1", &()),
            db.query("select 1 / $1::int4", &(0,)),
            db.query("select 3", &()),
        );
        assert_eq!(
            a.unwrap()
                .first()
                .unwrap()
                .unwrap()
                .value::<i32>(0)
                .unwrap(),
            1
        );
        assert!(matches!(b, Err(Error::Server(error)) if error.code.as_str() == "22012"));
        assert_eq!(
            c.unwrap()
                .first()
                .unwrap()
                .unwrap()
                .value::<i32>(0)
                .unwrap(),
            3
        );
    });
}

#[test]
fn thousand_callers_get_their_own_replies() {
    run(async {
        let db = open("").await;
        let tasks: Vec<_> = (0..1000)
            .map(|number: i32| {
                let db = db.clone();
                tokio::task::spawn_local(async move {
                    let rows = db.query("select $1::int4", &(number,)).await.unwrap();
                    assert_eq!(
                        rows.first().unwrap().unwrap().value::<i32>(0).unwrap(),
                        number
                    );
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn pipeline_of_one_sync_is_all_or_nothing() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int primary key)")
            .await
            .unwrap();
        let one = (1,);
        let insert = Statement {
            sql: "insert into t values ($1)",
            values: &one,
        };
        let outcomes = db
            .pipeline(&[insert, insert], Atomicity::All)
            .await
            .unwrap();
        assert!(matches!(outcomes[0], Err(Error::RolledBack)));
        assert!(matches!(outcomes[1], Err(Error::Server(_))));
        assert!(db.query("select * from t", &()).await.unwrap().is_empty());
        let outcomes = db
            .pipeline(&[insert, insert], Atomicity::Each)
            .await
            .unwrap();
        assert!(outcomes[0].is_ok() && outcomes[1].is_err());
    });
}

#[test]
fn abandoned_statement_is_cancelled_and_the_next_is_right() {
    run(async {
        let db = open("").await;
        let begun = std::time::Instant::now();
        let left = tokio::time::timeout(
            Duration::from_millis(50),
            db.query("select pg_sleep(600)", &()),
        )
        .await;
        assert!(left.is_err());
        db.reset().await;
        let rows = db.query("select 5", &()).await.unwrap();
        assert_eq!(rows.first().unwrap().unwrap().value::<i32>(0).unwrap(), 5);
        assert!(begun.elapsed() < Duration::from_secs(120));
    });
}

#[test]
fn rows_come_in_batches_and_a_stream_may_be_dropped() {
    run(async {
        let db = open("").await;
        let mut stream = db
            .stream(
                "select n, repeat('x', 100) from generate_series(1, $1::int4) n",
                &(50_000,),
            )
            .await
            .unwrap();
        let mut sum = 0;
        while let Some(rows) = stream.next().await.unwrap() {
            for row in rows.iter() {
                sum += i64::from(row.unwrap().value::<i32>(0).unwrap());
            }
        }
        assert_eq!(sum, 50_000 * 50_001 / 2);
        let mut stream = db
            .stream("select generate_series(1, 1000000)", &())
            .await
            .unwrap();
        stream.next().await.unwrap().unwrap();
        drop(stream);
        let rows = db.query("select 6", &()).await.unwrap();
        assert_eq!(rows.first().unwrap().unwrap().value::<i32>(0).unwrap(), 6);
    });
}

#[test]
fn statements_of_one_text_are_prepared_once() {
    run(async {
        let db = Rc::new(open("?statement_cache=8").await);
        for number in 0..100 {
            db.query(&format!("select {number}"), &()).await.unwrap();
        }
        let rows = db
            .query("select count(*) from pg_prepared_statements", &())
            .await
            .unwrap();
        let known = rows.first().unwrap().unwrap().value::<i64>(0).unwrap();
        assert!(known <= 9, "{known}");
    });
}

#[test]
fn rows_inserted_under_the_same_sync_as_an_error_are_not_there() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let insert = Statement {
            sql: "insert into t values ($1)",
            values: &(1,),
        };
        let fail = Statement {
            sql: "select 1 / 0",
            values: &(),
        };
        let outcomes = db
            .pipeline(&[insert, insert, insert, fail], Atomicity::All)
            .await
            .unwrap();
        assert!(
            matches!(&outcomes[3], Err(Error::Server(error)) if error.code.as_str() == "22012")
        );
        let rows = db.query("select count(*)::int4 from t", &()).await.unwrap();
        assert_eq!(int(&rows), 0);
    });
}

#[test]
fn error_that_comes_at_the_sync_is_its_callers() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int unique deferrable initially deferred)")
            .await
            .unwrap();
        db.execute("insert into t values (1)", &()).await.unwrap();
        let (a, b, c) = tokio::join!(
            db.query("select 1", &()),
            db.execute("insert into t values ($1)", &(1,)),
            db.query("select 3", &()),
        );
        assert_eq!((int(&a.unwrap()), int(&c.unwrap())), (1, 3));
        assert_eq!(code(b), "23505");
        let transaction = db.begin(Default::default()).await.unwrap();
        db.execute("insert into t values (1)", &()).await.unwrap();
        assert_eq!(code(transaction.commit().await), "23505");
        let transaction = db.begin(Default::default()).await.unwrap();
        assert_eq!(code(db.query("select 1 / 0", &()).await), "22012");
        assert!(matches!(transaction.commit().await, Err(Error::RolledBack)));
    });
}

#[test]
fn error_that_comes_at_the_sync_fails_an_atomic_pipeline() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int unique deferrable initially deferred)")
            .await
            .unwrap();
        let insert = Statement {
            sql: "insert into t values (1)",
            values: &(),
        };
        let outcomes = db
            .pipeline(&[insert, insert], Atomicity::All)
            .await
            .unwrap();
        assert!(matches!(outcomes[0], Err(Error::RolledBack)));
        assert!(
            matches!(&outcomes[1], Err(Error::Server(error)) if error.code.as_str() == "23505")
        );
        assert!(db.query("select * from t", &()).await.unwrap().is_empty());
    });
}

#[test]
fn value_that_cannot_be_sent_takes_its_whole_pipeline_back() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let insert = |values| Statement {
            sql: "insert into t values ($1)",
            values,
        };
        for atomicity in [Atomicity::Each, Atomicity::All] {
            let statements = [insert(&(1_i64,)), insert(&(1_i64 << 40,))];
            let refused = db.pipeline(&statements, atomicity).await;
            assert!(matches!(refused, Err(Error::Parameter { number: 1, .. })));
            assert!(db.query("select * from t", &()).await.unwrap().is_empty());
        }
    });
}

#[test]
fn request_taken_back_still_closes_what_it_would_have_closed() {
    run(async {
        let db = open("").await;
        db.query("select $1::int4", &(1,)).await.unwrap();
        let mut left = Box::pin(db.query("select 'left'", &()));
        assert!(!poll_once(left.as_mut()).await);
        drop(left);
        let refused = db.query("select $1::int4", &(1_i64 << 40,)).await;
        assert!(matches!(refused, Err(Error::Parameter { .. })));
        db.query("select $1::int4", &(2,)).await.unwrap();
        let known = "select count(*)::int4 from pg_prepared_statements where statement = $1";
        let known = db.query(known, &("select 'left'",)).await.unwrap();
        assert_eq!(int(&known), 0);
    });
}

#[test]
fn settings_that_the_server_reports_follow_it() {
    run(async {
        let db = open("").await;
        assert!(db.parameter("server_version").is_some());
        assert_eq!(db.parameter("server_encoding").as_deref(), Some("UTF8"));
        db.script("set timezone to 'Asia/Tokyo'").await.unwrap();
        assert_eq!(db.parameter("TimeZone").as_deref(), Some("Asia/Tokyo"));
        let transaction = db.begin(Default::default()).await.unwrap();
        db.script("set timezone to 'UTC'").await.unwrap();
        assert_eq!(db.parameter("TimeZone").as_deref(), Some("UTC"));
        transaction.roll_back().await.unwrap();
        assert_eq!(db.parameter("TimeZone").as_deref(), Some("Asia/Tokyo"));
        assert_eq!(db.parameter("no_such_setting"), None);
    });
}

#[test]
fn null_for_what_cannot_be_null_names_the_column() {
    run(async {
        let db = open("").await;
        let rows = db.query("select null::int4 as age", &()).await.unwrap();
        let error = rows.first().unwrap().unwrap().value::<i32>(0).unwrap_err();
        assert!(error.to_string().starts_with("column age: "), "{error}");
    });
}
