# What CRuby's core classes have and mruby's lack. Same names, same results; nothing that CRuby has not.
class EOFError < IOError; end
class EncodingError < StandardError; end
RUBY_PLATFORM = "mruby-tsumugi" unless Object.const_defined?(:RUBY_PLATFORM)

module Process
  CLOCK_REALTIME = 0
  CLOCK_MONOTONIC = 1
  CLOCK_PROCESS_CPUTIME_ID = 2
  UNITS = { float_second: 1, float_millisecond: 1e3, float_microsecond: 1e6 }.freeze

  class << self
    def clock_gettime(clock, unit = :float_second)
      now = Tsumugi::Native.clock(clock)
      case unit
      when :second then now.to_i
      when :millisecond then (now * 1e3).to_i
      when :microsecond then (now * 1e6).to_i
      when :nanosecond then (now * 1e9).to_i
      else now * UNITS.fetch(unit)
      end
    end

    def pid = Tsumugi::Native.process_id
  end
end

module Comparable
  def clamp(low, high = nil)
    low, high = low.begin, low.end if low.is_a?(Range)
    raise ArgumentError, "min argument must be smaller than max argument" if low && high && (low <=> high) > 0
    return low if low && (self <=> low) < 0
    return high if high && (self <=> high) > 0

    self
  end
end

class Integer
  def even? = self % 2 == 0
  def odd? = self % 2 == 1
  def pred = self - 1
  def ord = self
  def integer? = true
  def fdiv(other) = to_f / other
  def lcm(other)
    common = gcd(other)
    common == 0 ? 0 : (self / common * other).abs
  end

  def gcdlcm(other) = [gcd(other), lcm(other)]
  def bit_length = self < 0 ? (~self).bit_length : (self == 0 ? 0 : to_s(2).size)
  def [](bit) = (self >> bit) & 1
  def size = 8

  def gcd(other)
    raise TypeError, "not an integer" unless other.is_a?(Integer)

    a, b = abs, other.abs
    a, b = b, a % b while b != 0
    a
  end
end

class Float
  def integer? = false
  def fdiv(other) = self / other
end

module Enumerable
  def each_entry(&block) = each(&block)

  # Keys that are all whole numbers, all floats or all strings are compared without calling Ruby.
  def sort_by(&block)
    return to_enum(:sort_by) unless block

    values = to_a
    keys = values.map(&block)
    sorted = Tsumugi::Native.sorted(values, keys)
    return sorted if sorted

    pairs = []
    keys.each_with_index { |key, i| pairs << [key, i] }
    pairs.sort!.map { |_, i| values[i] }
  end

  def to_set = Set.new(self)

  # With a number so many of them, as an Array.
  alias __min min
  alias __max max
  alias __min_by min_by
  alias __max_by max_by
  def min(count = nil, &block) = count ? __several(sort(&block), count) : __min(&block)
  def max(count = nil, &block) = count ? __several(sort(&block).reverse, count) : __max(&block)

  def min_by(count = nil, &block)
    return __min_by(&block) unless count

    block ? __several(sort_by(&block), count) : to_enum(:min_by, count)
  end

  def max_by(count = nil, &block)
    return __max_by(&block) unless count

    block ? __several(sort_by(&block).reverse, count) : to_enum(:max_by, count)
  end

  def __several(sorted, count)
    raise ArgumentError, "negative size (#{count})" if count < 0

    sorted.first(count)
  end

  # Floats are added with a correction, so that what one addition loses comes back.
  def sum(total = 0, &block)
    lost = 0.0
    each do |value|
      value = block.call(value) if block
      unless (total.is_a?(Float) && value.is_a?(Numeric)) || (total.is_a?(Integer) && value.is_a?(Float))
        total += value
        next
      end
      before = total.to_f
      total = before + value
      next unless total.finite?

      lost += before.abs >= value.abs ? (before - total) + value : (value - total) + before
    end
    lost == 0.0 ? total : total + lost
  end

  # Parts between neighbours for which the block is true.
  def slice_when
    parts = []
    last = nil
    each do |value|
      parts.empty? || yield(last, value) ? parts << [value] : parts[-1] << value
      last = value
    end
    parts.each
  end

  def chunk_while(&block) = slice_when { |a, b| !block.call(a, b) }

  # Runs of values for which the block answers the same; nil and :_separator drop a value, :_alone makes it a run.
  def chunk
    runs = []
    open = false
    each do |value|
      key = yield value
      if key.nil? || key == :_separator
        open = false
      elsif open && key != :_alone && runs[-1][0] == key
        runs[-1][1] << value
      else
        runs << [key, [value]]
        open = true
      end
    end
    runs.each
  end
end

