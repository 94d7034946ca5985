# The words of an application file: verbs, scope, plugin, helpers, filters, error handlers, timers. They are methods of
# the main object; what they collect is read by Rust once the file has been evaluated.
module Tsumugi
  # One route: its handler is the method `__run` of a class of its own, so that calling it needs no look-up.
  class Route
    attr_reader :verb, :pattern, :types, :handler, :location

    # +scope+ has the filters that run around it.
    def initialize(verb, pattern, types, handler, location, scope)
      @verb = verb
      @pattern = pattern
      @types = types
      @handler = handler
      @location = location
      @scope = scope
    end
  end

  # A block to run every so often.
  class Timer
    attr_reader :seconds, :workers, :block, :location

    # +cluster_name+ is its name among all processes, if it ticks on one of them.
    def initialize(seconds, workers, block, location, cluster_name = nil)
      @seconds = seconds
      @workers = workers
      @block = block
      @location = location
      @cluster_name = cluster_name
    end

    # The job of one tick: the block runs with helpers and plugins like a handler.
    def job
      context = TimerContext.new
      block = @block
      Task.new { context.instance_exec(&block) }
    end
  end

  # Helpers and plugins for blocks that answer no request.
  class TimerContext
    def worker = Tsumugi::WORKER
  end

  ROUTES = []
  TIMERS = []
  PLUGINS = []
  FOLDERS = []
  FILTERS = { before: [], after: [] }

  # What a scope adds to the routes in it.
  class Scope
    attr_reader :prefix, :types, :before, :after

    def initialize(prefix, types, before, after)
      @prefix = prefix
      @types = types
      @before = before
      @after = after
    end

    def within(prefix, types) = Scope.new(join(prefix), @types.merge(types), @before.dup, @after.dup)

    def join(path)
      return @prefix.empty? ? "/" : @prefix if path.nil? || path.empty?

      @prefix + (path.start_with?("/") ? path : "/#{path}")
    end
  end

  class << self
    attr_accessor :scope

    # Whether handlers have a method +name+ of the product's own (or of the first helpers), which a plugin would hide.
    def request_method?(name)
      @request_methods ||= Context.instance_methods(false)
      @request_methods.include?(name.to_sym)
    end

    # Refuses what cannot be called by its name in a handler, and what would hide a word of the language or of application files.
    def check_plugin(name, block)
      raise ArgumentError, "plugin takes its name as a Symbol, as in `plugin(:db) { DB.connect }`, not #{name.inspect}" unless name.is_a?(Symbol) || name.is_a?(String)
      raise ArgumentError, "plugin(#{name.inspect}): #{name} is a method of each request already; take another name" if request_method?(name)

      raise ArgumentError, "plugin(#{name.inspect}): that is no name of a method; take small letters, digits and _, as in `plugin(:db)`" unless callable?(name.to_s)

      # Read before the first plugin, which becomes such a method itself.
      @file_words ||= main.singleton_methods
      raise ArgumentError, "plugin(#{name.inspect}): #{name} is a word of application files; take another name" if @file_words.include?(name.to_sym)
      raise ArgumentError, "plugin(#{name.inspect}) needs a block, whose value is what #{name} means in handlers: `plugin(#{name.inspect}) { … }`" unless block
    end

    # Whether a handler can call a method of this name without a receiver: letters (small ones first, or those of other scripts), digits and _.
    def callable?(name)
      begins = name =~ /\A[a-z_]/ || name.getbyte(0).to_i > 127
      begins && name.bytes.all? { |byte| byte > 127 || byte.chr =~ /[A-Za-z0-9_]/ } && !Views::WORDS.include?(name.to_sym)
    end

    # `file:line` of the application's innermost frame.
    def location(frames)
      frame = frames.find { |place| !place.start_with?(OWN_FILES) && !place.start_with?("(unknown)") }.to_s
      Native.place_shown(frame.split(":in ").first.to_s)
    end

    def route(verb, path, types, block)
      raise ArgumentError, "#{verb.downcase} #{path.inspect} needs a block" unless block

      pattern = scope.join(path)
      ROUTES << Route.new(verb, pattern, scope.types.merge(types), handler(block, pattern), location(caller), scope)
      nil
    end

    # A class whose `__run` is the handler between its filters.
    def handler(block, pattern)
      names = pattern.split("/").select { |s| s.start_with?(":", "*") }.size
      before = scope.before
      after = scope.after
      klass = Class.new(Context)
      Tsumugi.const_set(:Handler, klass)                 # the name by which messages call it
      takes = block.arity < 0 ? names : [block.arity, names].min
      if takes == 0 && before.empty? && after.empty?
        klass.define_method(:__run, &block)
      else
        klass.define_method(:__handle, &block)
        klass.define_method(:__run) do
          next __between(before, after, takes) unless before.empty? && after.empty?

          takes == 0 ? __handle : __handle(*Native.capture_values(self, takes))
        end
      end
      klass
    end
  end
  OWN_FILES = "tsumugi/"
  self.scope = Scope.new("", {}, FILTERS[:before], FILTERS[:after])

  class Context
    def __between(before, after, takes)
      i = 0
      while i < before.size
        __send__(before[i])
        i += 1
      end
      Native.handler_begins(self)
      result = takes == 0 ? __handle : __handle(*Native.capture_values(self, takes))
      Native.handler_ends(self)
      after.each { |filter| __send__(filter) }
      result
    end
  end

  # A name for a block that becomes a method of contexts.
  def self.method_for(kind, block)
    @methods = (@methods || 0) + 1
    name = :"__#{kind}_#{@methods}"
    Context.define_method(name, &block)
    name
  end
