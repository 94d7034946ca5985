//! Walks one by one, each with a change that was once wrong about memory, and what it answers now.

use tsumugi_mruby::{Options, Vm};

use crate::{WALKS, run};

/// An object whose methods are those of a Hash of lambdas.
const SHAPES: &str = r#"
class Shape
  def initialize(**methods)
    methods.each { |name, body| define_singleton_method(name, &body) }
  end
end
"#;

fn check(program: &str, expected: &str) {
    let vm = Vm::open(Options::default()).unwrap();
    vm.enter(|scope| {
        for source in [WALKS, SHAPES] {
            run(scope, source).unwrap_or_else(|raised| panic!("{}", scope.report(raised)));
        }
        let found = match run(scope, &format!("begin; {program}; end.inspect")) {
            Ok(value) => scope.text(value).unwrap(),
            Err(raised) => scope.report(raised).to_string(),
        };
        assert_eq!(found, expected, "{program}");
    });
}

#[test]
fn found_value_stays_while_it_is_compared() {
    for method in ["assoc", "rassoc"] {
        check(
            &format!(
                "list = []; same = Shape.new('==': ->(o) {{ list.clear; Churn.stir; true }})
                 list << [same, same, 'v found']; list.{method}(1)[2]"
            ),
            "\"v found\"",
        );
    }
}

#[test]
fn an_element_is_held_between_its_conversions() {
    check(
        "list = []; list << Shape.new(to_str: -> { list.clear; Churn.stir; nil }, to_s: -> { 'v joined' }); list.join('-')",
        "\"v joined\"",
    );
}

#[test]
fn a_format_that_is_changed_is_read_as_it_was() {
    check(
        "text = '%s and ' * 8 + '%s'; n = 0
         it = Shape.new(to_s: -> { text.replace('x' * 4_000); Churn.stir; (n += 1).to_s })
         format(text, *Array.new(9) { it })",
        "\"1 and 2 and 3 and 4 and 5 and 6 and 7 and 8 and 9\"",
    );
}

#[test]
fn a_value_is_held_while_the_key_beside_it_is_hashed() {
    check(
        "hash = {}; calls = 0
         key = Shape.new(eql?: ->(o) { true }, hash: -> { (calls += 1) == 20 ? (hash.clear; Churn.stir) : nil; 1 })
         hash[key] = 'v' + 'sliced'; calls = 19; hash.slice(key).values",
        "[\"vsliced\"]",
    );
}

#[test]
fn an_inspection_that_sets_variables_shows_those_that_were() {
    check(
        "object = Object.new; n = 0
         more = Shape.new(inspect: -> { 40.times { object.instance_variable_set(\"@n#{n += 1}\", 1) }; Churn.stir; 'more' })
         4.times { |i| object.instance_variable_set(\"@v#{i}\", i == 1 ? [more] : \"v #{i}\") }
         text = object.inspect; [text.include?('v 3'), text.include?('@n40'), n]",
        "[true, false, 40]",
    );
}

#[test]
fn a_hash_is_not_modified_while_its_keys_are_compared() {
    let message = "\"hash modified while its keys are compared\"";
    for change in [
        "hash.clear",
        "hash.delete(:other)",
        "hash.shift",
        "hash[:new] = 1",
        "hash.rehash",
        "hash.replace({})",
        "hash.merge!({ b: 1 })",
    ] {
        for size in [2, 40] {
            let program = |wanted| {
                format!(
                    "hash = {{}}; armed = nil
                     key = -> {{ Shape.new(hash: -> {{ 7 }}, eql?: ->(o) {{ ({change}) if armed; false }}) }}
                     {size}.times {{ |i| hash[i % 2 == 0 ? i : key.()] = 'v' }}; armed = true
                     begin; hash[key.()]; rescue => e; e.message; ensure armed = nil; end; {wanted}"
                )
            };
            check(
                &format!("x = ({}); x", program("").trim_end_matches("; ")),
                message,
            );
            // It is as it was, and may be modified again.
            check(
                &program("[hash.size, hash.keys.size, (hash[:after] = 1), hash.size]"),
                &format!("[{size}, {size}, 1, {}]", size + 1),
            );
        }
    }
}

#[test]
fn a_hash_that_raises_while_a_table_is_rebuilt_leaves_it_whole() {
    check(
        "hash = {}; armed = nil; n = 0
         key = -> { Shape.new(hash: -> { raise 'no hash' if armed && (n += 1) > 10; 7 }, eql?: ->(o) { false }) }
         30.times { |i| hash[i % 2 == 0 ? i : key.()] = \"v#{i}\" }
         armed = true; begin; hash.rehash; rescue => e; e.message; end; armed = nil
         50.times { |i| hash[\"k#{i}\"] = i }; Churn.stir
         count = 0; count += 1 while hash.shift; [count, hash.size]",
        "[80, 0]",
    );
}

#[test]
fn a_merge_goes_on_with_what_is_left_of_the_other() {
    check(
        "hash = { 1 => 'v' }; other = { 'k' => 'v k' }; calls = 0
         key = Shape.new(hash: -> { (calls += 1) > 1 && (other.clear; Churn.stir); 1 }, eql?: ->(o) { false })
         17.times { |i| hash[i] = 'v' }; other[key] = 'v' + ' merged'; other['last'] = 'v last'
         20.times { |i| other[\"k#{i}\"] = 'v' }; calls = 1
         hash.merge!(other); [hash.values.include?('v merged'), hash.key?('last'), other.size]",
        "[true, false, 0]",
    );
}
