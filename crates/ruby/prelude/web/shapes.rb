# Shapes: what a body or a query has to be, said once, and checked with all failures and a message for each. Not the rules and the words of
# messages, which are Rust's and the same for applications in Rust.
module Tsumugi
  # The fields of an object. `text integer number boolean list object file any` declare one each, `rule` a condition on several.
  class Shape
    KNOWN = {}
    OPTIONS = %i[min max in length format optional default].freeze
    KINDS = %i[text integer number boolean file any].freeze

    # The shape of a name, or the shape itself.
    def self.of(shape)
      return shape if shape.is_a?(Shape)

      KNOWN[shape] || raise(ArgumentError, "there is no shape #{shape.inspect}: declare it with shape(#{shape.inspect}) { … }#{known}")
    end

    def self.known = KNOWN.empty? ? "" : "; there are #{KNOWN.keys.map(&:inspect).join(', ')}"
    private_class_method :known

    attr_reader :native

    def initialize(&block)
      @fields = []
      @parts = []
      @rules = []
      instance_exec(&block)
      @native = Native.shape_new(@fields)
      @runs_blocks = !@rules.empty? || @parts.any? { |_, check, nested| check || nested&.runs_blocks? }
      @fields = nil
    end

    # Whether there is more to check than the rules.
    def runs_blocks? = @runs_blocks

    KINDS.each do |kind|
      define_method(kind) { |name, **options, &check| __field(name, kind, options, nil, check, nil, false) }
    end

    # An object in the object: `object(:address) { text :city }`, or `object :address, :place` of a shape that has a name.
    def object(name, shape = nil, **options, &block)
      nested = __nested(name, shape, block)
      __field(name, :object, options, nested.native, nil, nested, false)
    end

    # A list of objects (`list(:items) { integer :price }`, `list :items, :item`) or of single values (`list :tags, of: :text, each: { length: 1..20 }`).
    def list(name, shape = nil, of: nil, each: {}, **options, &block)
      if of
        raise ArgumentError, "list #{name.inspect} takes of: #{KINDS.map(&:inspect).join(', ')}, or a block" if !KINDS.include?(of) || shape || block

        return __field(name, :list, options, __spec(name, of, each, nil), nil, nil, false)
      end
      nested = __nested(name, shape, block)
      __field(name, :list, options, [name.to_s, :object, nil, nil, nil, nil, nil, nil, false, false, nil, nested.native], nil, nested, true)
    end

    # A condition on an object whose fields +names+ fit: its block gets the object, and answers what is wrong, a text or a key of `messages`, or
    # nil. The failure is the first of these fields', or the whole object's without one; then all of it has to fit.
    def rule(*names, &block)
      raise ArgumentError, "rule needs a block" unless block

      @rules << [names, block]
      nil
    end

    # The values, as a Hash with Symbol keys; or else the answer 422, which the block can give.
    def __check(context, given, form, whole, otherwise)
      values = Native.shape_check(@native, given, form)
      failures = []
      values, failures = values if values.is_a?(Array)
      __run(context, values, "", failures) if @runs_blocks && values
      return values if failures.empty?

      errors = Native.shape_messages(context, failures, whole)
      raise Invalid.new(errors) unless otherwise

      context.status 422
      raise Halt.new(otherwise.call(Form.new({}, form ? __first_of_each(given) : given, errors)))
    end

    # Runs the blocks on what fits so far.
    def __run(context, values, path, failures)
      @parts.each do |name, check, nested, many|
        return if failures.size > Native.shape_failures_max

        value = values[name]
        next if value.nil?

        at = path.empty? ? name.to_s : "#{path}.#{name}"
        if many
          value.each_with_index do |item, i|
            return if failures.size > Native.shape_failures_max

            nested.__run(context, item, "#{at}[#{i}]", failures) if item
          end
        elsif nested
          nested.__run(context, value, at, failures)
        else
          __add(failures, at, context.instance_exec(value, &check))
        end
      end
      @rules.each do |names, block|
        return if failures.size > Native.shape_failures_max

        at = names.map { |name| path.empty? ? name.to_s : "#{path}.#{name}" }
        at << path if at.empty?
        next if at.any? { |place| __failed?(failures, place) }

        __add(failures, at.first, context.instance_exec(values, &block))
      end
    end

    private

    def __nested(name, shape, block)
      raise ArgumentError, "#{name.inspect} needs a block with its fields, or the name of a shape" if shape.nil? == block.nil?

      shape ? Shape.of(shape) : Shape.new(&block)
    end

    def __field(name, kind, options, of, check, nested, many)
      raise ArgumentError, "the name of a field is a Symbol, not #{name.inspect}" unless name.is_a?(Symbol)

      @fields << __spec(name, kind, options, of)
      @parts << [name, check, nested&.runs_blocks? ? nested : nil, many] if check || nested&.runs_blocks?
      nil
    end

    # What Native.shape_new takes of a field.
    def __spec(name, kind, options, of)
      unknown = options.keys.find { |option| !OPTIONS.include?(option) }
      raise ArgumentError, "#{name}: there is no #{unknown.inspect}; there are #{OPTIONS.map(&:inspect).join(', ')}" if unknown

      min = options[:min]
      max = options[:max]
      choices = options[:in]
      if choices.is_a?(Range)
        min = choices.begin
        max = __last(name, choices)
        choices = nil
      end
      length = options[:length]
      length = length..length if length.is_a?(Integer)
      raise ArgumentError, "#{name}: length: is an Integer or a Range of them, not #{length.inspect}" unless length.nil? || length.is_a?(Range)

      [name.to_s, kind, min, max, length && (length.begin || 0), length && __last(name, length), choices, options[:format],
       options[:optional] ? true : false, options.key?(:default), options[:default], of]
    end

    def __last(name, range)
      last = range.end
      return last if last.nil? || !range.exclude_end?
      raise ArgumentError, "#{name}: #{range.inspect} ends before a number that is no Integer: write it with two dots" unless last.is_a?(Integer)

      last - 1
    end

    def __failed?(failures, place)
      failures.any? { |path, _, _| path == place || place.empty? || path.start_with?("#{place}.", "#{place}[") }
    end

    def __add(failures, path, answer)
      case answer
      when nil, false, true then nil
      when Symbol then failures << [path, answer.to_s, ""]
      when String then failures << [path, nil, answer]
      else raise TypeError, "a check of #{path.empty? ? 'the whole' : path} answers a text, the key of one or nil, not #{answer.class}"
      end
    end

    def __first_of_each(pairs)
      pairs.each_with_object({}) { |(name, value), hash| hash[name] = value unless hash.key?(name) }
    end
  end

  # What a page shows of a form: values that were typed, and the messages beside them. `Tsumugi::Form.new(name: "Ada")` begins with values.
  class Form
    def initialize(values = {}, sent = nil, errors = {})
      @values = values
      @sent = sent
      @errors = errors
    end

    # The value of an input, by its name, which is its path: `form["items[0].price"]`. Nothing of a file.
    def [](path)
      path = path.to_s
      value = @sent.nil? ? dig(@values, path) : @sent.is_a?(Hash) && (@sent.key?(path) ? @sent[path] : dig(@sent, path))
      value.is_a?(Upload) || value == false ? nil : value
    end

    # The messages of an input, an Array; of all, as a Hash.
    def errors(path = nil) = path.nil? ? @errors : @errors.fetch(path.to_s, [])
    def valid? = @errors.empty?

    # The indices of a list's items, to go through its inputs.
    def indices(path)
      path = path.to_s
      return [] if @sent && !@sent.is_a?(Hash)

      found = dig(@sent || @values, path)
      return (0...found.size).to_a if found.is_a?(Array)

      start = "#{path}["
      names = @sent ? @sent.keys.select { |name| name.start_with?(start) } : []
      names.map { |name| name[start.size..-1].to_i }.uniq.sort
    end

    private

    def dig(values, path)
      path.tr("[", ".").delete("]").split(".").reduce(values) do |value, step|
        case value
        when Hash then value.key?(step) ? value[step] : value[step.to_sym]
        when Array then value[step.to_i]
        end
      end
    end
  end

  class Body
    # The body as this shape wants it, a Hash with Symbol keys; else 422 with a message for each field that does not fit. A block may answer in
    # its place, with the page of the form: `body.check(:order) { |form| render "order", form: form }`.
    def check(shape, &otherwise)
      shape = Shape.of(shape)
      given = form? ? pairs : data
      shape.__check(@context, given, form?, "body", otherwise)
    end
  end

  class Parameters
    # The query as this shape wants it, as `body.check` does.
    def check(shape, &otherwise) = Shape.of(shape).__check(@context, to_a, true, "query", otherwise)
  end

  class Context
    # Ends the request with 422 and these messages, as `body.check` does: `invalid name: :taken`. A message is a text or a key of `messages`.
    # A block may answer in its place, with the page of the form: `invalid(name: :taken) { |form| render "order", form: form }`.
    def invalid(**fields, &otherwise)
      failures = []
      fields.each do |name, messages|
        (messages.is_a?(Array) ? messages : [messages]).each do |message|
          failures << (message.is_a?(Symbol) ? [name.to_s, message.to_s, ""] : [name.to_s, nil, message.to_s])
        end
      end
      errors = Native.shape_messages(self, failures, "body")
      raise Invalid.new(errors) unless otherwise

      sent = %i[json form multipart].include?(Native.body_type(self)) ? body.data : query.to_h
      status 422
      raise Halt.new(otherwise.call(Form.new({}, sent, errors)))
    end
  end
end

class << self
  # A shape, under a name or without one: `shape(:order) { text :customer, length: 1..100 }`.
  def shape(name = nil, &block)
    raise ArgumentError, "shape #{name.inspect} needs a block with its fields" unless block

    made = Tsumugi::Shape.new(&block)
    Tsumugi::Shape::KNOWN[name] = made if name
    made
  end

  # Words of messages in a language: `messages :ja, missing: "…", min: "{limit}以上"`. With `only: :ja` all are in this language, whatever
  # clients want.
  def messages(language = nil, only: nil, **words)
    raise ArgumentError, "messages takes a language and words, or only: a language" if language.nil? && (only.nil? || !words.empty?)

    Tsumugi::Native.messages_only(only.to_s) if only
    words.each { |key, text| Tsumugi::Native.messages_say(language.to_s, key.to_s, text.to_s) }
    nil
  end
end
