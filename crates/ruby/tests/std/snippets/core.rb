# Core classes and ENV, as CRuby has them. Not what differs on purpose. Every line of output is compared.
S = Struct.new(:a, :b, keyword_init: true) do
  def sum = a + b
end
p S.new(a: 1, b: 2).to_a, S.new(a: 1, b: 2).sum, (S.new(c: 1) rescue "ArgumentError")
T = Struct.new(:a, :b)
p T.new(1, 2).to_h, T.new(1), T.new(1, 2) == T.new(1, 2)
p "%05.2f|%-5s|%+d|%x|%08b|%e|%s|%p|%c|%%" % [1.5, "a", 3, 255, 5, 12.5, :x, nil, "z"], format("%<a>05d %{b}", a: 5, b: "x"), "%s and %s" % %w[a b], "%.3f" % 2.0, "%,d".size
p Integer("12"), Integer("0x1f", 16), Integer("z", 36), Integer("12", exception: false), Integer("q", exception: false), Integer("0b11"), Integer("0x1f"), Integer(3.9), Integer(" 42 "), Integer("1_000"), Integer("-0x1f", 16), Integer("100", 2), Integer("010", 10), Integer("10")
%w[x 1x 1.5].each { |s| begin; Integer(s); rescue ArgumentError; puts "bad #{s}"; end }
begin; Integer(nil); rescue TypeError; puts "TypeError"; end
p Float("1.5"), Float("1e3"), Float("q", exception: false), Float(3), (Float("") rescue "bad"), Float(" 2.5 ")
p "hello".tr("a-y", "b-z"), "hello".tr("^l", "*"), "hello".delete("l"), "aaabb".squeeze, "aaabb".squeeze("a"), "a".center(5), "a".ljust(3, "."), "あ".rjust(3), "ab".center(7, "12")
p 123.digits, 5.clamp(1, 3), 5.clamp(..3), 1.5.clamp(2, 3), 0.clamp(1..), "abc".unpack1("H*"), ["616263"].pack("H*"), [1, 2].pack("C*"), "aBc".casecmp?("AbC"), "aBc".casecmp("AbD"), "É".downcase, "éa".upcase, "ß".upcase, "éà".capitalize, "Éa".swapcase
h = { a: 1, b: 2 }
p h.to_h { |k, v| [v, k] }, h.sum { |_, v| v }, h.min_by { |_, v| v }, h.sort_by { |_, v| -v }, h.filter_map { |k, v| k if v > 1 }, h.each_with_index.map { |(k, v), i| [k, v, i] }, h.group_by { |_, v| v.odd? }, h.partition { |_, v| v > 1 }, h.find { |_, v| v == 2 }, h.any? { |_, v| v > 1 }, h.reduce(0) { |s, (_, v)| s + v }, h.each_with_object([]) { |(k, _), a| a << k }, h.dig(:a), h.transform_values { |v| v * 2 }, h.transform_keys(&:to_s), h.slice(:a), h.except(:a), h.invert, h.key(2), h.assoc(:a), h.rassoc(2), h.count, h.to_a, h.max_by { |_, v| v }, h.sum { |_, v| v.to_f }, h.reject { |k, _| k == :a }, h.merge({ b: 3 }) { |_, a, b| a + b }, h.fetch_values(:a), h.filter_map { |_, v| v }, h.zip([1]), h.flat_map { |k, v| [k] * v }
p [3, 1, 2].sum, [0.1, 0.2, 0.3].sum, [0.1] * 3, %w[a b].sum(""), [1, 2, 3, 4].each_slice(2).to_a, [1, 2, 3].each_cons(2).to_a, %w[a b a].tally, [1, 2, 3].filter_map { |x| x * 2 if x.odd? }, [3, 1].min_by { |x| x }, [1, 2, 4, 5, 7].slice_when { |a, b| b != a + 1 }.to_a, [1, 2, 4].chunk_while { |a, b| b == a + 1 }.to_a, [1, 1, 2, 3].chunk(&:odd?).to_a, [[1, 2], [3]].to_h { |a, b| [a, b] }, [3, 1, 2].sort_by! { |x| -x }, [1, 2, 3].inject(:+), [1, [2, [3]]].flatten(1), [1, 2, 3].each_with_index.to_a, %w[x y].each_with_index.to_h, [1, 2, 3, 4].partition(&:even?), [1, 2].cycle.first(5), [1, 2, 3].zip([4, 5, 6], [7, 8, 9]), [1, 2, 3].minmax, [nil, 1].compact, [1, 2, 3].combination(2).to_a, [3, 1].sort.reverse, [1, 2, 3].values_at(0, 2), [[2, 1], [1, 2]].sort, [1, 2, 3].take_while { |x| x < 3 }, [1, 2] & [2], [1] | [2], [1, 2, 2].uniq, ["a", "b"].each_with_object({}) { |x, m| m[x] = 1 }
p 12.gcd(8), 4.lcm(6), 10.fdiv(4), 5.bit_length, 255.bit_length, -1.bit_length, 5[0], 5[1], 7.pred, 4.even?, 3.odd?, -3.odd?, (2**70).even?, 7.pow(3, 5), 2**100, 255.to_s(16), "ff".to_i(16), 7 / -2, 7 % -3, -7.divmod(2), 10.0 / 3, 1e20.to_i
p (1..10).step(3).to_a, 1.step(10, 4).to_a, (0.0..1.0).step(0.25).to_a, (1...10).step(3).to_a, ("a".."e").step(2).to_a, (1..3).sum, (1..Float::INFINITY).lazy.map { |x| x * 2 }.first(3), 10.downto(7).to_a, (1..3).reduce(:*), (1..6).each_slice(2).map(&:sum), ("a".."e").include?("c"), (1..10) === 5, (1..).first(2)
p 1.25.round(1), 15.round(-1), 1234.567.round(-2), 2.5.round, 2.675.round(2), -2.5.round, 3.7.truncate, 3.2.ceil, -3.2.floor, 3.14159.floor(2), 3.14159.ceil(2), 1234.floor(-2), 0.1 + 0.2, 1e3.to_s, 100.0.to_s, 1e-7.to_s
p :abc.start_with?("a"), :abc.end_with?("c"), :abc[1], :a <=> :b, %i[b a].sort, :a.to_proc.call("x".then { |x| Struct.new(:a).new(x) })
p 5.then { |x| x + 1 }, [1].tap { |x| x << 2 }, "x".freeze.frozen?, "a".dup.frozen?, catch(:done) { throw :done, 5 }, [1, 2].map(&:to_s), "a".public_send(:upcase), 3.public_send(:+, 4)
x = [1, 2, 3].each
p x.next, x.next, x.next, (begin; x.next; rescue StopIteration; "stop"; end)
p "héllo".valid_encoding?, "\xff".valid_encoding?, "a\xffb".scrub("?"), "é".ascii_only?, "e".ascii_only?, "é".encoding.to_s, "é".bytes, "日本".each_char.to_a, "日本"[1], "日本".size, "日本".reverse, "日本".ord, 26085.chr("UTF-8")
p "abc".succ, "az".succ, "zz".succ, "a9".succ, "a".upto("e").to_a, "abc".sum rescue p "no"
p "line1\nline2".lines, "a-b".tr("-", "_"), "abc".insert(1, "X"), "hello world".capitalize, "Hello".swapcase, "abc".prepend("x"), "  x ".strip, "xxhixx".delete_prefix("xx").delete_suffix("xx"), "abc" <=> "abd", "a".eql?("a"), "abc".hash == "abc".hash, "a,b".split(","), "abc".include?("b"), "%.2e" % 12345.678, "abc"[-2..], "hello"[1..3], "ab\tc".inspect, "a\u0000b".size, "abc".each_char.with_index.map { |c, i| c * i }, "snowman: \u2603", "x".ljust(3) + "|", "title case".split.map(&:capitalize).join(" ")
def kw(a, b = 2, *c, d:, e: 5, **f, &g) = [a, b, c, d, e, f]
p kw(1, d: 4), kw(1, 2, 3, d: 4, z: 1), [1, 2].each_entry.to_a
p [[1, :a], [2, :b]].each_with_object({}) { |(n, s), acc| acc[s] = n }, { a: { b: [1, { c: 2 }] } }.dig(:a, :b, 1, :c), [1, 2, 3].sum { |v| v * 1.5 }
p Process.clock_gettime(Process::CLOCK_MONOTONIC).is_a?(Float), Process.pid.is_a?(Integer), __dir__.is_a?(String)
p ENV["HOME"].is_a?(String), ENV["NOPE_X"], ENV.fetch("NOPE_X", 1), ENV.fetch("NOPE_X") { |k| k }, ENV.key?("PATH"), (ENV.fetch("NOPE_X") rescue "KeyError"), ENV.to_h.is_a?(Hash)
def required(options) = options
p required(a: 1), required("a" => 1), required(:a => 1, "b" => 2), (required(1, a: 2) rescue "ArgumentError")
begin
  begin
    raise ArgumentError, "first"
  rescue => e
    begin
      raise "second"
    rescue
      [1].size
    end
    raise
  end
