//! Statements with their types in Rust.

use tsumugi_pg::Error;
use tsumugi_pg::typed::Statement;

use crate::{is_clean, open, run};

const WORLD: Statement<(i32,), (i32, String)> =
    Statement::new("SELECT n, 'world ' || n FROM generate_series(1, 3) n WHERE n = $1");

#[test]
fn rows_are_read_as_tuples() {
    run(async {
        let db = open("").await;
        WORLD.prepare(&db).await.unwrap();
        let (id, name) = WORLD.query_one(&db, (2,)).await.unwrap();
        assert_eq!((id, &*name), (2, "world 2"));
        assert!(WORLD.query_opt(&db, (9,)).await.unwrap().is_none());
        assert!(matches!(
            WORLD.query_one(&db, (9,)).await,
            Err(Error::RowCount { found: 0 })
        ));
        let many: Statement<(), (i32, Option<String>)> =
            Statement::new("select n, null::text from generate_series(1, 100) n");
        let rows = many.query(&db, ()).await.unwrap();
        let sum: i32 = rows.iter().map(|row| row.unwrap().0).sum();
        assert_eq!((rows.len(), sum), (100, 5050));
        assert!(matches!(
            many.query_one(&db, ()).await,
            Err(Error::RowCount { found: 100 })
        ));
        let rows = WORLD.query(&db, (1,)).await.unwrap();
        let borrowed: Vec<(i32, &str)> = rows.iter_as().unwrap().map(|row| row.unwrap()).collect();
        assert_eq!(borrowed, [(1, "world 1")]);
        assert!(rows.iter_as::<(i32,)>().is_err());
        db.script("create temp table t(n int)").await.unwrap();
        let insert: Statement<(i32, i32), ()> = Statement::new("insert into t values ($1), ($2)");
        assert_eq!(insert.execute(&db, (1, 2)).await.unwrap(), 2);
    });
}

#[test]
fn statement_that_is_not_what_its_types_say_does_not_run() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let fewer: Statement<(i32,), ()> = Statement::new("insert into t values (1)");
        let error = fewer.execute(&db, (1,)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the statement has 0 parameters where its type has 1"
        );
        let columns: Statement<(), (i32,)> =
            Statement::new("insert into t values (1) returning n, n");
        let error = columns.prepare(&db).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the statement has 2 columns where its type has 1"
        );
        let column: Statement<(), (i32,)> =
            Statement::new("insert into t values (1) returning n::text");
        let error = column.execute(&db, ()).await.unwrap_err();
        assert!(matches!(error, Error::Mismatch(_)), "{error}");
        let parameter: Statement<(i32,), ()> =
            Statement::new("insert into t values ($1::text::int)");
        let error = parameter.execute(&db, (1,)).await.unwrap_err();
        assert!(matches!(error, Error::Mismatch(_)), "{error}");
        let count: Statement<(), (i64,)> = Statement::new("select count(*) from t");
        assert_eq!(count.query_one(&db, ()).await.unwrap(), (0,));
        let null: Statement<(), (i32,)> = Statement::new("select null::int4 as age");
        let error = null.query_one(&db, ()).await.unwrap_err();
        assert!(error.to_string().starts_with("column age: "), "{error}");
        is_clean(&db).await;
    });
}

#[test]
fn table_that_changes_to_other_types_is_a_mismatch() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int); insert into t values (1)")
            .await
            .unwrap();
        let all: Statement<(), (i32,)> = Statement::new("select * from t");
        assert_eq!(all.query_one(&db, ()).await.unwrap(), (1,));
        db.script("alter table t alter n type text").await.unwrap();
        let error = all.query_one(&db, ()).await.unwrap_err();
        assert!(matches!(error, Error::Mismatch(_)), "{error}");
        is_clean(&db).await;
    });
}
