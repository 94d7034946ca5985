# What clients send as names and values, with checks that answer the client. Not the parsing, which is Rust's.
module Tsumugi
  # A request that cannot be read as it was sent: answered with its status and a text, never logged as an error.
  class Refused < Halt
    attr_reader :status, :message

    def initialize(status, message)
      super(nil)
      @status = status
      @message = message
    end
  end

  # Fields that are missing or of the wrong type: 422 with every one of them.
  class Invalid < Halt
    attr_reader :errors

    def initialize(errors)
      super(nil)
      @errors = errors
    end
  end

  # The parameters of a query string. `query[:q]` is the first value or nil, `query.list(:tag)` all of them.
  class Parameters
    include Enumerable

    def initialize(pairs)
      @pairs = pairs
    end

    def [](name)
      name = name.to_s
      pair = @pairs.find { |key, _| key == name }
      pair && pair[1]
    end

    def list(name) = @pairs.select { |key, _| key == name.to_s }.map { |_, value| value }
    def key?(name) = !self[name].nil?
    def each(&block) = @pairs.each(&block)
    def empty? = @pairs.empty?

    # Of several values of a name, the first. Names stay Strings: what a client sends never becomes a Symbol.
    def to_h
      @pairs.each_with_object({}) { |(key, value), hash| hash[key] = value unless hash.key?(key) }
    end

    # An Integer, or +default+ when it is absent: `query.int(:page, 1, in: 1..100)`. Anything else answers 400.
    def int(name, default = nil, **options)
      number(name, default, options, "an integer") { |text| Conversion.integer(text) }
    end

    def float(name, default = nil, **options)
      number(name, default, options, "a number") { |text| Conversion.float(text) }
    end

    def bool(name, default = nil)
      number(name, default, {}, "true or false") { |text| Conversion.boolean(text) }
    end

    private

    def number(name, default, options, wanted)
      text = self[name]
      return default if text.nil? || text.empty?

      value = yield text
      raise Refused.new(400, "parameter #{name} must be #{wanted}") if value.nil?

      range = options[:in]
      raise Refused.new(400, "parameter #{name} must be in #{range}") if range && !range.include?(value)

      value
    end
  end

  # Text from clients to values; nil when it is none of the type.
  module Conversion
    DIGITS = "0123456789"

    def self.integer(text)
      digits = text.start_with?("-") ? text[1..-1] : text
      return nil if digits.empty? || digits.size > 19 || !digits.each_char.all? { |c| DIGITS.include?(c) }

      value = text.to_i
      value if value.between?(-9_223_372_036_854_775_808, 9_223_372_036_854_775_807)
    end

    def self.float(text)
      Float(text)
    rescue ArgumentError
      nil
    end

    def self.boolean(text)
      case text
      when "true", "1", "on", "yes" then true
      when "false", "0", "off", "no" then false
      end
    end

    # +value+ as +type+: what JSON already typed must be of the type, text (of a form) is converted.
    def self.field(value, type)
      if type == :bool
        return value if value == true || value == false
        return value.is_a?(String) ? boolean(value) : nil
      end
      return value if value.is_a?(type)
      return value.to_f if type == Float && value.is_a?(Integer)
      return nil unless value.is_a?(String)

      if type == Integer then integer(value)
      elsif type == Float then float(value)
      end
    end

    NAMES = { :bool => "true or false", String => "a string", Integer => "an integer", Float => "a number", Array => "a list", Hash => "an object" }

    def self.name_of(type) = NAMES[type] || (type == Upload ? "a file" : "of type #{type}")
  end
end
