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
s = "日本é語aé日"
p s.tr("日", "x"), s.tr("aé", "xy"), s.tr("^日", "-"), s.tr_s("é", "e"), s.count("é"), s.count("日本"), s.delete("é"), s.delete("^é"), "ééaa".squeeze, "日日本本".squeeze("日")
p s.ljust(10, "é"), s.rjust(10, "日本"), s.center(10, "日"), s.insert(1, "X"), "日本".insert(-1, "é"), s.slice!(1), s, s.slice!(0, 2), s, s.slice!("語"), s
p s.partition("é"), s.rpartition("é"), s.start_with?("é"), s.end_with?("日"), s.delete_prefix("é"), s.delete_suffix("日"), s.chop, s.chomp("日"), s.index("日"), s.rindex("é"), s.index("日", 2)
t = "日本語"
p t[1], t[1..], t[-1], t[0, 2], t[1...-1], t.reverse, t.chars, t.codepoints, t.each_char.to_a, t.bytes.size, t.size, t.ord, t.hash == "日本語".hash, t.succ.size, t <=> "日本", t * 2, t.prepend("é"), t
u = +"日本語"
u[1] = "xx"
p u
u[0, 1] = ""
p u
u["語"] = "é"
p u, u.include?("é"), u.upcase, u.capitalize, "élan".capitalize, "日\n本\r\n".lines, "日,本".split(","), "日本".split(""), "日é本é".split("é"), "日 本".split, "a,日".split(",", 2)
p "日本".center(6), "é".unpack("U*"), [26085].pack("U*"), "日".inspect, "日本".each_line.to_a, "日本".upto("日本").to_a, "日本".sum, "é日".casecmp?("É日"), "é".casecmp("É").inspect
p "日é".sub("é") { |m| m.upcase }, "日é".gsub(/é/) { |m| m.upcase }, "日é".sub!("é", "e"), "日é".gsub!("é", "e"), "日".gsub!("é", "e"), "日é日".sub(/日$/, "x"), "aé" =~ /é/, $~.begin(0), "日é日".scan("日"), "日é".match(/(?<x>é)/)[:x]
p "hello".tr("ll", "xy"), "日l".tr("ll", "xy"), "a^b".tr("^", "é"), "a-b日".tr("-a", "xy"), "日a\\".tr("\\\\", "x"), "日".tr("日", ""), "日aa".tr_s("a", "日"), "日ab日".delete("a-z", "^b"), "日日aab".squeeze("日", "^a"), "日^".count("^^"), "日".count(""), "abc".tr("a", "日"), "日".tr!("é", "x"), "éa".delete_prefix("日"), "あいう".tr("あ-う", "ア-ウ"), "éb".delete("b"), (begin; "é".tr("z-a", "x"); rescue ArgumentError => e; e.message; end), "é".start_with?("é")
