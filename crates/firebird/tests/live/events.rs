//! Events over their second connection. Rule: what is posted before a commit is reported after it, and counted.

use std::time::Duration;

use tsumugi_firebird::{Connection, Error};
use tsumugi_testkit::firebird::Server;

use crate::{is_usable, open, run};

async fn post(db: &Connection, names: &[&str]) {
    let posts: String = names
        .iter()
        .map(|name| format!("post_event '{name}'; "))
        .collect();
    let sql = format!("execute block as begin {posts} end");
    db.query(&sql, &[]).await.unwrap();
}

#[test]
fn posted_events_are_reported_with_their_counts() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = (open(&database).await, open(&database).await);
        post(&other, &["job", "job"]).await;
        let mut listener = db.listen(["job", "お知らせ"]).await.unwrap();
        post(&other, &["job"]).await;
        let posted = listener.next().await.unwrap();
        assert_eq!((posted[0].name.as_str(), posted[0].times), ("job", 1));
        post(&other, &["お知らせ", "elsewhere"]).await;
        let posted = listener.next().await.unwrap();
        assert_eq!(posted.len(), 1);
        assert_eq!((posted[0].name.as_str(), posted[0].times), ("お知らせ", 1));
        for _ in 0..3 {
            post(&other, &["job"]).await;
        }
        let mut times = 0;
        while times < 3 {
            times += listener.next().await.unwrap()[0].times;
        }
        assert_eq!(times, 3);
        is_usable(&db).await;
    });
}

#[test]
fn dropped_listener_makes_room_for_another() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = (open(&database).await, open(&database).await);
        let listener = db.listen(["one"]).await.unwrap();
        assert!(matches!(db.listen(["two"]).await, Err(Error::Listening)));
        drop(listener);
        let mut listener = db.listen(["two"]).await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_millis(20), listener.next());
        assert!(waiting.await.is_err());
        post(&other, &["one", "two"]).await;
        assert_eq!(listener.next().await.unwrap()[0].name, "two");
        assert!(db.listen(Vec::<String>::new()).await.is_err());
    });
}

#[test]
fn listeners_opened_and_dropped_repeatedly_work() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = (open(&database).await, open(&database).await);
        for round in 0..50 {
            let mut listener = db.listen(["job", "other"]).await.unwrap();
            post(&other, &["job"]).await;
            let posted = listener.next().await.unwrap();
            assert_eq!((posted.len(), posted[0].times), (1, 1), "round {round}");
            // This one is under way when the listener goes.
            post(&other, &["other"]).await;
        }
        is_usable(&db).await;
    });
}

#[test]
fn listener_gets_an_error_when_the_server_is_gone() {
    run(async {
        let server = Server::start();
        let database = server.database();
        let db = open(&database).await;
        let mut listener = db.listen(["one"]).await.unwrap();
        server.kill_9();
        assert!(matches!(listener.next().await, Err(Error::Lost { .. })));
    });
}
