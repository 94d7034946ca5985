//! A store as a queue.

use crate::{check, check_embedded};

#[test]
fn queue_pops_in_the_order_of_pushes() {
    check(
        "queue",
        "",
        &[
            (
                "3.times { |i| kv.push(i.to_s) }; keys = kv.scan.keys; [keys.size, keys[0].bytesize]",
                "[3,8]",
            ),
            (
                "[kv.pop, kv.shift[1], kv.pop, kv.pop, kv.shift]",
                r#"["0","1","2",null,null]"#,
            ),
            ("[kv.pop(wait: 0), kv.pop(wait: 0.02)]", "[null,null]"),
            ("failed { kv.pop wait: -1 }", "ArgumentError"),
        ],
    );
}

#[test]
fn waiting_pop_is_woken_by_a_push() {
    check(
        "waiting",
        "",
        &[
            (
                "parallel(a: -> { kv.pop(wait: 20) }, b: -> { kv.pop(wait: 20) }, c: -> { sleep 0.02; kv.push 'x'; kv.push 'x'; 1 })",
                r#"{"a":"x","b":"x","c":1}"#,
            ),
            ("kv.count", "0"),
        ],
    );
}

#[test]
fn push_answers_the_key() {
    check_embedded(
        "keys",
        "",
        &[(
            "keys = 3.times.map { |i| kv.push(i.to_s) }; [keys == kv.scan.keys, keys.uniq.size]",
            "[true,3]",
        )],
    );
}

#[test]
fn push_takes_no_keyword() {
    check_embedded(
        "keywords",
        "",
        &[(
            "[failed { kv.push('x', ttl: 5) }, kv.count]",
            r#"["ArgumentError",0]"#,
        )],
    );
}
