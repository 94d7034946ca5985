# A client in the same process, for tests and the console: requests go through the router and the handlers, not through a
# socket. Loaded only there. It keeps cookies like a browser; it does not render, follow redirects or run scripts by itself.
module Tsumugi
  module Client
    # The application broke off the body of its response; its log says why.
    class BrokenOff < StandardError; end

    # The next piece of a stream did not come in time.
    class Timeout < StandardError; end

    UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

    # `{a: 1, b: [2, 3]}` as `a=1&b=2&b=3`.
    def self.form(fields)
      pairs = fields.flat_map { |name, value| (value.is_a?(Array) ? value : [value]).map { |v| [name, v] } }
      pairs.map { |name, value| "#{escape(name)}=#{escape(value)}" }.join("&")
    end

    def self.escape(value)
      value.to_s.bytes.map do |byte|
        byte < 128 && UNRESERVED.include?(byte.chr) ? byte.chr : "%#{byte < 16 ? '0' : ''}#{byte.to_s(16).upcase}"
      end.join
    end

    # What the application answered.
    class Response
      attr_reader :status

      def initialize(status, pairs, body)
        @status = status
        @pairs = pairs
        @stream = body
        @received = ""
      end

      # `response["content-type"]`; of several values of a name, the first.
      def [](name)
        pair = @pairs.find { |key, _| key == name.downcase }
        pair && pair[1]
      end

      # Headers as a Hash; several values of a name are joined with ", ".
      def headers
        @pairs.each_with_object({}) { |(name, value), all| all[name] = all.key?(name) ? "#{all[name]}, #{value}" : value }
      end

      # Every value of a header.
      def all(name) = @pairs.select { |key, _| key == name.downcase }.map { |_, value| value }
      def location = self["location"]
      def ok? = status >= 200 && status < 300
      def redirect? = status >= 300 && status < 400

      # The whole body. A stream is read to its end; for one without end there is `pieces`.
      def body
        while (piece = read(nil))
        end
        @received
      end
      alias text body

      def json(**options) = JSON.parse(body, **options)

      # The fields behind the body, by their names in small letters; reads the body to its end.
      def trailers
        body
        Native.client_trailers(@stream)
      end

      # The next +count+ pieces of a streamed body, as the handler wrote them; fewer when it ends before.
      def pieces(count, within: 5.0)
        read = []
        while read.size < count && (piece = read(within))
          read << piece
        end
        read
      end

      # The next +count+ server-sent events as Hashes: `{event: "count", data: "3", id: nil}`.
      def events(count, within: 5.0)
        events = []
        @pending ||= ""
        until events.size >= count
          stop = @pending.index("\n\n")
          if stop
            event = parse_event(@pending[0, stop])
            @pending = @pending[(stop + 2)..-1].to_s
            events << event if event
          else
            piece = read(within)
            break unless piece

            @pending += piece
          end
        end
        events
      end

      # Hangs up: the handler of a stream sees that its client has gone.
      def close = Native.client_close(@stream)

      def __socket = Native.client_socket(@stream)
      def inspect = "#<response #{status} #{self['content-type']}>"

      private

      def read(seconds)
        piece = Native.client_piece(@stream, seconds)
        @received << piece if piece
        piece
      end

      def parse_event(frame)
        fields = { event: nil, data: [], id: nil }
        frame.split("\n").each do |line|
          name, value = line.split(":", 2)
          value = value.to_s
          value = value[1..-1] if value.start_with?(" ")
          fields[:data] << value if name == "data"
          fields[:event] = value if name == "event"
          fields[:id] = value if name == "id"
        end
        return nil if fields[:data].empty?

        fields[:data] = fields[:data].join("\n")
        fields
      end
    end

    # The client's end of a WebSocket.
    class Socket
      # Code and words with which the server closed it.
      attr_reader :close_code, :close_reason

      def initialize(socket)
        @socket = socket
      end

      # The next message; nil when the server has closed it. It is waited for so many seconds at most.
      def receive(within: 5.0)
        return nil if @close_code

        message, @binary, reason = Native.client_receive(@socket, within)
        @close_code, @close_reason = @binary, reason if message.nil?
        message
      end

      # Whether the last message is bytes and not text.
      def binary? = @binary == true

      # Sends text, anything else than a String as JSON.
      def send(message)
        message = JSON.generate(message) unless message.is_a?(String)
        Native.client_send(@socket, message, false)
        self
      end
      alias << send

      def send_bytes(bytes)
        Native.client_send(@socket, bytes, true)
        self
      end

      # Says the end and waits until the server has said it too.
      def close(code = 1000, reason = "") = Native.client_end(@socket, code, reason)

      # Goes without a word.
      def hang_up = Native.client_drop(@socket)
    end

    # Opens a WebSocket: `chat = websocket "/chat"`, `chat << "hello"`, `chat.receive`. nil when it is refused; `response` says how.
    def websocket(path, protocols: [], headers: {}, query: nil)
      fields = Native.client_wish
      fields["sec-websocket-protocol"] = protocols.join(", ") unless protocols.empty?
      granted = get(path, query: query, headers: fields.merge(headers))
      return nil unless granted.status == 101

      socket = Socket.new(granted.__socket)
      sockets << socket
      socket
    end

    def get(path, **options) = request("GET", path, **options)
    def post(path, **options) = request("POST", path, **options)
    def put(path, **options) = request("PUT", path, **options)
    def patch(path, **options) = request("PATCH", path, **options)
    def delete(path, **options) = request("DELETE", path, **options)
    def head(path, **options) = request("HEAD", path, **options)
    def options(path, **options) = request("OPTIONS", path, **options)

    # `post "/tasks", json: {title: "x"}`, `form: {…}` or `body: "…"`; `query: {…}` is added to the path, `trailers: {…}` stand behind the body.
    def request(method, path, headers: {}, query: nil, json: nil, form: nil, body: nil, trailers: {})
      fields = { "host" => "localhost", "sec-fetch-site" => "same-origin" }
      fields["cookie"] = cookie_jar.map { |name, value| "#{name}=#{value}" }.join("; ") unless cookie_jar.empty?
      unless json.nil?
        body = JSON.generate(json)
        fields["content-type"] = "application/json"
      end
      if form
        body = Client.form(form)
        fields["content-type"] = "application/x-www-form-urlencoded"
      end
      fields["content-length"] = body.bytesize.to_s if body
      headers.each { |name, value| fields[name.to_s.tr("_", "-").downcase] = value.to_s }
      path += (path.include?("?") ? "&" : "?") + Client.form(query) if query
      @response = Response.new(*Native.client_request(method, path, fields, body, trailers))
      exchanged << @response
      @response.all("set-cookie").each { |line| keep_cookie(line) }
      @response
    end

    # The last response.
    attr_reader :response

    # Goes where the last response redirects to.
    def follow_redirect
      raise "the last response is no redirect" unless response && response.redirect?

      get(response.location)
    end

    # The cookies that the application has set, by name; each test begins without any.
    def cookie_jar = @cookie_jar ||= {}

    # Hangs up on every response that is still being sent, and on every WebSocket.
    def hang_up
      exchanged.each { |response| response.close }
      exchanged.clear
      sockets.each { |socket| socket.hang_up }
      sockets.clear
    end

    private

    def exchanged = @exchanged ||= []
    def sockets = @sockets ||= []

    def keep_cookie(line)
      pair, *attributes = line.split(";").map { |part| part.strip }
      name, value = pair.split("=", 2)
      gone = attributes.any? { |attribute| attribute.downcase == "max-age=0" }
      gone ? cookie_jar.delete(name) : cookie_jar[name] = value.to_s
    end
  end
end
