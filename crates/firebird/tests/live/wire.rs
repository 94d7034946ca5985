//! What goes over the wire: a proxy between the driver and the server counts writes. Rule: a count is exact or it proves nothing.

use std::cell::Cell;
use std::rc::Rc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tsumugi_firebird::Connection;
use tsumugi_firebird_proto::values::{TextRules, Value};
use tsumugi_testkit::firebird::{FirebirdDatabase, Server};

use crate::{connect, int, run};

/// Passes everything on to the server, and counts what it was sent: each piece that came from the driver after all before it was answered.
async fn proxy(port: u16) -> (u16, Rc<Cell<usize>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let here = listener.local_addr().unwrap().port();
    let counted = Rc::new(Cell::new(0));
    let count = Rc::clone(&counted);
    tokio::task::spawn_local(async move {
        let (client, _) = listener.accept().await.unwrap();
        let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        tokio::task::spawn_local(async move {
            let mut buffer = vec![0; 1 << 20];
            while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
                to_client.write_all(&buffer[..length]).await.unwrap();
            }
        });
        let mut buffer = vec![0; 1 << 20];
        while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
            count.set(count.get() + 1);
            to_server.write_all(&buffer[..length]).await.unwrap();
        }
    });
    (here, counted)
}

/// A connection whose writes are counted.
async fn counted(database: &FirebirdDatabase<'_>) -> (Connection, Rc<Cell<usize>>) {
    let (port, writes) = proxy(database.server().port()).await;
    let there = format!(":{}/", database.server().port());
    let url = database.url().replace(&there, &format!(":{port}/"));
    (connect(&url).await.unwrap(), writes)
}

#[test]
fn procedure_that_is_selected_from_costs_a_second_write_for_its_commit() {
    run(async {
        let database = Server::shared().database();
        database.isql(
            "create table t (n int); commit; set term ^;
             create procedure p (n int) returns (m int) as begin insert into t values (:n); m = n; suspend; end^
             set term ;^ commit;",
        );
        let (db, writes) = counted(&database).await;
        let sql = "select m from p(?)";
        let values = [Value::Integer(7)];
        db.query(sql, &values).await.unwrap();
        let before = writes.get();
        for _ in 0..10 {
            assert_eq!(int(&db.query(sql, &values).await.unwrap()), 7);
        }
        assert_eq!(writes.get() - before, 20);
    });
}

#[test]
fn blob_that_fits_one_answer_costs_one_write_to_read_and_one_to_close() {
    run(async {
        let database = Server::shared().database();
        database.isql("create table t (b blob); commit; insert into t values ('a blob'); commit;");
        let (db, writes) = counted(&database).await;
        let rows = db.query("select b from t", &[]).await.unwrap();
        let row = rows.first().unwrap();
        let Value::Blob(id) = row.field(0).unwrap().value(TextRules::default()) else {
            panic!("it is a blob");
        };
        let before = writes.get();
        for _ in 0..10 {
            let mut blob = db.blob(id, None).await.unwrap();
            assert_eq!(blob.read(100).await.unwrap(), b"a blob".as_slice());
            drop(blob);
            db.reset().await;
        }
        assert_eq!(writes.get() - before, 20);
    });
}

#[test]
fn statement_that_is_known_costs_one_write() {
    run(async {
        let database = Server::shared().database();
        database.isql("create table t (n int); commit;");
        let (db, writes) = counted(&database).await;
        let insert = "insert into t values (?)";
        let select = "select n from t where n = ?";
        let values = [Value::Integer(1)];
        db.query(insert, &values).await.unwrap();
        db.query(select, &values).await.unwrap();
        let before = writes.get();
        for _ in 0..10 {
            assert_eq!(db.query(insert, &values).await.unwrap().affected(), 1);
        }
        assert_eq!(writes.get() - before, 10);
        for _ in 0..10 {
            assert_eq!(int(&db.query(select, &values).await.unwrap()), 1);
        }
        assert_eq!(writes.get() - before, 20);
    });
}
