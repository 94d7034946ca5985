# Numbers: what CRuby's have and mruby's lack.
class Integer
  alias __pow **

  # A Rational where the exponent is below 0, not a Float.
  def **(other)
    return Rational(1, __pow(-other)) if other.is_a?(Integer) && other < 0

    __pow(other)
  end

  def self.sqrt(number)
    raise Math::DomainError, "Numerical argument is out of domain - \"isqrt\"" if number < 0
    return number if number < 2

    root = 1 << ((number.bit_length + 1) / 2)
    while true
      smaller = (root + number / root) / 2
      return root if smaller >= root

      root = smaller
    end
  end

  def ceildiv(other) = -(-self).div(other)
  def allbits?(mask) = self & mask == mask
  def anybits?(mask) = self & mask != 0
  def nobits?(mask) = self & mask == 0
  def coerce(other) = other.is_a?(Integer) ? [other, self] : [Float(other), to_f]
end

class Float
  alias __round round

  # `half:` is :up (away from zero), :even or :down.
  def round(digits = 0, half: nil)
    return __round(digits) if half.nil? || half.to_s == "up"
    raise ArgumentError, "invalid rounding mode: #{half}" unless %w[even down].include?(half.to_s)

    scale = 10**digits
    scaled = self * scale
    return __round(digits) unless (scaled - scaled.truncate).abs == 0.5

    whole = scaled.truncate
    whole += scaled > 0 ? 1 : -1 if half.to_s == "even" && whole.odd?
    digits > 0 ? whole.to_f / scale : whole / scale
  end

  def next_float = __neighbour(1)
  def prev_float = __neighbour(-1)
  def coerce(other) = [Float(other), self]

  def __neighbour(step)
    return self if nan? || (infinite? && (self > 0) == (step > 0))
    return step * 5e-324 if self == 0

    bits = [self].pack("G").unpack("N2")
    bits = (bits[0] << 32) + bits[1] + (self > 0 ? step : -step)
    [bits >> 32, bits & 0xffffffff].pack("N2").unpack("G")[0]
  end
end

module Kernel
  alias __rand rand

  # A Range gives a number in it.
  def rand(max = 0)
    return __rand(max.is_a?(Float) ? max.to_i : max || 0) unless max.is_a?(Range)

    first, last = max.begin, max.end
    return first + __rand * (last - first) if first.is_a?(Float) || last.is_a?(Float)

    count = last - first + (max.exclude_end? ? 0 : 1)
    count > 0 ? first + __rand(count) : nil
  end
end

class String
  def to_r
    number = self[/\A\s*[-+]?\d[\d_]*(\.\d+)?/].to_s.strip.delete("_")
    return Rational(0, 1) if number.empty?

    whole, fraction = number.split(".")
    top = Rational(whole.to_i * 10**fraction.to_s.size + (number.start_with?("-") ? -1 : 1) * fraction.to_i, 10**fraction.to_s.size)
    below = self[/\A\s*[-+]?\d[\d_]*(?:\.\d+)?\/(\d+)/, 1]
    below ? top / below.to_i : top
  end
end
