//! The statements that a connection keeps prepared: how many, by what, and what happens when they no longer fit the tables.

use std::rc::Rc;

use tsumugi_pg::{Atomicity, Connection, Error, Statement};
use tsumugi_testkit::postgres::Server;

use crate::{code, int, is_clean, open, open_at, run};

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
fn pipeline_of_more_statements_than_are_kept_runs() {
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
fn same_text_with_other_types_is_another_statement() {
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
fn changed_table_is_prepared_anew_outside_a_transaction_and_an_error_inside() {
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
    });
}

/// Runs a pipeline of prepared statements after their table has changed. `expected` has a number of rows or an SQLSTATE for each.
async fn check_pipeline(
    db: &Connection,
    atomicity: Atomicity,
    texts: &[&str],
    change: &str,
    expected: &str,
) {
    for sql in texts {
        db.prepare(sql, &[]).await.unwrap();
    }
    db.script(change).await.unwrap();
    let statements: Vec<_> = texts
        .iter()
        .map(|sql| Statement { sql, values: &() })
        .collect();
    let outcomes = db.pipeline(&statements, atomicity).await.unwrap();
    let came: Vec<_> = outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Ok(rows) => rows.len().to_string(),
            Err(Error::RolledBack) => "undone".to_owned(),
            Err(error) => code::<()>(Err(error)),
        })
        .collect();
    assert_eq!(came.join(" "), expected, "{atomicity:?} {texts:?} {change}");
}

#[test]
fn changed_table_in_a_pipeline_is_noticed_where_nothing_is_run_twice_or_out_of_order() {
    use Atomicity::{All, Each};
    run(async {
        let db = open("").await;
        db.script(
            "create temp table t(a int); create temp table u(a int); create temp table lg(n int); \
             create function pg_temp.lg(n int) returns int language sql as 'insert into pg_temp.lg values (n); select 1'",
        )
        .await
        .unwrap();
        let (read, write, other) = (
            "select * from t",
            "insert into t values (1) returning *",
            "insert into u values (1)",
        );
        let next = std::cell::Cell::new(0);
        let change = || {
            next.set(next.get() + 1);
            format!("alter table t add c{} int", next.get())
        };
        // By itself, and each of several.
        check_pipeline(&db, Each, &[read], &change(), "0").await;
        check_pipeline(&db, Each, &[other, read, read], &change(), "0 0 0").await;
        check_pipeline(&db, Each, &[write, read], &change(), "1 1").await;
        check_pipeline(&db, Each, &[read, "select 1", read], &change(), "1 1 1").await;
        // What changes data is overtaken by nothing, and overtakes nothing.
        check_pipeline(&db, Each, &[write, "select 1"], &change(), "0A000 1").await;
        check_pipeline(&db, Each, &[read, other], &change(), "0A000 0").await;
        check_pipeline(&db, Each, &[read, "select 1 / 0"], &change(), "1 22012").await;
        // Functions that everybody knows only read; others may write, in quotes and behind comments too.
        let counted = "select t.*, coalesce((select count(*) from u), 0) from t where a in (1)";
        let lower = "select lower ('A')";
        check_pipeline(&db, Each, &[counted, lower], &change(), "1 1").await;
        for call in ["lg(1)", "\"lg\"(2)", "lg /* in */ (3)"] {
            let written = &format!("select count(pg_temp.{call})");
            check_pipeline(&db, Each, &[read, written], &change(), "0A000 1").await;
            let first = &format!("select t.*, pg_temp.{call} from t");
            check_pipeline(&db, Each, &[first, "select 1"], &change(), "0A000 1").await;
        }
        // The change is one of the pipeline's own.
        let own = "alter table t add own int";
        check_pipeline(&db, Each, &[read, own, read, read], "select 1", "1 0 1 1").await;
        // Together: what ran is undone and runs again, once.
        check_pipeline(&db, All, &[other, write, read], &change(), "0 1 2").await;
        let count = "select count(*)::int4 from u";
        assert_eq!(int(&db.query(count, &()).await.unwrap()), 3);
        // A session that has forgotten everything.
        check_pipeline(&db, All, &[other, read], "deallocate all", "0 2").await;
        check_pipeline(&db, Each, &[read, other], "deallocate all", "2 0").await;
        // Some commands end the transaction, and would run twice.
        check_pipeline(&db, All, &["commit", read], &change(), "undone 0A000").await;
        check_pipeline(&db, All, &["commit", read], "select 1", "0 2").await;
        // In a transaction that is open everything before would be lost.
        let transaction = db.begin(Default::default()).await.unwrap();
        check_pipeline(&db, Each, &[read, "select 2"], &change(), "0A000 25P02").await;
        transaction.roll_back().await.unwrap();
        let transaction = db.begin(Default::default()).await.unwrap();
        check_pipeline(&db, All, &["select 3", read], &change(), "undone 0A000").await;
        transaction.roll_back().await.unwrap();
        is_clean(&db).await;
    });
}

