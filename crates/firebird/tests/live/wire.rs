//! What goes over the wire: a proxy between the driver and the server counts writes. Rule: a count is exact or it proves nothing.

use std::cell::Cell;
use std::rc::Rc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tsumugi_firebird_proto::values::Value;
use tsumugi_firebird_rig::Server;

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

#[test]
fn a_statement_that_is_known_costs_one_write() {
    run(async {
        let database = Server::shared().database();
        database.isql("create table t (n int); commit;");
        let (port, writes) = proxy(database.server().port()).await;
        let there = format!(":{}/", database.server().port());
        let url = database.url().replace(&there, &format!(":{port}/"));
        let db = connect(&url).await.unwrap();
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
