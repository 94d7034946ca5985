# The count of tasks on this worker, and who wants to know when it changes. Knows the board's channel, by which all processes hear of a change.
# Asks the database once for each change, however many pages are open.
class Live
  Count = Struct.new(:open, :done, :version)

  attr_reader :count

  def initialize(db, board)
    @db = db
    @board = board
    @bells = []
    @count = read
  end

  # Looks again, wakes those who watch when something is different, and answers the count. Who comes while another looks has that one look once more.
  def look
    @stale = true
    return @count if @looking

    @looking = true
    begin
      while @stale
        @stale = false
        note read
      end
    ensure
      @looking = false
    end
    @count
  end

  # Says to all processes that something is different. Those that do not hear it look by the clock.
  def announce
    @board.publish "changed"
  rescue DB::Error => e
    log.warn "the change was not announced", error: e.message
  end

  # Looks whenever a change is announced, until the caller is cancelled.
  def listen = @board.subscribe(missed: -> { look }) { look }

  # Yields the count now and after every change, until the caller is cancelled.
  def watch
    bell = Tsumugi::Channel.new(1)
    @bells << bell
    loop do
      yield @count
      bell.pop
    end
  ensure
    @bells.delete(bell)
  end

  def keep_alive = ring

  private

  def note(found)
    return if found == @count

    @count = found
    ring
  end

  # A bell that has not been heard yet need not ring again: who hears it reads the newest count.
  def ring = @bells.each { |bell| bell << true if bell.empty? }

  def read
    counts = @db[:tasks].group(:done).select(:done, func(:count, :id).as(:tasks), max(:changed).as(:changed)).all
    open, done = [false, true].map { |state| counts.find { |row| row[:done] == state } }
    Count.new(open ? open[:tasks] : 0, done ? done[:tasks] : 0, counts.map { |row| row[:changed] }.max)
  end
end
