# The body of a request: text, JSON, forms with files, or pieces. The first use reads it; reading parks the fibre.
# Not the parsing, which is Rust's.

# A file of a form. It is gone when the request ends: `save` it before.
class Upload
  READ_BYTES = 65_536

  # +filename+ has no folders, but is otherwise as the client chose it; so is +content_type+.
  attr_reader :filename, :content_type, :size

  def initialize(part, filename, content_type, size)
    @part = part
    @filename = filename
    @content_type = content_type
    @size = size
  end

  # The bytes, or +length+ of them from +offset+ on.
  def read(length = @size, offset = 0) = Tsumugi::Native.upload_read(@part, offset, length)

  # Calls the block with one piece after the other.
  def each_chunk
    offset = 0
    while offset < @size
      piece = read(READ_BYTES, offset)
      offset += piece.bytesize
      yield piece
    end
    self
  end

  # Writes the file to +path+, where nothing may be yet. Never use +filename+ as a path without a look at it.
  def save(path)
    Tsumugi::Native.upload_save(@part, path)
    path
  end

  # Writes the file to +path+ in place of the one that is there, if one is. Who reads it meanwhile has all of the old one or all of the new one.
  def replace(path)
    Tsumugi::Native.upload_replace(@part, path)
    path
  end

  def inspect = "#<Upload #{@filename.inspect} #{@size} bytes>"
end

module Tsumugi
  class Body
    FORM = "application/x-www-form-urlencoded"
    MULTIPART = "multipart/form-data"

    def initialize(context)
      @context = context
    end

    # The bytes, up to body_bytes_max.
    def text = @text ||= Native.body(@context)
    alias to_s text
    alias read text

    # Calls the block with pieces as they come, for bodies that are passed on; no more than +max+ bytes in all (413).
    def each_chunk(max: Native.upload_bytes_max)
      total = 0
      while (piece = Native.body_piece(@context))
        total += piece.bytesize
        raise Refused.new(413, "request is larger than #{max} bytes, which is upload_bytes_max or the max: of its reader") if total > max

        yield piece
        # While the fibre waits for the next, the collector may take this one.
        piece = nil
      end
      self
    end

    # The body by its content type: JSON, or a form as {name: value}; a file is an Upload.
    def data
      return @data if @read

      @data = case Native.body_type(@context)
              when :json then json
              when :form, :multipart then first_of_each(pairs)
              else
                raise Refused.new(415, "the content type must be application/json, #{FORM} or #{MULTIPART}")
              end
      @read = true
      @data
    end

    def json
      Native.json_parse(text, false)
    rescue JSON::ParserError => e
      raise Refused.new(400, "malformed JSON: #{e.message}")
    end

    def form?
      type = Native.body_type(@context)
      type == :form || type == :multipart
    end

    def [](name) = to_h[name.to_s]

    def to_h
      given = data
      given.is_a?(Hash) ? given : {}
    end

    # All values of a form's name.
    def list(name)
      return Array(self[name]) unless form?

      name = name.to_s
      pairs.select { |key, _| key == name }.map { |_, value| value }
    end

    # The fields of these names and types, as a Hash with Symbol keys; 422 with all that are missing or wrong.
    # `body.require(name: String, age: Integer, admin: :bool, photo: Upload)`
    def require(**fields) = Native.body_fields(object, fields, true)

    # The same for fields that may be missing; what is missing is not in the Hash.
    def permit(**fields) = Native.body_fields(object, fields, false)

    private

    def object
      given = data
      raise Invalid.new({ body: "must be an object" }) unless given.is_a?(Hash)

      given
    end

    # Of several values of a name, the first. Names stay Strings: what a client sends never becomes a Symbol.
    def first_of_each(pairs)
      pairs.each_with_object({}) { |(name, value), hash| hash[name] = value unless hash.key?(name) }
    end

    def pairs
      @pairs ||= if Native.body_type(@context) == :form
                   # What curl -d sends of JSON. A form would have encoded these signs.
                   raise Refused.new(415, "the body is JSON sent as #{FORM}: its content type must be application/json") if text.start_with?("{\"")

                   Native.form(text)
                 else
                   Native.body_parts(@context).map do |name, content, *file|
                     [name, file.empty? ? content : Upload.new(content, *file)]
                   end
                 end
    end
  end
end
