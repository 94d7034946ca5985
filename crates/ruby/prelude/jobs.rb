# Work for later: `jobs db`, `job(:name) { … }`, `jobs.push`. How jobs are kept, claimed and tried again is native.
# Rule: arguments are what JSON can hold, so that a job gets what was pushed.
module Tsumugi
  # The jobs in a database: what `jobs db` makes and `jobs` answers from then on.
  class Jobs
    # Any error of these, but for those of the database: these are DB::Error.
    class Error < StandardError; end
    class UsageError < Error; end
    class LimitExceeded < Error; end

    # Another process has begun the job anew, because this one stood still for too long. The transaction is undone.
    class Lost < Error; end

    # A kind of jobs.
    class Kind
      # Keywords of `push` itself, which a block can have no argument by.
      PUSH_KEYWORDS = %i[at after unique priority]

      attr_reader :name, :queue, :retries, :timeout, :priority

      def initialize(name, queue, retries, timeout, priority, block)
        @name = name
        @queue = queue
        @retries = retries
        @timeout = timeout
        @priority = priority
        read_parameters(block)
        Native.job_declare(*declaration)
        # As a method, because that takes keywords.
        @context = Class.new(JobContext)
        @context.define_method(:__perform, &block)
      end

      # Refuses arguments that its block does not take, where they are pushed.
      def check(names)
        missing = @required.reject { |name| names.include?(name) }
        raise UsageError, "the job #{@name} needs #{Kind.list(missing)}" unless missing.empty?
        return unless @known

        unknown = names.reject { |name| @known.include?(name) }
        return if unknown.empty?

        known = @known.empty? ? "its block has no keywords" : "known are #{Kind.list(@known)}"
        raise UsageError, "the job #{@name} takes no #{Kind.list(unknown)}; #{known}"
      end

      def self.list(names) = names.map { |name| "#{name}:" }.join(", ")

      # What is native of it.
      def declaration = [@name, @queue, @retries, @timeout, @priority]

      def perform(running, arguments)
        @context.new(running).__perform(**arguments.transform_keys(&:to_sym))
      end

      # Which keywords the block needs and which it knows: nil where it takes any, or does not say.
      def read_parameters(block)
        parameters = block.parameters
        named = ->(*kinds) { parameters.select { |kind, _| kinds.include?(kind) }.map { |_, name| name } }
        is_open = !named.call(:keyrest).empty? || (parameters.empty? && block.arity != 0)
        positional = named.call(:req, :opt, :rest)
        unless is_open || positional.empty?
          names = positional.map { |name| name || "(…)" }.join(", ")
          raise ArgumentError, "the block of the job #{@name} takes keywords, as in `{ |id:| … }`, and not |#{names}|"
        end

        @required = named.call(:keyreq)
        @known = named.call(:keyreq, :key)
        taken = PUSH_KEYWORDS & @known
        unless taken.empty?
          raise ArgumentError, "the block of the job #{@name} cannot take #{Kind.list(taken)}, which `jobs.push` takes itself"
        end

        @known = nil if is_open
      end
    end

    # What a job runs with: helpers and plugins, as in a handler.
    class JobContext < TimerContext
      # The job itself: `job.id`, `job.attempt`.
      attr_reader :job

      def initialize(job)
        @job = job
      end
    end

    # A job that runs: `attempt` is how often it was begun, this time included, `failures` how often that ended badly by itself.
    class Running
      attr_reader :id, :name, :attempt, :failures, :retries

      def initialize(id, name, attempt, failures, retries)
        @id = id
        @name = name
        @attempt = attempt
        @failures = failures
        @retries = retries
      end
    end

    KINDS = {}
    RUNNING = {}

    class << self
      attr_writer :current

      def current = @current || raise(UsageError, "there are no jobs yet: `jobs db` says in which database they are kept")

      # A kind whose jobs are pushed by the clock.
      def __schedule(line, zone, name, retries, timeout, block)
        raise ArgumentError, "every #{line.inspect} needs a block" unless block

        # A line that cannot be read is not helped by a place for jobs.
        Native.check_schedule(line, zone)
        raise UsageError, "every #{line.inspect} is a job, and there are no jobs yet: above it `jobs db` says in which database they are kept" unless @current

        name = "every #{name}"
        raise ArgumentError, "there are two timers named #{name}: `name:` tells them apart" if KINDS.key?(name)

        KINDS[name] = kind = Kind.new(name, "default", retries, timeout, 0, block)
        Native.job_schedule(line, zone, *kind.declaration)
        nil
      end

      # What runs one job.
      def __task(name, arguments, *claim)
        kind = KINDS[name]
        id, attempt, failures, retries = claim
        Task.new do
          RUNNING[Native.job] = running = Running.new(id, name, attempt, failures, retries)
          begin
            kind.perform(running, JSON.parse(arguments))
          ensure
            RUNNING.delete(Native.job)
          end
          nil
        end
      end

      # Refuses what comes back from JSON as something else.
      def check(value)
        case value
        when nil, true, false, Integer then nil
        when String
          raise UsageError, "a job takes Strings of UTF-8, not bytes: encode them, as base64 for instance" unless value.valid_encoding?
        when Float
          raise UsageError, "a job takes finite numbers, not #{value}" if value.nan? || value.infinite?
        when Array then value.each { |element| check(element) }
        when Hash
          value.each do |key, element|
            raise UsageError, "a Hash for a job has Strings as keys, not #{key.inspect}" unless key.is_a?(String)

            check(key)
            check(element)
          end
        else
          raise UsageError, "a job takes nil, true, false, numbers, Strings, Arrays and Hashes of these, not #{value.class}"
        end
      end

      # What is listed of arguments that another program may have written.
      def __arguments(text)
        JSON.parse(text)
      rescue JSON::ParserError
        text
      end

      # A key as a text that no other key becomes.
      def __key(key)
        key = key&.to_s
        raise UsageError, "a key is a text of UTF-8, not bytes: encode them, as base64 for instance" unless key.nil? || key.valid_encoding?

        key
      end
    end

    attr_reader :db

    def initialize(database, running, queues, grace, lease, run, poll)
      raise ArgumentError, "jobs takes a database of DB.connect, not #{database.class}" unless database.is_a?(DB)

      @db = database
      Native.jobs_over(@db.__native, running, queues.map { |name, room| [name.to_s, room] }, grace, lease, run, poll)
    end

    # Pushes a job, and answers its id: `jobs.push :thumbnail, id: 7`. In a transaction of the same database it is there when that commits. `at:` is a Time,
    # `after:` a number of seconds; without them it is due at once. With `unique:` nothing is pushed while a job of this kind with this key waits or runs,
    # and nil is answered.
    def push(name, at: nil, after: nil, unique: nil, priority: nil, **arguments)
      kind = KINDS[name.to_s] || raise(UsageError, "there is no job #{name}: `job(:#{name}) { … }` declares it")
      raise UsageError, "push takes a Time as at:, not #{at.inspect}" unless at.nil? || at.is_a?(Time)
      raise UsageError, "push takes a number of seconds as after:, not #{after.inspect}" unless after.nil? || after.is_a?(Numeric)

      kind.check(arguments.keys.map(&:to_sym))
      arguments.each { |key, value| Jobs.check([key.to_s, value]) }
      Native.jobs_push(@db.__native, JSON.generate(arguments), at&.to_f, after, Jobs.__key(unique), priority, *kind.declaration)
    end

    # Runs the block in a transaction, unless it has run before, and says whether it did. In a job the effect is the job's own, unless it has a key:
    # however often the job is begun, it happens once; a second one of the same job needs a key. With a key it happens once for all:
    # `jobs.once("invoice 7") { … }`.
    def once(key = nil)
      running = RUNNING[Native.job]
      ran = false
      key = Jobs.__key(key)
      @db.transaction do
        if Native.jobs_once(@db.__native, key, running&.id, running&.attempt)
          yield
          ran = true
        end
      end
      ran
    end

    # Jobs as Hashes, in the order of their ids: `jobs.list(state: :dead)`. At most 1,000; `after:` is the id behind which to go on. Arguments that are no
    # JSON, or nested too deep, are their text.
    def list(state: nil, after: 0, limit: 100)
      Native.jobs_list(state&.to_s, after, limit).map do |row|
        %i[id name queue state priority attempts failures retries losses due_at pushed_at error arguments].zip(row).to_h.tap do |job|
          %i[due_at pushed_at].each { |key| job[key] = Time.at(job[key] / 1000.0) }
          job[:arguments] = Jobs.__arguments(job[:arguments])
        end
      end
    end

    # How many there are of each state.
    def counts = %i[scheduled ready running failed dead].zip(Native.jobs_counts).to_h

    # Makes a job that is dead or waits for its time ready, and says whether there is such a one.
    def retry(id) = Native.jobs_retry(id)

    # Makes the dead jobs of a kind ready, and says how many there were.
    def retry_dead(name) = Native.jobs_retry_dead(name.to_s)

    # Drops a job that does not run, and says whether there is such a one.
    def drop(id) = Native.jobs_drop(id)

    # Runs what is ready, and says how many jobs that were: for tests, where no worker runs them.
    def run_ready = Native.jobs_run_ready

    def inspect = "#<#{self.class} of #{@db.inspect}>"
  end
