# Regexp, MatchData and the methods of String that take patterns. Matching is Rust's; loops that call a block are here, so
# that the block may wait. `$~`, `$&` and `$1` to `$9` are the request's own; `` $` `` and `$'` are not set: use pre_match and post_match.
class RegexpError < StandardError; end

class Regexp
  # The match took more steps than regexp_backtracks_max.
  class TimeoutError < RegexpError; end

  IGNORECASE = 1
  EXTENDED = 2
  MULTILINE = 4

  class << self
    def escape(text) = Tsumugi::Native.regexp_escape(text)
    alias quote escape

    def union(*patterns)
      patterns = patterns[0] if patterns.size == 1 && patterns[0].is_a?(Array)
      return new("(?!)") if patterns.empty?
      return patterns[0] if patterns.size == 1 && patterns[0].is_a?(Regexp)

      new(patterns.map { |pattern| pattern.is_a?(Regexp) ? pattern.to_s : escape(pattern) }.join("|"))
    end

    def last_match(group = nil)
      found = $~
      group && found ? found[group] : found
    end
  end

  def match(text, at = 0)
    found = __match(text, at)
    found && block_given? ? yield(found) : found
  end

  def casefold? = options & IGNORECASE != 0
  def ==(other) = other.is_a?(Regexp) && source == other.source && options == other.options
  alias eql? ==
  def hash = [source, options].hash
end

class MatchData
  alias length size

  def [](at, length = nil)
    length || at.is_a?(Range) ? to_a[*[at, length].compact] : __at(at)
  end

  def regexp = Regexp.new(*__pattern)
  def names = regexp.names
  def values_at(*groups) = groups.map { |group| self[group] }
  def deconstruct_keys(_) = named_captures.to_h { |name, text| [name.to_sym, text] }
  def ==(other) = other.is_a?(MatchData) && string == other.string && to_a == other.to_a && offset(0) == other.offset(0)

  def inspect
    names = {}
    regexp.named_captures.each { |name, numbers| numbers.each { |number| names[number] = name } }
    groups = captures.each_with_index.map { |text, i| " #{names[i + 1] || i + 1}:#{text.inspect}" }
    "#<MatchData #{to_s.inspect}#{groups.join}>"
  end
end

module Kernel
  def =~(_other) = nil
  def !~(other) = !(self =~ other)
end

class Symbol
  def =~(pattern) = to_s =~ pattern
  def match(pattern, at = 0) = to_s.match(pattern, at)
  def match?(pattern, at = 0) = to_s.match?(pattern, at)
end

class String
  def =~(pattern)
    raise TypeError, "type mismatch: String given" if pattern.is_a?(String)

    pattern =~ self
  end

  def match(pattern, at = 0, &block) = Regexp.new(pattern).match(self, at, &block)
  def match?(pattern, at = 0) = Regexp.new(pattern).match?(self, at)

  def scan(pattern)
    pattern = Regexp.new(Regexp.escape(pattern)) if pattern.is_a?(String)
    return pattern.__scan(self) unless block_given?

    pattern.__matches(self).each do |found|
      Tsumugi::Native.regexp_show(found)
      yield found.size > 1 ? found.captures : found[0]
    end
    self
  end

  alias __gsub gsub
  alias __sub sub
  alias __split split
  alias __slice []
  alias __store []=
  alias __slice! slice!
  alias __index index
  alias __rindex rindex
  alias __partition partition
  alias __rpartition rpartition
  alias __start_with? start_with?
  alias __delete_prefix delete_prefix

  def gsub(pattern, replacement = (none = true), &block)
    if none
      return to_enum(:gsub, pattern) unless block
      return pattern.is_a?(Regexp) ? __replace(pattern, nil, &block) : __gsub(pattern, &block)
    end
    return __replace(pattern, nil) { |text| replacement[text].to_s } if replacement.is_a?(Hash)
    return __gsub(pattern, replacement) unless pattern.is_a?(Regexp)

    pattern.__sub(self, replacement, true) || dup
  end

  def sub(pattern, replacement = (none = true), &block)
    if none
      raise ArgumentError, "wrong number of arguments (given 1, expected 2)" unless block
      return pattern.is_a?(Regexp) ? __replace(pattern, true, &block) : __sub(pattern, &block)
    end
    return __replace(pattern, true) { |text| replacement[text].to_s } if replacement.is_a?(Hash)
    return __sub(pattern, replacement) unless pattern.is_a?(Regexp)

    pattern.__sub(self, replacement, false) || dup
  end

  def gsub!(*arguments, &block) = __become(gsub(*arguments, &block))
  def sub!(*arguments, &block) = __become(sub(*arguments, &block))

  def __become(text)
    raise FrozenError, "can't modify frozen String: #{inspect}" if frozen?
    return nil if text == self

    replace(text)
  end

  # Replaces matches (only the first unless +first+ is nil) by what the block answers.
  def __replace(pattern, first)
    pattern = Regexp.new(Regexp.escape(pattern)) unless pattern.is_a?(Regexp)
    found = pattern.__matches(self, first)
    Tsumugi::Native.regexp_show(found.last)
    return dup if found.empty?

    out = ""
    rest = nil
    found.each do |match|
      Tsumugi::Native.regexp_show(match)
      out << Tsumugi::Native.regexp_between(rest, match) << yield(match.to_s).to_s
      rest = match
    end
    out << rest.post_match
  end

  def split(pattern = nil, limit = 0, &block)
    parts = pattern.is_a?(Regexp) ? pattern.__split(self, limit) : __split(pattern, limit)
    return parts unless block

    parts.each(&block)
    self
  end

  def [](at, length = nil)
    return length ? __slice(at, length) : __slice(at) unless at.is_a?(Regexp)

    found = at.__match(self)
    found && found[length || 0]
  end
  alias slice []

  def []=(at, *rest)
    return __store(at, *rest) unless at.is_a?(Regexp)

    found = at.__match(self)
    raise IndexError, "regexp not matched" unless found

    group = rest.size > 1 ? rest[0] : 0
    first = found.begin(group)
    __store(first, found.end(group) - first, rest[-1])
  end

  def slice!(at, *rest)
    return __slice!(at, *rest) unless at.is_a?(Regexp)

    found = at.__match(self)
    return nil unless found

    group = rest[0] || 0
    text = found[group]
    __store(found.begin(group), found.end(group) - found.begin(group), "") if text
    text
  end

  def index(pattern, at = 0)
    return __index(pattern, at) unless pattern.is_a?(Regexp)

    found = pattern.__match(self, at)
    found && found.begin(0)
  end

  def rindex(pattern, *at) = pattern.is_a?(Regexp) ? pattern.__rindex(self, *at) : __rindex(pattern, *at)

  def partition(pattern)
    return __partition(pattern) unless pattern.is_a?(Regexp)

    found = pattern.__match(self)
    found ? [found.pre_match, found.to_s, found.post_match] : [dup, "", ""]
  end

  def rpartition(pattern)
    return __rpartition(pattern) unless pattern.is_a?(Regexp)

    pattern.__rindex(self) ? [$~.pre_match, $~.to_s, $~.post_match] : ["", "", dup]
  end

  def start_with?(*prefixes)
    prefixes.any? do |prefix|
      next __start_with?(prefix) unless prefix.is_a?(Regexp)

      found = Regexp.new("\\A(?:#{prefix})").__match(self)
      !found.nil?
    end
  end
end
