//! Records one by one and several at once.

use crate::check;

#[test]
fn value_is_stored_read_and_removed() {
    check(
        "records",
        "",
        &[
            ("[kv.get('a'), kv['a'], kv.key?('a')]", "[null,null,false]"),
            (
                "[kv.set('a', '1'), kv.get('a'), kv['a'], kv.key?('a')]",
                r#"[true,"1","1",true]"#,
            ),
            ("kv['a'] = '2'; kv.get('a')", "2"),
            ("(kv['b'] = 'three') + kv['b']", "threethree"),
            (
                "[kv.set('a', 'x', overwrite: false), kv.get('a')]",
                r#"[false,"2"]"#,
            ),
            (
                "[kv.set('c', 'x', overwrite: false), kv.get('c')]",
                r#"[true,"x"]"#,
            ),
            (
                "[kv.delete('c'), kv.delete('c'), kv.get('c')]",
                "[true,false,null]",
            ),
            ("[kv.count, kv.size]", "[2,2]"),
            ("[kv.clear, kv.count]", "[true,0]"),
        ],
    );
}

#[test]
fn keys_and_values_are_text_or_bytes() {
    check(
        "bytes",
        "",
        &[
            ("kv['花'] = '桜'; kv[:花] + kv['花']", "桜桜"),
            ("kv[''] = ''; [kv[''], kv.key?('')]", r#"["",true]"#),
            (
                "kv.set(\"\\xff\\0\", \"\\0\\xfe\"); kv.get(\"\\xff\\0\").bytes",
                "[0,254]",
            ),
            ("kv[:sym] = 'x'; kv['sym']", "x"),
            ("kv['long'] = 'あ' * 100_000; kv['long'].size", "100000"),
        ],
    );
}

#[test]
fn numbers_are_compared_by_value() {
    check(
        "numbers",
        "",
        &[
            (
                "[kv.number('n'), kv.incr('n'), kv.incr('n'), kv.incr('n', 40), kv.incr('n', -2), kv.number('n')]",
                "[null,1,2,42,40,40]",
            ),
            (
                "[kv.incr('m', initial: 10), kv.incr('m', 5, initial: 10)]",
                "[11,16]",
            ),
            ("kv.get('n').bytesize", "8"),
            (
                "kv['t'] = 'text'; [failed { kv.incr 't' }, failed { kv.number 't' }]",
                r#"["KV::NotANumber","KV::NotANumber"]"#,
            ),
        ],
    );
}

#[test]
fn exchanges_happen_only_as_expected() {
    check(
        "exchanges",
        "",
        &[
            (
                "[kv.cas('a', nil, '1'), kv.cas('a', nil, '2'), kv['a']]",
                r#"[true,false,"1"]"#,
            ),
            (
                "[kv.cas('a', '0', '2'), kv.cas('a', '1', '2'), kv['a']]",
                r#"[false,true,"2"]"#,
            ),
            (
                "[kv.cas('a', :any, :keep), kv.cas('b', :any, :keep), kv.cas('b', nil, :keep)]",
                "[true,false,true]",
            ),
            ("[kv.cas('a', '2', nil), kv['a']]", "[true,null]"),
            (
                "kv['x'] = '1'; [kv.cas_multi({ 'x' => '1', 'y' => nil }, { 'x' => nil, 'y' => '1' }), kv['x'], kv['y']]",
                r#"[true,null,"1"]"#,
            ),
            (
                "[kv.cas_multi({ 'x' => '1' }, { 'y' => '2' }), kv['y']]",
                r#"[false,"1"]"#,
            ),
        ],
    );
}

#[test]
fn values_grow_and_keys_change() {
    check(
        "growing",
        "",
        &[
            (
                "kv.append('a', '1'); kv.append('a', '2', ','); kv.append('a', '3'); kv['a']",
                "1,23",
            ),
            (
                "[kv.rekey('a', 'b'), kv['a'], kv['b'], kv.rekey('a', 'c')]",
                r#"[true,null,"1,23",false]"#,
            ),
            (
                "kv['d'] = 'x'; [kv.rekey('b', 'd', overwrite: false), kv.rekey('b', 'd', copy: true), kv['b'], kv['d']]",
                r#"[false,true,"1,23","1,23"]"#,
            ),
        ],
    );
}

#[test]
fn several_records_go_at_once() {
    check(
        "several",
        "",
        &[
            (
                "[kv.set_multi({ 'a' => '1', b: '2' }), kv.get_multi('a', 'b', 'c'), kv.get_multi(['a'], 'b').size]",
                r#"[2,{"a":"1","b":"2"},2]"#,
            ),
            (
                "[kv.set_multi({ 'a' => 'x', 'c' => '3' }, overwrite: false), kv['a'], kv['c']]",
                r#"[1,"1","3"]"#,
            ),
            (
                "[kv.delete_multi('a', :b, 'none'), kv.delete_multi(['c']), kv.count]",
                "[2,1,0]",
            ),
            (
                "[kv.get_multi, kv.set_multi({}), kv.set_multi, kv.delete_multi]",
                "[{},0,0,0]",
            ),
            (
                "failed { kv.get_multi((0..10_000).map(&:to_s)) }",
                "KV::LimitExceeded",
            ),
            ("kv.get_multi((0...10_000).map(&:to_s)).size", "0"),
            (
                "failed { kv.set_multi((0..10_000).map { |i| [i.to_s, ''] }.to_h) }",
                "KV::LimitExceeded",
            ),
        ],
    );
}

#[test]
fn several_records_without_braces_are_the_same_records() {
    check(
        "braceless",
        "",
        &[
            (
                "[kv.set_multi('a' => '1', b: '2'), kv.get_multi('a', 'b')]",
                r#"[2,{"a":"1","b":"2"}]"#,
            ),
            (
                "[kv.set_multi('a' => 'x', 'c' => '3', overwrite: false), kv['a'], kv['c'], kv['overwrite']]",
                r#"[1,"1","3",null]"#,
            ),
            // With braces every key is a record's.
            (
                "[kv.set_multi({ overwrite: '1' }), kv['overwrite']]",
                r#"[1,"1"]"#,
            ),
            (
                "[kv.cas_multi({ 'a' => '1' }, 'a' => nil, d: '4'), kv['a'], kv['d']]",
                r#"[true,null,"4"]"#,
            ),
            (
                "[kv.cas_multi({ 'd' => '4' }, { 'd' => '5' }), kv.cas_multi({ 'd' => '5' }, {}), kv['d']]",
                r#"[true,true,"5"]"#,
            ),
            ("failed { kv.cas_multi({ 'd' => '5' }) }", "ArgumentError"),
            ("failed { kv.cas_multi('d' => '5') }", "ArgumentError"),
            (
                "[failed { kv.set_multi({}, 'e' => '1') }, kv['e']]",
                r#"["ArgumentError",null]"#,
            ),
        ],
    );
    check(
        "braceless_times",
        "",
        &[
            (
                "kv.set_multi('a' => '1', ttl: 1); kv.cas_multi({ 'b' => nil }, 'b' => '1', ttl: 1); kv.count",
                "2",
            ),
            ("sleep 1.2; [kv['a'], kv['b'], kv.count]", "[null,null,0]"),
        ],
    );
}

#[test]
fn records_live_as_long_as_their_time() {
    check(
        "times",
        "",
        &[
            (
                "kv.set('a', '1', ttl: 1); kv.set('b', '1', ttl: 100); kv.cas('c', nil, '1', ttl: 1); kv.set_multi({ 'd' => '1' }, ttl: 1); kv.get_multi('a', 'b', 'c', 'd').size",
                "4",
            ),
            (
                "sleep 1.2; [kv['a'], kv['b'], kv['c'], kv['d'], kv.count]",
                r#"[null,"1",null,null,1]"#,
            ),
            (
                "kv.set('a', '1', ttl: 1); kv.set('a', '2'); sleep 1.2; kv['a']",
                "2",
            ),
            (
                "[0, -1, 'x', Float::NAN].map { |ttl| failed { kv.set('a', '1', ttl: ttl) } }.uniq",
                r#"["ArgumentError"]"#,
            ),
            ("kv.set('a', '3', ttl: nil)", "true"),
        ],
    );
}
