//! Scans and searches.

use crate::check;

#[test]
fn records_come_in_order_and_within_bounds() {
    check(
        "scans",
        "",
        &[
            (
                "kv.set_multi(%w[a b:1 b:2 b:3 c].map { |k| [k, k.upcase] }.to_h)",
                "5",
            ),
            (
                "kv.scan.to_a",
                r#"[["a","A"],["b:1","B:1"],["b:2","B:2"],["b:3","B:3"],["c","C"]]"#,
            ),
            ("kv.scan(prefix: 'b:').keys", r#"["b:1","b:2","b:3"]"#),
            (
                "kv.scan(prefix: 'b:').map { |key, value| key + value }",
                r#"["b:1B:1","b:2B:2","b:3B:3"]"#,
            ),
            ("kv.scan(from: 'b:2').keys", r#"["b:2","b:3","c"]"#),
            ("kv.scan(to: 'b:2').keys", r#"["a","b:1","b:2"]"#),
            ("kv.scan(from: 'b:1', to: 'b:2').keys", r#"["b:1","b:2"]"#),
            ("kv.scan(prefix: 'b', from: 'b:2').keys", r#"["b:2","b:3"]"#),
            (
                "kv.scan(reverse: true).keys",
                r#"["c","b:3","b:2","b:1","a"]"#,
            ),
            (
                "kv.scan(prefix: :b, reverse: true, limit: 2).keys",
                r#"["b:3","b:2"]"#,
            ),
            (
                "[kv.scan(limit: 0).to_a, kv.scan(limit: 9).count, kv.scan(from: 'z').first, kv.scan(from: 'c', to: 'a').to_a]",
                "[[],5,null,[]]",
            ),
            (
                "[kv.scan.first, kv.scan.first(2).to_h, kv.scan.lazy.map { |k, _| k }.first(1)]",
                r#"[["a","A"],{"a":"A","b:1":"B:1"},["a"]]"#,
            ),
            (
                "seen = []; kv.scan(prefix: 'b:', limit: 2) { |key, value| seen << key + value }; seen",
                r#"["b:1B:1","b:2B:2"]"#,
            ),
            ("exception { kv.watch }.message", "watch needs a block"),
            ("failed { kv.scan(limit: -1) }", "ArgumentError"),
            ("failed { kv.scan(prefix: 1).to_a }", "TypeError"),
        ],
    );
}

#[test]
fn many_records_come_page_by_page_while_others_are_written() {
    check(
        "pages",
        "",
        &[
            (
                "2_000.times.each_slice(500) { |some| kv.set_multi(some.map { |i| [i.to_s.rjust(4, '0'), 'x'] }.to_h) }; kv.count",
                "2000",
            ),
            (
                "met = []; kv.scan.each { |key, _| met << key; kv.set('9' + met.size.to_s, 'new') if met.size < 100; kv.delete(key) }; [met.size >= 2000, met == met.sort.uniq]",
                "[true,true]",
            ),
            ("kv.scan.all? { |key, value| value == 'new' }", "true"),
        ],
    );
}

#[test]
fn keys_are_searched() {
    check(
        "search",
        "",
        &[
            (
                "kv.set_multi(%w[apple apple\\ pie banana りんご].map { |k| [k, ''] }.to_h)",
                "4",
            ),
            ("kv.search('pp')", r#"["apple","apple pie"]"#),
            ("kv.search('a', limit: 1)", r#"["apple"]"#),
            (
                "[kv.search('りん', mode: :begin), kv.search('ana', mode: :end), kv.search('^b', mode: :regex)]",
                r#"[["りんご"],["banana"],["banana"]]"#,
            ),
            (
                "kv.search('りんこ', mode: :edit, limit: 1)",
                r#"["りんご"]"#,
            ),
            ("[kv.search('x'), kv.search('a', limit: 0)]", "[[],[]]"),
            (
                "[failed { kv.search('(', mode: :regex) }, failed { kv.search('a', mode: :magic) }]",
                r#"["KV::UsageError","KV::UsageError"]"#,
            ),
        ],
    );
}
