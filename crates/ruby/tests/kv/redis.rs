//! Stores in Redis, as handlers in Ruby have them: the words of every store, what is refused, channels.

use tsumugi_testkit::redis::RedisServer;

use crate::HELPERS;
use crate::rig::Rig;

#[track_caller]
fn check(settings: &str, setup: &str, lines: &[(&str, &str)]) {
    let server = RedisServer::start(&[]);
    let url = server.url();
    let routes: String = lines
        .iter()
        .enumerate()
        .map(|(i, (line, _))| format!("get('/{i}') {{ {line} }}\n"))
        .collect();
    let opening = format!("plugin(:kv) {{ KV.open '{url}'{settings} }}\n");
    let rig = Rig::serve(&format!("{opening}{HELPERS}{setup}\n{routes}"));
    for (i, (line, expected)) in lines.iter().enumerate() {
        let text = rig.get(&format!("/{i}")).text();
        assert_eq!(text, *expected, "{line}");
    }
}

#[test]
fn words_of_every_store_mean_the_same_in_redis() {
    check(
        ", prefix: 'app:', timeout: 5",
        "",
        &[
            ("kv['a'] = '花'; kv['a']", "花"),
            ("kv.set('a', '1', overwrite: false).to_s", "false"),
            ("[kv.incr('n'), kv.incr('n', 5), kv.number('n')]", "[1,6,6]"),
            (
                "kv.append('log', 'x', ','); kv.append('log', 'y', ','); kv['log']",
                "x,y",
            ),
            (
                "[kv.cas('a', '花', '木'), kv.cas('a', '花', '草'), kv['a']]",
                r#"[true,false,"木"]"#,
            ),
            (
                "[kv.cas_multi({ 'a' => '木' }, { 'a' => nil, 'b' => '2' }), kv.get_multi('a', 'b')]",
                r#"[true,{"b":"2"}]"#,
            ),
            (
                "[kv.set_multi({ 'x' => '1', 'y' => '2' }), kv.delete_multi('x', 'y', 'z')]",
                "[2,2]",
            ),
            (
                "[kv.rekey('b', 'c'), kv['c'], kv.key?('b')]",
                r#"[true,"2",false]"#,
            ),
            (
                "kv.set('t', '1', ttl: 100); [kv.ttl('t') > 90, kv.touch('t', ttl: nil), kv.ttl('t') == Float::INFINITY, kv.ttl('none').nil?]",
                "[true,true,true,true]",
            ),
            (
                "kv.fetch('f', ttl: 60) { { 'a' => [1, nil] } }; kv.fetch('f', ttl: 60) { raise }",
                r#"{"a":[1,null]}"#,
            ),
            (
                "kv.inspect.start_with?('#<KV::Remote redis://127.0.0.1:').to_s",
                "true",
            ),
        ],
    );
}

#[test]
fn call_that_redis_cannot_promise_is_refused_by_name() {
    check(
        "",
        "",
        &[
            ("failed { kv.scan.first }", "KV::Unsupported"),
            ("failed { kv.search 'x' }", "KV::Unsupported"),
            ("failed { kv.count }", "KV::Unsupported"),
            ("failed { kv.clear }", "KV::Unsupported"),
            ("failed { kv.push 'x' }", "KV::Unsupported"),
            ("failed { kv.pop }", "KV::Unsupported"),
            ("failed { kv.sync }", "KV::Unsupported"),
            ("failed { kv.watch { } }", "KV::Unsupported"),
            ("failed { kv.backup 'x' }", "KV::Unsupported"),
        ],
    );
}

#[test]
fn message_of_a_channel_reaches_its_subscribers_until_they_leave() {
    check(
        "",
        "",
        &[
            (
                "seen = []
                 parallel(
                   -> { kv.subscribe('chat') { |message| seen << message; break } },
                   -> { kv.subscribe(:chat) { |message| seen << message; break } },
                   -> { (kv.publish('chat', '花'); sleep 0.01) until seen.size == 2 })
                 seen",
                r#"["花","花"]"#,
            ),
            ("failed { kv.subscribe 'chat' }", "ArgumentError"),
            (
                "memory = KV.open('memory:none'); failed { memory.publish 'a', 'b' }",
                "KV::Unsupported",
            ),
        ],
    );
}

#[test]
fn subscriber_is_told_through_missed_that_messages_may_be_lost() {
    let server = RedisServer::start(&[]);
    let rig = Rig::serve(&format!(
        "plugin(:kv) {{ KV.open '{}' }}
         get('/') {{ events {{ |out| kv.subscribe('chat', missed: -> {{ out.event 'missed' }}) {{ |m| out.event m }} }} }}
         get('/say') {{ kv.publish 'chat', 'hello'; 'said' }}",
        server.url()
    ));
    use std::io::{Read as _, Write as _};
    let mut client = rig.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    client
        .set_read_timeout(Some(std::time::Duration::from_millis(100)))
        .unwrap();
    let mut text = String::new();
    let mut bytes = [0; 1000];
    let mut until = |wanted: &str, ask: &dyn Fn()| {
        for _ in 0..300 {
            ask();
            if let Ok(read) = client.read(&mut bytes) {
                text.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
            if text.contains(wanted) {
                return;
            }
        }
        panic!("{text}");
    };
    until("data: hello", &|| {
        assert_eq!(rig.get("/say").text(), "said")
    });
    server.ask("CLIENT KILL TYPE pubsub");
    until("data: missed", &|| {});
}
