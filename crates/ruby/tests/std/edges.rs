//! docs/mruby.md against the VM: what it says to be refused is, with those words; what it says to be printed is.

use crate::rig::output;

/// The rows of the table below a heading: what is written, and what comes of it.
fn rows(heading: &str) -> Vec<(String, String)> {
    let page = include_str!("../../../../docs/mruby.md");
    let part = page.split("\n## ").find(|part| part.starts_with(heading));
    let lines = part.expect("the heading is there").lines();
    let cells = lines.filter(|line| line.starts_with("| `"));
    cells
        .map(|line| {
            let line = line.replace("\\|", "\u{1}");
            let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
            (code(cells[0]), code(cells[1]))
        })
        .collect()
}

/// The text between backquotes, one or two.
fn code(cell: &str) -> String {
    let cell = cell.trim();
    let inner = match cell.strip_prefix("`` ") {
        Some(rest) => rest.strip_suffix(" ``"),
        None => cell
            .strip_prefix('`')
            .and_then(|rest| rest.strip_suffix('`')),
    };
    inner.expect("a cell of code").replace('\u{1}', "|")
}

/// What a program prints or is answered with; it stands on lines of its own.
fn found(program: &str) -> String {
    let program = match program.starts_with('#') {
        true => program.replacen("; ", "\n", 1),
        false => program.to_owned(),
    };
    output(&format!("\n{program}\n"))
}

#[test]
fn refused_programs_are_answered_as_the_page_says() {
    let rows = rows("Refused");
    assert!(rows.len() >= 50, "{}", rows.len());
    for (program, answer) in rows {
        let found = found(&program);
        assert!(found.contains(&answer), "{program}: {found}");
        assert!(found.contains("app.rb:2:"), "{program}: {found}");
    }
}

#[test]
fn other_programs_print_what_the_page_says() {
    let mut rows = rows("Otherwise");
    assert!(rows.len() >= 12, "{}", rows.len());
    rows.extend(self::rows("As in CRuby"));
    for (program, printed) in rows {
        let found = found(&program);
        assert_eq!(found.trim_end().replace('\n', "; "), printed, "{program}");
    }
}

#[test]
fn names_that_the_application_defines_are_its_own() {
    for program in [
        "class Queue; end; get('/q') { Queue.new; nil }",
        "Thread = 1; get('/q') { Thread }",
        "module Net; end; get('/q') { Net }",
        "def exit = 1; get('/q') { exit }",
        "helpers { def it = 1 }; get('/q') { it }",
        "helpers { def params = query.to_h }; get('/q') { params[:a] }",
        "class Words; def method_missing(name, *rest) = name; def read = erb; end; get('/q') { Words.new.read }",
        "plugin(:open) { 1 }; get('/q') { open }",
        "get('/q') { Object.const_defined?(:File) ? File.read('a') : 1 }",
        "get('/q') { respond_to?(:fork) && fork }",
        "$stdin = 1; get('/q') { $stdin }",
        "get('/q') { DB::Date.parse('2026-01-01'); HTTP::Timeout }",
        "helpers { def year = 1 }; get('/q') { '1' =~ /(?<year>.)/; year }",
        "get('/q') { '1' =~ /(?<year>.)/; year = $~[:year]; year }",
    ] {
        assert_eq!(found(program), "", "{program}");
    }
}

#[test]
fn all_that_is_refused_is_named_at_once_by_its_line() {
    let found = found("get('/a') do\n  File.read 'a'\nend\nget('/b') { Thread.new { fork } }");
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 3, "{found}");
    assert!(
        lines[0].contains("app.rb:3: mruby has no File; use "),
        "{found}"
    );
    assert!(
        lines[1].contains("app.rb:5: mruby has no Thread; use "),
        "{found}"
    );
    assert!(
        lines[2].contains("app.rb:5: mruby has no fork; use "),
        "{found}"
    );
}

#[test]
fn standard_output_is_an_object() {
    for program in [
        "$stdout.sync = true; $stdout.flush; $stdout << ''; $stderr.tty?; STDOUT.isatty",
        "$stdout.print; raise 'a' unless $stdout.write('', :\"\") == 0",
        "raise 'a' unless __FILE__ == $0 && $PROGRAM_NAME == $0 && $/ == \"\\n\"",
    ] {
        assert_eq!(found(program), "", "{program}");
    }
}

#[test]
fn names_like_the_unknown_one_are_offered_once() {
    for (program, message) in [
        (
            "begin; 'a'.upcas; rescue => e; puts e.message; end",
            "undefined method 'upcas' for an instance of String; did you mean upcase?",
        ),
        (
            "begin; nil.upcase; rescue => e; puts e.message; end",
            "undefined method 'upcase' for nil",
        ),
        (
            "begin; Strng; rescue NameError => e; puts e.message; end",
            "uninitialized constant Strng; did you mean String?",
        ),
        (
            "begin; Math::PII; rescue NameError => e; puts e.message; end",
            "uninitialized constant Math::PII; did you mean PI?",
        ),
        (
            "begin; Math.hypott(1); rescue => e; puts e.message; end",
            "undefined method 'hypott' for module Math; did you mean hypot?",
        ),
        (
            "begin; set :port, 1; rescue NameError => e; puts e.message; end",
            "undefined method 'set' for an instance of Object; Tsumugi has no set; use a constant or ENV",
        ),
        (
            "begin; db.query 'select 1'; rescue NameError => e; puts e.message; end",
            "undefined method 'db' for an instance of Object; a plugin makes it: `plugin(:db) { DB.connect }` near the top of the file",
        ),
        (
            "begin; 'a'.kv; rescue NameError => e; p e.message.include?('plugin'); end",
            "false",
        ),
        (
            "begin; 'a'.params; rescue NameError => e; p e.message.include?('Tsumugi has'); end",
            "false",
        ),
        (
            "class E < NoMethodError; def message = 'own'; end; begin; raise E; rescue => e; puts e.message; end",
            "own",
        ),
        (
            "begin; raise NameError, 'plain'; rescue NameError => e; puts e.message; end",
            "plain",
        ),
        (
            "begin; Class.new.new.foo; rescue => e; puts e.message[0, 29]; end",
            "undefined method 'foo' for an",
        ),
    ] {
        assert_eq!(
            found(program).trim_end().get(..message.len()),
            Some(message),
            "{program}"
        );
    }
}

#[test]
fn lines_are_those_of_cruby() {
    check_printed(
        "p \"a\\r\\nb\\n\\nc\".lines, \"a\\nb\\n\".lines(chomp: true), \"a-b\".lines(\"-\"), \"a-b-\".each_line(\"-\", chomp: true).to_a, \"a\\nb\".each_line.map(&:size)",
        "[\"a\\r\\n\", \"b\\n\", \"\\n\", \"c\"]\n[\"a\", \"b\"]\n[\"a-\", \"b\"]\n[\"a\", \"b\"]\n[2, 1]",
    );
}

fn check_printed(program: &str, printed: &str) {
    assert_eq!(found(program).trim_end(), printed, "{program}");
}
