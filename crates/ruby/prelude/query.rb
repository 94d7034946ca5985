# The query builder: `db[:users].where(active: true).order(:id).limit(5).all`. Methods that only build are Rust's
# (natives/query); here are those that run a query, and other names for both. Rule: a query never changes; every method answers
# a new one or runs this one.
class DB
  # The rows of a table: `db[:users]`, `db["users as u"]`, `db[query.as(:u)]`.
  def [](source) = Tsumugi::Native.db_table(@native, source)
  alias table []
  alias from []

  # Expressions that need no table: `db.select(sql("1").as(:n)).first`.
  def select(*items) = Tsumugi::Native.db_nothing(@native).select(*items)

  # SQL as it stands: `db.raw("select …", 1).all`.
  def raw(sql, *values) = Raw.new(self, sql, values)

  # A statement in SQL.
  class Raw
    def initialize(db, sql, values)
      @db = db
      @sql = sql
      @values = values
    end
    attr_reader :sql

    def all = @db.query(@sql, *@values)
    alias get all
    def first = all.first
    # Affected rows.
    def exec = @db.execute(@sql, *@values)
    alias execute exec
    def stream(&block) = @db.stream(@sql, *@values, &block)
    def each(&block) = stream.each(&block)
  end

  class Query
    # ---- rows ----

    # The rows, which become JSON without becoming Hashes.
    def all = __all
    alias get all
    alias rows all

    def to_a = all.to_a
    def map(&block) = all.map(&block)

    # The first row as a Hash, or nil; the first so many rows.
    def first(n = nil) = n ? limit(n).all : __first

    # The row with this primary key, or with this value of the column +key+.
    def find(id, key = nil) = __find(id, key)

    # Runs the block for each row, fetched by a cursor, all of one snapshot. Until it ends, a transaction can do nothing else. At most
    # +batch+ rows come at a time, 1 to 1000; where nothing is said, as many as suit their size.
    def each(batch: nil, &block)
      return to_enum(:each, batch: batch) unless block

      stream(batch: batch).each(&block)
      self
    end

    # The rows while they are fetched, for `stream query, as: :csv`.
    def stream(batch: nil, &block)
      rows = RowStream.new(__stream(batch))
      block ? rows.each(&block) : rows
    end

    # The names of the columns.
    def columns = __columns.columns

    # The values of a column in an Array; of several in an Array for each row.
    def pluck(*columns) = __pluck(*columns)

    # ---- numbers ----

    def exists? = __exists
    def empty? = !exists?

    def any?(&block)
      __refuse_block("any?", block)
      exists?
    end

    # How many rows there are, or how many have a value of the column.
    def count(column = nil, &block)
      __refuse_block("count", block)
      __count(column)
    end

    def __refuse_block(name, block)
      raise ArgumentError, "#{name} of a query takes no block: say `where(…).#{name}`, or `all.#{name} { … }` for rows" if block
    end

    # nil where there are no values.
    def sum(column) = __sum(column)
    def avg(column) = __avg(column)
    def min(column) = __min(column)
    def max(column) = __max(column)

    # ---- pages ----

    # `{ rows:, page:, pages:, total:, perPage:, hasMore: }` of a page, counted from 1.
    def paginate(page = 1, per_page = 20) = __paginate(page, per_page)

    # `{ rows:, after:, hasMore: }` of the page after the one whose `after:` this is, in the order of the keys, of which the last
    # is unique: `page_after(desc(:created_at), :id, after: params, per: 20)`. It costs the same however far it is.
    def page_after(*keys, after: nil, per: 20)
      names = keys.map { |key| Tsumugi::Native.order_name(key) }
      __page_after(keys, names, after, per)
    end
    alias keyset page_after
    alias keyset_paginate page_after

    # ---- changes ----

    # Inserts a row, a Hash, and answers its primary key; nil where the table has none. Inserts several rows in one transaction,
    # and answers how many. With `returning` it answers those rows.
    def insert(row = {}, **columns)
      raise ArgumentError, "insert takes a Hash, an Array of Hashes or columns, not both" unless row == {} || columns.empty?

      row = __rows_given(row == {} ? columns : row)
      return __insert(row, nil) unless row.is_a?(Array)

      inserted = __insert_all(row)
      inserted.is_a?(Array) ? inserted.flat_map(&:to_a) : inserted
    end

    def __rows_given(row)
      raise TypeError, "insert takes a Hash or an Array of Hashes, not #{row.inspect}" unless row.is_a?(Hash) || row.is_a?(Array)

      row
    end

    # The same, and answers the value of the column +key+ instead; of several rows in an Array.
    def insert_id(row, key = nil)
      __rows_given(row).is_a?(Array) ? __insert_ids(row, key) : __insert(row, key)
    end
    alias insertId insert_id

    # What `insert` does where a row with the same key exists: nothing, or with `update:` sets all columns (true), some ([:name])
    # or these (`{ n: col("t.n") + excluded(:n) }`). Without the key's columns: nothing, whatever the key.
    def insert_conflict(*key, target: nil, update: nil)
      __on_conflict(target || key, update)
    end
    alias on_conflict insert_conflict
    alias insertConflict insert_conflict

    # Inserts, or updates the row that has the same values of the columns +on+.
    def upsert(row, on:) = insert_conflict(on, update: true).insert(row)

    # How many rows were updated. Without any condition it needs `all_rows!`.
    def update(columns) = __update(columns)

    # How many rows were deleted. Without any condition it needs `all_rows!`.
    def delete = __delete

    # ---- text ----

    # The SQL of the query, and of what would change.
    def sql = __sql
    def binds = __binds
    def insert_sql(row) = __insert_sql(row)
    def update_sql(columns) = __set(columns).__sql(:update)
    def delete_sql = __sql(:delete)

    def inspect = "#<DB::Query #{sql}>"

    def to_json(*)
      raise UsageError, "a query inside of other JSON has not been run: say `.all` there"
    end

    # ---- other names ----

    alias filter where
    alias exclude where_not
    alias add_select select_append
    alias group_by group
    alias order_by order
    alias lock_for_update for_update
    alias orWhere or_where
    alias whereNot where_not
    alias whereBetween where_between
    alias whereNotBetween where_not_between
    alias whereIn where_in
    alias whereNotIn where_not_in
    alias whereNull where_null
    alias whereNotNull where_not_null
    alias whereRaw where_raw
    alias whereExists where_exists
    alias whereNotExists where_not_exists
    alias orWhereNot or_where_not
    alias orWhereBetween or_where_between
    alias orWhereNotBetween or_where_not_between
    alias orWhereIn or_where_in
    alias orWhereNotIn or_where_not_in
    alias orWhereNull or_where_null
    alias orWhereNotNull or_where_not_null
    alias orWhereRaw or_where_raw
    alias orWhereExists or_where_exists
    alias leftJoin left_join
    alias rightJoin right_join
    alias crossJoin cross_join
    alias groupBy group
    alias orderBy order
    alias forUpdate for_update
    alias skipLocked skip_locked
  end

  class Expression
    alias contain contains
    alias include? contains
    alias start_with? starts_with
    alias end_with? ends_with

    def inspect = "#<DB::Expression>"
  end
end
