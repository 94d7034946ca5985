# Integers of any size: operations of numbers around the edges of 32, 63 and 64 bits and of many digits, with each other and with Floats.
def shown
  value = yield
  value.is_a?(Float) ? format("%.6e", value + 0.0) : value.inspect
rescue StandardError => e
  e.class.to_s
end
state = 3
random = ->(n) { state = (state * 1103515245 + 12345) % 2147483648; (state >> 8) % n }
edges = [0, 1, 2, 3, 10, 2**31, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64, 2**70, 2**96, 2**128 - 1, 10**30]
edges += edges.map { |n| -n }
pieces = [0, 1, 0xffffffff, 0x80000000, 0x12345678]
number = -> do
  next edges[random.(edges.size)] + random.(3) - 1 if random.(2) == 0

  n = 0
  (1 + random.(6)).times { n = (n << 32) + pieces[random.(pieces.size)] }
  random.(2) == 0 ? n : -n
end
binary = %i[+ - * / % & | ^ <=> == < <= > >= eql? divmod div remainder modulo]
250.times do
  a, b = number.(), number.()
  puts "#{a} #{b}: " + binary.map { |m| shown { a.send(m, b) } }.join(" ")
end
120.times do
  a, n = number.(), random.(140)
  puts "#{a} #{n}: " + [shown { a << n }, shown { a >> n }, shown { a << -n }, shown { a >> -n }, shown { ~a }, shown { -a }, shown { a.abs }, a.hash == (a + 2**200 - 2**200).hash,
                        { a => 1 }[(a * 2**99) >> 99], a[n], a.even?, a.to_s(16), a.to_s(2).to_i(2) == a, a.to_f == a.to_s.to_f].join(" ")
end
120.times do
  a, n = number.(), random.(17)
  next if a % 10**n == 0

  puts "#{a} #{-n}: " + %i[floor ceil round truncate].map { |m| shown { a.send(m, -n) } }.join(" ")
  puts [shown { a**random.(5) }, shown { a.pow(random.(99), number.().abs) }, shown { a.pow(n, 1) }].join(" ")
end
floats = [0.5, -0.5, 1.0, 3.0, -3.0, 2.0**53, 2.0**63, -(2.0**63), 2.0**70, -(2.0**70), 1.5e30]
[2**63, 2**70, 2**70 + 1, -(2**70), -(2**70) - 1, 10**30, 2**63 - 1, -(2**63), 7, -7, 0].each do |a|
  floats.each do |f|
    puts "#{a} #{f.to_i}: " + [a <=> f, f <=> a, a == f, f == a, a < f, a >= f, f < a, shown { a % f }, shown { a / f }, shown { a * f }].join(" ") if a.abs > 2**63 || (a.abs < 2**53 && f.abs < 2**53)
  end
  p a <=> Float::INFINITY, a <=> -Float::INFINITY, a <=> Float::NAN, Float::NAN <=> a, a < Float::NAN, a >= Float::NAN, a <=> "1", a == nil
end
p 5.divmod(2.0), -5.divmod(2.0), 5.divmod(-0.5), 0 % 1.5, 5 ^ 1, 1.0 <=> Float::NAN, (0.0 / 0) < 1, (0.0 / 0) >= 1
p [2**62 + 1, 2**62, 2**63, -(2**63), 2**70, 0, 2**53 + 1, 2**53].sort, [2**62, 2**62 + 1].max, [2**70, 1, -(2**70)].minmax
p 170141183460469231731687303715884105728, -170141183460469231731687303715884105728, [18446744073709551616, -18446744073709551616, 18446744073709551616]
p -9223372036854775808, { -9223372036854775808 => 1 }[-(2**63)], "-9223372036854775808".to_i == -(2**63), "000000000000000000000000000000012".to_i, { 12 => 1 }["00000000000000000000000012".to_i]
p (-(2**70)) >> 75, "-9223372036854775809".to_i >> 27, 1 % 9223372036854775808, 0 <=> 2**70, ~(2**70), 2**70 & -1, (2**70 + 5) ^ 0
p ((2**6400 + 2**100) & (2**6300 + 2**100)) == 2**100, (2**64 + 7) % ((2**6400 + 2**100) & (2**6300 + 2**100)), { (2**63)**0 => 5 }[1]
p (-3).pow(3, 10), (-(2**70)).pow(3, 1000), 3.pow(5, -7), (2**70).pow(0, 1), 5.floor(-20), -5.ceil(-1), (2**63 - 1).ceil(-1), 25.round(-1), -25.round(-1)
p (2**70 + 2**17 + 1).to_f.to_i, (2**1024).to_f, (-(2**2000)).to_f, (2**64 - 1).to_f.to_i, (2**53 + 1).to_f.to_i
p 1e30.to_i, -1e30.to_i, 1.5e19.to_i, 1e300.to_i, 123456789.123e20.floor, -1e25.round, 2.0**200 == 2**200, 1e22.to_i == 10**22, 1e23.to_i == 10**23
