# The endpoints of the public framework benchmarks on PostgreSQL, and one request that asks 500 times in four ways.
# Run: DATABASE_URL=postgres://… tsumugi serve examples/world/app.rb, or see README.md for a server that is thrown away.
URL = ENV["DATABASE_URL"] || raise("DATABASE_URL is not set: examples/world/README.md says how to run this")

# Statements share connections, so one is enough for a worker; each is a process of the server, and many take turns on few cores.
plugin(:db) { DB.connect URL, pool: 1 }

views "views"

WORLDS = 10_000
QUERIES_MAX = 500
READ = 'select id, randomnumber as "randomNumber" from world where id = ?'
WRITE = "update world set randomnumber = fresh.number from unnest(?::int[], ?::int[]) as fresh (id, number) where world.id = fresh.id"

helpers do
  # How many `?q=` asks for: 1 to 500; what is no number is 1.
  def count = query[:q].to_s.to_i.clamp(1, QUERIES_MAX)
  def random = rand(WORLDS) + 1
  # Every read is a statement of its own; all leave in one write.
  def worlds = db.pipeline { |p| count.times { p.query READ, random } }.map(&:first)
end

get("/plaintext") { "Hello, World!" }
get("/json") { { message: "Hello, World!" } }
get("/db") { db.query(READ, random).first }
get("/queries") { worlds }

get "/updates" do
  # In one order everywhere, and each row once: statements of several connections must not wait for each other in a circle.
  found = worlds.sort_by { |world| world[:id] }.uniq { |world| world[:id] }
  numbers = found.map { |world| world[:randomNumber] = random }
  db.execute WRITE, found.map { |world| world[:id] }, numbers
  found
end

get "/fortunes" do
  fortunes = db.query("select id, message from fortune").values
  fortunes << [0, "Additional fortune added at request time."]
  render "fortunes", fortunes: fortunes.sort_by { |_, message| message }
end

# One request, 500 reads by primary key, in four ways: on one connection in turn, through a pool without and with prepared
# statements, and in one write.
ONE = "#{URL}#{URL.include?("?") ? "&" : "?"}application_name=one"
UNPREPARED = "#{URL}#{URL.include?("?") ? "&" : "?"}statement_cache=0"
plugin(:one) { DB.connect ONE, pool: 1 }
plugin(:pooled) { DB.connect URL, pool: 8 }
plugin(:unprepared) { DB.connect UNPREPARED, pool: 8 }

WAYS = {
  "single_prepared" => ->(handler) { handler.in_turn(handler.one) },
  "pool_unprepared" => ->(handler) { handler.at_once(handler.unprepared) },
  "pool_prepared" => ->(handler) { handler.at_once(handler.pooled) },
  "pipelined" => ->(handler) { handler.in_one_write(handler.db) }
}.freeze

helpers do
  def in_turn(database) = ids.map { |id| database.query(READ, id).first }
  def at_once(database) = parallel(*ids.map { |id| -> { database.query(READ, id).first } })
  def in_one_write(database) = database.pipeline { |p| ids.each { |id| p.query READ, id } }.map(&:first)
  def ids = Array.new(QUERIES_MAX) { random }
end

get "/pool" do
  way = WAYS[query[:way]]
  halt 400, "way is one of #{WAYS.keys.join(", ")}\n" unless way
  way.call(self)
end
