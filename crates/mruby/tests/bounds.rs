//! What bounds native code: the C stack, numbers of many digits, texts that are searched, codes of a Hash.

use tsumugi_mruby::{Options, Scope, Vm, limits};

fn evaluate(scope: &Scope<'_>, source: &str) -> String {
    let program = scope
        .compile(source.as_bytes(), "bounds.rb", 1)
        .unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
    let result = scope
        .run(program)
        .and_then(|value| scope.call(value, "to_s", &[]));
    match result {
        Ok(text) => scope.text(text).unwrap(),
        Err(raised) => {
            let report = scope.report(raised);
            format!("{}: {}", report.class, report.message)
        }
    }
}

fn check(source: &str, expected: &str) {
    let vm = Vm::open(Options::default()).unwrap();
    assert_eq!(
        vm.enter(|scope| evaluate(scope, source)),
        expected,
        "{source}"
    );
}

/// What walks to the end of a value without a bound of its own.
const STACK: &str = "SystemStackError";
/// What asks only for the outermost part, or needs no stack.
const VALUE: &str = "a value";

/// Operations, and what becomes of each; none may end the process.
const DEEP: &[(&str, &str)] = &[
    ("$a.join", STACK),
    ("$a.inspect", STACK),
    ("$a.to_s", STACK),
    ("$a.flatten", STACK),
    ("$a.flatten!", STACK),
    ("$a == $b", STACK),
    ("$a.eql?($b)", STACK),
    ("$a <=> $b", STACK),
    ("$a.hash", STACK),
    ("{$a => 1}[$b]", STACK),
    ("{$a => 1} == {$b => 1}", STACK),
    ("[$a, $b].uniq", STACK),
    ("[$a] & [$b]", STACK),
    ("[$a] - [$b]", STACK),
    ("[$a].include?($b)", STACK),
    ("[$a].index($b)", STACK),
    ("[$a].product([$b])", VALUE),
    ("[$a].assoc($b)", STACK),
    ("[$a, $b].max", STACK),
    ("[$a, $b].sort", STACK),
    ("$a.dig(*[0] * 1000)", VALUE),
    ("[$a].to_h { |x| [x, x] }.inspect", STACK),
    ("\"#{$a}\"", STACK),
    ("'%p %s' % [$a, $a]", STACK),
    ("'x' + $h.to_s", STACK),
    ("$h.inspect", STACK),
    ("$h == $g", STACK),
    ("$h.eql?($g)", STACK),
    ("$h.hash", STACK),
    ("{$h => 1}[$g]", STACK),
    ("$h.to_a.flatten", VALUE),
    ("$h.merge($g) { |_, x, y| x == y }", STACK),
    ("$h.dig(*[:k] * 1000)", VALUE),
    ("$s.inspect", STACK),
    ("$s == $t", STACK),
    ("$s.eql?($t)", STACK),
    ("$s.hash", STACK),
    ("$d.inspect", STACK),
    ("$d == $e", STACK),
    ("($a..$b)", STACK),
    ("$r.inspect", STACK),
    ("$r == $q", STACK),
    ("$r.hash", STACK),
    ("$a.pack('A')", "TypeError"),
    ("[$a].pack('A*')", "TypeError"),
    ("Set.new([$a]).include?($b)", STACK),
    ("raise $a.to_s", STACK),
    ("raise ArgumentError, $a.inspect", STACK),
    ("$a.nothing", "NoMethodError"),
    ("$h.fetch($a)", STACK),
    (
        "Comparable.instance_method(:clamp).bind($c).call($c, $c)",
        STACK,
    ),
    ("$p.call", STACK),
    ("$m.to_s", VALUE),
];

const MAKE_DEEP: &str = "
    deep = ->(n) { x = [1]; n.times { x = [x] }; x }
    $a = deep.(N); $b = deep.(N)
    hashes = ->(n) { x = {}; n.times { x = {k: x} }; x }
    $h = hashes.(N); $g = hashes.(N)
    Link = Struct.new(:to)
    links = ->(n) { x = Link.new(nil); n.times { x = Link.new(x) }; x }
    $s = links.(N); $t = links.(N)
    Node = Data.define(:to)
    nodes = ->(n) { x = Node.new(to: nil); n.times { x = Node.new(to: x) }; x }
    $d = nodes.(N); $e = nodes.(N)
    class Span
      include Comparable
      attr_reader :to
      def initialize(to) = @to = to
      def <=>(other) = @to.nil? ? 0 : [@to] <=> [other.to]
      def ==(other) = [@to] == [other.to]
      def hash = [@to].hash
      def inspect = \"<#{@to.inspect}>\"
    end
    spans = ->(n) { x = Span.new(nil); n.times { x = Span.new(x) }; x }
    $c = spans.(N)
    $r = (spans.(2)..spans.(N)); $q = (spans.(2)..spans.(N))
    call = -> { 1 }; 30_000.times { inner = call; call = -> { [1].map { inner.call } } }; $p = call
    outer = Module.new; N.times { inner = Module.new; outer.const_set(:M, inner); outer = inner }; $m = outer
