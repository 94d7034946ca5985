//! Streams of rows that a handler, a timer or a block leaves unread. Rule: what opened one ends it, in whatever way it ends itself, and the next
//! caller is served at once; the collector and `idle_timeout` are not waited for.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use crate::rig::Answer;
use crate::{ALL, BOTH, Engine, Served};

/// What the next caller waits at most on a crowded machine: less than `idle_timeout`.
const AT_ONCE: Duration = Duration::from_secs(30);

/// How the client of a request ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    /// It reads the answer, which has this status.
    Gets(u16),
    /// It goes while the handler waits.
    Leaves,
}

/// Ways to leave `open`, which is a stream of many rows; `$kept` is beyond the reach of the collector.
const WAYS: [(&str, Client); 14] = [
    ("open; halt 404", Client::Gets(404)),
    ("$kept = open; raise 'no'", Client::Gets(500)),
    ("$kept = open; 'done'", Client::Gets(200)),
    (
        "rows = open; sleep 0.3; stream rows, as: :csv",
        Client::Leaves,
    ),
    (
        "$kept = open; begin; sleep 5; ensure; sleep 0.01; end",
        Client::Leaves,
    ),
    ("stream open, as: :csv", Client::Leaves),
    ("stream open, as: :csv; raise 'no'", Client::Gets(500)),
    (
        "$kept = open; stream('text/plain') { |out| out << 'x' }",
        Client::Gets(200),
    ),
    (
        "$kept = open; stream('text/plain') { |out| loop { out << 'x' * 1000; sleep 0.01 } }",
        Client::Leaves,
    ),
    (
        "parallel(-> { $kept = open; 1 }, -> { 2 }); 'done'",
        Client::Gets(200),
    ),
    (
        "db.transaction { change; $kept = open; halt 404 }",
        Client::Gets(404),
    ),
    ("db.transaction { change; $kept = open }", Client::Gets(500)),
    (
        "db.transaction { change; $kept = open; sleep 5 }",
        Client::Leaves,
    ),
    (
        "db.transaction { change; db.transaction(savepoint: true) { $kept = open; halt 404 } }",
        Client::Gets(404),
    ),
];

/// Only where there are such.
const SESSION: (&str, Client) = (
    "db.connection { $kept = open; halt 404 }",
    Client::Gets(404),
);

const APP: &str = "
  db.create(:t) { integer :n }
  db[:t].insert(n: 1)
  MANY_ON_FIREBIRD = 'select first 900000 1 as n from rdb$fields a, rdb$fields b, rdb$fields c'
  MANY = DB_SCHEME == 'firebird' ? MANY_ON_FIREBIRD : 'with recursive t(n) as (select 1 union all select n + 1 from t where n < 3000000) select n from t'
  def open = db.stream(MANY)
  def change = db.execute('update t set n = n + 1')
  get('/quick') { 'quick' }
  get('/next') { db.transaction { change }; db.query('select n from t').first[:n].to_s }
";

fn app(engine: Engine) -> String {
    let scheme = match engine {
        Engine::Firebird => "firebird",
        _ => "other",
    };
    format!("DB_SCHEME = '{scheme}'\n{APP}")
}

fn request(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").into_bytes()
}

#[expect(clippy::disallowed_methods, reason = "a test's own thread")]
fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

#[track_caller]
fn next_is_served(served: &Served, context: &str, changes: &mut u32) {
    *changes += 1;
    let started = Instant::now();
    let answer = served.rig.get("/next");
    let took = started.elapsed();
    assert_eq!(answer.text(), changes.to_string(), "{context}: {took:?}");
    assert!(took < AT_ONCE, "{context}: {took:?}");
}

#[test]
fn stream_that_a_request_leaves_unread_is_closed_with_the_request() {
    for engine in ALL {
        let mut ways = WAYS.to_vec();
        ways.extend((engine == Engine::Postgres).then_some(SESSION));
        let routes = ways.iter().enumerate();
        let routes: String = routes
            .map(|(i, (way, _))| format!("get('/{i}') {{ {way} }}\n"))
            .collect();
        let served = Served::new(engine, "pool: 2, acquire: 45", &(app(engine) + &routes));
        let mut changes = 1;
        for (i, (way, client)) in ways.iter().enumerate() {
            let context = format!("{engine:?}: {way}");
            // More than there are connections.
            for _ in 0..3 {
                let path = format!("/{i}");
                match client {
                    Client::Gets(status) => {
                        let answer = served.rig.get(&path);
                        assert_eq!(answer.status, *status, "{context}: {}", answer.text());
                    }
                    Client::Leaves => {
                        // With an answer that it has not read, which makes its end a reset.
                        let mut client = served.rig.connect();
                        client
                            .write_all(b"GET /quick HTTP/1.1\r\nhost: x\r\n\r\n")
                            .unwrap();
                        client.write_all(&request(&path)).unwrap();
                        pause(100);
                    }
                }
            }
            next_is_served(&served, &context, &mut changes);
        }
    }
}

#[test]
fn stream_that_a_timer_leaves_unread_is_closed_with_its_tick() {
    for engine in ALL {
        let timer = "every(0.05) { ($kept ||= []) << open }";
        let served = Served::new(engine, "pool: 2, acquire: 45", &(app(engine) + timer));
        let mut changes = 1;
        for _ in 0..3 {
            pause(200);
            next_is_served(&served, &format!("{engine:?}"), &mut changes);
        }
    }
}

#[test]
fn stream_of_another_request_that_has_ended_says_so() {
    for engine in BOTH {
        let routes = "get('/open') { $kept = open; 'opened' }
            get('/read') { begin; $kept.first; rescue DB::ConnectionLost => e; e.message; end }";
        let served = Served::new(engine, "pool: 1", &(app(engine) + routes));
        served.check("/open", "opened");
        let ended = "the stream is over: the request or job that opened it has ended";
        served.check("/read", ended);
    }
}

#[test]
fn stream_of_a_transaction_that_has_ended_says_so() {
    for engine in ALL {
        let routes = "get('/') {
            begin; db.transaction { $kept = open; raise 'no' }; rescue RuntimeError; end
            begin; $kept.first; rescue DB::ConnectionLost => e; e.message; end
          }";
        let served = Served::new(engine, "pool: 1", &(app(engine) + routes));
        served.check("/", "the transaction is over: it was rolled back");
    }
}

#[test]
fn stream_that_the_response_goes_on_with_is_sent_whole() {
    for engine in BOTH {
        let routes = "
            FEW = 'with recursive t(n) as (select 1 union all select n + 1 from t where n < 30000) select n from t'
            get('/block') { rows = db.stream(FEW); stream('text/plain') { |out| rows.each { |row| out << \"#{row[:n]}\\n\" } } }
            get('/branch') { rows, _ = parallel(-> { db.stream(FEW) }, -> { sleep 0.05 }); sleep 0.05; stream rows, as: :ndjson }
            get('/beside') { db.stream(FEW); stream db.stream(FEW), as: :ndjson }";
        let served = Served::new(engine, "pool: 2", &(app(engine) + routes));
        for path in ["/block", "/branch", "/beside"] {
            let mut client = served.rig.connect();
            client.write_all(&request(path)).unwrap();
            pause(100);
            let mut bytes = Vec::new();
            client.read_to_end(&mut bytes).unwrap();
            let text = Answer::parse(&bytes).text();
            assert_eq!(text.lines().count(), 30_000, "{engine:?}: {path}");
        }
    }
}
