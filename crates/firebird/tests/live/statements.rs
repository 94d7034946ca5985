//! Statements and what comes of them. Rule: after every error the connection is used again.

use std::time::{Duration, Instant};

use tsumugi_firebird::{Config, Connection, Connector, Creation, Error, TransactionOptions};
use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::values::Value;
use tsumugi_testkit::firebird::{Server, User};

use crate::{code, int, is_usable, open, run, text};

#[test]
fn all_rows_of_all_types_of_columns_come() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let rows = db.query("select * from rdb$relations", &[]).await.unwrap();
        assert_eq!(rows.columns().len(), 17);
        let counted = db
            .query("select count(*) from rdb$relations", &[])
            .await
            .unwrap();
        assert_eq!(rows.len() as i64, int(&counted));
        assert_eq!(rows.iter().count(), rows.len());
        for row in rows.iter() {
            assert_eq!(row.fields().count(), 17);
        }
        assert_eq!(
            rows.row(3).unwrap().bytes(),
            rows.iter().nth(3).unwrap().bytes()
        );
        assert!(rows.row(rows.len()).is_none());
    });
}

#[test]
fn statements_are_refused_and_the_next_one_runs() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        for (sql, expected) in [
            ("select * from nothing", 335_544_580),
            ("select nothing from rdb$database", 335_544_578),
            ("selec", 335_544_634),
            ("select 1 / 0 from rdb$database", 335_544_778),
        ] {
            let refused = code(db.query(sql, &[]).await);
            assert_eq!(refused, GdsCode(expected), "{sql}");
            is_usable(&db).await;
        }
        for sql in ["commit", "rollback", "set transaction"] {
            let refused = db.query(sql, &[]).await;
            assert!(matches!(refused, Err(Error::Control(_))), "{sql}");
        }
        let refused = db
            .query("select 1 from rdb$database where 1 = ?", &[])
            .await;
        assert!(matches!(refused, Err(Error::Values(_))));
        is_usable(&db).await;
    });
}

#[test]
fn rows_changed_by_a_statement_are_counted_and_seen_by_others() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = (open(&database).await, open(&database).await);
        db.query(
            "create table t (n int not null primary key, s varchar(20))",
            &[],
        )
        .await
        .unwrap();
        for number in 1..=5 {
            let values = [Value::Integer(number), Value::Text("日本".into())];
            let inserted = db
                .query("insert into t values (?, ?)", &values)
                .await
                .unwrap();
            assert_eq!(inserted.affected(), 1);
        }
        let updated = db
            .query("update t set s = 'x' where n > 2", &[])
            .await
            .unwrap();
        assert_eq!(updated.affected_by_kind().updated, 3);
        let deleted = db.query("delete from t where n > 9", &[]).await.unwrap();
        assert_eq!(deleted.affected(), 0);
        let count = other.query("select count(*) from t", &[]).await.unwrap();
        assert_eq!((int(&count), count.affected()), (5, 0));
    });
}

#[test]
fn returning_gives_a_row_or_none_or_an_error() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        db.query(
            "create table t (n int not null primary key, s varchar(20))",
            &[],
        )
        .await
        .unwrap();
        let insert = "insert into t values (?, 'a') returning n * 2";
        let rows = db.query(insert, &[Value::Integer(4)]).await.unwrap();
        assert_eq!((int(&rows), rows.affected()), (8, 1));
        let failed = db.query(insert, &[Value::Integer(4)]).await;
        assert_eq!(code(failed), GdsCode::UNIQUE);
        is_usable(&db).await;
        let update = "update t set s = 'b' where n = ? returning s";
        let rows = db.query(update, &[Value::Integer(4)]).await.unwrap();
        assert_eq!(text(&rows), "b");
        let rows = db.query(update, &[Value::Integer(5)]).await.unwrap();
        println!("{rows:?}");
    });
}

