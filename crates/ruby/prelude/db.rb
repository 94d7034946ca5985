# Databases. Every method that reaches the database parks the fibre; other requests run meanwhile.
# The query builder is query.rb.
class DB
  # Any error of a database. `sql` and `binds` are the statement's.
  class Error < StandardError
    # `code` is the database's own, such as "22012", where the class does not say it all.
    attr_reader :constraint, :sql, :binds, :position, :code

    # The text and the status of the response that it is without an `error` block; nil for what is answered 500.
    def __refusal = @refusal
    def __refusal_status = @refusal_status

    # Whether the transaction that it ended may be run again as it is: nothing of it was kept, and what stopped it may not come again.
    def retryable? = @retryable || false
  end
  %i[UniqueViolation ForeignKeyViolation NotNullViolation CheckViolation SerializationFailure SyntaxError PoolTimeout
     QueryCanceled LimitExceeded DataError TransactionRolledBack ConnectionLost UsageError Unsupported].each { |name| const_set(name, Class.new(Error)) }
  # The SQL names a table that is not there. The message names what applies migrations.
  class UndefinedTable < SyntaxError; end

  class DataError
    # Whether a value that was bound to the statement caused it; without an `error` block for it that is answered 422.
    def about_value? = @about_value || false
  end

  class SerializationFailure
    # But where the database has committed a part of the transaction.
    def retryable? = @retryable != false
  end

  # Two transactions waited for each other; this one was chosen to be undone. Like other serialization failures it is run again.
  class DeadlockDetected < SerializationFailure; end

  # The answer to a commit was lost, and no server can say whether it has happened. It is never run again by itself.
  class CommitUnknown < ConnectionLost
    # The number of the transaction on PostgreSQL (an `xid8`); nil where the server had not said it.
    attr_reader :xid
  end

  # Bytes to be bound as such, even when they happen to be UTF-8: `DB.blob(data)`.
  class Blob
    def initialize(bytes)
      @tsumugi_blob = bytes
    end
  end

  def self.blob(bytes) = Blob.new(bytes)

  # Where an application keeps its data when nothing else is said.
  def self.default_url
    url = ENV["DATABASE_URL"]
    url.nil? || url.empty? ? "sqlite:#{Tsumugi.data_dir}/app.db" : url
  end

  # `DB.connect("sqlite:data/app.db", pool: 4, acquire: 2.0, timeout: 5.0, log: true)`. Without a URL it is that of DATABASE_URL, or
  # else the file app.db among the application's data.
  def self.connect(url = default_url, **options)
    raise ArgumentError, "DB.connect takes a URL such as \"sqlite:data/app.db\"; is DATABASE_URL set?" if url.nil?

    new(Tsumugi::Native.db_connect(url, options))
  end

  # The database that the host of this application shares under a name, when it is a part of one in Rust. Its pool is the host's.
  # Raises DB::UsageError when there is none.
  def self.shared(name) = new(Tsumugi::Native.db_shared(name.to_s))

  def initialize(native)
    @native = native
    @scheme = Tsumugi::Native.db_scheme(native)
  end

  # Lets the connections go as they become free, and takes no further statements. A plugin's database is closed when its application
  # is replaced or ends. SQLite's connections belong to the process and stay.
  def close = Tsumugi::Native.db_close(@native)

  # `query(sql, *values)` is native: rows for +sql+. Raises DB::Error.

  # Affected rows.
  def execute(sql, *values)
    affected, @last_insert_id = Tsumugi::Native.db_execute(@native, sql, values)
    affected
  end

  # Inserts and answers the new row's id. Only SQLite has such a thing as the last id: elsewhere a statement without RETURNING
  # gets `returning id`.
  def insert(sql, *values)
    sql = "#{sql.rstrip.chomp(";")} returning id" unless __embedded? || sql.downcase.include?("returning")
    Tsumugi::Native.db_execute(@native, sql, values)[1]
  end

  # Several statements without values, separated by semicolons.
  def execute_script(sql)
    Tsumugi::Native.db_script(@native, sql, [])
    nil
  end

  # Rows that are fetched while they are used: `db.stream(sql) { |row| … }`, `each`, or `stream db.stream(sql), as: :csv`.
  def stream(sql, *values, &block)
    rows = RowStream.new(Tsumugi::Native.db_stream(@native, sql, values))
    block ? rows.each(&block) : rows
  end

  # Several statements in one write; their results in order:
  # `db.pipeline { |p| p.query("select …", 1); p.query(db[:users].where(id: 2)) }`. Each is a statement of its own, and the first error is
  # raised when all have run; with `atomic: true` they stand and fall together.
  def pipeline(atomic: false)
    pipeline = Tsumugi::Native.db_pipeline_new(@native)
    yield pipeline
    return [] if Tsumugi::Native.db_pipeline_empty?(pipeline)

    Tsumugi::Native.db_pipeline(@native, pipeline, atomic)
  end

  # Collects statements, natively: `query(sql, *values)`, or a query of the builder in their place, and `execute`, which is the
  # same, answer the place of the result in the array that `pipeline` answers.
  class Pipeline; end

  # Runs the block in a transaction of this fibre: every statement of this fibre on this database belongs to it. An
  # exception (and `halt`) rolls back and goes on; otherwise, also by `return` and `break`, it commits. Nested calls
  # join the outer one; with `savepoint: true` they can be undone alone.
  #
  # `isolation:` is :read_committed, :repeatable_read or :serializable (SQLite's transactions are always serializable). After an error that
  # is `retryable?`, the block is run again, `retries:` times at most: a SerializationFailure, a DeadlockDetected too, and a server that was lost
  # where it is certain that nothing was kept. After a CommitUnknown it is not, nor where Firebird has committed changes of tables in it.
  def transaction(mode: :immediate, isolation: nil, savepoint: false, retries: 0)
    if Tsumugi::Native.db_in_transaction?(@native)
      return yield(self) unless savepoint

      begin
        mark = __mark
        yield(self)
      rescue Exception => e
        raised = true
        raise e
      ensure
        __unmark(mark, raised) if mark
      end
    else
      begin
        begin
          running = __begin(mode, isolation)
          begin
            yield(self)
          rescue Exception => e
            raised = true
            raise e
          ensure
            committed = __end(running, raised)
          end
        rescue SerializationFailure, TransactionRolledBack, ConnectionLost => e
          raise e if retries <= 0 || !e.retryable? || (running && Tsumugi::Native.db_partly_committed?(running))

          retries -= 1
          raised = false
          retry
        end
      ensure
        # Out here, because what these raise is no reason to run again what has been committed.
        __committed(committed) if committed
      end
    end
  end

  # Runs the block when this fibre's transaction has committed; at once where there is none. What is undone runs nothing. What one block
  # raises comes out of `transaction` when the others have run, too.
  def after_commit(&block)
    block.call unless Tsumugi::Native.db_after_commit(@native, block)
    nil
  end

  def __begin(mode, isolation)
    running = Tsumugi::Native.db_begin(@native, mode, isolation)
    Tsumugi::Native.db_enter(@native, running)
    running
  end

  # Answers what waited for the commit; nil where there was none.
  def __end(running, raised)
    Tsumugi::Native.db_leave(@native, running)
    begin
      Tsumugi::Native.db_commit(running) unless raised
    ensure
      # Dropping it rolls back at once and needs no wait, which a cancelled request may not have.
      Tsumugi::Native.db_abandon(running)
    end
    raised ? nil : Tsumugi::Native.db_committed(running)
  end

  # Runs each block, whatever another one raises: the first error is the caller's, the others are the log's.
  def __committed(blocks)
    errors = blocks.map do |block|
      block.call
      nil
    rescue Exception => e
      e
    end
    first, *others = errors.compact
    others.each { |e| log.error "after a commit: #{e.class}: #{e.message}", at: e.backtrace&.first if e.is_a?(StandardError) }
    raise first if first
  end

  def __mark = Tsumugi::Native.db_savepoint(@native)

  def __unmark(savepoint, raised)
    Tsumugi::Native.db_release(savepoint) unless raised
  ensure
    Tsumugi::Native.db_forsake(savepoint)
  end

  # A connection of this fibre's own while the block runs, for what a session keeps: `SET`, temporary tables, advisory locks.
  # Every statement of this fibre on this database goes there. It is as new before anybody else has it. In a transaction,
  # which has a connection of its own, this is that one.
  def connection
    return yield(self) if Tsumugi::Native.db_has_own?(@native)

    session = Tsumugi::Native.db_session(@native)
    Tsumugi::Native.db_enter(@native, session)
    begin
      yield(self)
    ensure
      Tsumugi::Native.db_leave(@native, session)
      Tsumugi::Native.db_give_back(session)
    end
  end

  # Reads that may go to a replica: one that has all that the user of this request has written and seen, else the primary. What writes is refused. With a block,
  # the statements of this fibre on this database while it runs; without one a database whose statements are all such: `db.read[:posts].all`. In a transaction
  # or on a connection of the fibre's own they run there. A database without replicas is read itself.
  def read(&block)
    return @reads ||= DB.new(Tsumugi::Native.db_reads(@native)) unless block
    return block.call(self) if Tsumugi::Native.db_has_own?(@native)

    Tsumugi::Native.db_enter_reads(@native)
    begin
      block.call(self)
    ensure
      Tsumugi::Native.db_leave(@native, nil)
    end
  end

  # Copies into a table, and answers the number of rows: `db.copy_in("copy t from stdin") { |io| io.row(1, "x"); io << "2\ty\n" }`.
  # `<<` parks while the server is slower. A block that raises or is left early copies nothing.
  def copy_in(sql)
    copy = CopyIn.new(Tsumugi::Native.db_copy_in(@native, sql))
    begin
      yield copy
      Tsumugi::Native.db_copy_finish(copy.native)
    ensure
      Tsumugi::Native.db_copy_abandon(copy.native)
    end
  end

  # Copies out of a table: `db.copy_out("copy t to stdout (format csv)") { |bytes| out << bytes }`. Pieces may end anywhere.
  def copy_out(sql)
    copy = Tsumugi::Native.db_copy_out(@native, sql)
    begin
      while (bytes = Tsumugi::Native.db_copy_read(copy))
        yield bytes
        # While the fibre waits for the next, the collector may take these.
        bytes = nil
      end
    ensure
      Tsumugi::Native.db_copy_abandon(copy)
    end
    self
  end

  # Runs the block for each notification of these channels (`n.channel`, `n.payload`, `n.pid`) until it is left. Listens on a
  # connection of its own, which is opened again when it is lost; what was said meanwhile is lost as well, so `missed:` is
  # called then: `db.listen("jobs", missed: -> { look_for_jobs }) { |n| … }`.
  def listen(*channels, missed: nil)
    listener = Tsumugi::Native.db_listen(@native, channels)
    begin
      while true
        heard = Tsumugi::Native.db_heard(listener)
        if heard
          yield Notification.new(*heard)
        elsif missed
          missed.call
        else
          log.warn "notifications may have been missed", channels: channels.join(", ")
        end
      end
    ensure
      Tsumugi::Native.db_stop_listening(listener)
    end
  end

  # Notifies the listeners of the channel; in a transaction when it commits.
  def notify(channel, payload = "")
    raise Unsupported, "#{@scheme == "sqlite" ? "SQLite" : "Firebird"} has no NOTIFY" unless @scheme == "postgres"

    query("select pg_notify(?, ?)", channel, payload)
    nil
  end

  # In a transaction, raises Tsumugi::Lock::Lost unless +token+, which the block of `Tsumugi.lock(name)` got, is the last one that was given. From then on
  # nobody else gets the lock before the transaction has ended. The database is that of `cluster`.
  def fence(name, token)
    Tsumugi::Native.db_fence(@native, name, token)
    nil
  end

  def __native = @native

  # What `listen` hears.
  class Notification
    attr_reader :channel, :payload, :pid

    def initialize(channel, payload, pid)
      @channel = channel
      @payload = payload
      @pid = pid
    end
  end

  # Where the data of `copy_in` are written.
  class CopyIn
    ESCAPES = { "\\" => "\\\\", "\t" => "\\t", "\n" => "\\n", "\r" => "\\r" }

    attr_reader :native

    def initialize(native)
      @native = native
    end

    # Data as they are, in the format that the statement says.
    def <<(data)
      Tsumugi::Native.db_copy_write(@native, data)
      self
    end

    # One row in the text format, which is the default.
    def row(*values) = self << values.map { |value| __field(value) }.join("\t") + "\n"

    def __field(value)
      return "\\N" if value.nil?

      value = value.__bind if value.respond_to?(:__bind)
      text = value.to_s
      ESCAPES.each { |plain, escaped| text = text.gsub(plain) { escaped } if text.include?(plain) }
      text
    end
  end

  # The result of a query: an Enumerable of Hashes with Symbol keys. A row becomes a Hash, or with `values` an Array, when it is read; returned
  # from a handler, the rows become JSON without becoming Hashes.
  class Rows
    include Enumerable

    def each(&block)
      return to_enum(:each) unless block

      i = 0
      n = size
      while i < n
        block.call(self[i])
        i += 1
      end
      self
    end

    # `to_a`, `values`, `size`, `[]` and `first(n = nil)` are native.
    alias entries to_a
    alias all to_a

    def map(&block)
      return to_enum(:map) unless block

      mapped = []
      each { |row| mapped << block.call(row) }
      mapped
    end
    alias collect map

    alias length size
    def count(*values, &block) = values.empty? && !block ? size : super
    def empty? = size == 0
    def last(n = nil)
      return self[-1] unless n

      ([size - n, 0].max...size).map { |i| self[i] }
    end

    def columns = Tsumugi::Native.rows_columns(self)
    def to_json(*) = Tsumugi::Native.rows_json(self)
    def inspect = to_a.inspect
  end

  # Rows on their way.
  class RowStream
    include Enumerable

    def initialize(native)
      @native = native
    end
    attr_reader :native

    def each(&block)
      return to_enum(:each) unless block

      begin
        while (rows = Tsumugi::Native.db_next_rows(@native))
          rows.each(&block)
        end
      ensure
        # A stream that is left early gives its connection back at once.
        Tsumugi::Native.db_leave_stream(@native)
      end
      self
    end
  end
end
