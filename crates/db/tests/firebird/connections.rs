//! The pool over a real server: few connections for many callers, and what happens when the server goes.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tsumugi_db::{Database, Error, Options, TransactionOptions};
use tsumugi_testkit::firebird::{Server, User};

use super::{json, run, with, words};

#[test]
fn statements_share_few_connections() {
    with("?pool=2", async |db| {
        words(&db).await;
        let inserts = (0..40).map(|number| {
            let db = db.clone();
            tokio::task::spawn_local(async move {
                let sql = "insert into words(word) values (?)";
                db.execute(sql, vec![number.to_string().into()])
                    .await
                    .unwrap();
            })
        });
        for insert in inserts.collect::<Vec<_>>() {
            insert.await.unwrap();
        }
        assert_eq!(
            json(&db, "select count(*) as n from words").await,
            r#"[{"n":40}]"#
        );
        assert!(db.snapshot().connections <= 2);
    });
}

#[test]
fn caller_without_a_connection_in_time_gets_pool_timeout() {
    with("?pool=1&acquire_timeout_ms=1500", async |db| {
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let error = db
            .query("select 1 from rdb$database", [])
            .await
            .unwrap_err();
        assert!(matches!(error, Error::PoolTimeout { .. }), "{error}");
        tx.roll_back().await.unwrap();
        db.query("select 1 from rdb$database", []).await.unwrap();
    });
}

#[test]
fn sixth_caller_of_a_pool_of_five_waits_its_turn() {
    with("?pool=5&acquire_timeout_ms=30000", async |db| {
        let begin = async |db: &Database| db.begin(TransactionOptions::default()).await.unwrap();
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(begin(&db).await);
        }
        let order = Rc::new(RefCell::new(Vec::new()));
        let waiting = (6..9).map(|number| {
            let (db, order) = (db.clone(), Rc::clone(&order));
            tokio::task::spawn_local(async move {
                let transaction = db.begin(TransactionOptions::default()).await.unwrap();
                order.borrow_mut().push(number);
                transaction.roll_back().await.unwrap();
            })
        });
        let waiting: Vec<_> = waiting.collect();
        while db.snapshot().waiting < 3 {
            sleep(Duration::from_millis(1)).await;
        }
        assert!(order.borrow().is_empty());
        held.pop();
        for waiter in waiting {
            waiter.await.unwrap();
        }
        assert_eq!(*order.borrow(), [6, 7, 8]);
        assert_eq!(db.snapshot().connections, 5);
    });
}

#[test]
fn abandoned_statement_is_stopped_and_the_connection_goes_on() {
    with("?pool=1", async |db| {
        let slow = "execute block returns (n bigint) as begin n = 0; while (n < 4000000000) do n = n + 1; suspend; end";
        let given_up = timeout(Duration::from_millis(200), db.query(slow, [])).await;
        assert!(given_up.is_err());
        assert_eq!(
            json(&db, "select 1 as one from rdb$database").await,
            r#"[{"one":1}]"#
        );
    });
}

#[test]
fn a_server_that_was_killed_is_found_again() {
    run(async {
        let server = Server::start();
        let database = server.database();
        let db = Database::connect(&database.url(), Options::default())
            .await
            .unwrap();
        words(&db).await;
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into words(word) values ('a')", [])
            .await
            .unwrap();
        server.kill_9();
        let lost = tx
            .execute("insert into words(word) values ('b')", [])
            .await
            .unwrap_err();
        assert_eq!(lost.kind(), "ConnectionLost", "{lost}");
        drop(tx);
        server.start_again();
        // The first may still meet a connection of which nobody knows that it is dead.
        let mut answers = Vec::new();
        for _ in 0..5 {
            answers.push(db.query("select count(*) as n from words", []).await);
        }
        let rows = answers.pop().unwrap().unwrap();
        assert_eq!(super::text(&rows), r#"[{"n":0}]"#);
        db.close();
    });
}

#[test]
fn a_password_that_is_wrong_for_a_while_uses_up_no_place_of_the_pool() {
    run(async {
        let server = Server::start();
        let database = server.database();
        let password = |word: &str| database.isql(&format!("alter user clerk {word}; commit;"));
        database.isql("create user clerk password 'right'; commit;");
        let admin = format!("{}:{}", User::ADMIN.name, User::ADMIN.password);
        let url = database.url().replace(&admin, "clerk:right") + "?pool=1";
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let one = "select 1 as one from rdb$database";
        assert_eq!(json(&db, one).await, r#"[{"one":1}]"#);

        password("password 'changed'");
        server.kill_9();
        server.start_again();
        // The first may still meet the connection that is gone. None waits for a place: each is told at once.
        let mut refused = 0;
        while refused < 3 {
            let error = db.query(one, []).await.unwrap_err();
            assert_eq!(error.kind(), "ConnectionLost", "{error}");
            refused += usize::from(error.to_string().contains("password is wrong"));
        }

        password("password 'right'");
        while db.query(one, []).await.is_err() {}
        assert_eq!(json(&db, one).await, r#"[{"one":1}]"#);
        assert_eq!(db.snapshot().connections, 1);
        db.close();
    });
}
