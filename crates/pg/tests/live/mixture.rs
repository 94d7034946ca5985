//! Everything at once on one connection: right statements, wrong ones, large ones, slow ones, and futures dropped at any point.
//! Rule: every answer that comes is checked; the order of events is a number's, and an error names it.

use tsumugi_pg::{Atomicity, Connection, Error, Statement};
use tsumugi_testkit::Dice;

use crate::{int, is_clean, open, poll_once, run};

fn number(dice: &Dice) -> i32 {
    i32::try_from(dice.below(1_000_000)).unwrap()
}

async fn one(db: &Connection, kind: u64, number: i32) {
    match kind {
        0 => {
            let rows = db.query("select $1::int4", &(number,)).await.unwrap();
            assert_eq!(int(&rows), number);
        }
        1 => {
            let sql = format!("select {}, $1::int4", number % 30);
            let rows = db.query(&sql, &(number,)).await.unwrap();
            let row = rows.first().unwrap().unwrap();
            assert_eq!(row.value::<i32>(0).unwrap(), number % 30);
            assert_eq!(row.value::<i32>(1).unwrap(), number);
        }
        2 => {
            let failed = db.query("select $1::int4 / 0", &(number,)).await;
            assert!(matches!(failed, Err(Error::Server(error)) if error.code.as_str() == "22012"));
        }
        3 => {
            let failed = db.query(&format!("selec {}", number % 5), &()).await;
            assert!(matches!(failed, Err(Error::Server(error)) if error.code.as_str() == "42601"));
        }
        4 => {
            let text = "x".repeat(usize::try_from(number).unwrap() / 10);
            let rows = db.query("select $1::text", &(&*text,)).await.unwrap();
            let row = rows.first().unwrap().unwrap();
            assert_eq!(row.value::<&str>(0).unwrap(), text);
        }
        5 => {
            let (first, second) = ((number,), (number + 1,));
            let sql = "select $1::int4 + 0";
            let statements = [
                Statement {
                    sql,
                    values: &first,
                },
                Statement {
                    sql: "select 1 / 0",
                    values: &(),
                },
                Statement {
                    sql,
                    values: &second,
                },
            ];
            let outcomes = db.pipeline(&statements, Atomicity::Each).await.unwrap();
            assert_eq!(int(outcomes[0].as_ref().unwrap()), number);
            assert!(outcomes[1].is_err());
            assert_eq!(int(outcomes[2].as_ref().unwrap()), number + 1);
        }
        6 => {
            let sql = format!("select {number}; select {number}, 2");
            let results = db.script_rows(&sql).await.unwrap();
            assert_eq!(int(&results[1]), number);
        }
        _ => {
            let sql = "select $1::int4 from pg_sleep(0.001)";
            assert_eq!(int(&db.query(sql, &(number,)).await.unwrap()), number);
        }
    }
}

#[test]
fn mixed_requests_in_any_order_reach_their_callers() {
    run(async {
        for seed in 1..=3 {
            let db = open("?statement_cache=16").await;
            let tasks: Vec<_> = (0..40)
                .map(|task| {
                    let db = db.clone();
                    tokio::task::spawn_local(async move {
                        let dice = Dice::new(seed * 1000 + task);
                        for _ in 0..100 {
                            let (kind, number) = (dice.below(8), number(&dice));
                            let statement = one(&db, kind, number);
                            if dice.below(4) > 0 {
                                statement.await;
                                continue;
                            }
                            let mut statement = Box::pin(statement);
                            for _ in 0..dice.below(6) {
                                if poll_once(statement.as_mut()).await {
                                    break;
                                }
                            }
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            }
            is_clean(&db).await;
        }
    });
}