#[test]
fn discarded_session_keeps_nothing() {
    run(async {
        let db = open("").await;
        db.query("select $1::int4", &(1,)).await.unwrap();
        db.discard().await;
        assert_eq!(known(&db).await, 1);
        is_clean(&db).await;
    });
}

/// What commits, and fails in the words of a statement that has to be prepared anew. Each writes one row into `ran` for each time it
/// runs; the last commits before a trigger fails at the very end.
const COMMITTING: &[&str] = &[
    "insert into ran values (1); commit; raise exception using errcode = '26000'",
    "insert into ran values (1); commit; execute 'execute not_there'",
    "insert into ran values (1); commit; execute 'execute changed'",
    "insert into ran values (1); commit; raise exception using errcode = '0A000', message = 'cached plan must not change result type'",
    "insert into ran values (1); commit; insert into late values (1)",
];

/// A database in which [`COMMITTING`] fails so, and how often it has run.
async fn committing() -> (
    tsumugi_testkit::postgres::PostgresDatabase<'static>,
    Connection,
) {
    let database = Server::shared().database();
    let db = open_at(&database.url()).await;
    db.script(
        "create table ran(n int); create table t(a int); create table late(n int); prepare changed as select * from t; \
         execute changed; alter table t add b int; \
         create function fail() returns trigger language plpgsql as $$ begin raise exception using errcode = '26000'; end $$; \
         create constraint trigger fails after insert on late deferrable initially deferred for each row execute function fail()",
    )
    .await
    .unwrap();
    (database, db)
}

async fn times(db: &Connection) -> i32 {
    let rows = db.query("select count(*)::int4 from ran", &()).await;
    let times = int(&rows.unwrap());
    db.script("truncate ran").await.unwrap();
    times
}

#[test]
fn procedure_that_commits_and_fails_like_a_stale_statement_runs_once() {
    run(async {
        let (_database, db) = committing().await;
        for body in COMMITTING {
            let procedure = format!(
                "create or replace procedure p() language plpgsql as $$ begin {body}; end $$"
            );
            db.script(&procedure).await.unwrap();
            for sql in ["call p()".to_owned(), format!("do $$ begin {body}; end $$")] {
                let word = &sql[..4];
                // Prepared before, and not.
                for _ in 0..2 {
                    let failed = code(db.query(&sql, &()).await);
                    assert!(["26000", "0A000"].contains(&&*failed), "{failed}");
                    assert_eq!(times(&db).await, 1, "{word}: {body}");
                }
                code(db.script(&sql).await);
                assert_eq!(times(&db).await, 1, "script, {word}: {body}");
                let statement = |sql| Statement { sql, values: &() };
                for atomicity in [Atomicity::Each, Atomicity::All] {
                    for texts in [&[&*sql][..], &[&sql, "select 1"]] {
                        let statements: Vec<_> = texts.iter().copied().map(statement).collect();
                        let outcomes = db.pipeline(&statements, atomicity).await.unwrap();
                        assert!(outcomes[0].is_err());
                        assert_eq!(times(&db).await, 1, "{atomicity:?}, {word}: {body}");
                    }
                }
                // Nobody may commit in a transaction that is open.
                let transaction = db.begin(Default::default()).await.unwrap();
                assert_eq!(code(db.query(&sql, &()).await), "2D000");
                transaction.roll_back().await.unwrap();
                assert_eq!(times(&db).await, 0, "transaction, {word}: {body}");
            }
            let typed = tsumugi_pg::typed::Statement::<(), ()>::new("call p()");
            code(typed.execute(&db, ()).await);
            assert_eq!(times(&db).await, 1, "typed: {body}");
        }
        is_clean(&db).await;
    });
}

#[test]
fn call_before_a_stale_statement_in_a_pipeline_runs_once() {
    run(async {
        let (_database, db) = committing().await;
        db.script("create procedure p() language plpgsql as $$ begin insert into ran values (1); commit; end $$")
            .await
            .unwrap();
        for first in [
            "call p()",
            "do $$ begin insert into ran values (1); commit; end $$",
        ] {
            for atomicity in [Atomicity::Each, Atomicity::All] {
                db.query("select * from t", &()).await.unwrap();
                db.script("alter table t add c int; alter table t drop c")
                    .await
                    .unwrap();
                db.script("alter table t rename a to z").await.unwrap();
                let texts = [first, "select * from t"];
                let statements = texts.map(|sql| Statement { sql, values: &() });
                db.pipeline(&statements, atomicity).await.unwrap();
                assert_eq!(times(&db).await, 1, "{atomicity:?}: {first}");
                db.script(
                    "alter table t rename z to a; alter table t add d int; alter table t drop d",
                )
                .await
                .unwrap();
            }
        }
    });
}

