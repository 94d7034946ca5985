# Calls to other servers: `http.get(url)`. Other requests run while one waits. Where a call may go is not
# restricted unless it says `public_only: true`, or the application `http.public_only!`: an application whose clients choose the URL says so.
module HTTP
  # Every failure of a call. A status such as 404 is no failure: ask the response.
  class Error < StandardError; end
  # No answer in time; the server may have acted.
  class Timeout < Error; end
  # Nothing was sent.
  class ConnectionFailed < Error; end
  # The server broke off or broke the rules; it may have acted.
  class ProtocolError < Error; end
  # The answer is larger than max_bytes.
  class TooLarge < Error; end
  class TooManyRedirects < Error; end
  # A redirect from https to http.
  class InsecureRedirect < Error; end
  class InvalidURL < Error; end
  # The URL leads to an address that is not public, and `public_only:` is wanted. Nothing was sent.
  class NotPublic < Error; end
  # In tests: no stub answers. No StandardError, so that no `rescue => e` of the application takes it for a server that fails.
  class NotStubbed < Exception; end

  # What a server answered.
  class Response
    attr_reader :status, :headers, :body, :url

    def initialize(status, headers, body, url)
      @status = status
      @headers = Headers.new(headers)
      @body = body
      @url = url
    end

    alias text body
    alias to_s body

    # 200 to 299?
    def ok? = @status.between?(200, 299)
    def json = JSON.parse(@body)
    def [](name) = @headers[name]
    def inspect = "#<HTTP::Response #{@status} #{@body.bytesize} bytes>"
  end

  # Names in any case, with _ or -.
  class Headers
    include Enumerable

    def initialize(pairs)
      @pairs = pairs
    end

    # Several values of one name are joined with ", ".
    def [](name)
      values = all(name)
      values.empty? ? nil : values.join(", ")
    end

    def all(name)
      name = name.to_s.tr("_", "-").downcase
      @pairs.select { |key, _| key == name }.map { |_, value| value }
    end

    def key?(name) = !all(name).empty?
    def to_h = @pairs.each_with_object({}) { |(name, _), hash| hash[name] = self[name] }

    def each(&block)
      @pairs.each(&block)
      self
    end
  end

  class << self
    # +options+ are `headers:` and `query:` (Hashes), one of `json:`, `form:` (a Hash) and `body:` (a String), `timeout:` in seconds
    # for the whole call, `redirects:` how many are followed, `max_bytes:` of the answer's body, `public_only:` whether only addresses of the
    # public internet may be called, redirects included.
    def request(method, url, **options)
      unknown = options.keys - %i[headers query json form body timeout redirects max_bytes public_only]
      raise ArgumentError, "an HTTP call has no option #{unknown.first}:" unless unknown.empty?

      options = { redirects: 5, public_only: @public_only }.merge(options)
      Response.new(*Tsumugi::Native.http_call(method.to_s, url.to_s, options))
    end

    # From now on calls that say nothing of it go to addresses of the public internet only. For the application file.
    def public_only! = @public_only = true

    def get(url, **options) = request("GET", url, **options)
    def head(url, **options) = request("HEAD", url, **options)
    def post(url, **options) = request("POST", url, **options)
    def put(url, **options) = request("PUT", url, **options)
    def patch(url, **options) = request("PATCH", url, **options)
    def delete(url, **options) = request("DELETE", url, **options)
  end
end

module Kernel
  def http = HTTP
end
