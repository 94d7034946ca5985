//! Futures dropped at every point where they wait. Rule: afterwards the connection is clean, or has ended because what ran did not stop;
//! and nothing is left on the server.

use std::pin::pin;

use tsumugi_firebird::{BlobStorage, Connection, Error, TransactionOptions};
use tsumugi_firebird_proto::limits::PIPELINE_MAX;
use tsumugi_firebird_proto::values::Value;
use tsumugi_testkit::firebird::Server;

use crate::{int, is_usable, open, run};

/// More than any of the futures waits.
const POLLS_MAX: usize = 60;

/// Polls a future so many times at most, letting others run between, and drops it. True when it has ended.
pub(crate) async fn poll_times<F: Future>(future: F, times: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..times {
        if tsumugi_testkit::poll::once(future.as_mut()).await {
            return true;
        }
        tokio::time::sleep(std::time::Duration::from_micros(200)).await;
    }
    false
}

/// Drops what `work` makes at every point, each time on a connection that has done it before and on a new one.
async fn check<F: Future>(work: impl Fn(Connection) -> F) {
    let database = Server::shared().database();
    database.isql("create table t (n int, b blob); commit;");
    let mut db = open(&database).await;
    for times in 1..POLLS_MAX {
        let ended = poll_times(work(db.clone()), times).await;
        let fresh = open(&database).await;
        poll_times(work(fresh.clone()), times).await;
        for connection in [&db, &fresh] {
            connection.reset().await;
            if connection.is_open() {
                is_usable(connection).await;
                assert_eq!(connection.awaited(), 0);
            }
        }
        if !db.is_open() {
            db = open(&database).await;
        }
        if ended && times > 3 {
            break;
        }
    }
    let mine = "mon$attachment_id = current_connection";
    let sql = format!("select count(*) from mon$transactions where {mine}");
    assert!(int(&db.query(&sql, &[]).await.unwrap()) <= 2);
    let sql = format!("select count(*) from mon$statements where {mine}");
    let known = db.prepared_statements() as i64;
    assert!(int(&db.query(&sql, &[]).await.unwrap()) <= known + 2);
}

#[test]
fn query_dropped_at_any_point_leaves_a_clean_connection() {
    run(check(|db| async move {
        let values = [Value::Integer(1)];
        db.query("insert into t (n) values (?)", &values)
            .await
            .unwrap();
        db.query("select * from t", &[]).await.unwrap();
    }));
}

#[test]
fn stream_dropped_at_any_point_leaves_a_clean_connection() {
    run(check(|db| async move {
        let mut rows = db.stream("select * from rdb$fields", &[]).await.unwrap();
        while rows.next().await.unwrap().is_some() {}
    }));
}

#[test]
fn transaction_dropped_at_any_point_leaves_a_clean_connection() {
    run(check(|db| async move {
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let savepoint = transaction.savepoint().await.unwrap();
        transaction.query("delete from t", &[]).await.unwrap();
        savepoint.release().await.unwrap();
        transaction.commit().await.unwrap();
    }));
}

#[test]
fn blob_dropped_at_any_point_leaves_a_clean_connection() {
    run(check(|db| async move {
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let mut writer = transaction
            .create_blob(BlobStorage::Segments)
            .await
            .unwrap();
        writer.write(&[7; 100_000]).await.unwrap();
        let id = writer.finish().await.unwrap();
        let mut reader = transaction.blob(id, None).await.unwrap();
        while reader.next().await.unwrap().is_some() {}
    }));
}

#[test]
fn abandoned_statement_behind_which_no_fence_fits_ends_with_its_connection() {
    run(async {
        let database = Server::shared().database();
        let db = open(&database).await;
        let endless = "select count(*) from rdb$fields a, rdb$fields b, rdb$fields c, rdb$fields d";
        assert!(!poll_times(db.query(endless, &[]), POLLS_MAX).await);
        while db.awaited() < PIPELINE_MAX {
            let ping = pin!(db.ping());
            assert!(!tsumugi_testkit::poll::once(ping).await);
        }
        // While it is there it takes no more.
        let refused = db.ping().await;
        assert!(matches!(refused, Err(Error::Usage(_))), "{refused:?}");
        let lost = loop {
            match db.ping().await {
                Err(Error::Usage(_)) => {
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
                lost => break lost,
            }
        };
        assert!(matches!(lost, Err(Error::Lost { .. })), "{lost:?}");
    });
}
