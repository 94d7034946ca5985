//! What replicas cost those who have none: nothing, but for reads that are marked, in front of which the server is told that they only read. Counted in
//! the messages that it is sent.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;

/// Passes everything on, and keeps what clients send.
struct Recorder {
    port: u16,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    fn start(server: u16) -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || {
                    pass(from, to, |bytes| kept.lock().unwrap().extend(bytes))
                });
                std::thread::spawn(move || pass(server, client, |_| {}));
            }
        });
        Recorder { port, sent }
    }

    /// What was sent since the last time.
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.sent.lock().unwrap())
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, keep: impl Fn(&[u8])) {
    let mut bytes = [0; 16_384];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        keep(&bytes[..read]);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// The types of the messages, each a letter.
fn letters(mut sent: &[u8]) -> String {
    let mut letters = String::new();
    while let [letter, a, b, c, d, ..] = *sent {
        letters.push(char::from(letter));
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        sent = &sent[1 + length..];
    }
    letters
}

const WRITE: &str = "update t set n = n + 1 where id = ?";
const READ: &str = "select n from t where id = ?";

/// What is sent for five of each, once their statements are known.
struct SentBytes {
    writes: Vec<u8>,
    reads: Vec<u8>,
    marked_reads: Vec<u8>,
}

async fn sent(recorder: &Recorder, options: Options) -> SentBytes {
    let url = format!(
        "postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable&pool=1",
        recorder.port
    );
    let db = Users(Database::connect(&url, options).await.unwrap());
    let reads = db.reads();
    let write = async || db.0.execute(WRITE, values![1]).await.map(drop);
    let read = async || db.0.query(READ, values![1]).await.map(drop);
    let marked_read = async || reads.query(READ, values![1]).await.map(drop);
    for _ in 0..3 {
        write().await.unwrap();
        read().await.unwrap();
        marked_read().await.unwrap();
    }
    recorder.take();
    for _ in 0..5 {
        write().await.unwrap();
    }
    let writes = recorder.take();
    for _ in 0..5 {
        read().await.unwrap();
    }
    let plain = recorder.take();
    for _ in 0..5 {
        marked_read().await.unwrap();
    }
    let marked_reads = recorder.take();
    db.0.close();
    SentBytes {
        writes,
        reads: plain,
        marked_reads,
    }
}

#[test]
fn application_without_replicas_sends_no_message_more_but_a_statement_in_front_of_marked_reads() {
    let server = Server::start();
    server.psql(TABLE);
    let recorder = Recorder::start(server.port());
    run(async {
        let sent = self::sent(&recorder, Options::default()).await;
        // Bind, Execute, Sync: what a statement takes that is known.
        assert_eq!(letters(&sent.writes), "BES".repeat(5));
        assert_eq!(letters(&sent.reads), "BES".repeat(5));
        // In the same write, so that nothing is waited for.
        assert_eq!(letters(&sent.marked_reads), "BEBES".repeat(5));
        // One host has no replicas, whatever may be read there.
        let mut options = Options::default();
        options.reads = ReadTarget::Replica;
        let same = self::sent(&recorder, options).await;
        assert_eq!(letters(&same.writes), letters(&sent.writes));
        assert_eq!(letters(&same.reads), letters(&sent.reads));
        assert_eq!(letters(&same.marked_reads), letters(&sent.marked_reads));
    });
}
