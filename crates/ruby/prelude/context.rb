# What a handler is: a method of a context, one context per request, with its words: redirects, cookies, streams, server-sent events.
# Blocks of the application run with it as self.
# Not the routes themselves (application.rb).
module Tsumugi
  class Context
    def request = @request ||= Request.new(self)
    def worker = Tsumugi::WORKER

    # Runs the block once the response is on its way, unless that is an error of the server. It is lost when the process ends before; what may not be
    # lost is a job.
    def after_response(&block)
      raise ArgumentError, "after_response needs a block" unless block

      Native.after_response(self, Task.new(&block))
    end

    # Parameters of the URL's query (`query`, which is Rust's), of the path and of the body stay apart.
    def captures = Native.captures(self)
    def body = @body ||= Body.new(self)
    def headers = @headers ||= Headers.new(self)
    def cookies = @cookies ||= Cookies.new(self)

    # Sets a response header; an Array sets several values, and `add: true` keeps those that are set already.
    def header(name, value, add: false)
      return Native.header(self, name, value, add) unless value.is_a?(Array)

      value.each_with_index { |one, i| Native.header(self, name, one, add || i > 0) }
      nil
    end

    def status(code)
      Native.status(self, code)
      nil
    end

    # Answers +value+ as JSON. Further keywords are headers: `location: "/x"`, `retry_after: 1`.
    def json(value = __valueless("json takes its value in braces: json({ a: 1 }); keywords are status: and headers"), status: nil, **headers)
      Native.status(self, status) if status
      headers.each { |name, content| Native.header(self, name.to_s.tr("_", "-"), content, false) } unless headers.empty?
      Native.json(self, value)
      RESPONDED
    end

    # Answers +value+ as text of this type.
    def text(value = __valueless("text takes its value first: text(\"a\", status: 201)"), status: nil, type: "text/plain; charset=utf-8")
      Native.status(self, status) if status
      Native.text(self, value.to_s, type)
      RESPONDED
    end

    def html(value = __valueless("html takes its value first: html(\"<p>a</p>\", status: 201)"), status: nil)
      text(value, status: status, type: "text/html; charset=utf-8")
    end

    def redirect(location, status: 303)
      Native.status(self, status)
      Native.header(self, "location", location, false)
      Native.text(self, "", nil)
      RESPONDED
    end

    # Ends the request here, from any depth: `halt`, `halt 404`, `halt 404, error: "no such user"`, `halt html(page)`.
    def halt(status = nil, result = nil, **json)
      if status.is_a?(Integer)
        Native.status(self, status)
      elsif status
        result = status
      end
      result = json unless json.empty?
      raise Halt.new(result.nil? ? RESPONDED : result)
    end

    # Answers with a file: type by its extension unless +type+ says otherwise, ranges and conditions as with `public`. Its bytes are sent as they
    # are, whatever is beside it: a file.gz is no other form of file here.
    # `download: "name.pdf"` makes browsers save it. The path is the caller's to vouch for: never join what a client sent. With `within: "reports"` it
    # is one below that folder of the application, which it cannot leave, and a client may have sent it; hidden files are not found there.
    def send_file(path, type: nil, download: nil, within: nil)
      Native.header(self, "content-type", type, false) if type
      if download
        name = download == true ? path.to_s.split("/").last || "download" : download.to_s
        Native.header(self, "content-disposition", Native.attachment(name), false)
      end
      Native.send_file(self, path.to_s, within)
      RESPONDED
    end

    # A body that is sent while the block runs: `stream("text/csv") { |out| out << line }`; `<<` parks on a slow client.
    # `stream db[:events], as: :csv` sends a query's rows as :csv, :json or :ndjson without making Ruby values of them.
    # `trailers: ["x-checksum"]` announces fields that the block sends behind the body: `out.trailer "x-checksum", sum`.
    def stream(source = "application/octet-stream", as: nil, trailers: nil, &block)
      if block
        Native.announce_trailers(self, Array(trailers)) if trailers
        return Native.stream(self, source.to_s, Task.new(&block))
      end
      raise ArgumentError, "stream takes a content type and a block, or rows and as: :csv, :json or :ndjson" unless as
      raise ArgumentError, "trailers: is for streams with a block, which sends them" if trailers

      source = source.stream if source.is_a?(DB::Query)
      Native.stream_rows(self, source.is_a?(DB::RowStream) ? source.native : source, as)
    end

    # Server-sent events: `events { |out| out.event("text", id: 1) }`.
    def events(&block)
      header "cache-control", "no-store"
      last_event_id = request.headers["last-event-id"]
      stream("text/event-stream") { |out| block.call(EventStream.new(out, last_event_id)) }
    end

    # ---- the runtime's side ----

    # The default of a value that has to be there.
    def __valueless(message) = raise(ArgumentError, message)

    def __failed(exception)
      case exception
      when Refused
        header "retry-after", "1" if exception.status == 503
        text("#{exception.message}\n", status: exception.status)
      when Invalid then json({ errors: exception.errors }, status: 422)
      when Halt then exception.result
      when Cancelled, Overrun then raise exception
      else __rescue(exception)
      end
    end

    # The handler of the nearest class; what it raises itself is not handled again.
    def __rescue(exception)
      name, arity = ERRORS[exception.class.ancestors.find { |ancestor| ERRORS.key?(ancestor) }]
      unless name
        status = exception.__refusal_status if exception.is_a?(DB::Error)
        raise exception unless status

        # What a client sent is not what the database takes, as a rule: it may be a fault of what is stored, or of the SQL.
        Native.log("warn", "#{request.method} #{request.path}: answered #{status}: #{exception.message}", {})
        Native.reset(self)
        header "retry-after", "1" if status == 503
        return text("#{exception.__refusal}\n", status: status)
      end

      Native.reset(self)
      result = begin
        arity == 0 ? __send__(name) : __send__(name, exception)
      rescue Halt => e
        __failed(e)
      end
      Native.handled(self, exception)
      result
    end
  end

  RESPONDED = :"tsumugi.responded"
  ERRORS = {}

  # `request.path`, `request.ip`, …
  class Request
    def initialize(context)
      @context = context
    end

    def method = Native.request_method(@context)
    alias request_method method
    def path = Native.request_path(@context)
    def query_string = Native.request_query(@context)
    def url = query_string.empty? ? path : "#{path}?#{query_string}"
    def version = Native.request_version(@context)
    def headers = @context.headers
    def cookies = @context.cookies
    def body = @context.body
    def ip = Native.request_ip(@context)
    def port = Native.request_port(@context)
    def id = Native.request_id(@context)

    # The trace that it belongs to, as 32 hexadecimal digits: that of its caller's `traceparent`, or one of its own.
    def trace_id = Native.request_trace_id(@context)
    def host = headers["host"]

    # The fields behind the body, by their names in small letters. They are there when the body has been read; one that was not is read whole.
    def trailers = @trailers ||= Native.request_trailers(@context)

    # "https" when the client speaks TLS, with this server or with a proxy of `--trust-proxy`; else "http".
    def scheme = Native.request_scheme(@context)
    def https? = scheme == "https"

    # "https://example.org:8443", for links that leave the site; nil without a host. The host is what the client says.
    def base_url = Native.request_base_url(@context)
  end

  # Request headers, names in any case, with _ or -: `headers[:user_agent]`. Several values of one name are joined with ", ".
  class Headers
    include Enumerable

    def initialize(context)
      @context = context
    end

    def key?(name) = !self[name].nil?
    def to_h = Native.request_headers(@context)

    def each(&block)
      to_h.each(&block)
      self
    end
  end

  # Where a streamed body is written.
  class Output
    def initialize(sender)
      @sender = sender
    end

    # Parks while the client has no room.
    def <<(data)
      data = JSON.generate(data) + "\n" unless data.is_a?(String)
      Native.send_piece(@sender, data)
      self
    end
    alias write <<

    # Sends a field behind the body, which `trailers:` of the stream has announced; the last value of a name counts. On HTTP/1.1 clients get it
    # that ask with `TE: trailers`.
    def trailer(name, value)
      Native.send_trailer(@sender, name, value)
      self
    end
  end

  # Frames of text/event-stream.
  class EventStream
    def initialize(out, last_event_id)
      @out = out
      @last_event_id = last_event_id
    end

    # The id of the last event that the client has, when it comes back; nil for one that is new.
    attr_reader :last_event_id

    def event(data, event: nil, id: nil, reconnect_ms: nil)
      data = JSON.generate(data) unless data.is_a?(String)
      @out << Native.event_text(data, event&.to_s, id&.to_s, reconnect_ms)
      self
    end
    alias << event

    # Keeps proxies from closing an idle stream; a client never sees it.
    def comment(text = "")
      @out << Native.event_comment(text)
      self
    end
  end
end
