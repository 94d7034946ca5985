# The names of ngx_mruby, so that its handlers run unchanged: rputs, echo, return, Request, Var, Connection, headers, log.
# Not nginx: there are no phases and no configuration. docs/ngx_mruby.md says what becomes of each directive.
# Everything here acts on the request of the fibre that calls it.
class Nginx
  OK = 0
  ERROR = -1
  AGAIN = -2
  BUSY = -3
  DONE = -4
  DECLINED = -5
  ABORT = -6
  {
    CONTINUE: 100, SWITCHING_PROTOCOLS: 101, PROCESSING: 102, OK: 200, CREATED: 201, ACCEPTED: 202, NO_CONTENT: 204,
    PARTIAL_CONTENT: 206, SPECIAL_RESPONSE: 300, MOVED_PERMANENTLY: 301, MOVED_TEMPORARILY: 302, SEE_OTHER: 303,
    NOT_MODIFIED: 304, TEMPORARY_REDIRECT: 307, BAD_REQUEST: 400, UNAUTHORIZED: 401, FORBIDDEN: 403, NOT_FOUND: 404,
    NOT_ALLOWED: 405, REQUEST_TIME_OUT: 408, CONFLICT: 409, LENGTH_REQUIRED: 411, PRECONDITION_FAILED: 412,
    REQUEST_ENTITY_TOO_LARGE: 413, REQUEST_URI_TOO_LARGE: 414, UNSUPPORTED_MEDIA_TYPE: 415,
    RANGE_NOT_SATISFIABLE: 416, TOO_MANY_REQUESTS: 429, CLOSE: 444, NGINX_CODES: 494, REQUEST_HEADER_TOO_LARGE: 494,
    TO_HTTPS: 497, CLIENT_CLOSED_REQUEST: 499, INTERNAL_SERVER_ERROR: 500, NOT_IMPLEMENTED: 501, BAD_GATEWAY: 502,
    SERVICE_UNAVAILABLE: 503, GATEWAY_TIME_OUT: 504, INSUFFICIENT_STORAGE: 507
  }.each { |name, code| const_set(:"HTTP_#{name}", code) }
  HTTPS_CERT_ERROR = 495
  HTTPS_NO_CERT = 496
  LEVELS = %i[STDERR EMERG ALERT CRIT ERR WARN NOTICE INFO DEBUG]
  LEVELS.each_with_index { |name, i| const_set(:"LOG_#{name}", i) }

  class << self
    # Appends to the body.
    def rputs(text)
      Tsumugi::Native.write(Tsumugi::Native.here, text.to_s)
      nil
    end

    # Appends to the body, with a newline.
    def echo(text) = rputs("#{text}\n")

    # Sets the status; the handler goes on. OK and DECLINED leave it as it is, ERROR is a 500. A status without a body of
    # its own (404, 503, …) may stay without one.
    def return(code)
      case code
      when 200..599 then Tsumugi::Native.status(Tsumugi::Native.here, code)
      when OK, DECLINED, DONE then nil
      when ERROR, ABORT, AGAIN, BUSY then Tsumugi::Native.status(Tsumugi::Native.here, 500)
      else raise ArgumentError, "Nginx.return takes a status of nginx, not #{code.inspect}"
      end
      nil
    end
    alias send_header return
    alias status_code= return

    def errlogger(level, message)
      raise ArgumentError, "the log level is one of Nginx::LOG_…, not #{level.inspect}" unless level.is_a?(Integer) && LEVELS[level]

      name = if level <= LOG_ERR then :error
             elsif level == LOG_WARN then :warn
             elsif level == LOG_DEBUG then :debug
             else :info
             end
      Tsumugi::Native.log(name, message.to_s, {})
      nil
    end
    alias log errlogger

    def redirect(url, code = HTTP_MOVED_TEMPORARILY)
      unless url.include?("://")
        raise ArgumentError, "Nginx.redirect to #{url}: there are no internal locations here; call the code of that route"
      end

      here = Tsumugi::Native.here
      Tsumugi::Native.status(here, code)
      Tsumugi::Native.header(here, "location", url, false)
      nil
    end

    def module_name = "tsumugi"
    def module_version = Tsumugi.version
    def nginx_version = Tsumugi.version
    alias server_version nginx_version
  end

  module Async
    # Parks this request for so many milliseconds.
    def self.sleep(milliseconds)
      raise ArgumentError, "Nginx::Async.sleep takes milliseconds, not #{milliseconds.inspect}" unless milliseconds.is_a?(Numeric)

      Kernel.sleep(milliseconds / 1000.0)
    end
  end

  class Request
    def initialize
      @context = Tsumugi::Native.here
      @request = @context.request
    end

    def method = @request.method
    def uri = @request.path
    def unparsed_uri = @request.url
    def args = @request.query_string
    def uri_args = @context.query.to_h
    def protocol = "HTTP/#{@request.version}"
    def request_line = "#{method} #{unparsed_uri} #{protocol}"
    def hostname = (@request.host || "").split(":").first
    def authority = @request.host
    def body = @context.body.text
    alias get_body body
    alias read_body body
    def sub_request? = false
    def var = Var.new
    def headers_in = Headers_in.new
    def headers_out = Headers_out.new
    def content_type = Tsumugi::Native.response_header(@context, "content-type")

    def content_type=(type)
      Tsumugi::Native.header(@context, "content-type", type, false)
    end
  end

  class Headers_in
    def initialize
      @context = Tsumugi::Native.here
    end

    def [](name) = @context.request.headers[name]
    def all = Tsumugi::Native.request_headers(@context)
    def user_agent = self["user-agent"]
  end

  class Headers_out
    def initialize
      @context = Tsumugi::Native.here
    end

    def [](name) = Tsumugi::Native.response_header(@context, name)
    def all = Tsumugi::Native.response_headers(@context)

    def []=(name, value)
      Tsumugi::Native.delete_response_header(@context, name)
      Array(value).each { |one| Tsumugi::Native.header(@context, name, one, true) }
    end

    def delete(name) = Tsumugi::Native.delete_response_header(@context, name)
  end

  class Connection
    def initialize
      @request = Tsumugi::Native.here.request
    end

    def remote_ip = @request.ip
    def remote_port = @request.port
    def var = Var.new
  end

  # Variables of nginx that have a meaning here. `arg_NAME`, `http_NAME` and `cookie_NAME` are made of the request's own
  # names, which is why this class alone answers to names that are not defined, as it does in ngx_mruby.
  class Var
    def initialize
      @context = Tsumugi::Native.here
      @request = @context.request
    end

    def uri = @request.path
    alias document_uri uri
    def request_uri = @request.url
    def args = @request.query_string
    alias query_string args
    def is_args = args.empty? ? "" : "?"
    def request_method = @request.method
    def server_protocol = "HTTP/#{@request.version}"
    def request = "#{request_method} #{request_uri} #{server_protocol}"
    def host = (@request.host || "").split(":").first
    def remote_addr = @request.ip
    def remote_port = @request.port
    def content_type = @request.headers["content-type"]
    def content_length = @request.headers["content-length"]
    def request_body = @context.body.text

    def exist?(name) = respond_to?(name) || !dynamic(name.to_s).nil?

    def method_missing(name, *arguments)
      name = name.to_s
      raise NameError, "Nginx::Var is read-only here: keep #{name} in a local variable" if name.end_with?("=") || !arguments.empty?

      known = %w[arg_ http_ cookie_].any? { |prefix| name.start_with?(prefix) }
      raise NameError, "there is no nginx variable #{name} here" unless known

      dynamic(name)
    end

    private

    def dynamic(name)
      if name.start_with?("arg_") then @context.query[name[4..-1]]
      elsif name.start_with?("http_") then @request.headers[name[5..-1]]
      elsif name.start_with?("cookie_") then @context.cookies[name[7..-1]]
      end
    end
  end
end

module Kernel
  def get_server_class = Nginx
  def server_name = "NGINX"
end
