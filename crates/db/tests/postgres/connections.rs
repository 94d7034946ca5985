//! How many connections a real server sees: those that a pool keeps, replaces, closes, and those of listeners beside it.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tsumugi_db::{Database, Error, ListenerEvent, Options, TransactionOptions};
use tsumugi_testkit::postgres::{Pooler, PostgresDatabase as Place, Server};

/// Runs a test with a database of its own, which tells who is connected.
fn at(test: impl AsyncFnOnce(&Place<'_>)) {
    on(Server::shared(), test);
}

fn on(server: &Server, test: impl AsyncFnOnce(&Place<'_>)) {
    let place = server.database();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test(&place));
}

async fn connect(place: &Place<'_>, options: &str) -> Database {
    let url = place.url() + options;
    Database::connect(&url, Options::default()).await.unwrap()
}

/// The server's processes for us, in order of age.
fn ours(place: &Place<'_>) -> Vec<i32> {
    let pids = place.psql(
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by backend_start",
    );
    pids.lines().map(|line| line.parse().unwrap()).collect()
}

async fn come_to(place: &Place<'_>, count: usize) {
    let until = Instant::now() + Duration::from_secs(60);
    while ours(place).len() != count {
        assert!(Instant::now() < until, "{:?} are not {count}", ours(place));
        sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn as_many_stay_open_as_were_asked_for() {
    at(async |place| {
        let db = connect(place, "?pool=6&pool_min=4").await;
        come_to(place, 4).await;
        for backend in ours(place) {
            place.server().kill_backend(backend);
        }
        come_to(place, 0).await;
        come_to(place, 4).await;
        // The server knows of a connection before we do.
        let until = Instant::now() + Duration::from_secs(60);
        while db.snapshot().connections != 4 {
            assert!(Instant::now() < until, "{:?}", db.snapshot());
            sleep(Duration::from_millis(20)).await;
        }
        db.close();
        come_to(place, 0).await;
        let none = connect(place, "?pool=6&pool_min=0").await;
        none.query("select 1", []).await.unwrap();
        assert_eq!(ours(place).len(), 1);
        let url = place.url() + "?pool=2&pool_min=3";
        let error = Database::connect(&url, Options::default()).await;
        assert_eq!(error.unwrap_err().kind(), "UsageError");
    });
}

#[test]
fn connections_that_are_too_old_are_replaced_unnoticed() {
    at(async |place| {
        let db = connect(place, "?pool=2&pool_min=2&lifetime_ms=1000").await;
        come_to(place, 2).await;
        let first = ours(place);
        let until = Instant::now() + Duration::from_secs(60);
        while ours(place).iter().any(|pid| first.contains(pid)) {
            assert!(Instant::now() < until, "{first:?} are still there");
            for _ in 0..20 {
                db.query("select 1", []).await.unwrap();
            }
            assert!(ours(place).len() <= 2);
            sleep(Duration::from_millis(20)).await;
        }
        // One that somebody has is not taken away.
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        sleep(Duration::from_millis(2500)).await;
        own.query("select 1", []).await.unwrap();
        own.commit().await.unwrap();
    });
}

#[test]
fn a_closed_pool_lets_its_connections_go_when_they_are_free() {
    at(async |place| {
        let db = connect(place, "?pool=3&pool_min=3").await;
        come_to(place, 3).await;
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        own.query("select 1", []).await.unwrap();
        db.close();
        come_to(place, 1).await;
        let refused = timeout(Duration::from_secs(60), db.query("select 1", []));
        let error = refused.await.expect("it waits for nothing").unwrap_err();
        assert!(matches!(error, Error::Closed { .. }), "{error}");
        own.commit().await.unwrap();
        drop(own);
        come_to(place, 0).await;
    });
}

#[test]
fn pool_without_a_handle_closes() {
    at(async |place| {
        let db = connect(place, "?pool=2&pool_min=2").await;
        come_to(place, 2).await;
        drop(db);
        come_to(place, 0).await;
    });
}

#[test]
fn listeners_are_beside_the_pool_and_have_a_limit_of_their_own() {
    let max = tsumugi_db::limits::LISTENERS_MAX;
    // They are most of what a server allows.
    on(&Server::start(), async |place| {
        let db = connect(place, "?pool=1").await;
        let channels = ["news".to_owned()];
        let mut listeners = Vec::new();
        for _ in 0..max {
            listeners.push(db.listen(&channels).await.unwrap());
        }
        assert_eq!(ours(place).len(), max + 1);
        let error = db.listen(&channels).await.unwrap_err();
        assert_eq!(error.kind(), "PoolTimeout");
        assert!(error.to_string().contains("listeners_max"), "{error}");
        db.query("select pg_notify('news', 'all')", [])
            .await
            .unwrap();
        for listener in &mut listeners {
            let heard = timeout(Duration::from_secs(60), listener.recv());
            let heard = heard.await.expect("it is told").unwrap();
            assert!(
                matches!(heard, ListenerEvent::Notification { payload, .. } if payload == "all")
            );
        }
        // A place is free again at once, its connection a moment later.
        listeners.pop();
        listeners.push(db.listen(&channels).await.unwrap());
        drop(listeners);
        come_to(place, 1).await;
    });
}

#[test]
fn behind_a_pooler_of_transactions_there_are_no_sessions_and_no_listeners() {
    at(async |place| {
        let pooler = Pooler::start(place.server());
        let url = pooler.url(place.name()) + "?pooler=transaction&pool=2";
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let session = db.session().await.map(drop).unwrap_err();
        let listener = db.listen(&["news".to_owned()]).await.map(drop).unwrap_err();
        for error in [session, listener] {
            assert_eq!(error.kind(), "Unsupported", "{error}");
            assert!(error.to_string().contains("connect past it"), "{error}");
        }
        // What stays within a transaction works there.
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        own.execute("set local work_mem = '7MB'", []).await.unwrap();
        let rows = own.query("show work_mem", []).await.unwrap();
        let mut out = Vec::new();
        rows.write_json(&mut out).unwrap();
        assert_eq!(out, br#"[{"work_mem":"7MB"}]"#);
        own.commit().await.unwrap();
        db.query("select pg_notify('news', 'all')", [])
            .await
            .unwrap();
    });
}
