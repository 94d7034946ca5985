# Tables: `db.create(:users) { increments :id; string :name, 100 }`, `alter`, `drop`, `rename`. What SQL that becomes in which
# database is not decided here. Rule: each runs whole or not at all, and one process at a time.
class DB
  # A table of this name exists and is another one. The message says what is different.
  class TableDiffers < Error; end

  module Schema
    LOCK_SECONDS_MAX = 600
    LOCK_POLL_SECONDS = 0.05

    # The table has to be made anew, which needs a transaction that begins so.
    class NeedsRebuild < Unsupported; end

    # One column. Its modifiers are keywords, or follow as methods: `string(:name, 100).nullable.default("")`.
    class Column
      def initialize(kind, name, arguments, modifiers)
        @kind = kind
        @name = name
        @arguments = arguments
        @modifiers = modifiers
      end

      %i[nullable unsigned default_now primary unique index].each do |word|
        define_method(word) { __said_too(word, true) }
      end
      %i[default default_raw comment reference on on_delete].each do |word|
        define_method(word) { |value| __said_too(word, value) }
      end
      alias onDelete on_delete

      def __said = [@kind, @name, @arguments, @modifiers]

      def __said_too(word, value)
        @modifiers[word] = value
        self
      end
    end

    # The words for columns. What is done with one says `__column`.
    module Columns
      %i[increments small_integer medium_integer integer big_integer double float uuid text date datetime time timestamp
         binary boolean json foreign].each do |kind|
        define_method(kind) { |name, **modifiers| __column(kind, name, [], modifiers) }
      end
      alias smallInteger small_integer
      alias mediumInteger medium_integer
      alias bigInteger big_integer

      def decimal(name, precision, scale, **modifiers) = __column(:decimal, name, [precision, scale], modifiers)
      def char(name, characters, **modifiers) = __column(:char, name, [characters], modifiers)
      def string(name, characters = 255, **modifiers) = __column(:string, name, [characters], modifiers)
      def enum(name, values, **modifiers) = __column(:enum, name, [values], modifiers)
    end

    # What the block of `create` says.
    class Table
      include Columns

      def initialize(name, &block)
        raise ArgumentError, "create #{name} needs a block" unless block

        @name = name
        @columns = []
        @primary = []
        @indexes = []
        instance_exec(self, &block)
      end

      # created_at and updated_at.
      def timestamps
        %i[created_at updated_at].each { |name| timestamp(name, default_now: true) }
        nil
      end

      # deleted_at, which is NULL as long as the row is not deleted.
      def soft_delete = timestamp(:deleted_at, nullable: true)
      alias softDelete soft_delete

      def primary(*columns) = @primary = columns
      def unique(*columns) = @indexes << [:unique, columns]
      def index(*columns) = @indexes << [:index, columns]
      def comment(text) = @comment = text

      def __column(kind, name, arguments, modifiers)
        column = Column.new(kind, name, arguments, modifiers)
        @columns << column
        column
      end

      def __said = [@name, @columns.map { |column| column.__said }, @primary, @indexes, @comment]
    end

    # What the block of `alter` says: `add.string :nick, nullable: true`, `change.text :bio`.
    class Alteration
      def initialize(name, &block)
        raise ArgumentError, "alter #{name} needs a block" unless block

        @name = name
        @steps = []
        instance_exec(self, &block)
      end

      def add = Step.new(@steps, :add)
      def change = Step.new(@steps, :change)
      def rename_column(from, to) = @steps << [:rename_column, from, to]
      alias renameColumn rename_column
      def drop_column(name) = @steps << [:drop_column, name]
      alias dropColumn drop_column
      def add_index(*columns) = @steps << [:add_index, columns]
      def add_unique(*columns) = @steps << [:add_unique, columns]
      def drop_index(*columns) = @steps << [:drop_index, columns]
      def drop_unique(*columns) = @steps << [:drop_unique, columns]
      def drop_index_named(name) = @steps << [:drop_index_named, name]
      def rename(to) = @steps << [:rename, to]

      def __said = [@name, @steps.map { |word, *about| Column === about[0] ? [word, about[0].__said] : [word, *about] }]

      # The words for columns after `add` and `change`.
      class Step
        include Columns

        def initialize(steps, word)
          @steps = steps
          @word = word
        end

        def __column(kind, name, arguments, modifiers)
          column = Column.new(kind, name, arguments, modifiers)
          @steps << [@word, column]
          column
        end
      end
    end
  end

  # Makes a table: `db.create(:users) { increments :id; string :name, 100, unique: true; timestamps }`. Where one of this name is
  # there already and is the same, nothing happens; a different one raises TableDiffers. Answers whether it was made.
  def create(table, &block)
    wanted = Schema::Table.new(table, &block)
    __change_schema do
      statements = Tsumugi::Native.schema_create(@scheme, wanted.__said, __described(table))
      __run_schema(statements)
      !statements.empty?
    end
  end

  # Changes a table: `db.alter(:users) { add.string :nick, nullable: true; rename_column :name, :full_name }`.
  def alter(table, &block)
    change = Schema::Alteration.new(table, &block)
    __change_schema(:rebuild) do
      found = __described(table)
      raise UsageError, "there is no table #{table}" unless found

      statements, anew = Tsumugi::Native.schema_alter(@scheme, change.__said, found)
      __refuse_rebuild(table) if anew
      __run_schema(statements)
    end
    nil
  end

  def rename(table, to) = alter(table) { rename(to) }

  # Drops a table with what is in it. One that others refer to stays.
  def drop(table)
    __change_schema do
      # SQLite would delete what refers to it.
      others = __embedded? ? __referring_to(table) - [table.to_s] : []
      raise UsageError, "#{table} stays as long as #{others.join(', ')} refers to it: drop that first" unless others.empty?

      __run_schema([Tsumugi::Native.schema_drop(@scheme, table)])
    end
    nil
  end

  # Is there a table of this name?
  def table?(name) = !__described(name).nil?

  def __described(table) = Tsumugi::Native.schema_describe(@native, table)

  def __run_schema(statements)
    statements.each do |sql|
      Tsumugi::Native.schema_run(@native, sql)
    end
  end

  # A transaction that alone changes the schema. Waiting for that happens outside of it: an open transaction would
  # hold up `create index concurrently`. In the caller's own transaction there is no outside.
  def __change_schema(mode = :schema)
    if Tsumugi::Native.db_in_transaction?(@native)
      __until_held { __schema_locked? }
      return yield
    end
    raise UsageError, "a transaction of this fibre is open on this database by another connect: this would wait for it" if Tsumugi::Native.db_in_other_transaction?(@native)

    answer = nil
    __until_held { __schema_tried?(mode) { answer = yield } }
    answer
  end

  # Runs the block in a transaction if no other transaction changes the schema, and answers whether it did.
  def __schema_tried?(mode)
    begun = false
    # What another process noted while this one waited has to be seen, whatever the database does by default.
    transaction(mode: mode, isolation: __embedded? ? nil : :read_committed) do
      begun = true
      held = __schema_locked?
      yield if held
      held
    end
  rescue PoolTimeout, SerializationFailure => e
    # A file has one writer: that it has another now, of this process or not, is the same as a lock that is held.
    raise e if begun || !__embedded?

    false
  end

  # Is it a file of this process, with one writer?
  def __embedded? = @scheme == "sqlite"

  # Does it have statements that want no transaction?
  def __alone? = @scheme == "postgres"

  # Runs a statement about no table that the transaction has changed, to be committed with those.
  def __note(sql, *values) = Tsumugi::Native.schema_note(@native, sql, values)

  # Has the database committed a part of this transaction before its end?
  def __kept? = Tsumugi::Native.schema_kept?(@native)

  # Takes the lock of the transaction.
  def __schema_locked? = Tsumugi::Native.schema_turn(@native)

  def __held?(sql) = query(sql, Tsumugi::Native.schema_lock).first[:held]

  # Asks the block again and again, because a statement that waits would be stopped by its own time limit.
  def __until_held
    since = nil
    until yield
      log.info "another process changes the schema: waiting for it" unless since
      since ||= Time.now
      raise PoolTimeout, "another process has been changing the schema for #{Schema::LOCK_SECONDS_MAX} s" if Time.now - since > Schema::LOCK_SECONDS_MAX

      sleep Schema::LOCK_POLL_SECONDS
    end
  end

  # Making a table anew drops the old one, and with that SQLite deletes what refers to it, unless the transaction looks away.
  def __refuse_rebuild(table)
    return if query("select foreign_keys from pragma_foreign_keys").first[:foreign_keys] == 0
    return if __referring_to(table).empty?

    raise Schema::NeedsRebuild, "SQLite makes #{table} anew, and others refer to it: alter it outside of a transaction, or begin that with mode: :rebuild"
  end

  # SQLite's tables that refer to this one.
  def __referring_to(table)
    sql = "select distinct m.name from sqlite_schema m join pragma_foreign_key_list(m.name) f where m.type = 'table' and lower(f.\"table\") = lower(?) order by m.name"
    query(sql, table.to_s).map { |row| row[:name] }
  end
end
