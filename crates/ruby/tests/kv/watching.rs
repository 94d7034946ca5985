//! Watching keys.

use std::io::{Read as _, Write as _};

use crate::rig::Rig;
use crate::{ALL, check, check_embedded, opening};

#[test]
fn changes_arrive_in_order() {
    check(
        "watch",
        "def changes(prefix, count)
           seen = []
           parallel(
             -> { kv.watch(prefix, ready: -> { ready }) { |c| seen << [c.kind, c.key]; break if seen.size == count } },
             -> { sleep 0.02; yield })
           seen
         end
         def ready = nil",
        &[
            ("changes('a:', 3) { kv['a:1'] = '1'; kv['b'] = '1'; kv.delete('a:1'); kv['a:日'] = '1' }", r#"[["put","a:1"],["removed","a:1"],["put","a:日"]]"#),
            ("changes('', 2) { kv['b'] = '1'; kv.clear }", r#"[["put","b"],["cleared",null]]"#),
        ],
    );
}

#[test]
fn slow_watcher_gets_the_number_of_lost_changes() {
    check_embedded(
        "lagging",
        "",
        &[(
            "seen = nil
             kv.watch('', ready: -> { 1_500.times { kv['a'] = '1' } }) { |c| (seen = [c.kind, c.lost]; break) if c.kind == :lagged }
             seen",
            r#"["lagged",476]"#,
        )],
    );
}

#[test]
fn stream_of_events_tells_a_browser() {
    for store in ALL {
        let rig = Rig::serve(&format!(
            "{}get('/') {{ events {{ |out| kv.watch('news:', ready: -> {{ out.comment 'ready' }}) {{ |c| out.event kv[c.key].to_s, event: c.kind }} }} }}
             get('/set') {{ kv['news:1'] = '朗報' }}",
            opening(store, "events", "")
        ));
        let mut client = rig.connect();
        client
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        let mut bytes = [0; 1000];
        let mut asked = false;
        while !text.contains("event: put\ndata: 朗報\n\n") {
            let read = client.read(&mut bytes).unwrap();
            assert!(read > 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..read]));
            if text.contains(": ready") && !asked {
                asked = true;
                rig.get("/set");
            }
        }
    }
}
