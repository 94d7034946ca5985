//! Results as bodies: rows that are there and rows on their way, in all formats, to clients of any speed.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use crate::rig::Answer;
use crate::{BOTH, Served, check};

const ROWS: &str = "select 1 as n, 'a,\"b' as s union all select 2, null order by 1";

#[test]
fn rows_are_sent_in_each_format() {
    let mut routes = String::new();
    for way in ["query", "stream"] {
        for format in ["csv", "json", "ndjson"] {
            routes.push_str(&format!(
                "get('/{way}/{format}') {{ stream db.{way}(%q({ROWS})), as: :{format} }}
                 get('/none/{way}/{format}') {{ stream db.{way}('select 1 as n where 1 = 0'), as: :{format} }}\n"
            ));
        }
    }
    for engine in BOTH {
        let served = Served::new(engine, "", &routes);
        for way in ["query", "stream"] {
            for (format, expected, none) in [
                ("csv", "n,s\r\n1,\"a,\"\"b\"\r\n2,\r\n", "n\r\n"),
                ("json", r#"[{"n":1,"s":"a,\"b"},{"n":2,"s":null}]"#, "[]"),
                (
                    "ndjson",
                    "{\"n\":1,\"s\":\"a,\\\"b\"}\n{\"n\":2,\"s\":null}\n",
                    "",
                ),
            ] {
                served.check(&format!("/{way}/{format}"), expected);
                served.check(&format!("/none/{way}/{format}"), none);
            }
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own thread")]
fn slow_client_gets_every_row_while_others_are_served() {
    let numbers = "with recursive t(n) as (select 1 union all select n + 1 from t where n < 200000) select n from t";
    let app = format!(
        "get('/') {{ stream db.stream('{numbers}'), as: :ndjson }}
         get('/next') {{ db.query('select 7 as n').first[:n].to_s }}"
    );
    for engine in BOTH {
        let served = Served::new(engine, "pool: 2", &app);
        let mut client = served.rig.connect();
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .unwrap();
        std::thread::sleep(Duration::from_millis(200));
        for _ in 0..5 {
            served.check("/next", "7");
        }
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).unwrap();
        let text = Answer::parse(&bytes).text();
        assert_eq!(text.lines().count(), 200_000, "{engine:?}");
        assert_eq!(text.lines().last(), Some(r#"{"n":200000}"#), "{engine:?}");
    }
}

#[test]
fn client_that_leaves_frees_the_connection() {
    let numbers = "with recursive t(n) as (select 1 union all select n + 1 from t where n < 3000000) select n from t";
    let app = format!(
        "get('/') {{ stream db.stream('{numbers}'), as: :ndjson }}
         get('/next') {{ db.stream('select 7 as n').first[:n].to_s }}"
    );
    for engine in BOTH {
        let served = Served::new(engine, "pool: 1", &app);
        for _ in 0..3 {
            let mut client = served.rig.connect();
            client
                .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                .unwrap();
            let mut some = [0; 1000];
            client.read_exact(&mut some).unwrap();
        }
        served.check("/next", "7");
    }
}

#[test]
fn rows_on_their_way_are_an_enumerable() {
    check(
        "NUMBERS = 'with recursive t(n) as (select 1 union all select n + 1 from t where n < 3000) select n from t'
         def numbers = db.stream(NUMBERS)",
        &[
            ("numbers.each { }.class.to_s", "DB::RowStream"),
            ("numbers.sum { |row| row[:n] }", "4501500"),
            ("numbers.each_slice(1000).map { |rows| rows.last[:n] }", "[1000,2000,3000]"),
            ("numbers.each.with_index.map { |row, i| row[:n] - i }.uniq", "[1]"),
            ("numbers.each.class.to_s", "Enumerator"),
            ("numbers.first[:n]", "1"),
            ("numbers.lazy.map { |row| row[:n] * 2 }.select { |n| n % 3 == 0 }.first(2)", "[6,12]"),
            // It would wait in a fibre that is not the handler's.
            ("failed { numbers.each.next }", "FiberError"),
        ],
    );
}

#[test]
fn stream_that_is_left_gives_its_connection_back_at_once() {
    let app = "ROWS = 'with recursive t(n) as (select 1 union all select n + 1 from t where n < 30000) select n from t'
         get('/left') { 5.times.map { db.stream(ROWS).first[:n] }.uniq }
         get('/raised') { 5.times.map { db.stream(ROWS).each { raise 'no' } rescue 2 }.uniq }
         get('/given') { seen = []; db.stream(ROWS) { |row| seen << row[:n]; break if seen.size == 2 }; seen }
         get('/built') { seen = []; db.raw(ROWS).stream { |row| seen << row[:n] }; [seen.size, seen.last] }
         get('/again') { rows = db.stream(ROWS); rows.first; begin; rows.first; rescue TypeError => e; e.message[/not read yet/]; end }";
    for engine in BOTH {
        let served = Served::new(engine, "pool: 1, acquire: 1", app);
        served.check("/left", "[1]");
        served.check("/raised", "[2]");
        served.check("/given", "[1,2]");
        served.check("/built", "[30000,30000]");
        served.check("/again", "not read yet");
    }
}