rescue ArgumentError => e
  p e.message
end
def again
  yield
rescue TypeError, ArgumentError
  raise
ensure
  puts "ensure"
end
begin; again { Integer("x") }; rescue ArgumentError => e; p e.class; end
begin; again { [1].first("x") }; rescue TypeError => e; p e.class; end
begin; raise; rescue RuntimeError => e; p e.message; end
# Arrays are walked as they are, also when the block changes them.
a = [1, 2, 3, 4]
p a.map { |n| n * 2 }, a.collect(&:to_s), a.select(&:even?), a.filter { |n| n > 5 }, a.find_all { |n| n < 2 }, a.reject { |n| n == 3 }
p [[1, 2], [3, 4]].map { |x, y| x * y }, [[1, [2, 3]]].select { |x, (y, z)| x + y + z == 6 }, [[1, 2]].reject { |x, _| x == 2 }
p a.find { |n| n > 2 }, a.detect { |n| n > 9 }, a.find(-> { :none }) { |n| n > 9 }, a.map { |n| break n if n == 2 }, a.each_with_index { |_, _| }.equal?(a)
p a.map.with_index { |n, i| n * i }, a.select.with_index { |_, i| i > 1 }, a.each_with_index.map { |n, i| [i, n] }, a.reject.with_index { |_, i| i == 0 }
b = [1, 2, 3]
p b.map { |n| b.pop if n == 1; n }, b, [3, 1].each_with_index.to_a, [nil, false].map { |x| x.nil? }, [nil, 1].find { |x| x.nil? }
def first_even(list) = list.each_with_index { |n, i| return [n, i] if n.even? }
p first_even([1, 3, 4]), [1, 2].map { |n| next 0 if n == 1; n }
# Nothing in an array is passed over because it is nil or false.
seen = []
[nil, false, 1, nil].each { |v| seen << v }
p seen, [nil, false].map { |v| v.inspect }, [nil, 1, false].select(&:nil?), [false, nil].find { |v| v.nil? }, [nil, false].each_with_index.to_a
# The block of a Symbol passes on what it gets.
p [[1, 2], [3]].map(&:first), [1, 2, 3].inject(&:+), %w[b a].max_by(&:ord), :+.to_proc.call(1, 2), :fetch.to_proc.call({ a: 1 }, :b) { |k| k }, (:upcase.to_proc.call rescue "ArgumentError"), [[1, 2]].each(&:pop)
class Greeter; def hail(loud: false, &block) = [loud, block&.call]; end
p :hail.to_proc.call(Greeter.new, loud: true), [Greeter.new].map(&:hail), :hail.to_proc.call(Greeter.new) { 1 }
h = { a: 1, "b" => 2, 3 => nil }
p h.merge, h.merge({ a: 5 }), h.merge({ c: 6 }, { "b" => 7 }), { **h, d: 8 }, { z: 0, **h }, h
h = (1..40).to_h { |i| [:"k#{i}", i] }
p h.merge({ k1: 0, z: 1 }).size, { **h, z: 1 }.size, h.merge(h) == h, {}.merge(h)[:k40], { **h }.keys.last, h[:k1], h[:nothing]
h = Hash.new { |hash, key| hash[key] = key.to_s }
h[:x] = 1
p h.merge({ y: 2 })[:q], h.key?(:q), h.merge({ y: 2 }).keys, Hash.new(7).merge({ a: 1 })[:zz]
class Tagged < Hash; attr_accessor :tag; end
t = Tagged.new
t[:a] = t.tag = 5
p t.merge({ b: 2 }).class, t.merge({ b: 2 }).tag, t.merge({ b: 2 }), t.size
h = { a: 1 }.freeze
p h.merge({ b: 2 }).frozen?, h.merge.tap { |x| x[:c] = 3 }, { **h }.tap { |x| x[:d] = 4 }, h
h = { a: 1, b: 2, c: 3 }
h.delete(:a)
p h.merge({ a: 4 }), { **h, a: 5 }, h.merge({ b: 6 }).size, h[:a], h[:b], h.key?(:c)
h[:a] = 7
p h, h.merge({}).tap { |x| x.delete(:b) }, h.size
begin; {}.merge(5); rescue TypeError; puts "TypeError"; end
x = {}
x.merge!(h).tap { |y| y[:new] = 1 }
p x, h, {}.merge!({}), { a: 1 }.merge({ a: 2 }) { |*all| all }
k = "key"
h = { k => 1 }.merge({})
k << "x"
p h.keys, (1..16).to_h { |i| [:"k#{i}", i] }.merge({ last: 17 }).to_a.last, (1..16).to_h { |i| [i, i] }.then { |y| { **y, z: 1 } }.size
