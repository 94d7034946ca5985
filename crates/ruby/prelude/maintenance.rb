# What `tsumugi migrate` and `tsumugi seed` run. Loaded only there; what is shown of it, and how, is not decided here.
module Tsumugi
  # Tells the command how far the work is, and what is run.
  class ToldWork
    attr_writer :tells

    def began(file, direction, place, count) = Native.news(:began, file, direction.to_s, place, count)
    def ended(file, direction) = Native.news(:ended, file, direction.to_s, 0, 0)
    def skipped(file) = Native.news(:skipped, file, "", 0, 0)
    def progress(title, done, total) = Native.news(:progress, title.to_s, "", done, total)

    # Statements are told while the block runs, when they are wanted.
    def listening
      Tsumugi.told = ->(sql) { Native.news(:statement, sql, "", 0, 0) } if @tells
      yield
    ensure
      Tsumugi.told = nil
    end
  end

  # Who is told what a database is asked to change; nil while nobody listens.
  class << self
    attr_accessor :told

    # What is asked on the way was not the author's to say.
    def quietly
      told = self.told
      self.told = nil
      yield
    ensure
      self.told = told
    end
  end

  # A database that tells.
  module ToldDatabase
    def query(sql, *values)
      Tsumugi.told&.call(sql)
      super
    end

    def execute(sql, *values)
      Tsumugi.told&.call(sql)
      super
    end

    def insert(sql, *values)
      Tsumugi.told&.call(sql)
      super
    end

    def execute_script(sql)
      Tsumugi.told&.call(sql)
      super
    end

    def __run_schema(statements)
      statements.each { |sql| Tsumugi.told&.call(sql) }
      super
    end

    def stream(sql, *values)
      Tsumugi.told&.call(sql)
      super
    end

    def pipeline(atomic: false)
      super(atomic: atomic) do |pipeline|
        yield pipeline
        pipeline.statements.each { |sql, _| Tsumugi.told&.call(sql) }
      end
    end

    def copy_in(sql)
      Tsumugi.told&.call(sql)
      super
    end

    def copy_out(sql)
      Tsumugi.told&.call(sql)
      super
    end

    def __held?(sql) = Tsumugi.quietly { super(sql) }
    def __refuse_rebuild(table) = Tsumugi.quietly { super(table) }
    def __referring_to(table) = Tsumugi.quietly { super(table) }
  end

  # What the builder changes.
  module ToldQuery
    def insert(row = {}, **columns)
      row = columns if row == {}
      __tell_rows(row)
      super(row)
    end

    def insert_id(row, key = nil)
      __tell_rows(row)
      super
    end
    alias insertId insert_id

    def update(columns)
      Tsumugi.told&.call(update_sql(columns))
      super
    end

    def delete
      Tsumugi.told&.call(delete_sql)
      super
    end

    def __tell_rows(rows)
      (rows.is_a?(Array) ? rows : [rows]).each { |row| Tsumugi.told&.call(insert_sql(row)) }
    end
  end

  # `seeds.rb` and the files of `seeds/`, beside the application.
  class Seeds < SchemaFile
    def seeder(table, &block)
      title = "seeds of #{table}"
      @work.began(title, "", 0, 1)
      @work.ended(title, "") if @db.seeder(table, &block)
      nil
    end
  end

  module Maintenance
    PATIENCE_SECONDS = 600
    STATEMENT_SECONDS_MAX = 86_400

    # The job of one command.
    def self.job(task, url, steps, trial)
      Task.new do
        work = ToldWork.new
        if trial
          DB.prepend(ToldDatabase)
          DB::Query.prepend(ToldQuery)
        end
        url ||= DB.default_url
        # Another process's turn on SQLite is waited for as a connection; a server that is not there is not.
        acquire = url.start_with?("sqlite:") ? { acquire: PATIENCE_SECONDS } : {}
        db = DB.connect(url, pool: 2, busy: PATIENCE_SECONDS, timeout: STATEMENT_SECONDS_MAX, log: false, **acquire)
        work.tells = trial
        task == :seed ? seed(db, work) : migrate(Migrations.new(db, "migrations", work), task, steps, trial)
      end
    end

    def self.migrate(migrations, task, steps, trial)
      return migrations.status if task == :status
      return migrations.try { migrations.__send__(task, steps) } if trial

      migrations.__send__(task, steps)
    end

    def self.seed(db, work)
      one = Native.sources_read(Files.beside(Native.source_main, "seeds.rb")) || []
      many = Native.sources_read(Files.beside(Native.source_main, "seeds")) || []
      raise DB::MigrationFailed, "there is neither seeds.rb nor a folder seeds beside the application" if one.empty? && many.empty?

      (one + many).each { |file, text| Seeds.new(db, file, text, work).__evaluate }
      one.size + many.size
    end
  end
end
