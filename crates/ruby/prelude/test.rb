# Tests of an application: `test "name" do … end` in files beside it, run by `tsumugi test`. Loaded only there.
# Each test runs on an application of its own, loaded anew with an empty data folder. Not a test framework for other code.
module Tsumugi
  # What an assertion raises. No StandardError, so that `rescue => e` in a test lets it pass.
  class Failure < Exception; end

  # What a test's block runs with: the client, the assertions, and the application's helpers and plugins.
  class TestCase < TimerContext
    include Client

    # Assertions made so far.
    def assertions = @assertions || 0

    def assert(value, message = nil)
      check(value) { message || "expected something true, got #{value.inspect}" }
    end

    def refute(value, message = nil)
      check(!value) { message || "expected nil or false, got #{value.inspect}" }
    end

    def assert_equal(expected, actual, message = nil)
      check(expected == actual) { "#{message ? "#{message}: " : ''}expected #{expected.inspect}, got #{actual.inspect}" }
    end

    # +pattern+ is a String that +text+ must contain, or a Regexp that it must match.
    def assert_match(pattern, text, message = nil)
      found = pattern.is_a?(String) ? text.to_s.include?(pattern) : pattern.match?(text.to_s)
      check(found) { "#{message ? "#{message}: " : ''}#{pattern.inspect} is not in #{text.inspect}" }
    end

    def refute_match(pattern, text, message = nil)
      found = pattern.is_a?(String) ? text.to_s.include?(pattern) : pattern.match?(text.to_s)
      check(!found) { "#{message ? "#{message}: " : ''}#{pattern.inspect} is in #{text.inspect}" }
    end

    # The exception, which must be of one of +classes+.
    def assert_raises(*classes)
      classes = [StandardError] if classes.empty?
      begin
        yield
      rescue *classes => e
        check(true) { "" }
        return e
      end
      check(false) { "expected #{classes.join(' or ')}, nothing was raised" }
    end

    # Answers the application's calls of `http` in place of a server; the last one that fits does. +method+ is `:get` …, or nil for all;
    # in the URL `:name` stands for a segment of the path, `*name` for the rest. The answer is `status:` with one of `json:` and `body:`,
    # and `headers:`; or `fails:` one of :timeout, :refused, :broken; or what the block makes of the call: a Hash or an Array (JSON), a String, a
    # status, `call.reply(status: 404, json: …)` or `call.fails(:timeout)`.
    def stub_http(method, url, **answer, &block) = Stubs.add(method, url, answer, block)

    # The application's calls so far: `http_calls.last.json`, with `method url headers body json [:name]`.
    def http_calls = Stubs.calls

    # Lets calls out to the servers that they name.
    def allow_http! = Native.http_stubs_open

    # The mails that the application has sent so far, which go nowhere: `mails.last.subject`, with `from to cc bcc reply_to subject text html headers
    # attachments`.
    def mails = Mail.collected

    # Status of the last response.
    def assert_status(expected)
      actual = response && response.status
      check(expected == actual) { "expected status #{expected}, got #{actual.inspect}" }
    end

    def flunk(message = "failed") = check(false) { message }

    private

    def check(passed)
      @assertions = assertions + 1
      raise Failure, yield unless passed

      true
    end
  end

  # The tests of a file in the order of the file.
  module Tests
    ALL = []
    SETUP = []
    TEARDOWN = []

    def self.names = ALL.map { |name, _| name }

    # The job that runs one test; its value is the number of assertions.
    def self.job(index)
      Task.new { run(TestCase.new, ALL[index][1]) }
    end

    def self.run(test, block)
      SETUP.each { |setup| test.instance_exec(&setup) }
      test.instance_exec(&block)
      test.assertions
    ensure
      TEARDOWN.each { |teardown| test.instance_exec(&teardown) }
      test.hang_up
    end
  end
end

class << self
  # Declares a test.
  def test(name, &block)
    raise ArgumentError, "test #{name.inspect} needs a block" unless block

    Tsumugi::Tests::ALL << [name.to_s, block]
    nil
  end

  # Runs before each test of the file.
  def setup(&block) = Tsumugi::Tests::SETUP << block

  # Runs after each test of the file, also when it failed.
  def teardown(&block) = Tsumugi::Tests::TEARDOWN << block
end
