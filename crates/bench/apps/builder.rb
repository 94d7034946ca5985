# What the suite builder asks: rows by their key, with SQL as it stands and with the builder, turn by turn, and the builder's SQL alone.
# Answers the seconds that each way took, and what was read.
plugin(:db) { DB.connect ENV["BUILDER_URL"] || "sqlite:#{Tsumugi.data_dir}/world.db", pool: 1 }

SQL = "select * from world where id = ? limit 1"
KEYS = 50

helpers do
  def read(id) = db.query(SQL, id).first
  def build(id) = db[:world].where(id: id).first

  def timed
    begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
    Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun
  end
end

get "/cost" do
  turns = query.int(:turns, 20, in: 1..10_000)
  read = built = alone = 0.0
  reading = building = 0
  key = 1
  turns.times do |turn|
    keys = Array.new(KEYS) { key = (key * 1_664_525 + 1_013_904_223) & 0xffff_ffff; (key >> 8) % 10_000 + 1 }
    ways = [
      -> { read += timed { keys.each { |id| reading += read(id)[:randomnumber] } } },
      -> { built += timed { keys.each { |id| building += build(id)[:randomnumber] } } },
    ]
    # Who comes first finds the caches as the other left them.
    (turn.even? ? ways : ways.reverse).each(&:call)
    alone += timed { keys.each { |id| db[:world].where(id: id).limit(1).sql } }
  end
  raise "they read #{reading} and #{building}" unless reading == building

  { queries: turns * KEYS, raw: read, built: built, alone: alone, sum: reading }
end
