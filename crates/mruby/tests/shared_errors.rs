//! The errors that a VM makes beforehand, for when there is room for none: what one rescue clause does to them, no other sees.

use tsumugi_mruby::{Options, Vm};

fn check(program: &str, expected: &str) {
    let vm = Vm::open(Options {
        memory_bytes_max: 8 << 20,
        ..Options::default()
    });
    vm.unwrap().enter(|scope| {
        let source = format!(
            "def full = (Array.new(1 << 21) {{ 'x' * 100 }}; nil)
             def deep = deep
             def caught(what) = begin; send(what); nil; rescue NoMemoryError, SystemStackError => error; error; end
             {program}"
        );
        let program = scope.compile(source.as_bytes(), "shared.rb", 1).unwrap();
        let result = scope.run(program).and_then(|value| scope.call(value, "inspect", &[]));
        let text = result.map(|text| scope.text(text).unwrap());
        assert_eq!(text.map_err(|raised| scope.report(raised).message), Ok(expected.to_owned()));
    });
}

#[test]
fn changes_of_an_error_of_the_vm_are_refused_or_its_own() {
    for change in [
        "e.set_backtrace(['a'])",
        "e.instance_variable_set(:@a, 1)",
        "e.to_s << 'more'",
        "e.define_singleton_method(:own) { 1 }",
        "def e.own = 1",
        "e.extend(Module.new)",
        "e.singleton_class.include(Module.new)",
    ] {
        check(
            &format!(
                "e = caught(:full); begin; {change}; rescue FrozenError, TypeError; 'refused'; end"
            ),
            "\"refused\"",
        );
        check(
            &format!(
                "e = caught(:deep); {change}; n = caught(:deep); [n.equal?(e), n.to_s, n.respond_to?(:own), n.backtrace == ['a']]"
            ),
            "[false, \"stack level too deep\", false, false]",
        );
    }
}

#[test]
fn error_of_the_vm_is_as_it_was_the_next_time() {
    check(
        "def other = deeper
         def deeper = other
         first = caught(:deep).backtrace
         second = caught(:other).backtrace
         [first == second && !first.to_a.empty?, caught(:full).backtrace == caught(:full).backtrace, caught(:deep).message]",
        "[false, true, \"stack level too deep\"]",
    );
}
