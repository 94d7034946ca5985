# Base64, URI, CGI, ERB::Util as in CRuby, over Rust.
module Base64
  class << self
    def strict_encode64(bytes) = Tsumugi::Native.base64_encode(bytes, false)
    def strict_decode64(text) = Tsumugi::Native.base64_decode(text, "strict")
    def encode64(bytes) = Tsumugi::Native.base64_encode(bytes, true)
    def decode64(text) = Tsumugi::Native.base64_decode(text, "lenient")
    def urlsafe_decode64(text) = Tsumugi::Native.base64_decode(text, "urlsafe")

    def urlsafe_encode64(bytes, padding: true)
      text = strict_encode64(bytes).tr("+/", "-_")
      padding ? text : text.delete("=")
    end
  end
end

module URI
  class Error < StandardError; end
  class InvalidURIError < Error; end

  # The parts of a URI; those that are absent are nil.
  class Generic
    attr_reader :scheme, :userinfo, :host, :port, :path, :query, :fragment

    PORTS = { "http" => 80, "https" => 443, "ftp" => 21, "ws" => 80, "wss" => 443 }.freeze

    def initialize(scheme, userinfo, host, port, path, query, fragment)
      @scheme = scheme
      @userinfo = userinfo
      @host = host
      @port = port || PORTS[scheme]
      @path = path
      @query = query
      @fragment = fragment
    end

    def default_port = PORTS[scheme]
    def user = userinfo && userinfo.split(":", 2)[0]
    def password = userinfo && userinfo.split(":", 2)[1]
    def hostname = host && host.start_with?("[") ? host[1..-2] : host
    def request_uri = (path.empty? ? "/" : path) + (query ? "?#{query}" : "")
    def absolute? = !scheme.nil?
    def relative? = scheme.nil?
    def ==(other) = other.is_a?(Generic) && to_s == other.to_s
    def inspect = "#<#{self.class} #{self}>"

    def to_s
      text = ""
      text << "#{scheme}:" if scheme
      text << "//#{"#{userinfo}@" if userinfo}#{host}#{":#{port}" if port && port != default_port}" if host
      text << path
      text << "?#{query}" if query
      text << "##{fragment}" if fragment
      text
    end
  end
  class HTTP < Generic; end
  class HTTPS < HTTP; end

  class << self
    def encode_www_form_component(text) = Tsumugi::Native.percent_encode(text.to_s, true)
    def decode_www_form_component(text) = Tsumugi::Native.percent_decode(text, true)
    def encode_uri_component(text) = Tsumugi::Native.percent_encode(text.to_s, true).gsub("+", "%20")
    def decode_uri_component(text) = Tsumugi::Native.percent_decode(text, false)

    # `a=1&b=2&b=3` of a Hash or of pairs.
    def encode_www_form(pairs = nil, **named)
      (pairs || named).flat_map do |name, value|
        name = encode_www_form_component(name)
        if value.nil? then [name]
        elsif value.is_a?(Array) then value.map { |one| one.nil? ? name : "#{name}=#{encode_www_form_component(one)}" }
        else ["#{name}=#{encode_www_form_component(value)}"]
        end
      end.join("&")
    end

    def decode_www_form(text)
      text.split("&").map do |pair|
        name, value = pair.split("=", 2)
        [decode_www_form_component(name.to_s), decode_www_form_component(value.to_s)]
      end
    end

    def parse(text)
      raise InvalidURIError, "bad URI(is not URI?): #{text.inspect}" if text.each_byte.any? { |b| b <= 32 || b >= 127 }

      rest, fragment = text.split("#", 2)
      rest, query = rest.to_s.split("?", 2)
      scheme, rest = scheme_of(rest.to_s)
      userinfo, host, port, path = rest.start_with?("//") ? authority_of(rest[2..-1], text) : [nil, nil, nil, rest]
      klass = { "http" => HTTP, "https" => HTTPS }.fetch(scheme, Generic)
      klass.new(scheme, userinfo, host, port, path, query, fragment)
    end

    def join(base, path) = parse(path).absolute? ? parse(path) : parse(merged(parse(base), path))

    private

    def scheme_of(rest)
      colon = rest.index(":")
      return [nil, rest] if colon.nil? || colon == 0

      name = rest[0, colon]
      return [nil, rest] unless name.each_byte.all? { |b| b.between?(97, 122) || b.between?(65, 90) || b.between?(43, 57) }

      [name.downcase, rest[colon + 1..-1]]
    end

    def authority_of(rest, text)
      slash = rest.index("/")
      authority = slash ? rest[0, slash] : rest
      path = slash ? rest[slash..-1] : ""
      at = authority.rindex("@")
      userinfo = at && authority[0, at]
      authority = authority[at + 1..-1] if at
      colon = authority.rindex(":")
      colon = nil if colon && authority.end_with?("]")
      port = colon && authority[colon + 1..-1]
      raise InvalidURIError, "bad URI(is not URI?): #{text.inspect}" if port && !port.each_byte.all? { |b| b.between?(48, 57) }

      [userinfo, colon ? authority[0, colon] : authority, port && !port.empty? ? port.to_i : nil, path]
    end

    def merged(base, path)
      root = "#{base.scheme}://#{base.host}#{":#{base.port}" if base.port != base.default_port}"
      return root + path if path.start_with?("/")

      folder = base.path[0..(base.path.rindex("/") || -1)]
      parts = []
      (folder + path).split("/", -1).each { |part| part == ".." ? parts.pop : (parts << part unless part == ".") }
      joined = parts.join("/")
      root + (joined.start_with?("/") ? joined : "/#{joined}")
    end
  end
end

module Kernel
  # The URI itself, or that of a text.
  def URI(uri)
    return uri if uri.is_a?(URI::Generic)
    raise ArgumentError, "bad argument (expected URI object or URI string)" unless uri.is_a?(String)

    URI.parse(uri)
  end
end

module CGI
  class << self
    def escape(text) = URI.encode_www_form_component(text).gsub("%7E", "~").gsub("*", "%2A")
    def unescape(text) = URI.decode_www_form_component(text)
    def escapeHTML(text) = Tsumugi::Native.html_escape(text).to_s.dup
    def unescapeHTML(text) = Tsumugi::Native.html_unescape(text)
    alias escape_html escapeHTML
    alias unescape_html unescapeHTML
    alias h escapeHTML
  end
end

class ERB
  def self.new(*_given) = raise(NoMethodError, "mruby has no ERB.new; use render, with views near the top of the file")

  module Util
    def self.html_escape(text) = CGI.escapeHTML(text.to_s)
    def self.h(text) = html_escape(text)
    def self.url_encode(text) = Tsumugi::Native.percent_encode(text.to_s, false)
    def self.u(text) = url_encode(text)
  end
end
