//! LISTEN and NOTIFY from Ruby.

use std::io::{Read as _, Write as _};

use crate::{Engine, Served, check_on};

#[test]
fn notifications_arrive_in_order() {
    check_on(
        Engine::Postgres,
        "def hear(*channels, count)
           heard = []
           ready = Tsumugi::Channel.new 1
           parallel(
             -> { db.listen(*channels) { |n| heard << [n.channel, n.payload, n.pid > 0]; break if heard.size == count } },
             -> { sleep 0.02 until db.query(\"select 1 from pg_stat_activity where query like 'LISTEN%' and datname = current_database() and state = 'idle'\").size == 1; sleep 0.05; yield })
           heard
         end",
        &[
            ("hear('Jobs', 2) { db.notify 'Jobs', 'a'; db.notify 'other', 'x'; db.notify 'Jobs' }", r#"[["Jobs","a",true],["Jobs","",true]]"#),
            ("hear('a', 'b', 2) { db.pipeline { |p| p.query(\"select pg_notify('a', '1')\"); p.query(\"select pg_notify('b', '2')\") } }", r#"[["a","1",true],["b","2",true]]"#),
            ("hear('a', 1) { (db.transaction { db.notify 'a', 'no'; raise 'no' } rescue 0); db.transaction { db.notify 'a', 'yes' } }", r#"[["a","yes",true]]"#),
        ],
    );
}

#[test]
fn lost_listener_reconnects_and_reports_the_gap() {
    let served = Served::new(
        Engine::Postgres,
        "",
        "get('/') { stream('text/plain') { |out|
           out << \"begun\\n\"
           db.listen('a', missed: -> { out << \"missed\\n\" }) { |n| out << n.payload + \"\\n\"; break if n.payload == 'end' } } }",
    );
    let mut client = served.rig.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    let mut until = |part: &str| {
        let mut bytes = [0; 1000];
        while !text.contains(part) {
            let read = client.read(&mut bytes).unwrap();
            assert!(read > 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    };
    until("begun");
    let listening = "select pid from pg_stat_activity where query like 'LISTEN%' and state = 'idle' and datname = current_database()";
    while served.psql(listening).trim().is_empty() {
        std::thread::yield_now();
    }
    served.psql("notify a, 'first'");
    until("first");
    served.psql(&format!(
        "select pg_terminate_backend(pid) from ({listening}) listening"
    ));
    until("missed");
    served.psql("notify a, 'end'");
    until("end");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own thread")]
fn client_that_leaves_ends_the_listening() {
    let served = Served::new(
        Engine::Postgres,
        "",
        "get('/') { events { |out| db.listen('a') { |n| out.event n.payload } } }",
    );
    let count = "select count(*) from pg_stat_activity where query like 'LISTEN%' and datname = current_database()";
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = served.rig.connect();
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap();
        clients.push(client);
    }
    for (clients_left, expected) in [(clients, "3"), (Vec::new(), "0")] {
        let begun = std::time::Instant::now();
        while served.psql(count).trim() != expected {
            assert!(begun.elapsed().as_secs() < 60, "never {expected}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        drop(clients_left);
    }
}
