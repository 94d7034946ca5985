# Methods of String that take patterns, as CRuby has them. Not what differs on purpose. Every line of output is compared.
p "hello".gsub(/l/, "L"), "hello".gsub(/(l)(l)/, '<\2\1\0\\\\>'), "hello".gsub(/(?<x>l)/, '[\k<x>]'), "hello".gsub(/l/) { |m| m.upcase + $~.begin(0).to_s }
p "hello".gsub(/[el]/, "e" => "3", "l" => "1"), "abc".gsub(/x*/, "-"), "abc".gsub(/b*/, "-"), "日本".gsub(//, "|")
p "hello".sub(/l/, "L"), "hello".sub(/z/, "L"), "hello".sub(/(h)(e)/) { "#{$2}#{$1}" }, "hello".sub(/l/, "l" => "*"), "a.b".sub(".", "-")
s = "hello"
p s.gsub!(/l/, "r"), s, s.gsub!(/z/, ""), s.sub!(/h/) { |m| m.upcase }, s
p "a\nb\n".gsub(/^/, "> "), "a b  c".gsub(/\s+/, " "), "x".gsub(/x/, '\\\\'), "x".gsub(/x/, "\\&\\&"), "path/to".gsub("/", "::")
p "a1b22".scan(/\d+/), "a1b22".scan(/([a-z])(\d+)/), "abab".scan("ab"), "日本語".scan(/./), "test".scan(/(?=(t))/)
"k1=v1;k2=v2".scan(/(\w+)=(\w+)/) { |k, v| puts "#{k}:#{v} #{$~[0]}" }
p "a,b;c".split(/[,;]/), "a1b2".split(/(\d)/), "abc".split(//), "a  b c".split(/ /), ",a,,b,,".split(/,/), ",a,,b,,".split(/,/, -1), "a,b,c".split(/,/, 2), " a b".split(/\s+/), "".split(/x/), "あいう".split(//), "abc".split(/b/) , "aXbXc".split(/x/i, 2), "a b c".split(" ", 2), "a b".split
p "hello"[/l+/], "hello"[/(h)(e)/, 2], "hello"[/(?<q>l+)/, "q"], "hello"[/z/], "hello".slice(/e/), "hello"[1, 2], "hello"[1..], "hello"["ell"], "hello"[-2], "hello"[9]
t = "hello world"
t[/o/] = "0"
p t
t[/(w)(o)/, 2] = "_"
p t, t.slice!(/l+/), t, t.slice!(0, 2), t
p "hello".index(/l/), "hello".index(/l/, 3), "hello".index(/z/), "hello".rindex(/l/), "hello".rindex(/l/, 2), "日本日本".index(/本/, 2), "hello".rindex("l"), "hello".index("l", -2), "日本日本".rindex(/日/)
p "a=b=c".partition(/=/), "a=b=c".rpartition(/=/), "abc".partition(/x/), "abc".rpartition(/x/), "abc".partition("b")
p "hello".start_with?(/he/), "hello".start_with?(/l/), "hello".start_with?("x", "h"), "foo.tar.gz".delete_suffix(".gz")
p "CamelCaseString".gsub(/([A-Z])/) { "_" + $1.downcase }.sub(/^_/, ""), "snake_case_here".split("_").map(&:capitalize).join, "x-y".tr("-", "_")
p "2024-01-15".match(/(\d+)-(\d+)-(\d+)/).captures.map(&:to_i), "John Smith".sub(/(\w+) (\w+)/, '\2, \1')
p "ab".gsub(/./) { |c| c.ord.to_s(16) + " " }, "abc".each_char.to_a, "%d%%" % 5, "price: 10".gsub(/\d+/) { |n| (n.to_i * 2).to_s }
r = "nested abc".gsub(/[a-c]/) { |c| "x" =~ /(x)/; c + $1 }
p r
p "日本".sub("本", "x"), "日本é本".gsub("本", "xy"), "日本é本".gsub("é") { "e" }, "éa".gsub("a", "b"), "ééa".sub("a", "\\0\\0"), "日本".gsub("", "-"), "日本語".sub("本", "[\\`\\']"), "é".gsub("é", ""), "日本".sub("無", "x"), "日本".gsub(/本/, "x")
p " \t日本 \n".strip, "\u3000 日".lstrip, "日 \0\0".rstrip, "\0 a".lstrip, "   ".strip, "é".strip, "ÀéßΣ1".swapcase, "é日a".each_char.to_a, "é日".each_char.with_index.map { |c, i| c * i }
p "\xff\x80abc".chop.bytes, "\xff\x80abc".size, "a\x80b".index("b"), "\x80\x80"[1].bytes, "\xffé\x80".reverse.bytes, "\xff".chop, "\xffb".each_char.map(&:bytes), "a\xff b".rindex(" ")
