//! Keywords of a method as `super` without arguments passes them on: what the parameters are at that moment, as in CRuby.

use tsumugi_mruby::{Options, Vm};

const CLASSES: &str = "
    class Above
      def all(a, b = 2, *r, k:, l: 5, **o, &block) = [a, b, r, k, l, o, block ? block.call : nil]
      def defaults(k: 1, l: 2) = [k, l]
      def rest(**o) = o
      def one(x, k: 0) = [x, k]
      def plain(*a) = a
    end
    class Below < Above
      def all(a, b = 7, *r, k:, l: 6, **o, &block) = super
      def defaults(k: 10, l: 20)
        l += 1
        super
      end
      def rest(a: 1, **o) = super
      def one(x, k: 3) = [1].map { |y| [2].map { super } }.first.first
      def plain(k: 4) = super
    end
    class Beside < Above
      def all(a, k:)
        k *= 2
        super { :own }
      end
      def rest(**o)
        before = super
        o[:late] = 1
        [before, o]
      end
      def one(x, k: 3) = [1].map { |k| super }.first
      def defaults(k: 1, l: 2)
        1.times { 1.times { return super } }
      end
    end
    class Strict < Above
      def one(x, k:) = super
    end
    ";

fn check(source: &str, expected: &str) {
    let vm = Vm::open(Options::default()).unwrap();
    let found = vm.enter(|scope| {
        let source = format!("{CLASSES}({source}).inspect");
        let program = scope.compile(source.as_bytes(), "test.rb", 1).unwrap();
        match scope.run(program) {
            Ok(text) => scope.text(text).unwrap(),
            Err(raised) => scope.report(raised).to_string(),
        }
    });
    assert_eq!(found, expected, "{source}");
}

#[test]
fn keywords_are_those_that_were_given_or_their_defaults() {
    check("Below.new.all(1, k: 3)", "[1, 7, [], 3, 6, {}, nil]");
    check(
        "Below.new.all(1, 2, 3, 4, k: 3, l: 4, m: 5) { :block }",
        "[1, 2, [3, 4], 3, 4, {:m=>5}, :block]",
    );
    check("Below.new.defaults", "[10, 21]");
    check("Below.new.defaults(k: 3)", "[3, 21]");
    check("Below.new.plain", "[{:k=>4}]");
}

#[test]
fn rest_of_the_keywords_is_passed_as_a_hash_of_its_own() {
    check("Below.new.rest", "{:a=>1}");
    check("Below.new.rest(a: 5, z: 6)", "{:z=>6, :a=>5}");
    check("Beside.new.rest(q: 1)", "[{:q=>1}, {:q=>1, :late=>1}]");
    check(
        "given = { k: 1, m: 2 }; [Below.new.all(0, **given), given]",
        "[[0, 7, [], 1, 6, {:m=>2}, nil], {:k=>1, :m=>2}]",
    );
}

#[test]
fn block_passes_on_the_keywords_of_its_method_whatever_its_own_variables_are_called() {
    check("Below.new.one(9)", "[9, 3]");
    check("Below.new.one(9, k: 8)", "[9, 8]");
    check("Beside.new.one(1)", "[1, 3]");
    check("Beside.new.one(1, k: 2)", "[1, 2]");
    check("Beside.new.defaults(l: 4)", "[1, 4]");
    check("Beside.new.all(1, k: 2)", "[1, 2, [], 4, 5, {}, :own]");
}

#[test]
fn missing_and_unknown_keywords_are_those_of_the_method_that_was_called() {
    check("Strict.new.one(1)", "ArgumentError: missing keyword: k");
    check(
        "Strict.new.one(1, k: 2, u: 3)",
        "ArgumentError: unknown keyword: u; known are k:",
    );
    check("Strict.new.one(1, k: 2)", "[1, 2]");
}

#[test]
fn unknown_keyword_is_answered_with_the_known_ones() {
    check(
        "def several(a, k:, l: 5) = [k, l]
         begin; several(1, k: 2, m: 3); rescue ArgumentError => e; e.message; end",
        "\"unknown keyword: m; known are k:, l:\"",
    );
}

#[test]
fn keywords_of_instance_exec_reach_its_block() {
    check(
        "[1.instance_exec(2, k: 3) { |x, k: 0| [self, x, k] }, 1.instance_exec(k: 3) { |k: 0, **o| [k, o] },
          1.instance_exec(2) { |x, k: 0| [x, k] }, 1.instance_exec({ a: 1 }) { |h| h }, 1.instance_exec(1, k: 2) { |x, h| [x, h] },
          1.instance_exec(*(1..20), k: 4) { |*a, k:| [a.size, k] }, 1.instance_exec(**{}) { |*a, **o| [a, o] }]",
        "[[1, 2, 3], [3, {}], [2, 0], {:a=>1}, [1, {:k=>2}], [20, 4], [[], {}]]",
    );
}

#[test]
fn parameters_tell_required_keywords_from_others() {
    check(
        "->(a, b = 1, *c, d, e:, f: 1, **g, &h) {}.parameters",
        "[[:req, :a], [:opt, :b], [:rest, :c], [:req, :d], [:keyreq, :e], [:key, :f], [:keyrest, :g], [:block, :h]]",
    );
    check(
        "[->(a, k:, l: 1) {}, ->(k: 1) {}, ->(a, b = 1, k:, &g) {}, ->(*a, k:) { x = 1 }, ->(**o, &g) {}, ->(a, &g) {}].map(&:parameters)",
        "[[[:req, :a], [:keyreq, :k], [:key, :l]], [[:key, :k]], [[:req, :a], [:opt, :b], [:keyreq, :k], [:block, :g]], \
         [[:rest, :a], [:keyreq, :k]], [[:keyrest, :o], [:block, :g]], [[:req, :a], [:block, :g]]]",
    );
}
