# Migrations and seeds: files beside the application, `up { … }` and `down { … }`, each applied once, by the first process that comes. What tables
# look like is theirs. Rule: a migration is applied and noted in one transaction, or nothing of it is kept.
class DB
  # A migration or seed failed. The message says which, why, and what was kept.
  class MigrationFailed < Error; end

  # Applies the migrations of a folder beside the application that this database does not have yet, in the order of their names.
  # Many processes and workers may do so at once. Answers how many it applied.
  # Each is in a transaction of its own, so in another one of this fibre it is refused.
  def migrate(folder = "migrations")
    raise UsageError, "migrate takes a transaction of its own for each migration: call it before or after the one that it is called in" if Tsumugi::Native.db_in_transaction?(@native)

    Tsumugi::Migrations.new(self, Tsumugi::Migrations.sources(folder), Tsumugi::LoggedWork.new).up
  end

  # Runs the block if the table is empty, in one transaction: `db.seeder(:users) { db.execute "insert …" }`. Answers whether it ran.
  def seeder(table)
    __change_schema do
      filled = self[table].exists?
      yield self unless filled
      !filled
    end
  end
end

module Tsumugi
  # Reports on work on a schema in the log, for applications that migrate at their start.
  class LoggedWork
    def began(_file, _direction, _place, _count) = nil
    def ended(file, direction) = log.info("migrated #{direction}", file: file)
    def progress(_title, _done, _total) = nil
    def skipped(file) = log.warn("was not tried: it runs outside of a transaction", file: file)
    def unwritten(file) = log.info("is not written yet: it and those after it wait", file: file)

    # Around what authors wrote.
    def listening = yield
  end

  # What the code of a migration or of seeds can call.
  class SchemaFile
    attr_reader :db

    def initialize(db, file, text, work)
      @db = db
      @file = file
      @work = work
      @text = text
    end

    def name = @file.split("/").last

    # Yields each element of +of+, or each number below it, and shows how far it is.
    def progress(of, title = nil)
      total = of.is_a?(Integer) ? of : of.size
      done = 0
      (of.is_a?(Integer) ? 0...of : of).each do |element|
        yield element
        done += 1
        @work.progress(title || name, done, total)
      end
      nil
    end

    def __evaluate = instance_exec(&Native.source_compile(@file, @text))
  end

  # One file of `migrations/`.
  class Migration < SchemaFile
    def up(&block) = @up = block
    def down(&block) = @down = block

    # `transaction false`: for what PostgreSQL does outside of one only, such as `create index concurrently`.
    def transaction(wanted) = @alone = !wanted

    def alone? = @alone && @db.__alone?

    # Whether it is as `tsumugi migrate new` has made it, but for comments: with nothing to do.
    def unwritten?
      lines = @text.split("\n").map(&:strip)
      lines.reject { |line| line.empty? || line.start_with?("#") } == ["up do", "end", "down do", "end"]
    end

    def __run(direction)
      block = direction == :up ? @up : @down
      raise DB::UsageError, "nothing says how to #{direction == :up ? "apply" : "undo"} it" unless block

      @work.listening { instance_exec(@db, &block) }
    end
  end

  # Runs the files of a folder. Which of them a database has, and what becomes of that, is known natively.
  class Migrations
    # The files of a folder beside the application: path and text of each.
    def self.sources(folder)
      folder = Files.beside(Native.source_main, folder.to_s)
      Native.sources_read(folder) || raise(DB::MigrationFailed, "there is no folder #{folder}: `tsumugi migrate new NAME` makes it")
    end

    def initialize(db, sources, work)
      @db = db
      @work = work
      @history = Native.history_new(sources)
      @files = sources.map { |file, text| Migration.new(db, file, text, work) }.to_h { |file| [file.name, file] }
      @files.each_value { |file| file.__evaluate }
    end

    # Applies what is pending, all or the first +steps+, up to a file that is not written yet: applied now it could not be written later.
    def up(steps = nil)
      pending = plan(:up, steps)
      written = pending.take_while { |file| !file.unwritten? }
      @work.unwritten(pending[written.size].name) if written.size < pending.size
      run(written, :up)
    end

    # Undoes the last +steps+, newest first.
    def down(steps = nil) = run(plan(:down, steps), :down)

    # Undoes the last +steps+ and applies them again.
    def redo(steps = nil)
      files = plan(:redo, steps)
      run(files, :down) + run(files.reverse, :up)
    end

    # State, name and when it was applied, of each.
    def status = Native.history_status(@history, @db.__native)

    # Runs the block and undoes it.
    def try
      answer = nil
      @db.transaction(mode: :trial) do
        Native.history_try(@history, @db.__native)
        @tried = true
        answer = yield
        raise Undone
      end
    rescue Undone
      answer
    end

    # Ends a trial.
    class Undone < Exception; end

    private

    def plan(task, steps) = Native.history_plan(@history, @db.__native, task, steps).map { |name| @files[name] }

    # Answers how many it ran: without those that another process applied first.
    def run(files, direction)
      ran = 0
      files.each_with_index do |file, place|
        @work.began(file.name, direction, place, files.size)
        next @work.skipped(file.name) if @tried && file.alone?
        next unless file.alone? ? alone(file, direction) : whole(file, direction)

        ran += 1
        @work.ended(file.name, direction)
      end
      ran
    end

    # In one transaction. Where a table has to be made anew it begins again in one that allows it: nothing of the first is kept.
    def whole(file, direction, mode = :schema)
      @db.__change_schema(mode) { step(file, direction) }
    rescue DB::NeedsRebuild => e
      raise e if mode == :rebuild

      whole(file, direction, :rebuild)
    end

    # Without a transaction: the lock is the connection's.
    def alone(file, direction)
      @db.connection do
        @db.__lock_schema
        begin
          step(file, direction)
        ensure
          @db.__unlock_schema
        end
      end
    end

    # Under the lock: answers whether there was anything to do.
    def step(file, direction)
      version = Native.migration_due(@history, @db.__native, file.name, direction)
      return false unless version

      begin
        file.__run(direction)
      rescue DB::NeedsRebuild => e
        raise e
      rescue => e
        raise failure(file, direction, e)
      end
      Native.migration_complete(@history, @db.__native, file.name, direction, version)
      true
    end

    def failure(file, direction, error)
      sql = error.is_a?(DB::Error) && error.sql && Tsumugi.development? ? "\n  #{error.sql}" : ""
      failure = Native.migration_failure(@history, @db.__native, file.name, direction, "#{error.class}: #{error.message}#{sql}")
      failure.set_backtrace(error.backtrace || [])
      failure
    end
  end
end
