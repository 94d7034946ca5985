//! Opening stores: places, settings, and that all who open one have the same.

use crate::rig::Rig;
use crate::{EMBEDDED, HELPERS, opening};

fn refused(line: &str, expected: &str) {
    let error = Rig::refused(line, |_| {});
    assert!(
        error.contains(expected) && error.contains("app.rb:1"),
        "{line}: {error}"
    );
}

#[test]
fn store_that_cannot_open_stops_the_start() {
    refused(
        "KV.open 'memory:x', colour: 1",
        "ArgumentError: KV.open knows no colour:",
    );
    refused(
        "KV.open 1",
        "TypeError: the place of a store must be a String, not Integer",
    );
    refused("KV.open ''", "a store has a place");
    refused("KV.open '#capacity=1m'", "a store has a place");
    refused(
        "KV.open 'memory:x', capacity: 'much'",
        "KV::UsageError: the database specification cannot be used",
    );
    refused("KV.open 'memory:x', durability: :disk", "KV::UsageError");
    refused("KV.open 'memory:x', ttl: 0", "ttl: is a positive number");
    refused(
        "KV.open('memory:twice', capacity: '1m').then { KV.open('memory:twice', capacity: '2m') }",
        "KV::Conflict: the database memory:twice is open already with other settings: memory:twice#durability=memory",
    );
}

#[test]
fn name_is_one_store() {
    let app = "plugin(:kv) { KV.open 'memory:one' }
        get('/set') { KV.open('memory:one')['a'] = '1' }
        get('/get') { kv['a'] }
        get('/other') { KV.open('memory:other').count }
        get('/default') { KV.open[:a] = 'x'; KV.open(':memory:')['a'] }
        get('/inspect') { kv.inspect }
        get('/info') { kv.info }";
    let (one, two) = (Rig::serve(app), Rig::serve(app));
    assert_eq!(one.get("/set").text(), "1");
    assert_eq!(two.get("/get").text(), "1");
    assert_eq!(two.get("/other").text(), "0");
    assert_eq!(two.get("/default").text(), "x");
    assert_eq!(
        two.get("/inspect").text(),
        "#<KV::Memory memory:one#durability=memory,when_full=refuse>"
    );
    let info = two.get("/info").text();
    assert!(
        info.starts_with(
            r#"{"path":"memory:one","durability":"memory","healthy":true,"records":1,"#
        ),
        "{info}"
    );
}

#[test]
fn store_may_have_a_time_to_live_of_its_own() {
    let rig = Rig::serve(
        "plugin(:kv) { KV.open 'memory:ttl', ttl: 1 }
         get('/') { kv['a'] = '1'; kv.set('b', '1', ttl: nil); kv.fetch('c') { 1 }; kv.fetch('d', ttl: nil) { 1 }
                    kv.set_multi({ 'e' => '1' }); before = kv.count; sleep 1.2
                    [before, kv.scan.keys] }",
    );
    assert_eq!(rig.get("/").text(), r#"[5,["b","d"]]"#);
}

#[test]
fn counters_texts_and_queues_take_no_time_to_live() {
    for store in EMBEDDED {
        let opening = opening(store, "lasting", "ttl: 1");
        let rig = Rig::serve(&format!(
            "{opening}{HELPERS}
             get('/') {{ kv.incr('n'); kv.append('a', 'x'); kv.push('p'); kv['s'] = '1'; sleep 1.2
               [kv.number('n'), kv['a'], kv.key?('s'), kv.pop] }}
             get('/begun') {{ kv.cas('m', nil, [0].pack('Q>')); kv.incr('m'); n = kv.number('m'); sleep 1.2; [n, kv.key?('m')] }}
             get('/refused') {{ [failed {{ kv.incr('n', ttl: 5) }}, failed {{ kv.append('a', 'y', ttl: 5) }},
               failed {{ kv.append('a', 'y', ',', ttl: 5) }}].uniq }}"
        ));
        assert_eq!(rig.get("/").text(), r#"[1,"x",false,"p"]"#, "{store:?}");
        assert_eq!(rig.get("/begun").text(), "[1,false]", "{store:?}");
        assert_eq!(
            rig.get("/refused").text(),
            r#"["ArgumentError"]"#,
            "{store:?}"
        );
    }
}
