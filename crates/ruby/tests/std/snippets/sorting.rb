# Sorting by every kind of key, as CRuby does it. Not how fast it is.
p [3, -1, 2, 2**40, 0].sort, [2.5, -1.0, 0.0, 1e300].sort, ["b", "a", "ab", "", "B", "糸", "z"].sort, [].sort, [1].sort
p [3, 1.5, 2].sort, [:b, :a].sort, [[2, "a"], [1, "b"], [1, "a"]].sort
p [3, 1, 2].sort { |a, b| b <=> a }, %w[bb a ccc].sort { |a, b| a.size <=> b.size }
p %w[bb a ccc].sort_by(&:size), %w[bb a ccc].sort_by { |s| -s.size }, %w[b c a].sort_by { |s| s }, [3, 1].sort_by(&:to_f)
p [[1, "x"], [0, "y"]].sort_by { |n, _| n }, { b: 1, a: 2 }.sort_by { |key, _| key.to_s }, { b: 1, a: 0 }.sort_by { |_, n| n }
p (1..5).sort_by { |n| -n }, %w[b a].each_with_index.sort_by { |_, i| -i }, [3, 1, 2].sort_by { |n| [n % 2, n] }, [].sort_by { |x| x }
p [3, 1, 2].sort_by { |n| n.odd? ? 1.5 : n }, Struct.new(:n).then { |s| [s.new(2), s.new(1)].sort_by(&:n).map(&:n) }
a = [2, 3, 1]
p a.sort!.equal?(a), a, a.sort_by! { |n| -n }.equal?(a), a, a.sort.equal?(a)
p [3, 1, 2].sort_by.class, [3, 1, 2].sort_by.with_index { |_, i| -i }, [3, 1, 2].max_by { |n| -n }, [2, 1].minmax
def fails
  yield
rescue StandardError => e
  puts e.class
end
fails { [1, "a"].sort }
fails { [1, nil].sort_by { |x| x } }
fails { [2, 1].freeze.sort! }
fails { [2, 1].sort_by { |_| raise IndexError } }
# ---- so many of the least and the greatest ----
p [3, 1, 2].max(2), [3, 1, 2].min(2), [3, 1, 2].min(0), [3, 1, 2].max(9), [].min(1), [3, 1, 2].max(nil), [3, 1, 2].min
p %w[a bbb cc].max(2) { |a, b| a.size <=> b.size }, %w[a bbb cc].min(2) { |a, b| a.size <=> b.size }, [2, 3].max { |a, b| b <=> a }
p %w[a bbb cc].max_by(2) { |s| s.size }, %w[a bbb cc].min_by(1) { |s| s.size }, %w[a bb].max_by { |s| s.size }, %w[a bb].min_by { |s| s.size }
p %w[a bbb cc].max_by(2).each { |s| s.size }, %w[a bbb cc].min_by.each { |s| s.size }
p (1..5).max(2), (1..5).min(2), (1..5).max, (1...5).max, (1..5).min { |a, b| b <=> a }, (5..1).max, (5..1).min(1), (1.0..2.5).max
p({ a: 1, c: 3, b: 2 }.max(2), { a: 2, b: 1 }.min_by(1) { |_, n| n }, { a: 2, b: 1 }.max_by { |_, n| n })
fails { [1].max(-1) }
fails { [1].min_by(-1) { |x| x } }
fails { [1, "a"].max(1) }
