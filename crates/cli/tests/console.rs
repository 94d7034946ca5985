//! `tsumugi console`, fed through a pipe: what lines answer, what persists, what a mistake costs; and Ctrl-C at a terminal.
//! The terminal is made by `script`, of the essential package bsdutils: taking one over needs code between fork and exec.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

const APP: &str = "plugin(:db) { DB.connect \"sqlite:#{Tsumugi.data_dir}/app.db\" }\n\
                   db.execute 'create table if not exists t (a integer)'\n\
                   helpers { def double(n) = n * 2 }\n\
                   get('/') { 'hello' }\n";

/// Feeds lines to a console; answers its output.
fn converse(lines: &str) -> String {
    String::from_utf8(feed(lines).stdout).unwrap()
}

fn feed(lines: impl AsRef<[u8]>) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("app.rb"), APP).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .arg("console")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_ref()).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}

fn check(lines: &str, expected: &str) {
    assert_eq!(converse(lines), expected, "{lines}");
}

#[test]
fn a_line_is_answered_with_its_value() {
    check("1 + 1\n\"a\" * 2\n\n", "=> 2\n=> \"aa\"\n");
    check("puts 'out'\n", "out\n=> nil\n");
}

#[test]
fn locals_and_definitions_persist() {
    check(
        "x = 1\ny = 0; add = ->(n) { y += x + n }; nil\nadd.call(10)\n[x, y]\ndef three = 3\nthree + y\n",
        "=> 1\n=> nil\n=> 11\n=> [1, 11]\n=> :three\n=> 14\n",
    );
}

#[test]
fn rows_and_queries_are_shown_as_tables() {
    check(
        "db[:t].insert([{ a: 1 }, { a: nil }])\ndb[:t].order(desc(:a))\ndb.query(\"select a, '糸\\n' as b from t limit 1\")\ndb[:t].where(a: 1).sql\n",
        "=> 2\na\n----\nNULL\n1\n2 rows\na  b\n-  ----\n1  糸\\n\n1 row\n=> \"select * from `t` where `a` = ?\"\n",
    );
    check(
        "db[:t].insert((1..60).map { |n| { a: n } })\ndb[:t].order(:a); nil\ndb[:t].where(a: 60)\ndb[:t].where(a: 61)\n_ .count\n",
        "=> 60\n=> nil\na\n--\n60\n1 row\na\n-\n0 rows\n=> 0\n",
    );
    let answer = converse("db[:t].insert((1..60).map { |n| { a: n } })\ndb[:t].order(:a)\n");
    assert!(
        answer.ends_with("\n49\n50\nthe first 50 rows\n"),
        "{answer}"
    );
}

#[test]
fn statements_of_a_database_are_not_logged_between_the_lines() {
    let output = feed("db[:t].all\n");
    assert_eq!(output.stdout, b"a\n-\n0 rows\n");
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(log, "");
}

#[test]
fn the_last_value_has_a_name() {
    check("40\n_ + 2\n", "=> 40\n=> 42\n");
}

#[test]
fn unfinished_expression_goes_on_in_the_next_line() {
    check(
        "def add(a,\n b)\n  a + b\nend\nadd(1,\n2)\n[1, 2].map do |i|\n i * 2\nend\n",
        "=> :add\n=> 3\n=> [2, 4]\n",
    );
    check("\"a\nb\"\n", "=> \"a\\nb\"\n");
    check("1 +\n2\n", "=> 3\n");
    check("1 \\\n + 2\n", "=> 3\n");
    check("1 # \\\n2\n", "=> 1\n=> 2\n");
}

