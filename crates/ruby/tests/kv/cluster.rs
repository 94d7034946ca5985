//! Stores in etcd through the language: what a handler sees of them, and what is refused. What the engine does is tested in `crates/stores`.

use tsumugi_testkit::etcd::EtcdCluster;

use crate::rig::Rig;
use crate::{Store, check_on};

#[test]
fn store_in_etcd_has_the_methods_of_others() {
    check_on(
        Store::Etcd,
        "methods",
        "",
        &[
            (
                "kv['a'] = '1'; [kv['a'], kv.key?('a'), kv.key?('b')]",
                r#"["1",true,false]"#,
            ),
            ("[kv.incr('n', 5), kv.incr('n'), kv.number('n')]", "[5,6,6]"),
            (
                "kv.append('t', 'x'); kv.append('t', 'y', ','); kv['t']",
                "x,y",
            ),
            (
                "[kv.cas('a', '2', '3'), kv.cas('a', '1', '2'), kv['a']]",
                r#"[false,true,"2"]"#,
            ),
            (
                "[kv.cas_multi({ 'a' => '2', 'z' => nil }, { 'a' => nil, 'z' => '1' }), kv.get_multi('a', 'z')]",
                r#"[true,{"z":"1"}]"#,
            ),
            (
                "[kv.rekey('z', 'y'), kv['y'], kv.delete('y'), kv.delete('y')]",
                r#"[true,"1",true,false]"#,
            ),
            (
                "kv.set_multi({ 'p:1' => 'a', 'p:2' => 'b' }); kv.scan(prefix: 'p:').to_a",
                r#"[["p:1","a"],["p:2","b"]]"#,
            ),
            (
                "kv.scan(prefix: 'p:', reverse: true, limit: 1).keys",
                r#"["p:2"]"#,
            ),
            (
                "kv.push('jobs', '1'); kv.push('jobs', '2'); [kv.pop('jobs'), kv.pop('jobs'), kv.pop('jobs', wait: 0.05)]",
                r#"["1","2",null]"#,
            ),
            (
                "kv.set('s', '1', ttl: 100); [kv.ttl('s').between?(90, 120), kv.touch('s', ttl: nil), kv.ttl('s') == Float::INFINITY]",
                "[true,true,true]",
            ),
            (
                "[kv.fetch('f', ttl: 100) { { n: 1 } }, kv.fetch('f') { raise 'no' }]",
                r#"[{"n":1},{"n":1}]"#,
            ),
            (
                "kv.inspect.start_with?('#<KV::Remote etcd://127.0.0.1:')",
                "true",
            ),
            ("kv.info['engine']", "etcd"),
            ("[kv.sync]", "[null]"),
            (
                "[failed { kv.search('a') }, failed { kv.backup('x') }]",
                r#"["KV::Unsupported","KV::Unsupported"]"#,
            ),
            (
                "failed { kv['large'] = 'x' * (1024 * 1024 + 1) }",
                "KV::ValueTooLong",
            ),
            ("failed { kv['t'] = '1'; kv.incr('t') }", "KV::NotANumber"),
            ("[kv.clear, kv.count]", "[true,0]"),
        ],
    );
}

#[test]
fn changes_of_a_store_in_etcd_are_watched() {
    let place = EtcdCluster::shared().place("ruby-watch");
    let rig = Rig::serve(&format!(
        "plugin(:kv) {{ KV.open '{place}' }}
         get('/') {{ seen = []
           kv.watch('a:', ready: -> {{ kv['b:1'] = 'x'; kv['a:1'] = 'x'; kv.delete('a:1') }}) {{ |change|
             seen << [change.kind, change.key]
             break if seen.size == 2 }}
           seen }}"
    ));
    assert_eq!(rig.get("/").text(), r#"[["put","a:1"],["removed","a:1"]]"#);
}

#[test]
fn sessions_in_etcd_are_there_for_every_process() {
    let place = EtcdCluster::shared().place("ruby-sessions");
    let application = format!(
        "sessions kv: KV.open('{place}'), secure: false
         get('/add') {{ session['n'] = (session['n'] || 0) + 1; session['n'] }}
         get('/renew') {{ session.renew; session['n'] }}
         get('/clear') {{ session.clear; 'cleared' }}"
    );
    let (one, other) = (Rig::serve(&application), Rig::serve(&application));
    let first = one.get("/add");
    assert_eq!(first.text(), "1");
    let cookie = format!("cookie: {}", first.cookie("session").unwrap());
    for (rig, expected) in [(&other, "2"), (&one, "3")] {
        let answer = rig.send("GET", "/add", &[&cookie], b"");
        assert_eq!(answer.text(), expected);
    }
    let renewed = other.send("GET", "/renew", &[&cookie], b"");
    assert_eq!(renewed.text(), "3");
    let fresh = format!("cookie: {}", renewed.cookie("session").unwrap());
    assert_eq!(one.send("GET", "/add", &[&fresh], b"").text(), "4");
    // What the old cookie named is gone.
    assert_eq!(one.send("GET", "/add", &[&cookie], b"").text(), "1");
    one.send("GET", "/clear", &[&fresh], b"");
    assert_eq!(other.send("GET", "/add", &[&fresh], b"").text(), "1");
}

#[test]
fn place_or_setting_that_cannot_be_stops_the_start() {
    for (line, expected) in [
        (
            "KV.open 'mysql://a'",
            "KV::UsageError: no store has the scheme `mysql`",
        ),
        ("KV.open 'etcd://'", "KV::UsageError: a host is missing"),
        (
            "KV.open 'etcd://me:s3cret@a/b/c'",
            "KV::UsageError: the namespace",
        ),
        (
            "KV.open 'etcd://a', capacity: '1m'",
            "ArgumentError: KV.open knows no capacity: of a store in etcd",
        ),
        (
            "KV.open 'etcd://a', timeout: 0",
            "KV::UsageError: timeout is a positive number",
        ),
        (
            "KV.open 'etcd://127.0.0.1:1', timeout: 0.3",
            "KV::ConnectionLost: a store in etcd is not reached",
        ),
    ] {
        let error = Rig::refused(line, |_| {});
        assert!(error.contains(expected), "{line}: {error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}
