//! What is refused, and how it is said.

use crate::rig::Rig;
use crate::{HELPERS, check};

#[test]
fn wrong_types_say_what_is_right() {
    let key = "TypeError: a key must be a String (or a Symbol, which stands for its name), not ";
    let value = "TypeError: a value must be a String: JSON.generate makes one of anything, and fetch does it by itself, not ";
    check(
        "types",
        "",
        &[
            ("error_text { kv.get 1 }", &format!("{key}Integer")),
            ("error_text { kv.get nil }", &format!("{key}NilClass")),
            ("error_text { kv[['a']] }", &format!("{key}Array")),
            ("error_text { kv.set 1, '' }", &format!("{key}Integer")),
            ("error_text { kv.set 'a', 1 }", &format!("{value}Integer")),
            ("error_text { kv['a'] = nil }", &format!("{value}NilClass")),
            ("error_text { kv['a'] = { a: 1 } }", &format!("{value}Hash")),
            (
                "error_text { kv.set_multi 1 }",
                "TypeError: what is set must be a Hash of keys and values, not Integer",
            ),
            (
                "error_text { kv.incr 'a', 1.5 }",
                "TypeError: what is added must be an Integer of 64 bits, not Float",
            ),
            (
                "error_text { kv.cas 'a', 1, nil }",
                "TypeError: what is expected must be a String, nil for none, or :any, not Integer",
            ),
            (
                "error_text { kv.set 'a', '1', tll: 5 }",
                "ArgumentError: unknown keyword: tll; known are ttl:, overwrite:",
            ),
            (
                "error_text { kv.set 'a', '1', 'ttl' => 5 }",
                "ArgumentError: unknown keyword: \"ttl\"; known are ttl:, overwrite:",
            ),
            ("failed { kv.set 'a', '1', 5 }", "ArgumentError"),
            ("failed { kv.fetch('a') }", "ArgumentError"),
        ],
    );
}

#[test]
fn limits_name_themselves() {
    check(
        "limits",
        "",
        &[
            (
                "[failed { kv.get 'k' * 65_520 }, failed { kv.set 'k' * 65_520, '' }]",
                r#"["KV::InvalidKey","KV::InvalidKey"]"#,
            ),
            (
                "error_text { kv.get 'k' * 65_520 }",
                "KV::InvalidKey: the key has 65520 bytes, at most 65519 (KEY_BYTES_MAX)",
            ),
            ("kv.set 'k' * 65_519, 'x'", "true"),
        ],
    );
}

#[test]
fn full_store_refuses_or_makes_room() {
    let app = |when_full: &str| {
        format!(
            "plugin(:kv) {{ KV.open 'memory:full-{when_full}', capacity: '64k', when_full: :{when_full}, value_max: 10_000 }}\n{HELPERS}
             get('/fill') {{ 100.times {{ |i| kv.set i.to_s, 'x' * 1000 }}; kv.count < 100 }}
             get('/long') {{ failed {{ kv.set 'long', 'x' * 10_001 }} }}
             get('/full') {{ failed {{ 100.times {{ |i| kv.set i.to_s, 'x' * 1000 }} }} }}
             get('/read') {{ kv['0'].size }}"
        )
    };
    let refusing = Rig::serve(&app("refuse"));
    assert_eq!(refusing.get("/full").text(), "KV::Full");
    assert_eq!(refusing.get("/read").text(), "1000");
    assert_eq!(refusing.get("/long").text(), "KV::ValueTooLong");
    let evicting = Rig::serve(&app("evict"));
    assert_eq!(evicting.get("/fill").text(), "true");
}
