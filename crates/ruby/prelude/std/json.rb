# JSON as in CRuby: parse, generate, pretty_generate, to_json. The work is Rust's.
module JSON
  class JSONError < StandardError; end
  # The text is no JSON; the message says where.
  class ParserError < JSONError; end
  # Nested deeper than json_depth_max.
  class NestingError < ParserError; end
  class GeneratorError < JSONError; end

  class << self
    # Names stay Strings; `symbolize_names: true` is for the program's own data.
    def parse(text, symbolize_names: false) = Tsumugi::Native.json_parse(text, symbolize_names)
    alias parse! parse

    def load(text, _each = nil, symbolize_names: false) = text.nil? ? nil : parse(text, symbolize_names: symbolize_names)

    def generate(value, _options = nil) = Tsumugi::Native.json_generate(value, false)
    alias dump generate

    def pretty_generate(value, _options = nil) = Tsumugi::Native.json_generate(value, true)
  end

  module Generated
    def to_json(*) = Tsumugi::Native.json_generate(self, false)
  end
end

[Hash, Array, String, Integer, Float, Symbol, NilClass, TrueClass, FalseClass].each { |k| k.include(JSON::Generated) }
