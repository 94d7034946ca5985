//! Values of wrong classes: every method of the core classes is called with them, and none may take an object's address for a number.
//! What each raises is CRuby's business (snippets/types.rb); here the process goes on, and no result is in the range of addresses.

use crate::rig::output;

/// `$found` gets each call whose result has a number between the lowest and the highest address of objects, give or take a gigabyte.
const PRELUDE: &str = r##"
S = Struct.new(:a, :b)
D = Data.define(:a)
class Unset < S; def initialize; end; end
VALUES = [
  -> { "x" }, -> { nil }, -> { [] }, -> { {} }, -> { :a }, -> { true }, -> { Object.new }, -> { Rational(1, 2) }, -> { 2**64 }, -> { -(2**64) },
  -> { -1 }, -> { 1.5 }, -> { Float::NAN }, -> { 2**62 }, -> { -2**63 }, -> { 1..2 }, -> { S.new(1, 2) }, -> { Time.at(0) }, -> { String },
  -> { "a" * 100 }, -> { ->(x) { x } }, -> { /a/ }, -> { { a: 1 } }, -> { Set.new([1]) }, -> { DB::Decimal.new(1, 1) }, -> { DB::Date.new(2024, 1, 1) },
]
SKIPPED = %i[
  exit exit! abort sleep loop gets fork exec system __send__ send public_send instance_eval instance_exec class_eval class_exec module_eval
  module_exec eval binding cycle freeze method_missing transfer resume raise throw fail define_method remove_method undef_method remove_const
  instance_variable_set const_set alias_method include prepend extend singleton_class attr_accessor attr_writer attr_reader attr finalize
  halt upto downto times step define_singleton_method public private protected module_function class_variable_set remove_class_variable
  append_features prepend_features extend_object srand GC disable start set_backtrace p puts print printf putc pp warn display define object_id __id__ hash inspect to_s
]
ids = (0...2_000).map { |i| [Object.new, "text #{i}", [i], { i => i }][i % 4].object_id }
LOW = ids.min - 2**30
HIGH = ids.max + 2**30
$found = []

def address?(number) = number.abs.between?(LOW, HIGH)

def address_in(result)
  case result
  when Integer then address?(result)
  when Float then result.finite? && address?(result.to_i)
  when Time then address?(result.to_i) || address?(result.usec)
  when Rational then address?(result.numerator) || address?(result.denominator)
  when String then result.size < 2_000 && result.scan(/(?<![0-9a-zA-Z])[0-9]{7,20}/).any? { |digits| address?(digits.to_i) }
  when Array then result.size < 50 && result.any? { |part| !part.equal?(result) && address_in(part) }
  when Hash then result.size < 50 && address_in(result.to_a)
  end
end

def try(name, receiver, method, arguments)
  result = receiver.__send__(method, *arguments)
  return unless address_in(result)
  $found << "#{name}.#{method}(#{arguments.map(&:class).join(', ')})"
rescue Tsumugi::Overrun
  $found << "#{name}.#{method}(#{arguments.map { |a| a.inspect[0, 40] }.join(", ")}) runs long"
rescue StandardError, NoMemoryError, SystemStackError, ScriptError, UncaughtThrowError
end

def all(name, made)
  (made.call.methods - SKIPPED).each do |method|
    next if method.to_s.start_with?("__")
    try(name, made.call, method, [])
    VALUES.each_with_index do |value, i|
      other = VALUES[(i * 7 + 3) % VALUES.size]
      try(name, made.call, method, [value.call])
      try(name, made.call, method, [0, value.call])
      try(name, made.call, method, [value.call, other.call])
      try(name, made.call, method, ["a", other.call, value.call]) if i % 3 == 0
      sleep 0
    end
  end
end
"##;

fn check(receivers: &[&str]) {
    let calls: String = receivers
        .iter()
        .map(|receiver| format!("all({receiver:?}, -> {{ {receiver} }})\n"))
        .collect();
    assert_eq!(
        output(&format!("{PRELUDE}{calls}puts $found.uniq.inspect")).trim_end(),
        "[]"
    );
}

#[test]
fn methods_of_numbers_take_no_address_for_a_number() {
    check(&[
        "5",
        "2**70",
        "-(2**70)",
        "1.5",
        "Float::INFINITY",
        "Rational(1, 3)",
        "Integer",
        "Float",
        "Math",
        "Comparable",
    ]);
}

