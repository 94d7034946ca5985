//! Long pipelines: no answer is missing, none is late for its neighbours, and none is waited for that does not come.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join;
use tokio::time::{sleep, timeout};
use tsumugi_pg::{Atomicity, Connection, Statement};
use tsumugi_testkit::postgres::{Options, PostgresTls, User};

use crate::{code, int, is_clean, open, open_at, run};

/// The shortest answers there are, errors, and long rows, in turn; and between them what another caller asks.
async fn check(db: &Connection, count: usize) {
    let texts: Vec<String> = (0..count)
        .map(|at| match at % 4 {
            0 => String::new(),
            1 => format!("select {at}"),
            2 => "select 1/0".to_owned(),
            _ => format!("select {at}, repeat('a', {})", at * 11),
        })
        .collect();
    let statement = |sql| Statement { sql, values: &() };
    let statements: Vec<_> = texts.iter().map(|sql| statement(sql.as_str())).collect();
    let neighbour = db.query("select 12", &());
    let pipeline = db.pipeline(&statements, Atomicity::Each);
    let (outcomes, neighbour) = join(pipeline, neighbour).await;
    assert_eq!(int(&neighbour.unwrap()), 12);
    for (at, outcome) in outcomes.unwrap().into_iter().enumerate() {
        match at % 4 {
            0 => assert_eq!(outcome.unwrap().len(), 0),
            2 => assert_eq!(code(outcome), "22012"),
            _ => assert_eq!(int(&outcome.unwrap()), i32::try_from(at).unwrap()),
        }
    }
}

#[test]
fn every_answer_of_a_long_pipeline_comes() {
    run(async {
        let server = Options::default().tls(PostgresTls::Localhost).start();
        for mode in ["disable", "require"] {
            let url = format!("{}?sslmode={mode}", server.url(User::TRUST));
            let db = open_at(&url).await;
            for count in [1, 5, 6, 7, 20, 300, 1100, 6, 1] {
                check(&db, count).await;
            }
            is_clean(&db).await;
        }
    });
}

#[test]
fn server_that_answers_slowly_is_not_silent() {
    run(async {
        let db = open("").await;
        let sql = "select pg_sleep(0.02)";
        let statements = [const {
            Statement {
                sql: "",
                values: &(),
            }
        }; 100];
        let statements = statements.map(|statement| Statement { sql, ..statement });
        let watcher = db.clone();
        let (mut seen, mut looks) = (HashSet::new(), 0);
        let watch = async {
            loop {
                looks += 1;
                seen.extend(watcher.silent_since());
                sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            outcomes = db.pipeline(&statements, Atomicity::Each) => drop(outcomes.unwrap()),
            () = watch => {}
        }
        // A hundred answers come, one after the other.
        let few = seen.len().min(10);
        assert!(few * 4 >= looks.min(40), "{} of {looks}", seen.len());
        is_clean(&db).await;
    });
}

#[test]
fn abandoned_long_pipeline_leaves_other_callers_alone() {
    run(async {
        let db = open("").await;
        let slow = Statement {
            sql: "select pg_sleep(0.005)",
            values: &(),
        };
        for _ in 0..3 {
            let statements = [slow; 60];
            let pipeline = db.pipeline(&statements, Atomicity::Each);
            assert!(timeout(Duration::from_millis(60), pipeline).await.is_err());
            assert_eq!(int(&db.query("select 5", &()).await.unwrap()), 5);
        }
        is_clean(&db).await;
    });
}
