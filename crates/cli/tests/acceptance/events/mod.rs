//! Very many clients of server-sent events over three processes: one process is replaced by a new version and another one is killed while messages
//! are published, and each client has each message once and in order.

mod clients;
mod native;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use tempfile::TempDir;
use tsumugi_testkit::free_port;
use tsumugi_testkit::postgres::Server;

use crate::rig::{Client, PATIENCE, Site, pause};
use clients::Audience;

/// What the author of an application writes.
const APP: &str = r##"
db = DB.connect "DATABASE", log: false
cluster db
CHAT = channel("chat", cluster: true, keep: 1_000)
post("/chat") { CHAT.publish body.text; status 202 }
get("/chat") { events { |out| out.follow CHAT } }
get("/socket") { websocket { |socket| socket.each { |message| socket << message } } }
"##;

#[derive(Clone, Copy, Debug)]
enum Face {
    Ruby,
    Rust,
}

/// A process in Rust, where this program was started as one.
#[test]
fn process_in_rust() {
    native::serve_if_asked();
}

/// A place at which one process after the other serves.
struct Place {
    face: Face,
    address: SocketAddr,
    database: String,
    folder: Arc<TempDir>,
}

impl Place {
    fn new(face: Face, database: &str) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let app = APP.replace("DATABASE", database);
        std::fs::write(folder.path().join("app.rb"), app).unwrap();
        Place {
            face,
            address: ([127, 0, 0, 1], free_port()).into(),
            database: database.to_owned(),
            folder: Arc::new(folder),
        }
    }

    /// Starts a process, which takes over from the one that serves here, if there is one.
    fn start(&self) -> Site {
        let address = self.address.to_string();
        let options = ["--listen", &address, "--handover", "handover.sock"];
        let options = [&options[..], &["--workers", "1"]].concat();
        let mut command = match self.face {
            Face::Ruby => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_tsumugi"));
                command.args(["serve", "app.rb"]).args(options);
                command
            }
            Face::Rust => {
                let arguments = [&["serve"], &options[..]].concat().join("\n");
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["--exact", "events::process_in_rust", "--nocapture"]);
                command.env(native::ARGUMENTS, arguments);
                command.env(native::DATABASE, &self.database);
                command
            }
        };
        command.env("TSUMUGI_LOG", "info");
        let site = Site::launch(Arc::clone(&self.folder), command);
        site.expect_log("serving");
        site
    }
}

/// A WebSocket that says nothing, once its handshake is done.
fn silent_websocket(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = "GET /socket HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                   sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert!(
        head.starts_with(b"HTTP/1.1 101 "),
        "{}",
        String::from_utf8_lossy(&head)
    );
    stream
}

/// Asserts that the server has asked a WebSocket's client to come back.
fn check_going_away(mut stream: TcpStream) {
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    assert_eq!((head[0], &head[2..]), (0x88, &1001_u16.to_be_bytes()[..]));
    let mut reason = vec![0; usize::from(head[1]) - 2];
    stream.read_exact(&mut reason).unwrap();
    let expected = "the server is leaving: connect again";
    assert_eq!(String::from_utf8_lossy(&reason), expected);
}

fn publish(address: SocketAddr, number: usize) {
    let mut client = Client::new(address);
    client.send(
        "POST",
        "/chat",
        "connection: close\r\n",
        &number.to_string(),
    );
    let reply = client.receive();
    assert_eq!(reply.status, 202, "{number}: {}", reply.text());
}

/// The clients are spread over three processes, and come back to the next one when theirs does not answer.
fn check(face: Face, clients: usize, messages: usize) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    assert!(hard > clients as u64 + 200, "needs more open files: {hard}");
    let database = Server::shared().database();
    let places = [(); 3].map(|()| Place::new(face, &database.url()));
    let [mut replaced, mut killed, last] = places.each_ref().map(Place::start);
    let audience = Audience::begin(places.each_ref().map(|place| place.address), clients);
    audience.until("all clients follow", |seen| seen.following == clients);
    let mut number = 0;
    let mut publish_more = |count: usize| {
        for _ in 0..count {
            // The one that is handed over and the one to which nothing happens.
            publish(places[if number % 2 == 0 { 0 } else { 2 }].address, number);
            number += 1;
            pause(10);
        }
    };
    let socket = silent_websocket(places[0].address);
    let part = messages / 6;
    publish_more(part);
    let new = std::thread::scope(|scope| {
        let new = scope.spawn(|| places[0].start());
        publish_more(part);
        let new = new.join().unwrap();
        publish_more(part);
        new
    });
    check_going_away(socket);
    assert_eq!(replaced.exit_code(), 0, "{}", replaced.log());
    publish_more(part);
    killed.signal(Signal::SIGKILL);
    publish_more(messages - 4 * part);
    let begun = Instant::now();
    while !killed.has_ended() {
        assert!(begun.elapsed() < PATIENCE);
        pause(5);
    }
    let logs = || [&new, &last, &killed].map(Site::log).join("---\n");
    let seen = audience.until("all clients have all", |seen| {
        seen.messages == clients * messages
    });
    assert_eq!(audience.end(), Vec::<String>::new(), "{}", logs());
    assert!(seen.hints >= clients / 3, "{seen:?}");
    assert!(seen.broken >= clients / 3, "{seen:?}");
    println!("{face:?}: {seen:?}");
}

#[test]
fn thousand_clients_get_every_message_once_while_one_process_is_replaced_and_one_killed() {
    check(Face::Ruby, 1_000, 60);
}

#[test]
fn clients_of_processes_in_rust_get_every_message_once_while_one_is_replaced_and_one_killed() {
    check(Face::Rust, 150, 60);
}