#[test]
fn methods_of_times_take_no_address_for_a_number() {
    check(&[
        "Time.at(0)",
        "Time",
        "Process",
        "DB::Date.new(2024, 1, 1)",
        "DB::Date",
        "DB::Decimal.new(15, 1)",
        "DB::Decimal",
    ]);
}

#[test]
fn methods_of_containers_take_no_address_for_a_number() {
    check(&[
        "[3, 1, 2]",
        "[3, 'a', nil]",
        "{ a: 1, b: 2 }",
        "(1..3)",
        "('a'..'c')",
        "Set.new([1, 2])",
        "S.new(1, 2)",
        "D.new(a: 1)",
        "[1, 2].each",
        "[1, 2].lazy",
        "Array",
        "Hash",
        "Range",
        "Struct",
        "S",
        "D",
        "Enumerator",
    ]);
}

#[test]
fn methods_of_texts_take_no_address_for_a_number() {
    check(&[
        "'abc'",
        "'10'",
        ":abc",
        "/a(b)/",
        "'ab'.match(/a(b)/)",
        "String",
        "Symbol",
        "Regexp",
        "JSON",
        "Base64",
        "URI",
        "CGI",
        "SecureRandom",
        "Digest::SHA256",
    ]);
}

#[test]
fn methods_of_programs_take_no_address_for_a_number() {
    check(&[
        "->(x) { x }",
        "5.method(:+)",
        "Integer.instance_method(:+)",
        "RuntimeError.new('x')",
        "Kernel",
        "Object.new",
        "nil",
        "true",
        "Fiber.new { |x| x }",
        "ObjectSpace",
        "Proc",
        "Method",
        "UnboundMethod",
        "Exception",
        "Class",
        "Module",
        "Random.new(1)",
        "Random",
    ]);
}

#[test]
fn objects_that_were_allocated_only_take_no_address_for_a_number() {
    check(&[
        "String.allocate",
        "Array.allocate",
        "Hash.allocate",
        "Range.allocate",
        "Exception.allocate",
        "Time.allocate",
        "Random.allocate",
        "Set.allocate",
        "Rational.allocate",
        "Fiber.allocate",
        "Unset.new",
        "D.allocate",
        "Enumerator.allocate",
        "Class.allocate",
        "Module.allocate",
        "Object.allocate",
    ]);
}

#[test]
fn directives_of_format_and_pack_take_no_address_for_a_number() {
    let program = r##"
        "csSlLqQnNvVU".each_char do |letter|
          VALUES.each do |made|
            begin
              value = made.call
              next if value.is_a?(Integer)
              bytes = [value].pack(letter)
              $found << "pack #{letter} #{value.class}" unless value.is_a?(Float) || value.is_a?(Rational)
            rescue TypeError, RangeError, ArgumentError
            end
          end
        end
        %w[d i u f g e G E x X o b B c s p a A %].each do |letter|
          ["%#{letter}", "%5#{letter}", "%*#{letter}", "%.3#{letter}", "%.*#{letter}", "%<a>#{letter}", "%1$#{letter}"].each do |text|
            VALUES.each do |made|
              try("Kernel", self, :format, [text, made.call])
              try("Kernel", self, :format, [text, made.call, made.call])
              try("Kernel", self, :format, [text, { a: made.call }])
            end
          end
        end
        puts $found.uniq.inspect
    "##;
    assert_eq!(output(&format!("{PRELUDE}{program}")).trim_end(), "[]");
}

#[test]
fn methods_are_bound_to_receivers_of_their_class_only() {
    let program = r##"
        [5, 1.5, "a", :a, [1], { a: 1 }, 1..2, Time.at(0), Rational(1, 2), S.new(1, 2), ->(x) { x }, RuntimeError.new("x"), Random.new(1)].each do |owner|
          owner.class.instance_methods(false).each do |name|
            method = owner.class.instance_method(name)
            VALUES.each do |made|
              value = made.call
              next if value.is_a?(owner.class)
              begin
                method.bind(value)
                $found << "#{owner.class}##{name} bound to #{value.class}"
              rescue TypeError
              end
              begin
                Class.new { define_method(:m, method) }.new.m(1)
                $found << "#{owner.class}##{name} defined in another class"
              rescue StandardError
              end
            end
          end
        end
        puts $found.uniq.first(20).inspect
    "##;
    assert_eq!(output(&format!("{PRELUDE}{program}")).trim_end(), "[]");
}