#[test]
fn procedures_and_blocks_run_and_their_writes_are_seen() {
    run(async {
        let database = Server::shared().database();
        database.isql(
            "create table log (n int); set term ^;
             create procedure twice (n int) returns (m int) as begin m = n * 2; end^
             create procedure three returns (m int) as
             begin m = 1; suspend; m = 2; suspend; m = 3; suspend; end^
             create procedure noted returns (m int) as
             begin insert into log values (1); m = 9; suspend; end^
             create procedure quiet as begin insert into log values (2); end^
             create exception sorry 'はい、ごめんなさい @1'^
             create procedure fails as begin exception sorry using ('x'); end^
             set term ;^",
        );
        let db = open(&database).await;
        let rows = db
            .query("execute procedure twice(?)", &[Value::Integer(21)])
            .await
            .unwrap();
        assert_eq!(int(&rows), 42);
        let rows = db.query("select m from three", &[]).await.unwrap();
        assert_eq!(rows.len(), 3);
        for _ in 0..2 {
            let rows = db.query("select m from noted", &[]).await.unwrap();
            assert_eq!(int(&rows), 9);
        }
        db.query("execute procedure quiet", &[]).await.unwrap();
        let block = "execute block (n int = ?) returns (m int) as begin m = n + 1; suspend; end";
        let rows = db.query(block, &[Value::Integer(1)]).await.unwrap();
        assert_eq!(int(&rows), 2);
        let other = open(&database).await;
        let rows = other.query("select count(*) from log", &[]).await.unwrap();
        assert_eq!(int(&rows), 3);
        let error = db.query("execute procedure fails", &[]).await.unwrap_err();
        assert_eq!(error.server().unwrap().code, GdsCode::EXCEPTION);
        assert!(error.to_string().contains("ごめんなさい x"), "{error}");
        is_usable(&db).await;
    });
}

#[test]
fn error_in_the_middle_comes_after_the_rows_before_it() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let sql = "execute block returns (n int) as declare i int = 1; begin
                   while (i <= 1000) do begin n = 1 / (500 - i); n = i; suspend; i = i + 1; end end";
        let mut stream = db.stream(sql, &[]).await.unwrap();
        let mut rows = 0;
        let error = loop {
            match stream.next().await {
                Ok(Some(batch)) => rows += batch.len(),
                Ok(None) => panic!("it must fail"),
                Err(error) => break error,
            }
        };
        assert_eq!(rows, 499);
        assert!(error.server().is_some());
        assert!(stream.next().await.unwrap().is_none());
        drop(stream);
        is_usable(&db).await;
    });
}

#[test]
fn other_statements_run_while_rows_are_streamed() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let sql = "execute block returns (n int, s char(200)) as begin
                   n = 0; s = 'x'; while (n < 5000) do begin n = n + 1; suspend; end end";
        let (mut one, mut two) = (
            db.stream(sql, &[]).await.unwrap(),
            db.stream(sql, &[]).await.unwrap(),
        );
        let mut rows = [0, 0];
        loop {
            let batches = [one.next().await.unwrap(), two.next().await.unwrap()];
            is_usable(&db).await;
            for (sum, batch) in rows.iter_mut().zip(&batches) {
                *sum += batch.as_ref().map_or(0, |rows| rows.len());
            }
            if batches.iter().all(Option::is_none) {
                break;
            }
        }
        assert_eq!(rows, [5000, 5000]);
        drop((one, two));
        // Dropped in the middle, and run again.
        for _ in 0..3 {
            let mut stream = db.stream(sql, &[]).await.unwrap();
            stream.next().await.unwrap().unwrap();
        }
        let all = db.query(sql, &[]).await.unwrap();
        assert_eq!(all.len(), 5000);
        assert!(db.prepared_statements() >= 2);
    });
}

#[test]
fn change_of_the_schema_frees_what_is_prepared() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = (open(&database).await, open(&database).await);
        db.query("create table t (n int)", &[]).await.unwrap();
        for connection in [&db, &other] {
            connection
                .query("insert into t values (1)", &[])
                .await
                .unwrap();
            let rows = connection.query("select * from t", &[]).await.unwrap();
            assert_eq!(rows.columns().len(), 1);
        }
        db.query("alter table t add s varchar(9)", &[])
            .await
            .unwrap();
        let rows = db.query("select * from t", &[]).await.unwrap();
        assert_eq!(rows.columns().len(), 2);
        let mut stream = other.stream("select n from t", &[]).await.unwrap();
        other.forget_statements();
        assert_eq!(stream.next().await.unwrap().unwrap().len(), 2);
        assert_eq!(other.prepared_statements(), 0);
        // It waits for the one who reads, who then goes.
        let (dropped, ()) = tokio::join!(db.query("drop table t", &[]), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            drop(stream);
            other.forget_statements();
        });
        dropped.unwrap();
        let gone = db.query("select * from t", &[]).await;
        assert_eq!(code(gone), GdsCode(335_544_580));
        is_usable(&other).await;
    });
}

