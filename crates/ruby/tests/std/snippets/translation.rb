# Sets of characters: what they take, what they replace, what they count.
p "hello".tr("el", "ip"), "hello".tr("aeiou", "*"), "hello".tr("aeiou", "AA*"), "hello".tr("a-y", "b-z"), "hello".tr("^aeiou", "*")
p "hello^world".tr("\\^aeiou", "*"), "hello-world".tr("a\\-eo", "*"), "hello\r\nworld".tr("\r", ""), "hello\r\nworld".tr("\\r", "")
p "X['\\b']".tr("X\\", ""), "X['\\b']".tr("X-\\]", ""), "hello".tr("ll", "xy"), "hello".tr("a-zl", "b-zA"), "hello".tr("a-el-p", "A-Z")
p "hello".tr("", "x"), "hello".tr("l", ""), "hello".tr("^l", "xy"), "^^a".tr("^", "b"), "a-b".tr("-", "+"), "a-b".tr("a-", "xy"), "a-b".tr("-b", "xy")
p "a,-./b".tr(",-/", "x"), "a,-./b".tr("--/", "123"), "a\\b".tr("\\", "/"), "a\\b".tr("\\\\", "/"), "zebra".tr("a-z", "A-Z")
p "日本語".tr("本", "x"), "日本語".tr("日-語", "a"), "été".tr("é", "e"), "ete".tr("e", "é"), "naïve café".tr("ïé", "ie")
p "あいうカ".tr("ぁ-ん", "ァ-ン"), "αβγ".tr("α-γ", "a-c"), "🎉x".tr("🎉", "!")
p "hello".tr_s("l", "r"), "hello".tr_s("el", "*"), "hello".tr_s("el", "hx"), "aabbcc".tr_s("ab", "x"), "aaxaa".tr_s("a", "x"), "éé".tr_s("é", "e")
p "aabbb".tr_s("a", ""), "hello".tr_s("z", "y")
s = "hello"
p s.tr!("l", "r"), s, s.tr!("z", "y"), s.tr_s!("r", "l"), s, s.delete!("z"), s.delete!("h"), s, s.squeeze!, s
p "hello world".count("lo"), "hello world".count("lo", "o"), "hello world".count("hello", "^l"), "hello world".count("ej-m"), "z".count("a-z")
p "hello^world".count("\\^"), "日本語日本".count("日語"), "日本語".count("^日"), "日本語".count("ア-龠"), "été".count("^é"), "a\\b-".count("\\\\"), "a-z".count("a\\-z")
p "hello".delete("l", "lo"), "hello".delete("lo"), "hello".delete("aeiou", "^e"), "hello".delete("ej-m"), "日本語".delete("本"), "xyz".delete("a-z")
p "yellow moon".squeeze, "  now   is  the".squeeze(" "), "putters shoot balls".squeeze("m-z"), "aabb".squeeze("a", "b"), "日日本本".squeeze("日"), "zz".squeeze("a-z")
p "ééé".squeeze, "aaa".squeeze("^a"), "".squeeze, "".tr("a", "b"), "".count("a"), "".delete("a"), "aaa".squeeze("")
["z-a", "a-zz-a", "日-a"].each { |set| begin; "x".tr(set, "y"); rescue ArgumentError => e; p e.message; end }
begin; "x".count; rescue ArgumentError => e; p e.class; end
begin; "x".tr(1, "y"); rescue TypeError => e; p e.class; end
begin; "x".freeze.tr!("x", "y"); rescue FrozenError => e; p e.class; end
state = 7
random = ->(n) { state = (state * 1103515245 + 12345) % 2147483648; (state >> 12) % n }
pieces = ["a", "b", "c", "x", "y", "z", "-", "^", "\\", "é", "日", "本", "0", "9"]
text = ->(n) { (0...random.(n)).map { pieces[random.(pieces.size)] }.join }
parts = ["a", "b-y", "é", "日", "0-9", "本", "\\-", "\\^", "x-z", "a-c", "あ-ん"]
set = -> { (0..random.(5)).map { parts[random.(parts.size)] }.join }
300.times do
  a, b, c = text.(20), set.(), set.()
  puts [a.tr(b, c), a.tr_s(b, c), a.tr(b, ""), a.count(b), a.delete(b), a.squeeze(b), a.delete(b, c), a.squeeze(b, c)].join("|")
  puts [a.tr("^" + b, "x"), a.count("^" + b), a.delete("^" + b), a.squeeze("^" + b)].join("|")
end