class Array
  include Enumerable
  def sum(total = 0, &block) = super
  def deconstruct = self

  # As Enumerable has them, but without an Array for the arguments of each call. The size, which the block may change, is read
  # for only where an element says nothing of it.
  def each(&block)
    return to_enum(:each) unless block

    i = 0
    while (value = self[i]) || i < size
      block.call(value)
      i += 1
    end
    self
  end

  def map(&block)
    return to_enum(:map) unless block

    mapped = []
    i = 0
    while (value = self[i]) || i < size
      mapped << block.call(value)
      i += 1
    end
    mapped
  end
  alias collect map

  def select(&block)
    return to_enum(:select) unless block

    selected = []
    i = 0
    while (value = self[i]) || i < size
      selected << value if block.call(value)
      i += 1
    end
    selected
  end
  alias filter select
  alias find_all select

  def reject(&block)
    return to_enum(:reject) unless block

    select { |value| !block.call(value) }
  end

  def find(none = nil, &block)
    return to_enum(:find, none) unless block

    i = 0
    while (value = self[i]) || i < size
      return value if block.call(value)

      i += 1
    end
    none&.call
  end
  alias detect find

  def each_with_index(&block)
    return to_enum(:each_with_index) unless block

    i = 0
    while (value = self[i]) || i < size
      block.call(value, i)
      i += 1
    end
    self
  end

  alias __sort! sort!

  def sort!(&block)
    sorted = Tsumugi::Native.sorted(self, self) unless block
    sorted ? replace(sorted) : __sort!(&block)
  end

  def sort_by!(&block)
    return to_enum(:sort_by!) unless block

    replace(sort_by(&block))
  end
end

class Hash
  def assoc(key) = key?(key) ? [key, self[key]] : nil

  alias __to_h to_h

  def to_h(&block)
    return __to_h unless block

    pairs = {}
    each do |key, value|
      key, value = block.call(key, value)
      pairs[key] = value
    end
    pairs
  end

  def rassoc(value) = find { |_, own| own == value }
  def deconstruct_keys(_) = self
end

class Range
  alias __end_min min
  alias __end_max max
  def min(count = nil, &block) = count ? super : __end_min(&block)
  def max(count = nil, &block) = count ? super : __end_max(&block)

  # Every +width+th value; with Floats without adding up errors.
  def step(width = 1, &block)
    return to_enum(:step, width) unless block
    raise ArgumentError, "step can't be 0" if width == 0
    raise ArgumentError, "step can't be negative" if width < 0
    return each_with_index { |value, i| block.call(value) if i % width == 0 } && self unless self.begin.is_a?(Numeric)

    i = 0
    while true
      value = self.begin + i * width
      break if self.end && (exclude_end? ? value >= self.end : value > self.end)

      block.call(value)
      i += 1
    end
    self
  end
  alias % step
end

class Symbol
  # Most calls have nothing but a receiver.
  def to_proc
    name = self
    lambda do |receiver, *rest, **named, &block|
      next receiver.__send__(name) if rest.empty? && named.empty? && !block

      receiver.__send__(name, *rest, **named, &block)
    end
  end

  def start_with?(*prefixes) = to_s.start_with?(*prefixes)
  def end_with?(*suffixes) = to_s.end_with?(*suffixes)
  def [](*at) = to_s[*at]
end

# Strings are UTF-8, always.
class Encoding
  def initialize(name)
    @name = name
  end
  attr_reader :name
  alias to_s name
  def inspect = "#<Encoding:#{@name}>"
  UTF_8 = new("UTF-8")
  class UndefinedConversionError < EncodingError; end
  class InvalidByteSequenceError < EncodingError; end

  def self.default_external = UTF_8
  def self.default_internal = nil
end