#[test]
fn unfinished_literal_goes_on_in_the_next_line() {
    for (lines, value) in [
        ("<<A\nfirst\n  second\nA", r#""first\n  second\n""#),
        ("<<~A.lines.size\n  #{1 +\n 1}\n  b\n  A", "2"),
        ("[<<'A', <<-\"B\"]\na\nA\n b\n  B", r#"["a\n", " b\n"]"#),
        ("'a\nb'", r#""a\nb""#),
        ("\"a\\\nb\"", r#""ab""#),
        ("%q(a\n(b)\n)", r#""a\n(b)\n""#),
        ("%w[a b\nc]", r#"["a", "b", "c"]"#),
        ("%i[a\nb]", "[:a, :b]"),
        ("\"a\nb\" =~ /a\n\nb/x", "nil"),
        ("%r{a\n b}x.source", r#""a\n b""#),
        (":\"a\nb\"", r#":"a\nb""#),
        ("=begin\nputs 1\n=end", "nil"),
    ] {
        check(&format!("{lines}\n3\n"), &format!("=> {value}\n=> 3\n"));
    }
}

#[test]
fn mistake_in_an_unfinished_text_is_reported_at_once() {
    let answer = converse("def a(]\n2\n");
    assert!(answer.starts_with("SyntaxError: console:1: "), "{answer}");
    assert!(answer.ends_with("\n=> 2\n"), "{answer}");
}

#[test]
fn plugins_helpers_waits_and_the_client_are_reachable() {
    check(
        "double 21\ndb.execute 'insert into t values (?)', 7\ndb.query('select a from t').to_a\nsleep 0.01\n\
         get('/').body\nparallel(-> { sleep 0.01; 1 }, -> { 2 })\n",
        "=> 42\n=> 1\n=> [{:a=>7}]\n=> nil\n=> \"hello\"\n=> [1, 2]\n",
    );
}

#[test]
fn exception_is_reported_with_its_class_and_the_console_goes_on() {
    check(
        "x = 5\nnil.nothing\nx\n",
        "=> 5\nNoMethodError: undefined method 'nothing' for nil\n    from console:2:in eval\n=> 5\n",
    );
    let answer = converse("1 + )\n2\n");
    assert!(answer.starts_with("SyntaxError: console:1: "), "{answer}");
    assert!(answer.ends_with("\n=> 2\n"), "{answer}");
}

#[test]
fn console_that_reads_a_pipe_exits_with_one_after_an_error() {
    for (lines, code) in [("1\n2\n", 0), ("nil.nothing\n2\n", 1), ("1 + )\n2\n", 1)] {
        assert_eq!(feed(lines).status.code(), Some(code), "{lines}");
    }
}

#[test]
fn line_that_is_no_utf8_is_named_and_ends_the_console_with_one() {
    let output = feed(b"1\n\xff\n2\nraise 'x'\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "=> 1\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("line 2 of the input is no UTF-8"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn forty_variables_fit_and_one_more_is_reported() {
    let variables = |count| -> String { (0..count).map(|i| format!("v{i} = {i}\n")).collect() };
    assert!(converse(&(variables(40) + "v0 + v39\n")).ends_with("=> 39\n"));
    let answer = converse(&(variables(300) + "v7\n"));
    assert!(answer.contains("too many local variables"), "{answer}");
    assert!(answer.ends_with("=> 7\n"), "{answer}");
}

#[test]
fn the_word_help_says_what_can_be_called_and_how_to_leave() {
    let text = converse("help\n1 + 1\n");
    for present in ["db[:notes]", "get(", "exit or Ctrl-D ends"] {
        assert!(text.contains(present), "no {present} in:\n{text}");
    }
    assert!(text.ends_with("\n=> 2\n"), "{text}");
}

#[test]
fn method_of_another_library_and_a_command_are_answered_with_what_to_write() {
    let text = converse("5.minutes\n1.5.hours\n''.blank?\nTime.current\n`ls`\n");
    for present in [
        "minutes is a method of ActiveSupport, which is not here; use a number of seconds, as in 5 * 60",
        "hours is a method of ActiveSupport",
        "blank? is a method of ActiveSupport, which is not here; use nil? and empty?",
        "current is a method of ActiveSupport, which is not here; use Time.now",
        "mruby has no commands in backquotes; use",
    ] {
        assert!(text.contains(present), "no {present} in:\n{text}");
    }
}

#[test]
fn method_that_a_class_of_the_application_lacks_is_not_taken_for_one_of_another_library() {
    let text = converse("class User; end\nUser.current\nUser.zone\n");
    for name in ["current", "zone"] {
        let undefined = format!("undefined method '{name}' for class User");
        assert!(text.contains(&undefined), "{text}");
    }
    assert!(!text.contains("ActiveSupport"), "{text}");
}

#[test]
fn the_words_exit_and_quit_end_it() {
    check("1\nexit\n2\n", "=> 1\n");
    check("quit\n2\n", "");
}

#[test]
fn input_that_ends_too_early_is_reported() {
    check("def a\n", "the input ended in the middle of: def a\n");
}

/// A console at a terminal.
struct Terminal {
    child: std::process::Child,
    keys: std::process::ChildStdin,
    screen: std::process::ChildStdout,
    seen: String,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Terminal {
    fn open(folder: &std::path::Path) -> Terminal {
        std::fs::write(folder.join("app.rb"), APP).unwrap();
        // `exec`: a shell that stays would end itself by the Ctrl-C that the console survives, as dash does.
        let command = format!("exec {} console", env!("CARGO_BIN_EXE_tsumugi"));
        // A screen that never shows what is expected ends, so that the test fails instead of waiting.
        let mut child = Command::new("timeout")
            .args([
                "60",
                "script",
                "--quiet",
                "--return",
                "--command",
                &command,
                "/dev/null",
            ])
            .current_dir(folder)
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Terminal {
            child,
            keys,
            screen,
            seen: String::new(),
        }
    }

    /// Reads the screen until it shows `text`, and forgets it up to there.
    fn expect(&mut self, text: &str) {
        let mut piece = [0; 1024];
        while !self.seen.contains(text) {
            let read = self.screen.read(&mut piece).unwrap();
            assert!(read > 0, "no {text:?} on the screen: {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        let end = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..end);
    }

    /// What the screen shows until it closes.
    fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        self.screen.read_to_end(&mut bytes).unwrap();
        format!("{}{}", self.seen, String::from_utf8_lossy(&bytes))
    }

    fn press(&mut self, keys: impl AsRef<[u8]>) {
        self.keys.write_all(keys.as_ref()).unwrap();
    }
}

#[test]
fn ctrl_c_interrupts_what_runs_and_forgets_what_was_begun() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(folder.path());
    terminal.expect("tsumugi> ");
    terminal.press("begin puts 'be' + 'gun'; sleep 600; ensure puts 'en' + 'sured' end\r");
    terminal.expect("begun");
    terminal.press("\x03");
    terminal.expect("ensured");
    terminal.expect("interrupted");
    terminal.expect("tsumugi> ");
    terminal.press("def half\r");
    terminal.expect("* ");
    terminal.press("\x03");
    terminal.expect("tsumugi> ");
    terminal.press("20 + 22\r");
    terminal.expect("=> 42");
    terminal.expect("tsumugi> ");
    terminal.press("\x04");
    let rest = terminal.rest();
    let status = terminal.child.wait().unwrap();
    assert!(status.success(), "{status} after {rest:?}");
}

#[test]
fn line_at_a_terminal_that_is_no_utf8_does_not_run_and_the_next_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::open(folder.path());
    terminal.expect("tsumugi> ");
    terminal.press(b"$begun = 1; \xff");
    terminal.expect("is no UTF-8");
    terminal.expect("tsumugi> ");
    terminal.press("[$begun, 42]\r");
    terminal.expect("=> [nil, 42]");
    terminal.expect("tsumugi> ");
    terminal.press("\x04");
    let rest = terminal.rest();
    let status = terminal.child.wait().unwrap();
    assert!(status.success(), "{status} after {rest:?}");
}
