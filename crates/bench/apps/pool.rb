# What the suite db asks: 500 reads by primary key in one request, in the way that READS_WAY says, on a pool of READS_POOL connections.
plugin(:db) { DB.connect ENV["DATABASE_URL"], pool: (ENV["READS_POOL"] || 1).to_i }

READ = 'select id, randomnumber as "randomNumber" from world where id = ?'
IDS = (1..500).to_a.freeze

get "/reads" do
  case ENV["READS_WAY"]
  when "in_turn" then IDS.map { |id| db.query(READ, id).first }
  when "together" then parallel(*IDS.map { |id| -> { db.query(READ, id).first } })
  else db.pipeline { |p| IDS.each { |id| p.query READ, id } }.map(&:first)
  end
end
