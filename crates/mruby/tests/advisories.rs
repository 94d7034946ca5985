//! Programs like those that known defects of mruby were reported with (SECURITY.md names them), run in our VM.
//! Rule: each ends with a value or an exception, and the VM works on afterwards.

use tsumugi_mruby::{Options, Scope, Vm};

/// The value of a program, inspected; an exception by its class. A program that cannot be compiled is a `SyntaxError`.
fn evaluate(scope: &Scope<'_>, source: &str) -> String {
    let Ok(program) = scope.compile(source.as_bytes(), "test.rb", 1) else {
        return "SyntaxError".to_owned();
    };
    let run = scope.run(program);
    match run.and_then(|value| scope.call(value, "inspect", &[])) {
        Ok(text) => scope.text(text).unwrap(),
        Err(raised) => scope.report(raised).class,
    }
}

fn check(programs: &[(&str, &str)]) {
    let vm = Vm::open(Options::default()).unwrap();
    for (source, expected) in programs {
        assert_eq!(
            vm.enter(|scope| evaluate(scope, source)),
            *expected,
            "{source}"
        );
        let after = "GC.start; (1..1000).map { |n| \"a#{n}\" }.sort.size";
        assert_eq!(
            vm.enter(|scope| evaluate(scope, after)),
            "1000",
            "after {source}"
        );
    }
}

/// CVE-2025-7207.
#[test]
fn scope_has_registers_for_all_its_variables() {
    let names: Vec<String> = (0..200).map(|n| format!("v{n}")).collect();
    let (all, some) = (names.join(", "), names[..30].join(", "));
    let values = names.join(" = ") + " = 7";
    let of_block = format!(
        "[proc {{ |;{all}| }}.call, proc {{ |{some}| }}.call, lambda {{ |a = 1; {all}| }}.call]"
    );
    let of_method = format!("def m({some}) end; m(*(1..30).to_a)");
    let of_class = format!("class A; {values}; end");
    let of_loop = format!("for {some} in [(1..30).to_a] do end; v29");
    let unused = format!("def n; return; {values}; end; n");
    check(&[
        (&of_block, "[nil, nil, nil]"),
        (&of_method, "nil"),
        (&of_class, "7"),
        (&of_loop, "30"),
        (&unused, "nil"),
        ("class B; end; module C; end; class << self; end", "nil"),
        ("-> { |a| }", "SyntaxError"),
        (
            "1.times { |a, (b, *c), d = 1, *e, f:, g: 2, **h, &i| } rescue 3",
            "3",
        ),
    ]);
}

/// CVE-2025-12875.
#[test]
fn fill_stays_within_its_array() {
    check(&[
        ("[1, 2].fill(0, 4)", "[1, 2]"),
        ("[1, 2].fill(0, -9)", "IndexError"),
        ("[1, 2].fill(0, 1, -5)", "[1, 2]"),
        ("[1, 2, 3].fill(0, 5, 1)", "[1, 2, 3, nil, nil, 0]"),
        (
            "a = [1] * 40; a.fill { |i| a.clear if i == 3; i }; a.size <= 40",
            "true",
        ),
        ("[].fill(0, 2 ** 62, 2 ** 62).size rescue 1", "1"),
    ]);
}

/// CVE-2025-13120.
#[test]
fn comparison_that_changes_the_array_that_is_sorted_does_no_harm() {
    check(&[
        (
            "a = (1..40).to_a; (a.sort! { a.clear; GC.start; 0 } rescue 0); a.size <= 40",
            "true",
        ),
        (
            "a = [3, 2, 1]; (a.sort! { a[20] = 0; 1 } rescue 0); a.size >= 3",
            "true",
        ),
        (
            "$a = Array.new(30) { Object.new }; class Object; def <=>(o); $a.clear; GC.start; 0; end; end; ($a.sort! rescue 0); $a.size <= 30",
            "true",
        ),
        (
            "a = (1..9).to_a; (a.sort_by! { a.shift; 1 } rescue 0); a.size <= 9",
            "true",
        ),
        (
            "a = (1..9).to_a; (a.max { a.clear; 1 } rescue 0); a.size <= 9",
            "true",
        ),
    ]);
}

/// CVE-2026-1979 and CVE-2026-79590: what these are about is not in this mruby.
#[test]
fn pattern_matching_is_a_syntax_error() {
    check(&[
        ("case 1; in ^nothing then 2; end", "SyntaxError"),
        ("R=>^\u{105};0", "SyntaxError"),
        ("1 in Integer", "SyntaxError"),
        ("{ a: 1 } => { a: }", "SyntaxError"),
        ("", "nil"),
    ]);
}