end

class DB
  # Makes the tables of jobs unless they are there, and gives those of an older version what they lack; says whether anything was missing. For a
  # migration, where the application may not make tables.
  def make_job_tables = Tsumugi::Native.job_tables_make(@native)
end

module Kernel
  # `jobs db` keeps jobs in this database and runs them: `running:` at once on each worker, `queues:` how many of a queue, `grace:` seconds that
  # they get when the server ends, `run: false` where others run them, `poll:` seconds between two looks at the table. `jobs` is what that made: see
  # Tsumugi::Jobs.
  def jobs(database = Tsumugi::Jobs, running: 10, queues: {}, grace: 20, lease: 30, run: true, poll: nil)
    # Without one: nil is what a caller may have by mistake.
    return Tsumugi::Jobs.current if database.equal?(Tsumugi::Jobs)

    Tsumugi::Jobs.current = Tsumugi::Jobs.new(database, running, queues, grace, lease, run, poll)
  end
end

class << self
  # Declares a kind of jobs: `job(:thumbnail, retries: 5, timeout: 60) { |id:| … }`.
  def job(name, retries: 5, timeout: 60, queue: "default", priority: 0, &block)
    raise ArgumentError, "job #{name.inspect} needs a block" unless block

    name = name.to_s
    raise ArgumentError, "there are two jobs named #{name}" if Tsumugi::Jobs::KINDS.key?(name)

    Tsumugi::Jobs::KINDS[name] = Tsumugi::Jobs::Kind.new(name, queue.to_s, retries, timeout, priority, block)
    nil
  end
end
