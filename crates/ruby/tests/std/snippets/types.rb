# Values of wrong classes raise what CRuby raises, or answer as it does; they are never numbers. Not what differs on purpose.
def raised
  value = yield
  value.is_a?(Time) ? [value.to_i, value.usec] : value
rescue StandardError => e
  e.class.to_s
end
WRONG = ["x", nil, [], {}, :a, true, Object.new, 1..2, Time.at(5), String, ->(x) { x }]
p WRONG.map { |v| raised { Time.at(v) } }
p WRONG.map { |v| raised { Time.at(0, v) } }
p WRONG.map { |v| raised { Time.at(0) + v } }
p WRONG.map { |v| raised { Time.at(0) - v } }
p WRONG.map { |v| raised { Time.gm(2000, 1, 1, v) } }.last(2)
p [Rational(1, 2), Rational(-1, 2), Rational(7, 3), 1.5, -0.5, 2**40, -1].map { |v| raised { Time.at(v) } }
p [Rational(1, 2), Rational(-1, 2), -1.5, 2**40].map { |v| [raised { Time.at(1) + v }, raised { Time.at(1) - v }] }
p [Float::NAN, Float::INFINITY, -Float::INFINITY].map { |v| [raised { Time.at(v) }, raised { Time.at(0) + v }] }
p Time.at(0, -1).usec, Time.at(0, 1_000_001).to_i, Time.at(-0.25).to_f, (Time.at(0) - 0.25).usec, Time.at(-1, 500_000) <=> Time.at(-0.5)

p WRONG.map { |v| raised { Rational(1, 2) + v } }.first(8), WRONG.map { |v| raised { Rational(1, 2) * v } }.first(8)
p raised { Rational(1, 2) + Time.at(0) }, raised { Rational(2) * "ab" }, raised { Rational(2) * [1] }
p 2 ** Rational(1, 2), 4 ** Rational(3, 2), (1..1e30).size > 0

class BigHash
  def initialize(value) = @value = value
  def hash = @value
  def eql?(_) = true
end
many = (0...40).to_h { |i| [i.to_s, i] }
many[BigHash.new(2**70)] = 1
many[BigHash.new(5)] = 2
p many[BigHash.new(2**70)], many[BigHash.new(5)], raised { many[BigHash.new("x")] }

class Part < Struct.new(:a, :b, :c, :d, :e, :f)
  def initialize = self.a = 1
end
p Part.new.f, Part.new.c, Part.new.a, Part.allocate.d

p Time.gm(1).year, Time.gm(1600, 2, 29).yday, Time.gm(1899, 12, 31, 23, 59, 59).to_i, Time.gm(1, 1, 1).to_i, Time.gm(-1, 3, 1).to_i, Time.gm(0, 2, 29).wday
p Time.gm(850, 1, 2).to_s, Time.gm(-5, 1, 2).to_s, Time.gm(850, 1, 2).ctime, Time.gm(12_345, 6, 7).to_s
p [1600, 1700, 1900, 1999, 2000, 2001, 2024, 2100, 9999, 100_000].map { |y| [Time.gm(y).to_i, Time.gm(y, 2, 28).wday, Time.gm(y, 3, 1).yday, Time.gm(y, 12, 31).yday] }
p Time.gm(2_147_485_547).to_i, Time.gm(2_000_000_000, 7, 1).wday, Time.gm(-2_000_000_000).to_i, Time.gm(2_000_000_000).strftime("%Y-%m-%d %j %U %G")