";

#[test]
fn value_nested_deeper_than_the_stack_leaves_the_vm_usable() {
    // On a stack as small as any that a VM gets, so that what no rule of Ruby's bounds comes to its end.
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let work = || {
        let vm = Vm::open(Options::default()).unwrap();
        let make = MAKE_DEEP
            .replace("N.times", "100_000.times")
            .replace("(N)", "(100_000)");
        vm.enter(|scope| assert_eq!(evaluate(scope, &format!("{make}; 1")), "1"));
        for &(source, expected) in DEEP {
            // A value that is not used is not even made.
            let program = format!(
                "begin; made = ({source}); '{VALUE}'; rescue StandardError, SystemStackError, NoMemoryError => error; error.class.to_s; end"
            );
            let outcome = vm.enter(|scope| evaluate(scope, &program));
            assert_eq!(outcome, expected, "{source}");
            let after = vm.enter(|scope| evaluate(scope, "[1, [2, {a: 3}]].inspect"));
            assert_eq!(after, "[1, [2, {:a=>3}]]", "{source}");
        }
        vm.enter(|scope| scope.collect());
    };
    thread.spawn(work).unwrap().join().unwrap();
}

#[test]
fn container_that_contains_itself_is_answered_or_raises() {
    for (source, expected) in [
        ("a.inspect", "[[...]]"),
        ("h.inspect", "{:k=>{...}}"),
        ("a.join", "ArgumentError: recursive array join"),
        ("a.hash", "SystemStackError: stack level too deep"),
        ("{a => 1}[a]", "1"),
        ("a == b", "SystemStackError: stack level too deep"),
        ("a <=> b", "SystemStackError: stack level too deep"),
        ("a.flatten", "SystemStackError: stack level too deep"),
        ("h == g", "SystemStackError: stack level too deep"),
    ] {
        let make = "a = []; a << a; b = []; b << b; h = {}; h[:k] = h; g = {}; g[:k] = g;";
        check(&format!("{make} {source}"), expected);
    }
}

#[test]
fn integers_keep_the_laws_of_arithmetic() {
    // Factors with digits of zero and of all ones, where carries go wrong.
    check(
        "pieces = [0, 1, 0xffffffff, 0x80000000, 0xfffffffe]
         numbers = []
         state = 12345
         400.times do
           n = 0
           (1 + numbers.size % 9).times { state = (state * 1103515245 + 12345) % 2147483648; n = (n << 32) + pieces[(state >> 8) % 5] }
           numbers << n
         end
         numbers.each_cons(2) do |a, b|
           raise \"* #{a} #{b}\" unless a * b == b * a && (a + 1) * b == a * b + b
           next if b == 0
           raise \"/ #{a} #{b}\" unless (a / b) * b + a % b == a && a * b / b == a
           raise \"to_s #{a}\" unless a.to_s.to_i == a && a.to_s(16).to_i(16) == a && a.to_s(36).to_i(36) == a && (-a).to_s.to_i == -a
           raise \"shift #{a}\" unless (a << 77) >> 77 == a && a << 40 == a * 2**40 && a >> 1000 == 0 && (-a - 1) >> 1000 == -1
         end
         [2**64 * (2**64 + 2**32 - 1), (2**32 - 1) * (2**64 + 2**32 - 1), (2**70) / 2.0 == 2.0**69, (2**70) ** -1 == 2.0**-70]",
        "[340282367000166625959192200951602610176, 79228162514264337584954015745, true, true]",
    );
    check("Integer('9' * 30)", &"9".repeat(30));
    check(
        "Integer('9' * 30 + 'x')",
        &format!(
            "ArgumentError: invalid string for number(\"{}x\")",
            "9".repeat(30)
        ),
    );
}

#[test]
fn integers_have_as_many_digits_as_the_limits_say() {
    let digits = limits::INTEGER_DIGITS_MAX;
    let bits = limits::INTEGER_BITS_MAX;
    let refused = format!(
        "RangeError: an integer of {} digits exceeds integer_digits_max ({digits})",
        digits + 1
    );
    for method in ["to_i", "to_i(36)", "hex", "oct", "then { |s| Integer(s) }"] {
        check(&format!("('1' * {digits}).{method}; 'made'"), "made");
        check(&format!("('1' * {}).{method}", digits + 1), &refused);
    }
    let refused = format!("RangeError: the result exceeds integer_bits_max ({bits})");
    for source in [
        format!("1 << {bits}"),
        format!("one = 1; one >> -{bits}"),
        "3 ** 65_537".to_owned(),
        format!("x = 1 << {half}; x * (x << 1)", half = bits / 2 - 1),
        "(2**70).pow(10_000)".to_owned(),
    ] {
        check(&source, &refused);
    }
    check(&format!("(1 << {}).to_s.size", bits - 1), "19729");
}

