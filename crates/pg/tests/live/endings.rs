//! Connections that end, from the server's side or because nothing answers. Rule: each waiting caller gets an error that says
//! whether its statement may have run.

use std::time::Duration;

use tsumugi_pg::connection::{Behaviour, Cancel};
use tsumugi_pg::{Connection, Error, StatementFate};
use tsumugi_testkit::postgres::{Server, User};

use crate::{connect, int, open, pid, run};

/// Lost, and whether the statement may have run.
#[track_caller]
fn ran<T>(result: Result<T, Error>) -> StatementFate {
    match result {
        Err(Error::Lost { ran, .. }) => ran,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it must fail"),
    }
}

/// Whether the backend runs pg_sleep.
async fn asleep(pid: i32) -> bool {
    let sql = format!(
        "select count(*)::int4 from pg_stat_activity where pid = {pid} and wait_event = 'PgSleep'"
    );
    int(&open("").await.query(&sql, &()).await.unwrap()) == 1
}

async fn gone(db: &Connection) {
    while db.is_open() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn backend_ended_while_busy_fails_all_waiting_callers() {
    run(async {
        let db = open("").await;
        let pid = pid(&db).await;
        db.query("select $1::int4", &(0,)).await.unwrap();
        let mut waiting = vec![tokio::task::spawn_local({
            let db = db.clone();
            async move { db.query("select pg_sleep(600)", &()).await }
        })];
        while !asleep(pid).await {}
        for number in 0..5 {
            let db = db.clone();
            waiting.push(tokio::task::spawn_local(async move {
                db.query("select $1::int4", &(number,)).await
            }));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(db.awaited(), 6);
        Server::shared().kill_backend(pid);
        for waiting in waiting {
            let result = waiting.await.unwrap();
            let error = result.as_ref().unwrap_err();
            assert_eq!(error.server().unwrap().code.as_str(), "57P01");
            assert!(
                error
                    .to_string()
                    .ends_with("the statement may or may not have run")
            );
            assert_eq!(ran(result), StatementFate::Perhaps);
        }
        assert!(!db.is_open());
        let after = db.query("select 1", &()).await;
        assert!(
            after
                .as_ref()
                .unwrap_err()
                .to_string()
                .ends_with("the statement was not sent")
        );
        assert_eq!(ran(after), StatementFate::No);
        assert_eq!(
            ran(db.begin(Default::default()).await.map(drop)),
            StatementFate::No
        );
    });
}

#[test]
fn backend_that_is_ended_while_idle_is_noticed() {
    run(async {
        let db = open("").await;
        Server::shared().kill_backend(pid(&db).await);
        gone(&db).await;
        assert_eq!(ran(db.query("select 1", &()).await), StatementFate::No);
        db.reset().await;
        db.discard().await;
    });
}

#[test]
fn backend_that_is_ended_amid_a_copy_fails_it() {
    run(async {
        let db = open("").await;
        let backend = pid(&db).await;
        db.script("create temp table t(n int)").await.unwrap();
        let mut copy = db.copy_in("copy t from stdin").await.unwrap();
        copy.send(b"1\n").await.unwrap();
        Server::shared().kill_backend(backend);
        gone(&db).await;
        assert_eq!(ran(copy.send(b"2\n").await), StatementFate::Perhaps);
        drop(copy);
        let db = open("").await;
        let backend = pid(&db).await;
        let mut copy = db
            .copy_out("copy (select generate_series(1, 100000000)) to stdout")
            .await
            .unwrap();
        copy.next().await.unwrap();
        Server::shared().kill_backend(backend);
        let error = loop {
            match copy.next().await {
                Ok(Some(_)) => {}
                other => break other,
            }
        };
        assert_eq!(ran(error), StatementFate::Perhaps);
    });
}

#[test]
fn backend_that_is_ended_amid_a_stream_or_a_transaction_fails_it() {
    run(async {
        let db = open("").await;
        let backend = pid(&db).await;
        let mut rows = db
            .stream("select generate_series(1, 1000000)", &())
            .await
            .unwrap();
        rows.next().await.unwrap();
        Server::shared().kill_backend(backend);
        let error = loop {
            match rows.next().await {
                Ok(Some(_)) => {}
                other => break other,
            }
        };
        assert_eq!(ran(error), StatementFate::Perhaps);
        let db = open("").await;
        let backend = pid(&db).await;
        let transaction = db.begin(Default::default()).await.unwrap();
        Server::shared().kill_backend(backend);
        gone(&db).await;
        assert_eq!(ran(transaction.commit().await), StatementFate::No);
    });
}

#[test]
fn frozen_backend_is_abandoned_at_the_callers_timeout() {
    run(async {
        let db = open("").await;
        let backend = pid(&db).await;
        Server::shared().freeze_backend(backend);
        let left = tokio::time::timeout(Duration::from_millis(100), db.query("select 1", &()));
        assert!(left.await.is_err());
        assert!(db.unanswered_since().is_some());
        let waiting = tokio::task::spawn_local({
            let db = db.clone();
            async move { db.query("select 2", &()).await }
        });
        // It cannot become clean.
        db.reset().await;
        // It was not even prepared.
        assert_eq!(ran(waiting.await.unwrap()), StatementFate::No);
        assert!(!db.is_open());
        Server::shared().thaw_backend(backend);
        let db = open("").await;
        let backend = pid(&db).await;
        db.query("select 1", &()).await.unwrap();
        Server::shared().freeze_backend(backend);
        let (result, ()) = tokio::join!(db.query("select 1", &()), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            db.abort("it did not answer in time");
        });
        assert_eq!(
            result.unwrap_err().to_string(),
            "the connection to the database was lost: it did not answer in time; the statement may or may not have run"
        );
        Server::shared().thaw_backend(backend);
    });
}

#[test]
fn server_killed_under_load_fails_all_waiting_callers() {
    run(async {
        let server = Server::start();
        for _ in 0..3 {
            let db = crate::open_at(&server.url(User::TRUST)).await;
            let tasks: Vec<_> = (0..50)
                .map(|task: i32| {
                    let db = db.clone();
                    tokio::task::spawn_local(async move {
                        for round in 0.. {
                            let number = task * 1000 + round % 1000;
                            match db.query("select $1::int4", &(number,)).await {
                                Ok(rows) => assert_eq!(int(&rows), number),
                                Err(error) => return ran(Err::<(), _>(error)),
                            }
                        }
                        unreachable!("a server that is gone fails a statement")
                    })
                })
                .collect();
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.kill_9();
            for task in tasks {
                task.await.unwrap();
            }
            assert!(!db.is_open());
            server.start_again();
        }
    });
}

#[test]
fn server_that_waits_for_its_client_is_not_silent() {
    run(async {
        let pause = || tokio::time::sleep(Duration::from_millis(30));
        let db = open("").await;
        assert_eq!(db.silent_since(), None);
        let mut rows = db
            .stream_by("select generate_series(1, 3)", &(), 1)
            .await
            .unwrap();
        rows.next().await.unwrap().unwrap();
        pause().await;
        assert_eq!(db.silent_since(), None);
        drop(rows);
        db.script("create temp table t(n int)").await.unwrap();
        let copy = db.copy_in("copy t from stdin").await.unwrap();
        pause().await;
        assert_eq!(db.silent_since(), None);
        drop(copy);
        let (slept, ()) = tokio::join!(db.query("select pg_sleep(2)", &()), async {
            pause().await;
            let since = db.silent_since().unwrap();
            pause().await;
            assert_eq!(db.silent_since(), Some(since));
        });
        slept.unwrap();
        assert_eq!(db.silent_since(), None);
    });
}

#[test]
fn request_to_cancel_that_may_come_late_ends_the_connection() {
    run(async {
        let connected = connect(&Server::shared().url(User::TRUST)).await.unwrap();
        let db = Connection::new(
            connected.stream,
            connected.leftover,
            &connected.session,
            Cancel::new(|| async { Err(std::io::ErrorKind::TimedOut.into()) }),
            Behaviour::default(),
        );
        let left = tokio::time::timeout(
            Duration::from_millis(20),
            db.query("select pg_sleep(5)", &()),
        );
        assert!(left.await.is_err());
        db.reset().await;
        let error = db.query("select 1", &()).await.unwrap_err();
        assert!(error.to_string().contains("request to cancel"), "{error}");
        assert_eq!(ran(Err::<(), _>(error)), StatementFate::No);
    });
}
