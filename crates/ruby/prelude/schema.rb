# Tables: `db.create(:users) { increments :id; string :name, 100 }`, `alter`, `drop`, `rename`. What SQL that becomes in which
# database, in which transaction and under which lock, is not decided here. Rule: a definition is collected whole before anything runs.
class DB
  # A table of this name exists and is another one. The message says what is different.
  class TableDiffers < Error; end

  module Schema
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

      # What was meant by a word that stands in the block of `create` only; nil for other words.
      def self.__instead_of(word)
        return "a column is added by add.#{word} and changed by change.#{word}" if Columns.method_defined?(word)

        "an index is added by add_#{word}" if %w[index unique].include?(word)
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

  NeedsRebuild = Schema::NeedsRebuild

  # Makes a table: `db.create(:users) { increments :id; string :name, 100, unique: true; timestamps }`. Where one of this name is
  # there already and is the same, nothing happens; a different one raises TableDiffers. Answers whether it was made.
  def create(table, &block) = __change_table(:create, Schema::Table.new(table, &block).__said)

  # Changes a table: `db.alter(:users) { add.string :nick, nullable: true; rename_column :name, :full_name }`.
  def alter(table, &block)
    __change_table(:alter, Schema::Alteration.new(table, &block).__said)
    nil
  end

  def rename(table, to) = alter(table) { rename(to) }

  # Drops a table with what is in it. One that others refer to stays.
  def drop(table)
    __change_table(:drop, table)
    nil
  end

  # Is there a table of this name?
  def table?(name) = Tsumugi::Native.schema_table?(@native, name)

  # Answers whether there was anything to do.
  def __change_table(word, said) = Tsumugi::Native.schema_change(@native, word, said)

  # A transaction that alone changes the schema: one of its own, which begins when no other holds the lock, or the caller's.
  def __change_schema(mode = :schema)
    __lock_schema if Tsumugi::Native.db_in_transaction?(@native)
    transaction(mode: mode, isolation: :schema) { yield }
  end

  # A transaction holds the lock until its end, a connection until `__unlock_schema`.
  def __lock_schema = Tsumugi::Native.schema_lock(@native)
  def __unlock_schema = Tsumugi::Native.schema_unlock(@native)

  # Is it a file of this process, with one writer?
  def __embedded? = @scheme == "sqlite"

  # Does it have statements that want no transaction?
  def __alone? = @scheme == "postgres"

  # For what belongs to no DB of its own.
  def __native = @native
end
