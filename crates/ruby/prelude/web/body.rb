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
      end
      self
    end

    # The body by its content type: JSON, or a form as {name: value}; a file is an Upload.
    def data
      return @data if @read

      @data = case media_type
              when "application/json" then json
              when FORM, MULTIPART then Parameters.new(pairs).to_h
              else
                raise Refused.new(415, "the content type must be application/json, #{FORM} or #{MULTIPART}")
              end
      @read = true
      @data
    end

    def json
      JSON.parse(text)
    rescue JSON::ParserError => e
      raise Refused.new(400, "malformed JSON: #{e.message}")
    end

    def form? = media_type == FORM || media_type == MULTIPART
    def [](name) = data.is_a?(Hash) ? data[name.to_s] : nil
    def to_h = data.is_a?(Hash) ? data : {}

    # All values of a form's name.
    def list(name) = form? ? Parameters.new(pairs).list(name) : Array(self[name])

    # The fields of these names and types, as a Hash with Symbol keys; 422 with all that are missing or wrong.
    # `body.require(name: String, age: Integer, admin: :bool, photo: Upload)`
    def require(**fields) = fetch(fields) { |name, errors| errors[name] = "is missing" }

    # The same for fields that may be missing; what is missing is not in the Hash.
    def permit(**fields) = fetch(fields) { |_, _| nil }

    private

    def fetch(fields)
      given = data
      raise Invalid.new({ body: "must be an object" }) unless given.is_a?(Hash)

      errors = {}
      values = {}
      fields.each do |name, type|
        value = given[name.to_s]
        if value.nil? || (value == "" && type != :bool)
          yield name, errors
        elsif (converted = Conversion.field(value, type)).nil?
          errors[name] = "must be #{Conversion.name_of(type)}"
        else
          values[name] = converted
        end
      end
      raise Invalid.new(errors) unless errors.empty?

      values
    end

    def pairs
      @pairs ||= if media_type == FORM
                   # What curl -d sends of JSON. A form would have encoded these signs.
                   raise Refused.new(415, "the body is JSON sent as #{FORM}: its content type must be application/json") if text.start_with?("{\"")

                   Native.form(text)
                 else
                   Native.body_parts(@context).map do |name, content, *file|
                     [name, file.empty? ? content : Upload.new(content, *file)]
                   end
                 end
    end

    def media_type = (@context.headers["content-type"] || "").split(";").first.to_s.strip.downcase
  end
end
