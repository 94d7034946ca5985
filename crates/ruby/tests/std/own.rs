//! What CRuby cannot say: limits, waiting in blocks, matches of parked fibres, passwords.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::rig::output;

fn check(program: &str, expected: &str) {
    assert_eq!(output(program).trim_end(), expected, "{program}");
}

#[test]
fn parked_fibre_keeps_its_own_match() {
    check(
        "f = ->(s, t) { s =~ /(\\w)-(\\w)/; sleep t; [$1, $2, $~ && $~[0]] }
         none = -> { sleep 0.002; $1 }
         p parallel(-> { f.('a-b', 0.003) }, -> { f.('x-y', 0.001) }, none)",
        r#"[["a", "b", "a-b"], ["x", "y", "x-y"], nil]"#,
    );
}

#[test]
fn blocks_of_gsub_and_scan_may_wait() {
    check(
        "p 'a1b2'.gsub(/(\\d)/) { |d| sleep 0.001; $1 + '!' }
         'xy'.scan(/./) { |c| sleep 0.001; p c }
         p 'a-b'.sub('-') { |m| sleep 0.001; '+' }",
        "\"a1!b2!\"\n\"x\"\n\"y\"\n\"a+b\"",
    );
}

#[test]
fn match_beyond_the_limit_of_steps_is_an_error() {
    check(
        "begin; ('a' * 40 + 'yz') =~ /\\A(a|aa)+\\1z/; rescue Regexp::TimeoutError => e; puts e.message[0, 24]; end",
        "the match takes too long",
    );
}

#[test]
fn invalid_utf8_is_an_argument_error() {
    check(
        "begin; \"\\xff\" =~ /a/; rescue ArgumentError => e; puts e.message; end",
        "invalid byte sequence in UTF-8",
    );
}

