# Values of databases that Ruby has no class for: exact decimal numbers and calendar dates. Not a numeric tower: what is not here
# (division, roots) has no exact answer. Rule: nothing is ever rounded unless `round` or `to_f` is called.
class DB
  # An exact decimal number: `DB::Decimal.parse("12.50") + 1`. NaN and the infinities are Floats. The Decimal stands first:
  # mruby's Integer does not ask what stands after it, so `1 + decimal` raises TypeError.
  class Decimal
    include Comparable

    def self.parse(text)
      case text
      when "NaN" then return Float::NAN
      when "Infinity" then return Float::INFINITY
      when "-Infinity" then return -Float::INFINITY
      end
      whole, part = text.split(".", 2)
      digits = "#{whole}#{part}"
      raise ArgumentError, "no decimal number: #{text.inspect}" unless __digits?(digits)

      new(digits.to_i, part ? part.size : 0)
    end

    def self.__digits?(text)
      text = text[1..-1] if text[0] == "-" || text[0] == "+"
      !text.empty? && text.bytes.all? { |b| b >= 48 && b <= 57 }
    end

    # +unscaled+ / 10**+scale+
    attr_reader :unscaled, :scale

    # A negative +scale+ stands for zeros before the point; then there is none.
    def initialize(unscaled, scale = 0)
      @unscaled = scale < 0 ? unscaled * 10**-scale : unscaled
      @scale = scale < 0 ? 0 : scale
    end

    def +(other) = __with(other) { |a, b, scale| Decimal.new(a + b, scale) }
    def -(other) = __with(other) { |a, b, scale| Decimal.new(a - b, scale) }

    def *(other)
      return to_f * other if other.is_a?(Float)

      other = __decimal(other)
      Decimal.new(@unscaled * other.unscaled, @scale + other.scale)
    end

    def -@ = Decimal.new(-@unscaled, @scale)
    def abs = Decimal.new(@unscaled.abs, @scale)

    def <=>(other)
      return to_f <=> other if other.is_a?(Float)
      return nil unless other.is_a?(Integer) || other.is_a?(Decimal)

      __with(other) { |a, b, _| a <=> b }
    end

    def ==(other) = (self <=> other) == 0
    def eql?(other) = other.is_a?(Decimal) && self == other
    def hash = __short.to_s.hash
    def zero? = @unscaled == 0
    def negative? = @unscaled < 0

    # Half away from zero, to so many places; negative ones are those before the point.
    def round(places = 0)
      return self if places >= @scale

      unit = 10**(@scale - places)
      half = (@unscaled.abs * 2 + unit) / (unit * 2)
      half = -half if @unscaled < 0
      Decimal.new(half, places)
    end

    def to_i = @unscaled < 0 ? -(-@unscaled / 10**@scale) : @unscaled / 10**@scale
    def to_f = to_s.to_f
    def to_d = self

    def to_s
      return @unscaled.to_s if @scale == 0

      digits = @unscaled.abs.to_s
      digits = "0" * (@scale + 1 - digits.size) + digits if digits.size <= @scale
      "#{"-" if @unscaled < 0}#{digits[0...-@scale]}.#{digits[-@scale..-1]}"
    end
    alias inspect to_s
    alias __bind to_s

    # A String, because many readers of JSON round numbers.
    def to_json(*) = to_s.to_json

    def __with(other)
      return yield(to_f, other, 0) if other.is_a?(Float)

      other = __decimal(other)
      scale = @scale > other.scale ? @scale : other.scale
      yield @unscaled * 10**(scale - @scale), other.unscaled * 10**(scale - other.scale), scale
    end

    def __decimal(other)
      case other
      when Decimal then other
      when Integer then Decimal.new(other)
      else raise TypeError, "#{other.class} is no exact number"
      end
    end

    # Without zeros at the end, so that equal numbers are written the same.
    def __short
      unscaled = @unscaled
      scale = @scale
      while scale > 0 && unscaled % 10 == 0
        unscaled /= 10
        scale -= 1
      end
      Decimal.new(unscaled, scale)
    end
  end

  # A calendar date: `DB::Date.parse("2024-02-29") + 1`. In results infinite dates are Floats, dates BC Strings.
  class Date
    include Comparable

    def self.parse(text)
      parts = text.split("-")
      unless parts.map(&:size)[1..-1] == [2, 2] && parts[0].size >= 4 && Decimal.__digits?(parts.join)
        raise ArgumentError, "no date: #{text.inspect}; it is written like 2024-02-29"
      end

      new(*parts.map(&:to_i))
    end

    # As a database writes it.
    def self.__read(text)
      case text
      when "infinity" then Float::INFINITY
      when "-infinity" then -Float::INFINITY
      else text.end_with?(" BC") ? text : parse(text)
      end
    end

    def self.today
      now = Time.now
      new(now.year, now.month, now.day)
    end

    attr_reader :year, :month, :day

    def initialize(year, month, day)
      @year = year
      @month = month
      @day = day
      raise ArgumentError, "no date: #{self}" unless month.between?(1, 12) && day.between?(1, __days)
    end

    def to_time = Time.gm(@year, @month, @day)
    # Days since 1970-01-01.
    def to_days = to_time.to_i / 86_400
    def wday = to_time.wday
    def +(days) = Date.__of(to_days + days)
    def -(other) = other.is_a?(Date) ? to_days - other.to_days : Date.__of(to_days - other)
    def succ = self + 1
    def <=>(other) = other.is_a?(Date) ? __parts <=> other.__parts : nil
    def ==(other) = other.is_a?(Date) && (self <=> other) == 0
    def eql?(other) = self == other
    def hash = to_s.hash
    def strftime(format) = to_time.strftime(format)

    def to_s = "#{__pad(@year, 4)}-#{__pad(@month, 2)}-#{__pad(@day, 2)}"
    alias inspect to_s
    alias iso8601 to_s
    alias __bind to_s
    def to_json(*) = to_s.to_json
    def __parts = [@year, @month, @day]

    # Of the month.
    def __days
      return [31, nil, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][@month - 1] unless @month == 2

      @year % 4 == 0 && (@year % 100 != 0 || @year % 400 == 0) ? 29 : 28
    end

    def __pad(number, width)
      return "-#{__pad(-number, width)}" if number < 0

      text = number.to_s
      text.size < width ? "0" * (width - text.size) + text : text
    end

    def self.__of(days)
      time = Time.at(days * 86_400).utc
      new(time.year, time.month, time.day)
    end
  end
end

class Time
  # As a statement gets it.
  def __bind = getutc.iso8601(6)
end
