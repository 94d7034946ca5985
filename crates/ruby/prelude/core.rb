# What everything else stands on: the fibre's loop and the exceptions of the runtime. Natives wait by themselves: they return what
# they waited for, or raise.
# Not an API: authors meet `Tsumugi` only in messages.
module Tsumugi
  # Ends a request from any depth. No StandardError, so that `rescue => e` lets it pass.
  class Halt < Exception
    attr_reader :result

    def initialize(result)
      super("halt")
      @result = result
    end
  end

  # The request is over for a reason of its own: client gone, deadline, drain. `ensure` runs.
  class Cancelled < Exception; end

  # What the VM raises in a turn that does not end.
  class Overrun
    def message = "#{super} (turn_cpu_ms_max is #{Native.turn_cpu_ms_max})"
  end

  # Carries an exception out of a fibre, so that it is never mistaken for a value.
  class Thrown
    def initialize(exception)
      @exception = exception
    end
  end

  # Something to be done that is no request: a branch of `parallel`, a timer's block, the body of a stream.
  class Task
    def initialize(*arguments, &block)
      @arguments = arguments
      @block = block
    end

    def __run = @block.call(*@arguments)

    def __failed(exception)
      raise exception
    end
  end

  # A file being loaded.
  class Program
    def initialize(program)
      @program = program
    end

    def __run = Tsumugi.run_program(@program)

    def __failed(exception)
      raise exception
    end
  end

  # A fibre works on one job after the other. Nothing raised in a job leaves it.
  def self.fibre
    query = DB::Query
    Fiber.new do |job|
      while true
        result = begin
          result = job.__run
          # A query as a result stands for its rows.
          query === result ? result.all : result
        rescue Exception => e
          failed(job, e)
        end
        job = finish(result)
      end
    end
  end

  def self.failed(job, exception)
    job.__failed(exception)
  rescue Exception => e
    Thrown.new(e)
  end

  class << self
    attr_reader :data_dir, :mode

    def development? = @mode == :development

    # Whether a test runs the application.
    def test? = @test

    def version = Native.version

    # Bytes that this worker's VM has allocated, garbage included.
    def vm_bytes = Native.vm_bytes

    # Runs the block as a part of the request's trace that has a name of its own: `Tsumugi.span("prices") { … }`. What it waits for is below it.
    def span(name)
      raise ArgumentError, "span takes a block" unless block_given?

      number = Native.span_begin("span", name.to_s)
      begin
        yield
      rescue Exception => e
        failure = e.class.name
        raise
      ensure
        Native.span_end(number, failure)
      end
    end
  end
end

# What cannot be read or written, as in CRuby.
class IOError < StandardError; end

class NoMemoryError
  # The VM makes its own when there is no room to make a message; that one names no limit.
  def message
    text = to_s
    text == "Out of memory" || text == "NoMemoryError" ? "the memory of this worker's VM is used up (vm_bytes_max)" : text
  end
end

module Kernel
  # Parks this fibre for at least +seconds+. 0 lets others run.
  def sleep(seconds)
    Tsumugi::Native.sleep(seconds)
  end

  # Runs the lambdas at once, a fibre each; their values as an Array, or as a Hash under the keywords' names.
  # The first exception cancels the others and is raised.
  def parallel(*lambdas, **named)
    return Tsumugi::Native.parallel(lambdas.map { |l| Tsumugi::Task.new(&l) }) if named.empty?
    raise ArgumentError, "parallel takes lambdas or named lambdas, not both" unless lambdas.empty?

    values = Tsumugi::Native.parallel(named.values.map { |l| Tsumugi::Task.new(&l) })
    named.keys.zip(values).to_h
  end

  def log = Tsumugi::Log

  # The bytes of a file of the application, by its path from the application's folder, which no path leaves; at most 16 MiB (app_file_bytes_max).
  # Read each time, off the worker. Raises ArgumentError for a path that leads out, IOError where there is no such file, it cannot be read or is larger.
  def read_file(path) = Tsumugi::Native.read_file(path)

  def puts(*lines)
    Tsumugi::Native.print(lines.empty? ? "\n" : lines.flatten.map { |l| l = l.to_s; l.end_with?("\n") ? l : l + "\n" }.join)
    nil
  end

  def print(*texts)
    Tsumugi::Native.print(texts.join)
    nil
  end

  def p(*values)
    values.each { |v| Tsumugi::Native.print(v.inspect + "\n") }
    values.size > 1 ? values : values[0]
  end
end

module Tsumugi
  # `log.info "text", key: value`
  module Log
    %i[debug info warn error].each do |level|
      define_singleton_method(level) { |message = nil, **fields| Tsumugi::Native.log(level, message.to_s, fields) }
    end
  end

  # Which worker this is: `worker.id`, `worker.count`.
  class Worker
    attr_reader :id, :count

    def initialize(id, count)
      @id = id
      @count = count
    end
  end

  # A queue between fibres of one worker, first in first out.
  class Channel
    # The channel is closed and empty (pop) or closed (push).
    class Closed < StandardError; end

    def initialize(capacity = 0)
      @channel = Native.channel(capacity)
    end

    # Parks while the channel is full.
    def push(value)
      Native.channel_push(@channel, value)
      self
    end
    alias << push

    # The oldest value; parks while there is none. Raises Closed when none can come any more.
    def pop = Native.channel_pop(@channel)
    alias shift pop

    # Wakes all who wait. Values that are in the channel can still be popped.
    def close
      Native.channel_close(@channel)
      self
    end

    def closed? = Native.channel_closed?(@channel)
    def size = Native.channel_size(@channel)
    def empty? = size == 0

    def each
      loop { yield pop }
    rescue Closed
      self
    end
  end
end
