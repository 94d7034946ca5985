//! `fetch`: what it keeps, and that one computes while others wait.

use std::io::{Read as _, Write as _};

use crate::rig::{Answer, Rig};
use crate::{ALL, HELPERS, check, opening};

#[test]
fn hit_equals_its_miss() {
    check(
        "shapes",
        "def twice(key, &block) = [kv.fetch(key, &block), kv.fetch(key) { raise 'again' }].then { |a, b| [a, a == b, a.class == b.class] }",
        &[
            ("twice('s') { 'text' }", r#"["text",true,true]"#),
            (
                "twice('h') { { 'id' => 1, name: '花', list: [1, 2.5, nil, true, { 'deep' => :sym }] } }",
                r#"[{"id":1,"name":"花","list":[1,2.5,null,true,{"deep":"sym"}]},true,true]"#,
            ),
            ("kv.fetch('h') { }[:list][4][:deep]", "sym"),
            (
                "kv.fetch('fresh') { { 'id' => { 'x' => 1 } } }[:id][:x]",
                "1",
            ),
            ("twice('n') { nil }", "[null,true,true]"),
            ("twice('i') { 42 }", "[42,true,true]"),
            ("twice('digits') { '42' }", r#"["42",true,true]"#),
            (
                "twice('json') { '{\"a\":1}' }",
                r#"["{\"a\":1}",true,true]"#,
            ),
            ("twice('e') { \"x\\n\\t\\n\" }", r#"["x\n\t\n",true,true]"#),
            ("twice('f') { \"x\\n\\t\\t\" }", r#"["x\n\t\t",true,true]"#),
            ("twice('b') { \"\\xff\\0\" }[1..]", "[true,true]"),
            (
                "twice('big') { 123456789012345678901234567890 }",
                "[123456789012345678901234567890,true,true]",
            ),
            ("JSON.parse(kv['h'])['id']", "1"),
            (
                "kv['plain'] = '7'; kv.fetch('plain') { raise 'it is there' }",
                "7",
            ),
            (
                "kv.fetch('plain') { raise 'it is there' }.class.to_s",
                "String",
            ),
        ],
    );
}

#[test]
fn fetched_value_expires() {
    check(
        "expiring",
        "",
        &[
            (
                "n = 0; 3.times { kv.fetch('a', ttl: 100) { n += 1 } }; n",
                "1",
            ),
            (
                "n = 0; 2.times { kv.fetch('b', ttl: 0.03) { n += 1 }; sleep 0.06 }; n",
                "2",
            ),
            ("failed { kv.fetch('c', ttl: 0) { 1 } }", "ArgumentError"),
            ("kv.key?('c')", "false"),
        ],
    );
}

#[test]
fn block_that_is_left_stores_nothing() {
    check(
        "left",
        "",
        &[
            (
                "[error_text { kv.fetch('a') { raise ArgumentError, 'no' } }, kv.key?('a')]",
                r#"["ArgumentError: no",false]"#,
            ),
            ("kv.fetch('a') { break 'out' }", "out"),
            ("kv.key?('a')", "false"),
            ("kv.fetch('a') { next 'value' } + kv['a']", "valuevalue"),
            ("kv.fetch('halted') { halt 418, 'teapot' }", "teapot"),
            ("kv.key?('halted')", "false"),
            ("kv.fetch('halted') { 'after' }", "after"),
            (
                "a = []; a << a; [failed { kv.fetch('cycle') { a } }, kv.fetch('cycle') { 1 }]",
                r#"["ArgumentError",1]"#,
            ),
        ],
    );
}

#[test]
fn blocks_may_fetch_other_keys_but_not_their_own() {
    check(
        "nested",
        "",
        &[
            (
                "kv.fetch('a') { kv.fetch('b') { 1 } + kv.fetch('c') { 2 } }",
                "3",
            ),
            (
                "error_text { kv.fetch('x') { kv.fetch('x') { 1 } } }",
                "KV::UsageError: the block of fetch fetches the same key again: it would wait for itself",
            ),
            (
                "failed { kv.fetch('x') { kv.fetch('y') { kv.fetch('x') { 1 } } } }",
                "KV::UsageError",
            ),
            (
                "failed { kv.fetch('x') { parallel(-> { kv.fetch('x') { 1 } }) } }",
                "KV::UsageError",
            ),
            (
                "parallel(-> { kv.fetch('p') { sleep 0.02; 5 } }, -> { kv.fetch('p') { sleep 0.02; 6 } })",
                "[5,5]",
            ),
            // Each waits for what the other computes.
            (
                "parallel(-> { kv.fetch('one') { sleep 0.02; kv.fetch('two') { 1 } } }, -> { kv.fetch('two') { sleep 0.02; kv.fetch('one') { 2 } } }).size",
                "2",
            ),
            ("kv.fetch('x') { 'whole' }", "whole"),
        ],
    );
}

/// Sends GETs at once and answers what comes, in order.
fn together(rig: &Rig, path: &str, count: usize) -> Vec<String> {
    let mut clients: Vec<_> = (0..count).map(|_| rig.connect()).collect();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    for client in &mut clients {
        client.write_all(request.as_bytes()).unwrap();
    }
    let answers = clients.into_iter().map(|mut client| {
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).unwrap();
        Answer::parse(&bytes).text()
    });
    answers.collect()
}

const STAMPEDE: &str = "
  runs = 0
  get('/') { kv.fetch('a') { runs += 1; sleep 0.2; { run: runs } } }
  get('/runs') { runs }
  get('/raise') { begin; kv.fetch('r') { runs += 1; sleep 0.02; raise 'no' if runs < 4; runs }; rescue => e; e.message; end }
  get('/halt') { kv.fetch('h') { runs += 1; sleep 0.02; halt 'halted' if runs == 1; 'value' } }
";

#[test]
fn many_callers_compute_once() {
    for store in ALL {
        let app = format!("{}{HELPERS}{STAMPEDE}", opening(store, "stampede", ""));
        let rig = Rig::serve(&app);
        let answers = together(&rig, "/", 64);
        assert!(
            answers.iter().all(|answer| answer == r#"{"run":1}"#),
            "{answers:?}"
        );
        assert_eq!(rig.get("/runs").text(), "1");
    }
}

#[test]
fn two_spellings_of_a_path_are_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    std::fs::create_dir(format!("{folder}/real")).unwrap();
    std::os::unix::fs::symlink(format!("{folder}/real"), format!("{folder}/link")).unwrap();
    let rig = Rig::serve(&format!(
        "plugin(:one) {{ KV.open '{folder}/real/store' }}
         plugin(:two) {{ KV.open '{folder}/link/store' }}
         plugin(:three) {{ KV.open '{folder}/real/../real/store' }}
         get('/') {{ [one, two, three].map {{ |kv| -> {{ kv.fetch('a') {{ sleep 0.1; rand }} }} }}.then {{ |all| parallel(*all) }}.uniq.size }}"
    ));
    assert_eq!(rig.get("/").text(), "1");
}

#[test]
fn many_workers_compute_once() {
    for store in ALL {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("store");
        let app = format!(
            "{}{HELPERS}{STAMPEDE}",
            opening(store, place.to_str().unwrap(), "")
        );
        let rigs = [Rig::serve(&app), Rig::serve(&app)];
        let answers: Vec<String> = std::thread::scope(|scope| {
            let asking: Vec<_> = rigs
                .iter()
                .map(|rig| scope.spawn(|| together(rig, "/", 16)))
                .collect();
            let answers = asking.into_iter().map(|asked| asked.join().unwrap());
            answers.flatten().collect()
        });
        assert!(
            answers.iter().all(|answer| answer == r#"{"run":1}"#),
            "{answers:?}"
        );
        let runs: usize = rigs
            .iter()
            .map(|rig| rig.get("/runs").text().parse::<usize>().unwrap())
            .sum();
        assert_eq!(runs, 1);
    }
}

#[test]
fn exception_or_halt_passes_the_computation_on() {
    for store in ALL {
        let app = format!("{}{HELPERS}{STAMPEDE}", opening(store, "next", ""));
        let rig = Rig::serve(&app);
        let mut answers = together(&rig, "/raise", 10);
        answers.sort();
        let (values, failures) = answers.split_at(7);
        assert!(values.iter().all(|answer| answer == "4"), "{answers:?}");
        assert!(failures.iter().all(|answer| answer == "no"), "{answers:?}");
        assert_eq!(rig.get("/runs").text(), "4");

        let rig = Rig::serve(&app);
        let mut answers = together(&rig, "/halt", 10);
        answers.sort();
        assert_eq!(answers[0], "halted");
        assert!(
            answers[1..].iter().all(|answer| answer == "value"),
            "{answers:?}"
        );
        assert_eq!(rig.get("/runs").text(), "2");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own thread")]
fn cancelled_computation_passes_to_a_waiter() {
    for store in ALL {
        let rig = Rig::serve(&format!(
            "{}runs = 0; ensured = 0
             get('/') {{ kv.fetch('a') {{ runs += 1; begin; sleep(runs == 1 ? 20 : 0.02); ensure; ensured += 1; end; runs }} }}
             get('/runs') {{ [runs, ensured] }}",
            opening(store, "cancelled", "")
        ));
        let mut first = rig.connect();
        first
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap();
        while rig.get("/runs").text() != "[1,0]" {
            std::thread::yield_now();
        }
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| together(&rig, "/", 5));
            // They wait when the first client leaves; were they later, they would compute all the same.
            std::thread::sleep(std::time::Duration::from_millis(50));
            drop(first);
            waiting.join().unwrap()
        });
        assert_eq!(waiting, vec!["2"; 5]);
        assert_eq!(rig.get("/runs").text(), "[2,2]");
    }
}
