# What the suite async asks: as many reads by primary key as `?n=` says, each in a fibre, awaited together.
# The rows are those that other programs read beside it; the sum of what was read is compared.
GC.generational_mode = true if ENV["READS_COLLECTOR"] == "generational"
plugin(:db) { DB.connect ENV["READS_URL"] || "sqlite:#{Tsumugi.data_dir}/reads.db", pool: 8 }

READ = "select randomnumber from world where id = ?"

helpers do
  def together(ids) = parallel(*ids.map { |id| -> { db.query(READ, id).first[:randomnumber] } })
end

get "/reads" do
  key = 1
  keys = Array.new(query.int(:n, 10_000, in: 1..10_000)) do
    key = (key * 1_664_525 + 1_013_904_223) & 0xffff_ffff
    (key >> 8) % 10_000 + 1
  end
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  sum = together(keys).sum
  { n: keys.size, seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, sum: sum }
end
