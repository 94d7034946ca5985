# What answers calls to other servers while an application is tested: the words `stub_http` and `http_calls` of tests. Loaded only there.
# Which stub answers, and what a call without one is told, is decided below Ruby, the same as for applications in Rust.
module Tsumugi
  module Stubs
    FAILURES = %i[timeout refused broken]
    OPTIONS = %i[status json body headers fails]
    ALL = []

    # A call that the application has made.
    class Call
      attr_reader :method, :url, :headers, :body

      def initialize(method, url, headers, body, captures)
        @method = method.downcase.to_sym
        @url = url
        @headers = HTTP::Headers.new(headers)
        @body = body
        @captures = captures
      end

      # What `:name` in the stub's URL stands for.
      def [](name)
        pair = @captures.find { |known, _| known == name.to_s }
        pair && pair[1]
      end

      def json = JSON.parse(@body)

      # The answer of a block: as the options of `stub_http`.
      def reply(**answer) = Stubs.checked(answer)

      # The failure of a block.
      def fails(how) = Stubs.checked({ fails: how })
      def inspect = "#<#{@method.to_s.upcase} #{@url}>"
    end

    # An answer that was checked.
    class Reply
      attr_reader :answer

      def initialize(answer)
        @answer = answer
      end
    end

    def self.add(method, url, answer, block)
      raise ArgumentError, "a stub has an answer or a block, not both" if block && !answer.empty?

      reply = block ? nil : checked(answer)
      Native.http_stub(method && method.to_s, url.to_s, ALL.size)
      ALL << [reply, block]
      nil
    end

    def self.checked(answer)
      unknown = answer.keys - OPTIONS
      raise ArgumentError, "a stub has no option #{unknown.first}:" unless unknown.empty?
      raise ArgumentError, "a stub has one of json: and body:" if answer.key?(:json) && answer.key?(:body)
      if answer.key?(:fails) && !FAILURES.include?(answer[:fails])
        raise ArgumentError, "fails: is one of #{FAILURES.map { |name| name.inspect }.join(', ')}"
      end

      Reply.new(answer)
    end

    def self.calls = Native.http_stubbed_calls.map { |parts| Call.new(*parts) }

    # The job that answers a call; its value is what the native reads.
    def self.job(index, method, url, headers, body, captures)
      reply, block = ALL[index]
      call = Call.new(method, url, headers, body, captures)
      Task.new { parts((reply || made(block.call(call))).answer) }
    end

    # What a block means as an answer.
    def self.made(value)
      case value
      when Reply then value
      when Hash, Array then Reply.new({ json: value })
      when String then Reply.new({ body: value })
      when Integer then Reply.new({ status: value })
      else raise TypeError, "a stub answers a Hash, an Array, a String, a status, call.reply(…) or call.fails(…), and no #{value.class}"
      end
    end

    def self.parts(answer)
      return answer[:fails] if answer.key?(:fails)

      headers = []
      headers << %w[content-type application/json] if answer.key?(:json)
      headers << ["content-type", "text/plain; charset=utf-8"] if answer.key?(:body)
      (answer[:headers] || {}).each do |name, value|
        name = name.to_s.tr("_", "-").downcase
        headers.reject! { |known, _| known == name }
        headers << [name, value.to_s]
      end
      body = answer.key?(:json) ? JSON.generate(answer[:json]) : answer[:body].to_s
      [answer[:status] || 200, headers, body]
    end
  end
end
