//! Blobs that come with the rows that name them. Rule: a result is no larger than it may be, also while it is read.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tsumugi_db::{Database, Options, values};
use tsumugi_testkit::firebird::Server;

use super::run;

#[test]
fn blobs_that_are_too_large_together_are_not_all_read() {
    const BYTES_MAX: usize = 1_000_000;
    let database = Server::shared().database();
    let (port, received) = counted(database.server().port());
    let own = format!(":{}/", database.server().port());
    let url = database.url().replace(&own, &format!(":{port}/"));
    assert_ne!(url, database.url());
    let url = format!("{url}?pool=1&rows_max_bytes={BYTES_MAX}");
    run(async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        db.execute("create table notes(body blob)", [])
            .await
            .unwrap();
        for _ in 0..16 {
            let body = vec![7_u8; BYTES_MAX / 2];
            let insert = "insert into notes(body) values (?)";
            db.execute(insert, values![body]).await.unwrap();
        }
        let before = received.load(Relaxed);
        let error = db.query("select body from notes", []).await.unwrap_err();
        assert_eq!(error.kind(), "LimitExceeded", "{error}");
        // Besides what fits, of each blob that is being read some pieces may be on their way.
        let read = received.load(Relaxed) - before;
        assert!(read < 3 * BYTES_MAX, "{read} bytes were read");
        db.close();
    });
}

/// A port behind which a server is, and how many bytes have come from there.
fn counted(port: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let received = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&received);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (request, reply) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || pass(request, server, &AtomicUsize::new(0)));
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || pass(reply, client, &counter));
        }
    });
    (own, received)
}

/// Passes bytes on until one side has ended.
fn pass(mut from: TcpStream, mut to: TcpStream, passed: &AtomicUsize) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        passed.fetch_add(count, Relaxed);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}