end

module Tsumugi
  @compresses = true

  class << self
    attr_writer :compresses

    def compresses? = @compresses

    # `public`'s `cache:`, if that is what it takes. Without it browsers keep files and ask each time whether they have changed.
    def cache_policy(cache)
      return cache if cache.nil? || cache.is_a?(String) || cache.is_a?(Integer) && !cache.negative?

      raise ArgumentError, "public takes cache: seconds or the text of a cache-control header, not #{cache.inspect}"
    end
  end
end

class << self
  %w[GET POST PUT PATCH DELETE HEAD OPTIONS].each do |verb|
    define_method(verb.downcase) do |path = nil, **types, &block|
      Tsumugi.route(verb, path, types, block)
    end
  end

  # Routes below +prefix+; filters in it apply to it alone.
  def scope(prefix, **types, &block)
    outer = Tsumugi.scope
    Tsumugi.scope = outer.within(prefix, types)
    block.call
  ensure
    Tsumugi.scope = outer
  end

  # Runs the block once per worker, now; its value is what +name+ means in handlers. `stop:` is called with it when the
  # application is replaced or the server ends; without it `stop` or `close` of the value.
  def plugin(name, stop: nil, &block)
    Tsumugi.check_plugin(name, block)
    value = block.call
    [Tsumugi::Context, Tsumugi::TimerContext, singleton_class].each { |k| k.define_method(name) { value } }
    Tsumugi::PLUGINS << [name, value, stop]
    value
  end

  def helpers(&block)
    Tsumugi::Context.class_eval(&block)
    Tsumugi::TimerContext.class_eval(&block)
  end

  def before(&block)
    Tsumugi.scope.before << Tsumugi.method_for(:before, block)
    nil
  end

  def after(&block)
    Tsumugi.scope.after << Tsumugi.method_for(:after, block)
    nil
  end

  # Answers exceptions of these classes and their subclasses; the nearest class wins.
  def error(*classes, &block)
    classes = [StandardError] if classes.empty?
    name = Tsumugi.method_for(:error, block)
    classes.each { |klass| Tsumugi::ERRORS[klass] = [name, block.arity] }
    nil
  end

  def not_found(&block)
    Tsumugi::NOT_FOUND << Tsumugi.handler(block, "")
    nil
  end

  # Runs the block every +seconds+: on every worker, or with `workers: :one` on one worker of the process. Never overlaps. With `cluster: :one` it runs
  # on one of all processes that have declared the same `cluster`: a timer is the same in all by its `name:`, which is its file and line otherwise.
  # With a line of cron it is a job, which runs once for all processes: `every("0 3 * * *", zone: "Asia/Tokyo") { … }`. See `job` for its keywords.
  def every(seconds, workers: :all, cluster: nil, name: nil, zone: nil, retries: nil, timeout: nil, &block)
    if seconds.is_a?(String) && (seconds.include?(" ") || seconds.start_with?("@"))
      raise ArgumentError, "every with a line of cron runs once for all processes, without workers: and cluster:" unless workers == :all && cluster.nil?

      return Tsumugi::Jobs.__schedule(seconds, zone || "UTC", name || Tsumugi.location(caller), retries || 5, timeout || 60, block)
    end
    raise ArgumentError, "every takes zone:, retries: and timeout: with a line of cron" if zone || retries || timeout
    raise ArgumentError, "every takes a number of seconds or a line of cron, not #{seconds.inspect}" unless seconds.is_a?(Numeric)
    raise ArgumentError, "every takes workers: :one or :all, not #{workers.inspect}" unless %i[one all].include?(workers)
    raise ArgumentError, "every takes cluster: :one, not #{cluster.inspect}" unless [nil, :one].include?(cluster)
    raise ArgumentError, "every takes name: with cluster: :one (or a line of cron): `every #{seconds}, cluster: :one, name: #{name.inspect}`" if name && !cluster
    raise ArgumentError, "every #{seconds} needs a block" unless block

    seconds = seconds.to_f
    Tsumugi::Native.check_period(seconds)
    location = Tsumugi.location(caller)
    cluster_name = cluster && (name || location).to_s
    Tsumugi::Native.check_cluster_timer(seconds, cluster_name) if cluster_name
    Tsumugi::TIMERS << Tsumugi::Timer.new(seconds, workers, block, location, cluster_name)
    nil
  end

  def worker = Tsumugi::WORKER

  # Serves the files of +folder+, which is beside the application file, below the path +at+. Routes come first; what
  # is no file either is not found. `cache:` is how many seconds browsers may keep a file without asking again.
  def public(folder = "public", at: "/", cache: nil)
    raise ArgumentError, "public takes a path that begins with a slash as at:, not #{at.inspect}" unless at.is_a?(String) && at.start_with?("/")

    Tsumugi::FOLDERS << [folder.to_s, at, Tsumugi.cache_policy(cache), Tsumugi.location(caller)]
    nil
  end

  # `compress false` sends every response as it is; otherwise text of 1 KiB and more is compressed for who accepts it.
  def compress(enabled)
    Tsumugi.compresses = enabled
    nil
  end
end

module Tsumugi
  NOT_FOUND = []

  def self.stop_job = Task.new { stop_plugins }

  # Stops plugins, last first. Answers what failed, as texts.
  def self.stop_plugins
    failures = []
    PLUGINS.reverse_each do |name, value, stop|
      if stop
        stop.call(value)
      elsif value.respond_to?(:stop)
        value.stop
      elsif value.respond_to?(:close)
        value.close
      end
    rescue => e
      failures << "plugin #{name}: #{e.class}: #{e.message}"
    end
    failures
  end
end