#[test]
fn json_says_where_it_is_wrong() {
    check(
        "begin; JSON.parse(\"{\\n  \\\"a\\\": x}\"); rescue JSON::ParserError => e; puts e.message; end
         begin; JSON.parse(\"[\\\"\\xff\\\"]\"); rescue JSON::ParserError => e; puts e.message; end",
        "unexpected token at line 2 column 8\nunexpected bytes that are not UTF-8 at line 1 column 3",
    );
}

#[test]
fn object_that_has_no_json_is_a_type_error() {
    check(
        "class Plain; end
         class Shown; def to_s = 'shown'; end
         class Pair; def to_h = { a: 1 }; end
         Point = Struct.new(:x)
         puts JSON.generate([Shown.new, Pair.new, 1..2, Point.new(3), Set.new([4]), [5].each])
         [Plain.new, { a: [-> {}] }].each { |v| begin; JSON.generate(v); rescue TypeError => e; puts e.message; end }",
        "[\"shown\",{\"a\":1},\"1..2\",{\"x\":3},[4],[5]]\na Plain cannot be written as JSON: give it to_h or to_json\n\
         a Proc cannot be written as JSON: give it to_h or to_json",
    );
}

#[test]
fn json_of_the_greatest_depth_can_be_read_again() {
    let refused = ["nesting of JSON exceeds json_depth_max (100); is it cyclic?"; 12];
    check(
        "class Node; def initialize(inner) = @inner = inner; def to_h = { a: @inner }; end
         LAYERS = { array: ->(x) { [x] }, hash: ->(x) { { \"a\" => x } }, object: ->(x) { Node.new(x) }, set: ->(x) { Set.new([x]) } }
         LAYERS.each_value do |layer|
           [[], {}, nil].each do |innermost|
             made = ->(levels) { (innermost ? levels - 1 : levels).times.inject(innermost) { |x, _| layer.call(x) } }
             text = JSON.generate(made.call(100))
             puts 'it has changed' if JSON.generate(JSON.parse(text)) != text
             begin; JSON.generate(made.call(101)); rescue ArgumentError => e; puts e.message; end
           end
         end",
        &refused.join("\n"),
    );
}

#[test]
fn symbols_of_json_are_limited() {
    check(
        "begin; 11.times { |i| JSON.parse(JSON.generate((0...1000).to_h { |k| [\"k#{i}_#{k}\", 1] }), symbolize_names: true) }
         rescue ArgumentError => e; puts e.message[0, 52]; end",
        "symbolize_names has made json_symbols_max (10000) Sy",
    );
}

#[test]
fn passwords_are_hashed_off_the_worker() {
    check(
        "h = Password.create('secret'); p h.start_with?('$argon2id$'), Password.verify('secret', h), Password.verify('Secret', h)
         begin; Password.verify('x', 'nonsense'); rescue ArgumentError => e; puts e.message[0, 36]; end
         begin; Password.create('x' * 1025); rescue ArgumentError => e; puts e.message; end
         p Tsumugi.secure_compare('a', 'a'), Tsumugi.secure_compare('a', 'b'), Tsumugi.secure_compare('a', 'ab')",
        "true\ntrue\nfalse\nthis is no hash of Password.create: \na password has at most password_bytes_max (1024) bytes\ntrue\nfalse\nfalse",
    );
}

#[test]
fn limits_of_single_calls_are_named() {
    check(
        "p SecureRandom.random_bytes(1_048_576).bytesize
         begin; SecureRandom.random_bytes(1_048_577); rescue ArgumentError => e; puts e.message; end
         begin; sleep 1_000_000_001; rescue ArgumentError => e; puts e.message; end
         p Time.gm(2000).strftime('%1024Y').size, Time.gm(2000).strftime('%1025Y').size",
        "1048576\nSecureRandom makes 0 to random_bytes_max (1048576) bytes at once\n\
         sleep takes a number of seconds from 0 to sleep_seconds_max (1000000000), not 1000000001\n1024\n1024",
    );
}

#[test]
fn environment_is_read_only() {
    check(
        "begin; ENV['X'] = '1'; rescue => e; puts e.class; end",
        "FrozenError",
    );
}

#[test]
fn dates_and_decimals_that_are_none_are_argument_errors() {
    check(
        "none = ->(&made) { begin; made.call; rescue ArgumentError => e; e.message; end }
         puts none.() { DB::Date.parse('2023-02-29') }, none.() { DB::Date.parse('junk') }, none.() { DB::Date.new(2024, 13, 1) }
         puts none.() { DB::Decimal.parse('1,5') }
         puts DB::Date.parse('2024-02-29'), DB::Date.parse('2024-02-28').succ, DB::Date.new(1900, 2, 28) + 1
         puts (DB::Date.parse('2023-12-31')..DB::Date.parse('2024-01-02')).map(&:to_s).join(' ')
         puts [DB::Decimal.parse('1250.5').round(-2), DB::Decimal.parse('-51').round(-2), DB::Decimal.parse('4').round(-1)].join(' ')",
        "no date: 2023-02-29\nno date: \"junk\"; it is written like 2024-02-29\nno date: 2024-13-01\nno decimal number: \"1,5\"\n\
         2024-02-29\n2024-02-29\n1900-03-01\n2023-12-31 2024-01-01 2024-01-02\n1300 -100 0",
    );
}

#[test]
fn days_beyond_all_calendars_are_range_errors() {
    check(
        "[10**15, -10**15, 2**70, 1e300, 'x', nil].each do |days|
           begin; p DB::Date.new(2024, 1, 1) + days; rescue RangeError, TypeError => e; puts e.class; end
         end
         begin; DB::Date.parse('2147485548-01-01').wday; rescue ArgumentError => e; puts e.message; end
         begin; Time.at(2**64); rescue RangeError => e; puts e.message; end
         begin; Time.gm(2_147_485_547) + 10**15; rescue RangeError => e; puts e.class; end
         p DB::Date.new(1850, 1, 1).wday, DB::Date.new(1, 1, 1) - 1, DB::Date.new(1600, 2, 29) + 36_524",
        "RangeError\nRangeError\nRangeError\nRangeError\nTypeError\nTypeError\nargument out of range\n\
         an Integer beyond 64 bits is out of Time range\nRangeError\n2\n0000-12-31\n1700-02-28",
    );
}

#[test]
fn far_years_take_as_long_as_near_ones() {
    /// No finding, whatever near years take.
    const LITTLE: Duration = Duration::from_secs(4);
    let took = |year: i64, before: i64| {
        let start = Instant::now();
        check(
            &format!(
                "200.times do
                   far = Time.gm({year}, 6, 7)
                   [far.iso8601, far.utc_offset, far.getlocal.utc_offset, far.strftime('%c %U %G'), far.to_json]
                   Time.gm({before}).wday
                   Time.local({}).to_a
                   date = DB::Date.parse('{year}-01-01')
                   [date.wday, date + 1, date - 1, date.succ, date.to_days, date.strftime('%F')]
                 end
                 puts 'done'",
                year - 1
            ),
            "done",
        );
        start.elapsed()
    };
    let near = took(2024, 1970);
    let far = took(2_147_485_547, -2_147_481_748);
    // To count years takes millions of times as long.
    assert!(far < LITTLE || far < near * 20, "{far:?} {near:?}");
}

#[test]
fn rows_count_and_enumerate_as_arrays_do() {
    check(
        "rows = DB.connect('sqlite::memory:?name=rows').query('select 1 as n union select 2 union select 3')
         p rows.count, rows.count { |row| row[:n] > 1 }, rows.count({ n: 2 }), rows.last, rows.last(2).size, rows.last(9).size
         p rows.each.with_index.map { |row, i| row[:n] * i }, rows[-4], rows[-3], rows[3]
         p rows.first, rows.first(2), rows.first(9).size, rows.first(0)
         refused = ->(&call) { begin; call.call; rescue => e; puts \"#{e.class}: #{e.message}\"; end }
         refused.call { rows.first(-1) }
         refused.call { rows['n'] }
         refused.call { rows[0, 2] }
         refused.call { rows.first(1, 2) }
         refused.call { rows.size(1) }",
        "3\n2\n1\n{:n=>3}\n2\n3\n[0, 2, 6]\nnil\n{:n=>1}\nnil\n{:n=>1}\n[{:n=>1}, {:n=>2}]\n3\n[]\n\
         ArgumentError: first takes how many rows: an Integer that is not negative\n\
         TypeError: the number of a row must be an Integer, not String\n\
         ArgumentError: wrong number of arguments (given 2, expected 1)\n\
         ArgumentError: wrong number of arguments (given 2, expected 0..1)\n\
         ArgumentError: wrong number of arguments (given 1, expected 0)",
    );
}

#[test]
fn many_rows_become_hashes_in_order() {
    check(
        "db = DB.connect('sqlite::memory:?name=many')
         rows = db.query('with recursive t(n) as (select 1 union all select n + 1 from t where n < 1000) select n, cast(n as text) as s from t')
         p rows.to_a == (1..1000).map { |n| { n: n, s: n.to_s } }, rows.first(65).last, db.query('select 1 as a where 0').to_a",
        "true\n{:n=>65, :s=>\"65\"}\n[]",
    );
}

#[test]
fn statement_without_its_text_is_an_argument_error() {
    check(
        "db = DB.connect('sqlite::memory:?name=none')
         refused = ->(&call) { begin; call.call; rescue => e; puts \"#{e.class}: #{e.message}\"; end }
         refused.call { db.query }
         refused.call { db.pipeline { |p| p.query } }
         refused.call { DB::Pipeline.new.query 'select 1' }
         class Again; def self.to_s = ($p.query('select 1'); 'Again'); end
         refused.call { db.pipeline { |p| $p = p; p.query Again.new } }",
        "ArgumentError: wrong number of arguments (given 0, expected 1+)\n\
         ArgumentError: wrong number of arguments (given 0, expected 1+)\n\
         TypeError: the pipeline must be what db.pipeline yields, not DB::Pipeline\n\
         TypeError: the SQL must be a String, not Again",
    );
}

#[test]
fn sets_of_characters_take_time_by_their_length_and_the_texts() {
    // By the product of both this takes minutes.
    check(
        "set = (0...30_000).map { |i| [0x3041 + i % 90, 0x30a1 + i % 7].pack('UU').then { |pair| pair[0] + '-' + pair[1] } }.join
         text = 'abc日本語' * 20_000
         p [text.tr(set, 'x').size, text.tr(set + 'a', 'b-z').size, text.count(set), text.delete(set, '日' + set).size, text.squeeze(set).size]",
        "[120000, 120000, 0, 120000, 120000]",
    );
}

#[test]
fn sets_of_characters_have_as_many_parts_as_the_limit_says() {
    check(
        "p 'b'.tr('a' * 65_535 + 'b', 'a-z' + 'x' * 65_535)
         begin; 'b'.count('a-z' * 65_537); rescue ArgumentError => e; puts e.message; end",
        "\"x\"\na set of characters has more than character_set_parts_max (65536)",
    );
}

/// The texts of all files below a folder.
fn texts(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true => texts(&path),
        false => vec![std::fs::read_to_string(&path).unwrap()],
    };
    paths.flat_map(of).collect()
}

#[test]
fn native_that_the_prelude_calls_has_a_definition() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let definitions = texts(&root.join("src")).concat();
    let mut names = BTreeSet::new();
    for text in texts(&root.join("prelude")) {
        for after in text.split("Native.").skip(1) {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_?!".contains(letter);
            let end = after.find(|letter| !is_name(letter));
            names.insert(after[..end.unwrap_or(after.len())].to_owned());
        }
    }
    assert!(names.len() > 100, "{names:?}");
    // Some are there only in the console and in tests, and some names are made of parts.
    names.retain(|name| !definitions.contains(&format!("\"{name}\"")));
    let names = Vec::from_iter(names).join(" ");
    check(
        &format!("puts %w[{names}].reject {{ |name| Tsumugi::Native.respond_to?(name) }}"),
        "",
    );
}

/// The prelude's files, by their paths.
fn prelude(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => prelude(&path),
            false => vec![(path.clone(), std::fs::read_to_string(&path).unwrap())],
        })
        .collect()
}

/// The classes whose records come while they are used.
fn enumerables(text: &str) -> BTreeSet<String> {
    let mut class = "";
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("class ") {
            class = name.split_whitespace().next().unwrap_or_default();
        }
        if line.starts_with("return to_enum(:each)") {
            found.insert(class.to_owned());
        }
    }
    found
}

#[test]
fn method_that_is_asked_for_an_enumerable_takes_a_block() {
    let files = prelude(&Path::new(env!("CARGO_MANIFEST_DIR")).join("prelude"));
    let classes: BTreeSet<String> = files
        .iter()
        // Those of the language are made by whoever likes.
        .filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "std"))
        .flat_map(|(_, text)| enumerables(text))
        .collect();
    assert!(classes.contains("Scan") && classes.contains("RowStream"));
    let mut makers = 0;
    for (path, text) in &files {
        let mut method = "";
        for line in text.lines().map(str::trim) {
            if line.starts_with("def ") {
                method = line;
            }
            let makes = classes
                .iter()
                .any(|class| line.contains(&format!("{class}.new(")));
            if makes {
                makers += 1;
                assert!(method.contains("&block"), "{}: {method}", path.display());
            }
        }
    }
    assert!(makers >= 3, "{makers}");
}