#[test]
fn statement_without_a_name_is_read_as_what_it_was_when_it_ran() {
    run(async {
        // As behind a pooler, where each execution is prepared anew.
        let db = open("?statement_cache=0").await;
        db.script("create temp table t(a int, b int); insert into t values (1, 2)")
            .await
            .unwrap();
        let sql = "select * from t";
        let names = |rows: &tsumugi_pg::Rows| {
            let columns = rows.columns().iter();
            columns
                .map(|column| column.name.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let statements = [Statement { sql, values: &() }; 2];
        for (change, expected, text) in [
            ("select 1", "a b", "1"),
            ("alter table t add c text default 'x'", "a b c", "1"),
            ("alter table t drop a", "b c", "2"),
            ("alter table t drop b", "c", "x"),
            (
                "alter table t alter c drop default, alter c type bytea using '\\x00'",
                "c",
                "[0]",
            ),
            (
                "create type pg_temp.pair as (x int); alter table t add d pg_temp.pair default row(7)",
                "c d",
                "[0]",
            ),
        ] {
            db.script(change).await.unwrap();
            // Each way at first, with what is known of the statement from before.
            for way in 0..4 {
                let rows = match way {
                    0 => db.query(sql, &()).await.unwrap(),
                    1 => db
                        .pipeline(&statements, Atomicity::All)
                        .await
                        .unwrap()
                        .remove(1)
                        .unwrap(),
                    2 => db
                        .pipeline(&statements, Atomicity::Each)
                        .await
                        .unwrap()
                        .remove(0)
                        .unwrap(),
                    _ => {
                        let mut stream = db.stream(sql, &()).await.unwrap();
                        let rows = stream.next().await.unwrap().unwrap();
                        assert!(stream.next().await.unwrap().is_none());
                        rows
                    }
                };
                assert_eq!(names(&rows), expected, "{change}, {way}");
                let row = rows.first().unwrap().unwrap();
                let first = match (text, &*rows.columns().column(0).unwrap().name) {
                    ("x", _) => row.value::<&str>(0).unwrap().to_owned(),
                    (_, "c") => format!("{:?}", row.value::<&[u8]>(0).unwrap()),
                    _ => row.value::<i32>(0).unwrap().to_string(),
                };
                assert_eq!(first, text, "{change}, {way}");
            }
        }
        is_clean(&db).await;
    });
}

#[test]
fn statement_of_a_changed_table_is_not_mixed_up_while_others_prepare_it_anew() {
    run(async {
        let db = Rc::new(open("").await);
        db.script("create temp table t(a int); insert into t values (1)")
            .await
            .unwrap();
        for round in 0..30 {
            let readers = (0..8).map(|_| {
                let db = Rc::clone(&db);
                tokio::task::spawn_local(async move {
                    for _ in 0..3 {
                        let rows = db.query("select * from t", &()).await.unwrap();
                        let row = rows.first().unwrap().unwrap();
                        let last = rows.columns().len() - 1;
                        assert_eq!(
                            row.value::<i32>(last).unwrap(),
                            i32::try_from(last).unwrap() + 1
                        );
                    }
                })
            });
            let readers: Vec<_> = readers.collect();
            for part in 0..3 {
                let number = round * 3 + part + 2;
                db.script(&format!("alter table t add c{number} int default {number}"))
                    .await
                    .unwrap();
            }
            for reader in readers {
                reader.await.unwrap();
            }
        }
    });
}

#[test]
fn stream_of_a_changed_table_is_prepared_anew_outside_a_transaction() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(a int); insert into t values (1)")
            .await
            .unwrap();
        let read = async || {
            let mut stream = db.stream("select * from t", &()).await?;
            let rows = stream.next().await?.unwrap();
            assert!(stream.next().await?.is_none());
            Ok::<_, Error>(rows.columns().len())
        };
        assert_eq!(read().await.unwrap(), 1);
        db.script("alter table t add b int").await.unwrap();
        assert_eq!(read().await.unwrap(), 2);
        db.script("deallocate all").await.unwrap();
        assert_eq!(read().await.unwrap(), 2);
        let transaction = db.begin(Default::default()).await.unwrap();
        db.script("alter table t add c int").await.unwrap();
        assert_eq!(code(read().await), "0A000");
        transaction.roll_back().await.unwrap();
        assert_eq!(read().await.unwrap(), 2);
        // What it raises itself comes with its rows.
        let mut failing = db.stream("select 1 / 0", &()).await.unwrap();
        assert_eq!(code(failing.next().await), "22012");
        is_clean(&db).await;
    });
}
