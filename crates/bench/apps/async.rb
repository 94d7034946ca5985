# What the suite async asks: as many reads by primary key as `?n=` says, each in a fibre, awaited together.
# The rows are those that other programs read beside it; the sum of what was read is compared.
plugin(:db) { DB.connect ENV["READS_URL"] || "sqlite:#{Tsumugi.data_dir}/reads.db", pool: 8 }

get "/reads" do
  key = 1
  keys = Array.new(query.int(:n, 10_000, in: 1..10_000)) do
    key = (key * 1_664_525 + 1_013_904_223) & 0xffff_ffff
    (key >> 8) % 10_000 + 1
  end
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  numbers = parallel(*keys.map { |id| -> { db.query("select randomnumber from world where id = ?", id).first[:randomnumber] } })
  { n: keys.size, seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun, sum: numbers.sum }
end
