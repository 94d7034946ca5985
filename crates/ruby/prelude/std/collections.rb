# Collections: what CRuby's have and mruby's lack.
module Enumerable
  def each_entry(&block)
    return to_enum(:each_entry) unless block

    each(&block)
  end

  def grep_v(pattern, &block)
    found = reject { |value| pattern === value }
    block ? found.map(&block) : found
  end
end

class Array
  alias __pop pop

  # With a number so many of the last.
  def pop(count = nil)
    return __pop unless count
    raise ArgumentError, "negative array size" if count < 0

    slice!([size - count, 0].max, count) || []
  end

  def bsearch_index(&block)
    found = (0...size).bsearch { |i| block.call(self[i]) }
    found
  end
end

class Range
  # The first number for which the block is true (or 0, by numbers that say the direction).
  def bsearch(&block)
    return to_enum(:bsearch) unless block
    raise TypeError, "can't do binary search for #{self.begin.class}" unless self.begin.is_a?(Integer) && self.end.is_a?(Integer)

    low, high = self.begin, exclude_end? ? self.end : self.end + 1
    found = nil
    while low < high
      middle = low + (high - low) / 2
      answer = block.call(middle)
      return middle if answer == 0

      if answer == true || (answer.is_a?(Numeric) && answer < 0)
        found = middle if answer == true
        high = middle
      else
        low = middle + 1
      end
    end
    found
  end
end

class Hash
  alias __transform_keys transform_keys

  # New names may stand in a Hash.
  def transform_keys(names = nil, **more, &block)
    names = names ? names.merge(more) : more
    return __transform_keys(&block) if names.empty?

    pairs = {}
    each { |key, value| pairs[names.fetch(key) { block ? block.call(key) : key }] = value }
    pairs
  end
end

class Struct
  alias __each each

  def each(&block) = block ? __each(&block) : to_enum(:each)
end

class Data
  # A copy with other values.
  def with(**changes) = changes.empty? ? self : self.class.new(**to_h, **changes)
end

class Enumerator
  # Of what is counted without running: Arrays, Hashes, Ranges; nil elsewhere.
  def size
    return nil unless %i[each map each_with_index each_entry select reject].include?(@meth) && @args.to_a.empty?

    @obj.is_a?(Enumerable) && @obj.respond_to?(:size) ? @obj.size : nil
  end

  class Lazy
    def eager = to_a.each
  end
end

class Set
  alias __disjoint? disjoint?
  alias __intersect? intersect?
  def disjoint?(other) = __disjoint?(other.is_a?(Set) ? other : Set.new(other))
  def intersect?(other) = __intersect?(other.is_a?(Set) ? other : Set.new(other))
end

class String
  alias __each_line each_line
  alias __whole_lines lines

  # `chomp: true` leaves the line's end out.
  def each_line(separator = "\n", chomp: false, &block)
    return lines(separator, chomp: chomp).each unless block

    __each_line(separator) { |line| block.call(chomp ? line.delete_suffix(separator) : line) }
  end

  def lines(separator = "\n", chomp: false)
    found = []
    separator == "\n" ? found = __whole_lines : __each_line(separator) { |line| found << line }
    chomp ? found.map { |line| line.delete_suffix(separator) } : found
  end
end

class Symbol
  def succ = to_s.succ.to_sym
  alias next succ
end
