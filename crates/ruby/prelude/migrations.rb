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
    NAME = /\A(\d{1,32})_\w+\.rb\z/

    def version = name.split("_").first
    # Identifies the migration and orders it: 007 is 7.
    def ordinal = @ordinal ||= Native.schema_ordinal(version)
    def checksum = @checksum ||= Digest::SHA256.hexdigest(@text)

    def up(&block) = @up = block
    def down(&block) = @down = block

    # `transaction false`: for what PostgreSQL does outside of one only, such as `create index concurrently`.
    def transaction(wanted) = @alone = !wanted

    def alone? = @alone && @db.__alone?

    def __run(direction)
      block = direction == :up ? @up : @down
      raise DB::UsageError, "the file does not say #{direction}" unless block

      @work.listening { instance_exec(@db, &block) }
    end
  end

  # The files of a folder and what of them a database has.
  class Migrations
    TABLE = :tsumugi_migrations

    # The files of a folder beside the application: path and text of each.
    def self.sources(folder)
      folder = Files.beside(Native.source_main, folder.to_s)
      Native.sources_read(folder) || raise(DB::MigrationFailed, "there is no folder #{folder}: `tsumugi migrate new NAME` makes it")
    end

    def initialize(db, sources, work)
      @db = db
      @work = work
      @files = read(sources)
    end

    # Applies what is pending, all or the first +steps+.
    def up(steps = nil)
      prepare
      applied = found
      changed = @files.find { |file| applied[file.ordinal] && applied[file.ordinal][:checksum] != file.checksum }
      raise DB::MigrationFailed, "#{changed.name} is not what was applied: put it back, or write a new migration; with `migrate down` or `redo` it is run as it is now" if changed

      pending = @files.reject { |file| applied[file.ordinal] }
      run(steps ? pending.first(steps) : pending, :up)
    end

    # Undoes the last +steps+, newest first.
    def down(steps = nil)
      prepare
      run(newest(steps || 1), :down)
    end

    # Undoes the last +steps+ and applies them again.
    def redo(steps = nil)
      prepare
      files = newest(steps || 1)
      run(files, :down) + run(files.reverse, :up)
    end

    # Version, name, state and when it was applied.
    def status
      applied = @db.table?(TABLE) ? found : {}
      rows = @files.map do |file|
        row = applied.delete(file.ordinal)
        state = row.nil? ? "pending" : row[:checksum] == file.checksum ? "applied" : "changed"
        [file.version, file.name, state, row ? row[:applied_at].to_s : ""]
      end
      rows += applied.values.map { |row| [row[:version], row[:name], "no file", row[:applied_at].to_s] }
      rows.sort_by { |version, _| Native.schema_ordinal(version) }
    end

    # Runs the block and undoes it. What it would note is kept in mind alone: a table that the trial made could not be read everywhere.
    def try
      answer = nil
      @db.transaction(mode: :trial) do
        @tried = @db.table?(TABLE) ? found : {}
        answer = yield
        raise Undone
      end
    rescue Undone
      answer
    end

    # Ends a trial.
    class Undone < Exception; end

    private

    def read(sources)
      files = sources.map { |file, text| Migration.new(@db, file, text, @work) }
      odd = files.find { |file| !Migration::NAME.match?(file.name) }
      raise DB::MigrationFailed, "#{odd.name} is no name of a migration: 20260131120000_what_it_does.rb is" if odd

      files = files.sort_by { |file| [file.ordinal, file.name] }
      files.each_cons(2) do |one, other|
        raise DB::MigrationFailed, "#{one.name} and #{other.name} have the same number" if one.ordinal == other.ordinal
      end
      files.each { |file| file.__evaluate }
    end

    def newest(steps)
      found.sort_by { |ordinal, _| ordinal }.last(steps).reverse.map do |ordinal, row|
        @files.find { |file| file.ordinal == ordinal } ||
          raise(DB::MigrationFailed, "#{row[:name]} is applied and there is no such file: without it nobody knows how to undo it")
      end
    end

    def prepare
      return if @tried

      @db.__change_schema do
        @db.create(TABLE) do
          string :version, 32, primary: true
          string :name, 255
          char :checksum, 64
          timestamp :applied_at, default_now: true
        end
      end
    end

    # What is noted, by its ordinal.
    def found = @tried || @db[TABLE].all.to_h { |row| [Native.schema_ordinal(row[:version]), row] }

    # Answers how many it ran: without those that another process applied first.
    def run(files, direction)
      ran = 0
      files.each_with_index do |file, place|
        @work.began(file.name, direction, place, files.size)
        next @work.skipped(file.name) if @tried && file.alone?
        next unless one(file, direction)

        ran += 1
        @work.ended(file.name, direction)
      end
      ran
    end

    def one(file, direction)
      file.alone? ? alone(file, direction) : whole(file, direction)
    rescue => e
      raise e if e.is_a?(DB::MigrationFailed)

      raise failed(file, direction, e)
    end

    # In one transaction. Where a table has to be made anew it begins again in one that allows it: nothing of the first is kept.
    def whole(file, direction)
      mode = :schema
      begin
        @db.__change_schema(mode) { step(file, direction) }
      rescue DB::Schema::NeedsRebuild => e
        raise e if mode == :rebuild

        mode = :rebuild
        retry
      end
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
      noted = found[file.ordinal]
      return false if !noted.nil? == (direction == :up)

      begin
        file.__run(direction)
      rescue Exception => e
        @kept = @db.__kept?
        raise e
      end
      note(file, direction, noted)
      true
    end

    def note(file, direction, noted)
      if @tried
        direction == :up ? @tried[file.ordinal] = { version: file.version, name: file.name, checksum: file.checksum } : @tried.delete(file.ordinal)
      elsif direction == :up
        @db.__note("insert into #{TABLE} (version, name, checksum) values (?, ?, ?)", file.version, file.name, file.checksum)
      else
        @db.__note("delete from #{TABLE} where version = ?", noted[:version])
      end
    end

    def failed(file, direction, error)
      kept = if file.alone?
               "it runs outside of a transaction, so what came before the error may have been kept"
             elsif @kept
               "what came before its last statements is kept, because Firebird commits changes of tables before other statements"
             else
               "nothing of it was kept"
             end
      sql = error.is_a?(DB::Error) && error.sql && Tsumugi.development? ? "\n  #{error.sql}" : ""
      failure = DB::MigrationFailed.new("#{file.name} failed (#{direction}), #{kept}: #{error.class}: #{error.message}#{sql}")
      failure.set_backtrace(error.backtrace || [])
      failure
    end
  end
end
