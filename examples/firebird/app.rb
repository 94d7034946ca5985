# The catalogue of a Firebird database as JSON, in four ways of having a connection; and a page that needs no database.
# Run: DATABASE_URL=firebird://… tsumugi serve examples/firebird/app.rb, or see README.md for a server that is thrown away.
URL = ENV["DATABASE_URL"] || raise("DATABASE_URL is not set: examples/firebird/README.md says how to run this")

# Keeps no statement prepared.
UNPREPARED = "#{URL}#{URL.include?("?") ? "&" : "?"}statement_cache=0"

# One connection that requests take in turn; several; several that keep their statements prepared.
plugin(:single) { DB.connect UNPREPARED, pool: 1 }
plugin(:pool) { DB.connect UNPREPARED, pool: 5 }
plugin(:prepared) { DB.connect URL, pool: 5 }

views "views"

# What `?only=` asks for; without it, all. Blobs come with their contents: text as it is, bytes as base64.
ALL = "select * from rdb$relations"
PARTS = {
  "ten" => "select first 10 * from rdb$relations",
  "plain" => "select rdb$relation_id, rdb$system_flag, rdb$dbkey_length, rdb$format, rdb$field_id, rdb$relation_name, rdb$security_class, " \
             "rdb$external_file, rdb$owner_name, rdb$default_class, rdb$flags, rdb$relation_type from rdb$relations"
}.freeze

helpers do
  def sql = PARTS[query[:only]] || ALL
  # Rows go out as they come in, and are never Ruby values.
  def relations(database) = stream(database.stream(sql), as: :json)
end

get "/connect" do
  database = DB.connect UNPREPARED, pool: 1
  begin
    relations database
  ensure
    # Lets the connection go once its rows have been sent.
    database.close
  end
end

get("/single") { relations single }
get("/pool") { relations pool }
get("/prepared") { relations prepared }

WAYS = {
  "/connect" => "a connection for each request",
  "/single" => "one connection, which requests take in turn",
  "/pool" => "five connections",
  "/prepared" => "five connections that keep their statements prepared"
}.freeze

get("/") { render "page", ways: WAYS }
