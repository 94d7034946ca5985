# Time as in CRuby where mruby's lacks: strftime, iso8601, parsing. Times are UTC or of the server's zone: a time that is
# read with another offset becomes UTC, the same moment.
class Time
  class << self
    # `2024-01-31T12:34:56.789+09:00`; without an offset it is local.
    def iso8601(text) = __read(text) || raise(ArgumentError, "invalid xmlschema format: #{text.inspect}")
    alias xmlschema iso8601
    def parse(text, _now = nil) = __read(text) || raise(ArgumentError, "no time information in #{text.inspect}: only ISO 8601 is read")

    def __read(text)
      *parts, offset = Tsumugi::Native.time_read(text)
      return nil if parts.empty?
      return local(*parts) unless offset

      gm(*parts) - offset
    end
  end

  def strftime(format)
    Tsumugi::Native.time_format(format, [year, month, day, hour, min, sec, nsec, utc_offset, wday, yday, to_i, utc? ? "UTC" : __zone])
  end

  def utc_offset = utc? ? 0 : Time.gm(year, month, day, hour, min, sec).to_i - to_i
  alias gmt_offset utc_offset
  alias gmtoff utc_offset
  def nsec = usec * 1000
  alias tv_nsec nsec
  def to_a = [sec, min, hour, day, month, year, wday, yday, dst?, zone]
  def subsec = usec / 1_000_000.0

  def iso8601(digits = 0)
    fraction = digits > 0 ? ".%#{digits}N" : ""
    strftime("%Y-%m-%dT%H:%M:%S#{fraction}#{utc? ? 'Z' : '%:z'}")
  end
  alias xmlschema iso8601

  # In UTC, with as much of the fraction as there is: the text that the JSON of rows has.
  def to_json(*)
    digits = usec == 0 ? 0 : 6
    fraction = usec
    while digits > 0 && fraction % 10 == 0
      fraction /= 10
      digits -= 1
    end
    getutc.iso8601(digits).to_json
  end

  def httpdate = getutc.strftime("%a, %d %b %Y %H:%M:%S GMT")
  def rfc2822 = strftime("%a, %d %b %Y %H:%M:%S #{utc? ? '-0000' : '%z'}")

  def round(digits = 0)
    unit = 10**(6 - digits)
    micros = (usec + unit / 2) / unit * unit
    Time.at(to_i + micros / 1_000_000, micros % 1_000_000).__like(self)
  end

  def floor(digits = 0)
    unit = 10**(6 - digits)
    Time.at(to_i, usec / unit * unit).__like(self)
  end

  def __like(other) = other.utc? ? getutc : self
  def __zone = utc_offset == 0 ? "UTC" : ""
end