/// Joins that would take hours before their first row.
const ENDLESS: &str = "select count(*) from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d";

#[test]
fn rows_left_behind_are_stopped_and_the_connection_goes_on() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        for _ in 0..5 {
            let left = tokio::time::timeout(Duration::from_millis(50), db.query(ENDLESS, &[]));
            assert!(left.await.is_err());
            db.reset().await;
            assert!(db.is_open());
            is_usable(&db).await;
        }
    });
}

#[test]
fn rows_left_behind_before_they_were_begun_end_perhaps_with_their_connection() {
    run(async {
        let server = Server::start();
        let database = server.database();
        let (db, other) = (open(&database).await, open(&database).await);
        let leave = async || {
            let left = tokio::time::timeout(Duration::from_millis(50), db.query(ENDLESS, &[]));
            assert!(left.await.is_err());
        };
        // It is prepared from then on.
        leave().await;
        db.reset().await;
        server.freeze();
        leave().await;
        // Long enough for a request to cancel to come before the server has looked at anything.
        tokio::time::sleep(Duration::from_millis(200)).await;
        server.thaw();
        db.reset().await;
        if db.is_open() {
            is_usable(&db).await;
        }
        none_runs(&other).await;
    });
}

/// Waits until the server runs nothing that somebody else asked for.
async fn none_runs(db: &Connection) {
    let running = "select count(*) from mon$statements where mon$state = 1
                   and mon$attachment_id <> current_connection";
    loop {
        // A transaction sees what ran at its first look.
        let look = db.begin(TransactionOptions::default()).await.unwrap();
        let count = int(&look.query(running, &[]).await.unwrap());
        look.roll_back().await.unwrap();
        if count == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn answer_beyond_its_limit_is_refused_and_the_connection_goes_on() {
    run(async {
        let database = Server::shared().database();
        let mut config = Config::parse(&database.url()).unwrap();
        config.reply_bytes_max = 200_000;
        let db = Connection::open(&Connector::new(config)).await.unwrap();
        let fits = db.query("select * from rdb$relations", &[]).await;
        assert!(fits.is_ok());
        let large = "select a.* from rdb$fields a, rdb$fields b";
        let refused = db.query(large, &[]).await.map(drop).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::TooLarge {
                    reply_bytes_max: 200_000
                }
            ),
            "{refused}"
        );
        assert!(
            refused
                .to_string()
                .contains("reply_bytes_max (200000 bytes)")
        );
        is_usable(&db).await;
        let mut stream = db.stream(large, &[]).await.unwrap();
        let mut rows = 0;
        while let Some(batch) = stream.next().await.unwrap() {
            rows += batch.len();
        }
        assert!(rows > 10_000);
    });
}

#[test]
fn callers_behind_rows_that_are_being_stopped_keep_their_connection() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        for round in 0..5 {
            let left = tokio::time::timeout(Duration::from_millis(50), db.query(ENDLESS, &[]));
            assert!(left.await.is_err());
            // From now on it is being stopped, and what is written waits.
            while db.is_open() {
                tokio::task::yield_now().await;
            }
            let mut callers = tokio::task::JoinSet::new();
            for _ in 0..20 {
                let db = db.clone();
                callers.spawn_local(async move {
                    let began = Instant::now();
                    is_usable(&db).await;
                    began.elapsed()
                });
            }
            for waited in callers.join_all().await {
                assert!(
                    waited < Duration::from_secs(30),
                    "{waited:?} in round {round}"
                );
            }
            assert!(db.is_open());
        }
    });
}

#[test]
fn late_request_to_cancel_stops_no_statement() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let short = "select count(*) from rdb$fields a, rdb$fields b";
        for wait in 0..60 {
            let left = Duration::from_millis(wait);
            let _ = tokio::time::timeout(left, db.query(short, &[])).await;
            if wait % 2 == 0 {
                db.reset().await;
            } else {
                tokio::time::sleep(Duration::from_millis(wait / 4)).await;
            }
            is_usable(&db).await;
        }
    });
}