class String
  alias __upcase upcase
  alias __downcase downcase
  alias __capitalize capitalize
  alias __swapcase swapcase

  def ascii_only? = Tsumugi::Native.string_ascii?(self)
  def valid_encoding? = Tsumugi::Native.string_valid?(self)
  def scrub(with = "\u{fffd}") = Tsumugi::Native.string_scrub(self, with)
  def sum(bits = 16) = bytes.sum & ((1 << bits) - 1)
  def encoding = Encoding::UTF_8
  def unpack1(format) = unpack(format)[0]
  def upcase(*) = ascii_only? ? __upcase : Tsumugi::Native.string_upcase(self)
  def downcase(*) = ascii_only? ? __downcase : Tsumugi::Native.string_downcase(self)
  def capitalize(*) = ascii_only? ? __capitalize : Tsumugi::Native.string_upcase(self[0]) + self[1..-1].downcase
  def swapcase(*) = ascii_only? ? __swapcase : Tsumugi::Native.string_swapcase(self)
  def upcase!(*) = __become(upcase)
  def downcase!(*) = __become(downcase)
  def capitalize!(*) = __become(capitalize)
  def swapcase!(*) = __become(swapcase)
  # nil when nothing changed.
  def __change(changed)
    raise FrozenError, "can't modify frozen String: #{inspect}" if frozen?

    changed && replace(changed)
  end

  def tr(from, to) = Tsumugi::Native.string_tr(self, from, to, false) || dup
  def tr_s(from, to) = Tsumugi::Native.string_tr(self, from, to, true) || dup
  def tr!(from, to) = __change(Tsumugi::Native.string_tr(self, from, to, false))
  def tr_s!(from, to) = __change(Tsumugi::Native.string_tr(self, from, to, true))
  def count(set, *sets) = Tsumugi::Native.string_count(self, [set, *sets])
  def delete(set, *sets) = Tsumugi::Native.string_delete(self, [set, *sets]) || dup
  def delete!(set, *sets) = __change(Tsumugi::Native.string_delete(self, [set, *sets]))
  def squeeze(*sets) = Tsumugi::Native.string_squeeze(self, sets) || dup
  def squeeze!(*sets) = __change(Tsumugi::Native.string_squeeze(self, sets))
  def casecmp?(other) = other.is_a?(String) ? downcase == other.downcase : nil
  def crypt(_salt) = raise(NotImplementedError, "String#crypt is unsafe: use Password.create")

  def delete_prefix(prefix) = start_with?(prefix) ? byteslice(prefix.bytesize, bytesize - prefix.bytesize) : dup
  def delete_suffix(suffix) = end_with?(suffix) ? byteslice(0, bytesize - suffix.bytesize) : dup
  def delete_prefix!(prefix) = __become(delete_prefix(prefix))
  def delete_suffix!(suffix) = __become(delete_suffix(suffix))

  # mruby's own count characters from the beginning for each that they look at.
  def lstrip = Tsumugi::Native.string_lstrip(self)
  def rstrip = Tsumugi::Native.string_rstrip(self)
  def strip = Tsumugi::Native.string_strip(self)

  def each_char(&block)
    return to_enum(:each_char) unless block

    at = 0
    while at < bytesize
      char = byteslice(at, 4).__slice(0)
      block.call(char)
      at += char.bytesize
    end
    self
  end

  # UTF-8 is the only encoding; bytes stay as they are.
  def force_encoding(encoding)
    return self if %w[UTF-8 UTF8].include?(encoding.to_s.upcase)

    raise ArgumentError, "strings are UTF-8: #{encoding} is not supported; bytes, getbyte and unpack read bytes"
  end

  def encode(encoding = "UTF-8", *, **options)
    force_encoding(encoding)
    return scrub(options[:replace] || "\u{fffd}") if options[:invalid] == :replace

    dup
  end

  def unicode_normalized? = raise(NotImplementedError, "Unicode normalization is not built in")
end

class Exception
  def full_message(**)
    frames = backtrace || []
    "#{frames[0]}: #{message} (#{self.class})#{frames.drop(1).map { |frame| "\n\tfrom #{frame}" }.join}"
  end
end

class Method
  def curry(arity = nil) = to_proc.curry(*[arity].compact)
end

class Module
  # Constants and class methods have no visibility here: these accept what programs say.
  def private_constant(*) = nil
  def private_class_method(*) = nil
  def public_class_method(*) = nil
  def public_method_defined?(name, *) = method_defined?(name)
  def public_instance_methods(*inherit) = instance_methods(*inherit)
end

class Struct
  # `Struct.new(:a, keyword_init: true)`
  module KeywordInit
    # Not `**values`: Struct's `new` is native and hands keywords over as a Hash.
    def initialize(values = {})
      unknown = values.keys - members
      raise ArgumentError, "unknown keywords: #{unknown.join(', ')}" unless unknown.empty?

      super(*members.map { |name| values[name] })
    end
  end

  class << self
    alias __new new

    def new(*members, keyword_init: nil, &block)
      klass = __new(*members)
      klass.prepend(KeywordInit) if keyword_init
      klass.class_eval(&block) if block
      klass
    end
  end

  def deconstruct = to_a
  def deconstruct_keys(_) = to_h
end

module Kernel
  alias __integer Integer
  alias __float Float

  def Integer(value, base = nil, exception: true)
    value.is_a?(String) ? __integer(value, base || 0) : __integer(value)
  rescue ArgumentError, TypeError => e
    raise e if exception

    nil
  end

  def Float(value, exception: true)
    __float(value)
  rescue ArgumentError, TypeError => e
    raise e if exception

    nil
  end

  # Handlers are refused where they are read; this is for lines of a console and what is evaluated.
  def `(_command)
    raise NotImplementedError, Tsumugi::Native.absent_method("", "`")
  end

  def public_send(name, *arguments, **named, &block) = __send__(name, *arguments, **named, &block)

  def display
    print(to_s)
    nil
  end

  # Writes to the log.
  def warn(*messages, **)
    messages.flatten.each { |message| Tsumugi::Native.log("warn", message.to_s, {}) }
    nil
  end

  def pp(*values)
    p(*values)
    values.size > 1 ? values : values[0]
  end

  def printf(format, *arguments)
    print(format(format, *arguments))
    nil
  end
end
