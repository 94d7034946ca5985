//! What the parser makes of Ruby, where it was otherwise than in CRuby; and the names that a program uses.

use tsumugi_mruby::{NameUse, Options, Vm};

fn check(source: &str, expected: &str) {
    let vm = Vm::open(Options::default()).unwrap();
    let found = vm.enter(|scope| {
        let source = format!("({source}).inspect");
        let program = match scope.compile(source.as_bytes(), "test.rb", 1) {
            Ok(program) => program,
            Err(errors) => return errors[0].to_string(),
        };
        match scope.run(program) {
            Ok(text) => scope.text(text).unwrap(),
            Err(raised) => scope.report(raised).to_string(),
        }
    });
    assert_eq!(found, expected, "{source}");
}

#[test]
fn body_between_begin_and_end_runs_before_its_condition_is_asked() {
    check("i = 0; begin; i += 1; end while i < 0; i", "1");
    check("i = 0; begin; i += 1; end while i < 3; i", "3");
    check("i = 0; begin; i += 1; end until i == 4; i", "4");
    check("i = 0; begin; i += 1; end while false; i", "1");
    check("i = 0; begin; i += 1; end until true; i", "1");
    check(
        "i = 0; begin; i += 1; break 7 if i == 5; end while true",
        "7",
    );
    check(
        "i = 0; begin; i += 1; next if i == 2; end while i < 3; i",
        "3",
    );
    check(
        "i = 0; begin; i += 1; raise 'a' if i == 1; rescue; i += 2; end while i < 4; i",
        "4",
    );
}

#[test]
fn condition_of_other_statements_is_asked_first() {
    check("i = 0; i += 1 while i < 0; i", "0");
    check("i = 0; (i += 1) while i < 0; i", "0");
    check("i = 0; (i += 1; i += 1) until true; i", "0");
    check("i = 0; while i < 0 do begin; i += 1; end end; i", "0");
    check("x = begin; 1; 2; end; x", "2");
    check("x = begin; end; x", "nil");
    check("x = begin; raise 'a'; rescue; 3; ensure; 4; end; x", "3");
    check("[begin; 1; end, (begin; 2; end if true)]", "[1, 2]");
}

#[test]
fn short_method_without_parentheses_has_its_block() {
    check("class A; def a = [1, yield]; end; A.new.a { 2 }", "[1, 2]");
    check(
        "class A; def a = 'A'; end; class B < A; def a = 'B' + super; end; class C < B; def a = 'C' + super(); end; C.new.a",
        "\"CBA\"",
    );
    check(
        "class A; def a = block_given?; end; [A.new.a, A.new.a {}]",
        "[false, true]",
    );
    check("class A; def self.a = [0, yield]; end; A.a { 5 }", "[0, 5]");
    check(
        "class A; def a = [1].map { |x| x + yield }; end; A.new.a { 2 }",
        "[3]",
    );
    check(
        "class A; def a = 1; end; begin; A.new.a(2); rescue ArgumentError => e; e.message; end",
        "\"wrong number of arguments (given 1, expected 0)\"",
    );
}

#[test]
fn interpolation_without_braces_is_refused() {
    for text in ["\"#@a\"", "\"x#@@a\"", "\"#$a\"", "/#@a/", "`#$a`"] {
        let vm = Vm::open(Options::default()).unwrap();
        let message = vm.enter(|scope| {
            let errors = scope.compile(text.as_bytes(), "test.rb", 1).err().unwrap();
            errors[0].message.clone()
        });
        assert!(
            message.starts_with("mruby has no interpolation without braces"),
            "{text}: {message}"
        );
    }
    check("'#@a'", "\"\\#@a\"");
    check(
        "['#1', \"a#\", \"#@\", \"# $a\", (/a#$/ if false)]",
        "[\"#1\", \"a#\", \"\\#@\", \"# $a\", nil]",
    );
}

#[test]
fn names_of_a_program_are_those_in_its_code() {
    let source = "A = File\nclass B < C\n  def d = it\nend\nputs 1\n$e = $f\n'text'\nx.y :z\nalias g h\nG::H\n";
    let vm = Vm::open(Options::default()).unwrap();
    let names = vm.enter(|scope| {
        let program = scope.compile(source.as_bytes(), "test.rb", 1).unwrap();
        scope.program_names(program)
    });
    for (used, name, line) in [
        (NameUse::Constant, "File", 1),
        (NameUse::ConstantDefined, "A", 1),
        (NameUse::ConstantDefined, "B", 2),
        (NameUse::Constant, "C", 2),
        (NameUse::MethodDefined, "d", 3),
        (NameUse::OwnCall, "it", 3),
        (NameUse::OwnCallWith, "puts", 5),
        (NameUse::Global, "$f", 6),
        (NameUse::GlobalSet, "$e", 6),
        (NameUse::OwnCall, "x", 8),
        (NameUse::Call, "y", 8),
        (NameUse::Symbol, "z", 8),
        (NameUse::MethodDefined, "g", 9),
        (NameUse::Constant, "G", 10),
    ] {
        assert!(
            names
                .iter()
                .any(|n| n.used == used && n.name == name && n.line == line),
            "{used:?} {name} {line}: {names:?}"
        );
    }
    assert!(!names.iter().any(|n| n.name == "H"), "{names:?}");
}