#[test]
fn statement_left_behind_with_its_commit_ends_perhaps_with_its_connection() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = (open(&database).await, open(&database).await);
        let endless =
            "execute block as declare i bigint = 0; begin while (1 = 1) do i = i + 1; end";
        let left = tokio::time::timeout(Duration::from_millis(50), db.query(endless, &[]));
        assert!(left.await.is_err());
        db.reset().await;
        // The server looks at a request to cancel at once only when it has begun all that came before it.
        if db.is_open() {
            is_usable(&db).await;
        }
        none_runs(&other).await;
    });
}

#[test]
fn ten_thousand_executions_leave_nothing_behind() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        db.query("create table t (n int)", &[]).await.unwrap();
        for number in 0..5_000 {
            let values = [Value::Integer(number)];
            db.query("insert into t values (?)", &values).await.unwrap();
            let rows = db
                .query("select n from t where n = ?", &values)
                .await
                .unwrap();
            assert_eq!(int(&rows), number);
        }
        assert!(db.prepared_statements() <= 3);
        let mine =
            "select count(*) from mon$statements where mon$attachment_id = current_connection";
        assert!(int(&db.query(mine, &[]).await.unwrap()) <= 4);
    });
}

#[test]
fn database_is_made_and_dropped() {
    run(async {
        let server = Server::shared();
        let path = server.folder().join("data/made.fdb");
        let url = server.url_of(User::ADMIN, &path.display().to_string());
        let connector = Connector::new(Config::parse(&url).unwrap());
        let creation = Creation {
            page_size: Some(16_384),
            ..Creation::default()
        };
        let db = Connection::create(&connector, &creation).await.unwrap();
        let sql = "select mon$page_size from mon$database";
        assert_eq!(int(&db.query(sql, &[]).await.unwrap()), 16_384);
        assert!(Connection::create(&connector, &creation).await.is_err());
        db.drop_database().await.unwrap();
        assert!(!path.exists());
        assert_eq!(code(Connection::open(&connector).await), GdsCode::IO);
    });
}

#[test]
fn killed_server_fails_all_waiting_callers() {
    run(async {
        let server = Server::start();
        let database = server.database();
        let db = open(&database).await;
        let sql = "execute block returns (n int, s char(200)) as begin
                   n = 0; s = 'x'; while (n < 500000) do begin n = n + 1; suspend; end end";
        let mut stream = db.stream(sql, &[]).await.unwrap();
        stream.next().await.unwrap().unwrap();
        let waiting: Vec<_> = (0..5)
            .map(|_| {
                let db = db.clone();
                tokio::task::spawn_local(async move {
                    loop {
                        if let Err(error) = db.query("select 7 from rdb$database", &[]).await {
                            return error;
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(20)).await;
        server.kill_9();
        for task in waiting {
            let error = task.await.unwrap();
            assert!(matches!(error, Error::Lost { .. }), "{error}");
        }
        let error = loop {
            match stream.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it must fail"),
                Err(error) => break error,
            }
        };
        let text = error.to_string();
        assert!(
            text.ends_with("the statement may or may not have run"),
            "{text}"
        );
        assert!(!db.is_open());
        let after = db
            .query("select 1 from rdb$database", &[])
            .await
            .unwrap_err();
        assert!(
            after.to_string().ends_with("the statement was not sent"),
            "{after}"
        );
        server.start_again();
        is_usable(&open(&database).await).await;
    });
}

#[test]
fn server_killed_while_idle_is_noticed() {
    run(async {
        let server = Server::start();
        let database = server.database();
        let db = open(&database).await;
        server.kill_9();
        while db.is_open() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let refused = db.query("select 1 from rdb$database", &[]).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.ends_with("the statement was not sent"), "{error}");
        db.reset().await;
    });
}

#[test]
fn others_run_while_a_statement_takes_long() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let long =
            "execute block as declare i int = 0; begin while (i < 3000000) do i = i + 1; end";
        let mut turns = 0;
        let query = db.query(long, &[]);
        tokio::pin!(query);
        loop {
            tokio::select! {
                biased;
                done = &mut query => {
                    done.unwrap();
                    break;
                }
                () = tokio::time::sleep(Duration::from_millis(1)) => turns += 1,
            }
        }
        assert!(turns > 10, "{turns}");
    });
}
