# The count of tasks on this worker, and who wants to know when it changes. Asks the database at most twice a second,
# however many pages are open.
class Live
  Count = Struct.new(:open, :done, :version)

  attr_reader :count

  def initialize(db)
    @db = db
    @bells = []
    @count = read
  end

  # Looks again, and wakes those who watch when something is different.
  def look
    found = read
    return if found == @count

    @count = found
    ring
  end

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

  # A bell that has not been heard yet need not ring again: who hears it reads the newest count.
  def ring = @bells.each { |bell| bell << true if bell.empty? }

  def read
    counts = @db[:tasks].group(:done).select(:done, func(:count, :id).as(:tasks), max(:changed).as(:changed)).all
    open, done = [false, true].map { |state| counts.find { |row| row[:done] == state } }
    Count.new(open ? open[:tasks] : 0, done ? done[:tasks] : 0, counts.map { |row| row[:changed] }.max)
  end
end
