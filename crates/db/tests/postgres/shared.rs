//! What statements do to the sessions that many share: nothing that a neighbour or the next user notices.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use tokio::task::spawn_local;
use tokio::time::timeout;
use tsumugi_db::{Database, Options, PipelineAtomicity, TransactionOptions};
use tsumugi_testkit::postgres::Server;

use crate::{json, with};

const SETTINGS: &str = "select current_setting('TimeZone') as zone, current_setting('search_path') as path, \
     (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks, to_regclass('pg_temp.left_behind') is null as clean";
const AS_NEW: &str = r#"[{"zone":"Etc/UTC","path":"\"$user\", public","locks":0,"clean":true}]"#;

/// What DO and CALL may leave behind.
const EVERYTHING: &str = "perform set_config('TimeZone', 'Asia/Tokyo', false); perform set_config('search_path', 'pg_catalog', false); \
     perform pg_advisory_lock(7); create temp table left_behind(n int)";

async fn is_as_new(db: &Database, after: &str) {
    for _ in 0..5 {
        assert_eq!(json(db, SETTINGS).await, AS_NEW, "after {after}");
    }
}

#[test]
fn a_reported_setting_that_a_function_changed_does_not_reach_the_next_user() {
    with("?pool=1&options=-c%20TimeZone=Etc/UTC", async |db| {
        db.execute_script(
            "create function zone() returns int language plpgsql as $$ begin perform set_config('TimeZone', 'Asia/Tokyo', false); return 1; end $$; \
             create function briefly() returns int language sql set timezone = 'Asia/Tokyo' as 'select 1'",
        )
        .await
        .unwrap();
        is_as_new(&db, "a script").await;
        db.query("select zone()", []).await.unwrap();
        is_as_new(&db, "a statement").await;
        db.query("select briefly()", []).await.unwrap();
        is_as_new(&db, "a statement that puts it back").await;
        let statements = vec![("select zone()".into(), vec![]); 3];
        let outcomes = db
            .pipeline(statements, PipelineAtomicity::Each)
            .await
            .unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
        is_as_new(&db, "a pipeline").await;
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        own.query("select zone()", []).await.unwrap();
        own.commit().await.unwrap();
        drop(own);
        is_as_new(&db, "a transaction").await;
    });
}

#[test]
fn procedures_and_blocks_run_on_an_exclusive_connection() {
    with("?pool=2&options=-c%20TimeZone=Etc/UTC", async |db| {
        db.execute_script(format!(
            "create table t(n int); \
             create procedure leave() language plpgsql as $$ begin {EVERYTHING}; end $$; \
             create procedure twice() language plpgsql as $$ begin insert into t values (1); commit; insert into t values (2); rollback; end $$"
        ))
        .await
        .unwrap();
        let watching = spawn_local({
            let db = db.clone();
            async move {
                loop {
                    let seen = json(&db, "select current_setting('search_path') as path").await;
                    assert_eq!(seen, r#"[{"path":"\"$user\", public"}]"#);
                }
            }
        });
        for sql in [
            format!("do $$ begin {EVERYTHING}; end $$"),
            "call leave()".to_owned(),
        ] {
            db.query(sql.as_str(), []).await.unwrap();
            is_as_new(&db, &sql).await;
            let statements = vec![(sql.as_str().into(), vec![]), ("select 1".into(), vec![])];
            let outcomes = db
                .pipeline(statements, PipelineAtomicity::Each)
                .await
                .unwrap();
            assert!(outcomes.iter().all(Result::is_ok));
            is_as_new(&db, &sql).await;
            let own = db.begin(TransactionOptions::default()).await.unwrap();
            own.execute(sql.as_str(), []).await.unwrap();
            own.commit().await.unwrap();
            drop(own);
            is_as_new(&db, &sql).await;
        }
        db.execute("call twice()", []).await.unwrap();
        assert_eq!(json(&db, "select n from t").await, r#"[{"n":1}]"#);
        assert!(!watching.is_finished());
        watching.abort();
    });
}

#[test]
fn a_procedure_waits_for_a_connection_as_others_do() {
    with("?pool=1&acquire_timeout_ms=100", async |db| {
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        let error = db.query("do $$ begin end $$", []).await.unwrap_err();
        assert_eq!(error.kind(), "PoolTimeout");
        assert_eq!(error.sql(), Some("do $$ begin end $$"));
        own.roll_back().await.unwrap();
        drop(own);
        let asked = timeout(Duration::from_secs(10), db.query("do $$ begin end $$", []));
        asked.await.expect("it waits for nobody").unwrap();
    });
}

/// Words that nobody recognises, and what stands in their place when they reach the server.
const DISGUISES: [(&[u8], &[u8]); 3] = [
    (b"zet search_path", b"set search_path"),
    (b"lizten abc", b"listen abc"),
    (b"bezin work", b"begin work"),
];

/// Passes bytes on from one to the other, without the disguises.
fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        for (disguise, word) in DISGUISES {
            let place = bytes[..count]
                .windows(disguise.len())
                .position(|at| at == disguise);
            if let Some(place) = place {
                bytes[place..place + word.len()].copy_from_slice(word);
            }
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// A way to the server that takes statements' disguises off; gives its port.
fn undressing(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || pass(client, server));
            std::thread::spawn(move || pass(back, forth));
        }
    });
    own
}

#[test]
fn session_change_seen_only_in_the_reply_is_an_error_and_discards_the_connection() {
    let server = Server::shared();
    let database = server.database();
    let port = undressing(server.port());
    let direct = format!(":{}/", server.port());
    let url = database.url().replacen(&direct, &format!(":{port}/"), 1) + "?pool=1";
    assert!(url.contains(&format!(":{port}/")), "{url}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let state = "select pg_backend_pid() as pid, current_setting('search_path') as path";
        let mut before = json(&db, state).await;
        for sql in ["zet search_path = pg_catalog", "lizten abc", "bezin work"] {
            let alone = db.query(sql, []).await.map(drop);
            let pipeline = async || {
                let statements = vec![("select 1".into(), vec![]), (sql.into(), vec![])];
                let outcomes = db.pipeline(statements, PipelineAtomicity::Each).await?;
                outcomes.into_iter().try_for_each(|rows| rows.map(drop))
            };
            for (way, outcome) in [("alone", alone), ("in a pipeline", pipeline().await)] {
                let error = outcome.expect_err(sql);
                assert_eq!(error.kind(), "UsageError", "{sql} {way}: {error}");
                assert!(error.to_string().contains("changed the session"), "{error}");
            }
            let after = json(&db, state).await;
            assert_ne!(after, before, "{sql}: the connection went on");
            assert!(
                after.ends_with(r#""path":"\"$user\", public"}]"#),
                "{after}"
            );
            before = after;
        }
        db.close();
    });
}
