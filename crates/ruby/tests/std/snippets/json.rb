# JSON both ways, as CRuby has them. Not what differs on purpose. Every line of output is compared.
require "json"
p JSON.parse('{"a": [1, -2, 3.5, 1e3, true, false, null, "x\n\u3042\ud83d\ude00\/"], "b": {}, "c": []}')
p JSON.parse('{"a":1,"b":2,"a":3}')
p JSON.parse('[12345678901234567890123, 9223372036854775807, -9223372036854775808, 9223372036854775808]')
p JSON.parse('{"k": {"n": 1}}', symbolize_names: true)
p JSON.parse('2'), JSON.parse('"x"'), JSON.parse('null')
['', '[1,]', '{"a"}', '[01]', '[1', '"a', 'nul', '{a:1}', '[1] x', "[\"\n\"]", '-', '[1.]', '{"a":1,}', '["\u12"]'].each do |bad|
  begin
    p JSON.parse(bad)
  rescue JSON::ParserError
    puts "ParserError #{bad.inspect}"
  end
end
begin
  JSON.parse("[" * 101 + "]" * 101)
rescue JSON::NestingError
  puts "NestingError"
end
puts JSON.generate({ "a" => [1, 2.5, nil, true, "x\"\\\n\u3042</script>"], b: :c, 1 => 2 ** 70 })
puts JSON.pretty_generate({ a: [1, [2, { b: "[{,:" }]], c: "q\"[" })
puts [1, "a", nil].to_json, "s".to_json, nil.to_json, 1.to_json, 1.5.to_json, { a: 1 }.to_json, :x.to_json, true.to_json
class Point
  def initialize(x) = @x = x
  def to_json(*a) = { x: @x }.to_json(*a)
end
puts JSON.generate([Point.new(1)])