/// What a program of so many bytes answers when Ruby compiles it.
fn evaluated(call: &str, bytes: usize, bytes_max: usize) -> String {
    let vm = Vm::open(Options {
        eval_bytes_max: bytes_max,
        ..Options::default()
    });
    let source = format!("text = '12' + ' ' * {}; {call}", bytes - 2);
    vm.unwrap().enter(|scope| evaluate(scope, &source))
}

#[test]
fn programs_that_ruby_compiles_have_as_many_bytes_as_the_limit_says() {
    let refused = "ArgumentError: a program of 101 bytes exceeds eval_bytes_max (100)";
    for call in [
        "eval(text)",
        "eval(text, binding, 'file', 7)",
        "binding.eval(text)",
        "Object.new.instance_eval(text)",
        "Class.new.class_eval(text)",
        "Module.new.module_eval(text)",
    ] {
        assert_eq!(evaluated(call, 100, 100), "12", "{call}");
        assert_eq!(evaluated(call, 101, 100), refused, "{call}");
        assert_eq!(evaluated(call, 101, 0), "12", "{call}");
    }
}

#[test]
fn a_search_from_the_end_finds_what_a_search_from_the_start_finds() {
    check(
        "text = 'ab' * 40 + '日本' * 20 + 'ab' * 40
         (0..text.size / 7).map { |i| 7 * i }.all? { |i| [1, 16, 17, 31, 32, 33, 40, 64].all? { |n|
           part = text[i, n]
           places = (0..text.size - part.size).select { |at| text[at, part.size] == part }
           text.rindex(part) == places.last && text.rindex(part, 90) == places.select { |at| at <= 90 }.last && text.rindex(part + '!').nil? } }",
        "true",
    );
    // By the product of both lengths this takes minutes.
    check(
        "('b' + 'a' * 2_000_000).rindex('b' + 'a' * 1_000_000 + 'c').inspect",
        "nil",
    );
}

#[test]
fn numbers_that_are_much_too_large_are_answered_at_once() {
    check("[[] * 2**62, ([] * (2**63 - 1)).size]", "[[], 0]");
    check(
        "begin; [1].fill(0, 0, 2**62); rescue IndexError => e; e.class; end",
        "IndexError",
    );
    check(
        "[[1].fill(0, 2, 2), [1].fill(0, 2, 0), [1].fill(-1, 2) { |i| i }, [1].fill { |i| i + 5 }]",
        "[[1, nil, 0, 0], [1, nil], [0, 1], [5]]",
    );
    check(
        "[0.0 << 2**62, (1.5 << 2**62).infinite?, 1.5 << 2, (3.0 << 1_000) == 3.0 * 2.0**1_000]",
        "[0, 1, 6, true]",
    );
}

#[test]
fn text_is_padded_with_as_much_as_it_needs() {
    check(
        "['ab'.ljust(7, '0123456789'), 'ab'.rjust(7, '0123456789'), 'ab'.center(7, '0123456789'), 'ab'.ljust(7, 'xyz'), 'ab'.center(7, 'é'),
          'ab'.center(2_000_000, 'x' * 1_000).size]",
        "[\"ab01234\", \"01234ab\", \"01ab012\", \"abxyzxy\", \"ééabééé\", 2000000]",
    );
}

#[test]
fn elements_that_are_drawn_are_different_ones() {
    // By the square of their number this takes minutes.
    check(
        "all = (0...400_000).to_a; drawn = all.sample(399_999)
         [drawn.size, drawn.uniq.size, (drawn - all).size, all == (0...400_000).to_a]",
        "[399999, 399999, 0, true]",
    );
    check(
        "[0, 1, 15, 16, 17, 18, 20, 21].map { |n| (0...20).to_a.sample(n).uniq.size }",
        "[0, 1, 15, 16, 17, 18, 20, 20]",
    );
}

#[test]
fn keys_of_a_hash_that_share_their_lower_bits_are_found_as_fast_as_others() {
    // 100,000 Integers of which none differs from another in its lower 32 bits: by the square this takes minutes.
    check(
        "h = {}; 100_000.times { |i| h[i << 32] = i }; (0...100_000).all? { |i| h[i << 32] == i } && h.size == 100_000",
        "true",
    );
    check(
        "[{'a' => 1, :b => 2, 3 => 4, 2**70 => 5, 1.5 => 6}].all? { |h| h['a'] + h[:b] + h[3] + h[2**70] + h[1.5] == 18 }",
        "true",
    );
}

#[test]
fn random_bytes_of_a_negative_number_are_refused() {
    for call in ["Random.bytes", "Random.new(1).bytes"] {
        for number in ["-1", "-2**63"] {
            check(
                &format!("{call}({number})"),
                "ArgumentError: negative number of bytes",
            );
        }
        check(
            &format!("[{call}(0).bytesize, {call}(3).bytesize]"),
            "[0, 3]",
        );
    }
}
