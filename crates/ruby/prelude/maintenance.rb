# What `tsumugi migrate` and `tsumugi seed` run. Loaded only there; what is shown of it, and how, is not decided here.
module Tsumugi
  # Reports to the command how far the work is, and which statements run.
  class ReportedWork
    attr_writer :shows_statements

    def began(file, direction, place, count) = Native.maintenance_event(:began, file, direction.to_s, place, count)
    def ended(file, direction) = Native.maintenance_event(:ended, file, direction.to_s, 0, 0)
    def skipped(file) = Native.maintenance_event(:skipped, file, "", 0, 0)
    def unwritten(file) = Native.maintenance_event(:unwritten, file, "", 0, 0)
    def left_out(title) = Native.maintenance_event(:left_out, title, "", 0, 0)
    def progress(title, done, total) = Native.maintenance_event(:progress, title.to_s, "", done, total)

    # Reports the statements of the block, if the command shows them.
    def listening
      Tsumugi.on_statement = ->(sql) { Native.maintenance_event(:statement, sql, "", 0, 0) } if @shows_statements
      yield
    ensure
      Tsumugi.on_statement = nil
    end
  end

  # The block that gets each statement of an author; nil while no author's code runs.
  class << self
    attr_writer :on_statement

    # Reports +sql+, or what the block makes of it, which is not called without a listener.
    def report_statement(sql = nil) = @on_statement&.call(sql || yield)

    # Reports what the block answers, an Array of statements; it is not called without a listener.
    def report_statements(&statements)
      statements.call.each { |sql| @on_statement.call(sql) } if @on_statement
    end
  end

  # Has these methods of a class report the statement that each is given first.
  def self.report_statements_of(klass, *methods)
    methods.each do |name|
      own = :"__unreported_#{name}"
      klass.alias_method(own, name)
      klass.define_method(name) do |sql, *values, &block|
        Tsumugi.report_statement(sql)
        __send__(own, sql, *values, &block)
      end
    end
  end

  # Reports the statements of a change of a table.
  module TableReports
    def __change_table(word, said)
      Tsumugi.report_statements { Native.schema_plan(@native, word, said) }
      super
    end
  end

  # Reports the statements of the builder that change rows.
  module QueryReports
    def insert(row = {}, **columns)
      row = columns if row == {}
      __report_rows(row)
      # The row, whichever way it was given.
      super(row)
    end

    def insert_id(row, key = nil)
      __report_rows(row)
      super
    end
    alias insertId insert_id

    def update(columns)
      Tsumugi.report_statement { update_sql(columns) }
      super
    end

    def delete
      Tsumugi.report_statement { delete_sql }
      super
    end

    def __report_rows(rows)
      (rows.is_a?(Array) ? rows : [rows]).each { |row| Tsumugi.report_statement { insert_sql(row) } }
    end
  end

  # `seeds.rb` and the files of `seeds/`, beside the application.
  class Seeds < SchemaFile
    def seeder(table, &block)
      title = "seeds of #{table}"
      @work.began(title, "", 0, 1)
      @db.seeder(table, &block) ? @work.ended(title, "") : @work.left_out(title)
      nil
    end
  end

  module Maintenance
    PATIENCE_SECONDS = 600
    STATEMENT_SECONDS_MAX = 86_400

    # The job of one command.
    def self.job(task, url, steps, trial)
      Task.new do
        work = ReportedWork.new
        if trial
          Tsumugi.report_statements_of(DB, :query, :execute, :insert, :execute_script, :stream, :copy_in, :copy_out)
          Tsumugi.report_statements_of(DB::Pipeline, :query, :execute)
          DB.prepend(TableReports)
          DB::Query.prepend(QueryReports)
        end
        # Before a database is opened, which makes the file of a new one.
        makes_jobs = task == :up && keeps_jobs?
        sources = task == :seed ? seed_sources : migration_sources(makes_jobs)
        next 0 if task == :up && sources.empty? && !makes_jobs

        url ||= DB.default_url
        # Another process's turn on SQLite is waited for as a connection; a server that is not there is not.
        acquire = url.start_with?("sqlite:") ? { acquire: PATIENCE_SECONDS } : {}
        db = DB.connect(url, pool: 2, busy: PATIENCE_SECONDS, timeout: STATEMENT_SECONDS_MAX, log: false, **acquire)
        work.shows_statements = trial
        next seed(db, sources, work) if task == :seed

        ran = migrate(Migrations.new(db, sources, work), task, steps, trial)
        task == :up && !trial ? ran + job_tables(db, makes_jobs, work) : ran
      end
    end

    # An application that only has tables of jobs needs no folder.
    def self.migration_sources(makes_jobs)
      folder = Files.beside(Native.source_main, "migrations")
      (makes_jobs && Native.sources_read(folder).nil?) ? [] : Migrations.sources("migrations")
    end

    # Whether the application file says `jobs db`. One that cannot be read or compiled is another command's to refuse.
    def self.keeps_jobs?
      (Native.sources_read(Native.source_main) || []).any? { |file, text| Native.source_calls?(file, text, "jobs") }
    rescue ScriptError, StandardError
      false
    end

    # How many migrations it counts as to make the tables of jobs, or where none are wanted to bring those up to date that are there.
    def self.job_tables(db, makes, work)
      return 0 unless makes ? Native.job_tables_make(db.__native) : Native.job_tables_upgrade(db.__native)

      work.began(Native.job_tables_title, :up, 0, 1)
      work.ended(Native.job_tables_title, :up)
      1
    end

    def self.migrate(migrations, task, steps, trial)
      return migrations.status if task == :status
      return migrations.try { migrations.__send__(task, steps) } if trial

      migrations.__send__(task, steps)
    end

    def self.seed_sources
      found = %w[seeds.rb seeds].flat_map { |name| Native.sources_read(Files.beside(Native.source_main, name)) || [] }
      if found.empty?
        example = "`seeder(:users) { db[:users].insert(name: \"Ann\") }`"
        raise DB::MigrationFailed, "there is neither seeds.rb nor a folder seeds beside the application; what fills an empty table is written so: #{example}"
      end

      found
    end

    def self.seed(db, sources, work)
      sources.each { |file, text| Seeds.new(db, file, text, work).__evaluate }
      sources.size
    end
  end
end
