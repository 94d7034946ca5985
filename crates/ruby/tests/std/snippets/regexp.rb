# Regexp and MatchData, as CRuby has them. Not what differs on purpose. Every line of output is compared.
p(/a(b)?c/ =~ "xxac", $~[0], $1, $~.pre_match, $~.post_match)
p "日本語テキスト" =~ /テ/, $~.begin(0), $~.end(0)
p "foo bar" =~ /(?<first>\w+) (?<second>\w+)/, $~[:first], $~["second"], $~.names, $~.named_captures
p "abc".match(/(.)(.)(?<x>z)?/).to_a
p "abc".match(/(.)(.)(z)?/).to_a, $~.captures, $~.values_at(0, 2, -1), $~.size
p "abc".match(/b/), "abc".match(/(?<n>b)(?<m>z)?/), "abc".match(/(b)/)
p "abc".match?(/B/i), "abc" !~ /z/, nil =~ /a/, /a/.match(nil), /a/.match?(nil)
p "line1\nline2" =~ /^line2$/, "a\n" =~ /a\Z/, "a\n" =~ /a\z/, "a\nb" =~ /a.b/, "a\nb" =~ /a.b/m
p "a b" =~ /a\ b # comment
  /x
p "١٢" =~ /\d/, "é" =~ /\w/, "é" =~ /[[:alpha:]]/, "é" =~ /\p{Alpha}/, "\u3000" =~ /\s/, "\u3000" =~ /[[:space:]]/
p "deadBEEF!"[/\h+/], "ab\r\ncd"[/\R/], "aaa"[/a++/], "foobar"[/(?<=foo)bar/], "foobar"[/foo(?!baz)/], "abab"[/(ab)\1/], "xyzxyz"[/(?<n>xyz)\k<n>/]
case "user:42"
when /\Auser:(\d+)\z/ then p $1.to_i
end
p Regexp.escape("a.b*c[d] e\n-f#g/h"), Regexp.union("a.b", /c|d/i, "e"), Regexp.union, Regexp.union(["x"])
p(/a\/b/, %r{a/b}, /x/mix.to_s, /x/.to_s, /x/i.to_s, Regexp.new("a/b").inspect)
p(/a/i.options, /a/.source, Regexp.new("x", Regexp::IGNORECASE | Regexp::EXTENDED).options, Regexp.new("x", true).inspect)
p(/(?<a>.)(?<b>.)/.names, /(?<a>.)(?<b>.)/.named_captures, /a/ == /a/, /a/ == /a/i, /a/.eql?(/a/))
p "#{/a b/i}", /x#{/y/i}z/ =~ "xYz", /x#{"a.b"}/ =~ "xa.b"
begin
  Regexp.new("(")
rescue RegexpError => e
  puts e.class
end
p Regexp.last_match(0), ("ab" =~ /(a)(b)/; Regexp.last_match(2))
p "abc".match(/b/) { |m| m[0] * 2 }, "abc".match(/z/) { 1 }
p "foo.bar".match("."), "xAx" =~ /(?i)a/, "aXb"[/a(?i:x)b/], "a\nb"[/a(?m:.)b/]
p "ab12"[/[[:digit:]]+/], "a-b_c"[/[\w-]+/], "x]y"[/[\]]/], "a^b"[/[\^]/], "tab\t"[/[\t]/], "a b"[/a[ ]b/x], "q&&r"[/[&]+/]
p "日本"[/\p{Han}+/], "ひら"[/\p{Hiragana}/], "カ" =~ /[ァ-ヴ]/, "\u00e9"[/\u00e9/], "\u{1F600}"[/\u{1F600}/]
m = /(\d+)-(\d+)/.match("tel 12-345 x")
p m.offset(0), m.offset(2), m.begin(1), m.end(2), m.pre_match, m.post_match, m.to_s, m.string, m.regexp, m == /(\d+)-(\d+)/.match("tel 12-345 x")
begin
  m[:nope]
rescue IndexError => e
  puts e.message
end
a, b = "k=v".match(/(.)=(.)/).captures
p a, b, /(.)(.)/.match("xy").to_a.map(&:upcase), :sym =~ /y/, :sym.match?(/s/), /s/ === :sym, /s/ === 5, /s/ === nil
p %w[apple bob].grep(/^a/), %w[a1 b].select { |s| s =~ /\d/ }, "x".match?("x")
h = { /a/ => 1 }
p h[/a/]
