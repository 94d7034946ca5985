//! Queues by name, and times to live that are read and changed: the same words on every store.

use crate::{check, check_embedded};

#[test]
fn queues_of_a_store_are_apart() {
    check(
        "named",
        "",
        &[
            (
                "kv['a'] = 'a record'; kv.push('mail', '1'); kv.push(:mail, '2'); kv.push('sms', 'x'); kv.count",
                "4",
            ),
            (
                "[kv.pop('mail'), kv.pop(:sms), kv.pop('sms'), kv.shift('mail')[1], kv.pop('mail'), kv.pop('none')]",
                r#"["1","x",null,"2",null,null]"#,
            ),
            ("[kv['a'], kv.count]", r#"["a record",1]"#),
            (
                "[kv.pop('mail', wait: 0), kv.pop('mail', wait: 0.02)]",
                "[null,null]",
            ),
            ("failed { kv.pop 'mail', wait: -1 }", "ArgumentError"),
            ("failed { kv.push 'mail', 'x', ttl: 5 }", "ArgumentError"),
            ("failed { kv.push 'mail', 5 }", "TypeError"),
            (
                "failed { kv.push 'q' * 1_025, 'x' } == 'RuntimeError'",
                "false",
            ),
            (
                "kv.push('q' * 1_024, 'x').start_with?('queue:1024:q')",
                "true",
            ),
            // Without a name the first record of all is taken, whatever it is.
            ("kv.pop", "a record"),
        ],
    );
}

#[test]
fn push_to_a_queue_answers_the_key_that_shift_gives() {
    check(
        "named_keys",
        "",
        &[
            (
                "keys = 3.times.map { |i| kv.push('q', i.to_s) }; [keys == keys.sort, keys == kv.scan(prefix: 'queue:1:q:').keys]",
                "[true,true]",
            ),
            (
                "keys = kv.scan(prefix: 'queue:1:q:').keys; 3.times.map { kv.shift('q') } == keys.zip(%w[0 1 2])",
                "true",
            ),
        ],
    );
}

#[test]
fn waiting_pop_is_woken_by_a_push_to_its_queue() {
    check(
        "named_waiting",
        "",
        &[
            (
                "parallel(a: -> { kv.pop('q', wait: 4) }, b: -> { kv.pop('r', wait: 4) }, c: -> { sleep 0.05; kv.push('q', 'x'); kv.push('r', 'y'); 1 })",
                r#"{"a":"x","b":"y","c":1}"#,
            ),
            ("kv.count", "0"),
        ],
    );
}

#[test]
fn time_to_live_is_read_and_changed() {
    check(
        "touched",
        "",
        &[
            ("[kv.ttl('a'), kv.touch('a', ttl: 5)]", "[null,false]"),
            ("kv['a'] = '1'; kv.ttl('a') == Float::INFINITY", "true"),
            (
                "[kv.touch('a', ttl: 100), kv.ttl('a').between?(90, 100)]",
                "[true,true]",
            ),
            (
                "[kv.touch('a', ttl: nil), kv.ttl('a') == Float::INFINITY, kv['a']]",
                r#"[true,true,"1"]"#,
            ),
            (
                "kv.touch('a', ttl: 1); sleep 1.2; [kv['a'], kv.ttl('a')]",
                "[null,null]",
            ),
            (
                "[failed { kv.touch('a', ttl: 0) }, failed { kv.touch('a') }]",
                r#"["ArgumentError","ArgumentError"]"#,
            ),
        ],
    );
}

#[test]
fn queue_on_disk_is_there_after_it_was_closed() {
    check_embedded(
        "lasting_queue",
        "",
        &[(
            "3.times { |i| kv.push('q', i.to_s) }; kv.sync; kv.pop('q')",
            "0",
        )],
    );
}
