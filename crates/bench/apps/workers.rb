# What the suite threads asks: a string, a page, and 500 rows found by their keys through the query builder, awaited together and in one
# pipeline. The rows are those that other programs read beside it.
GC.generational_mode = true if ENV["WORKERS_COLLECTOR"] == "generational"
plugin(:db) { DB.connect ENV["DATABASE_URL"], pool: Integer(ENV["POOL"] || 20) } if ENV["DATABASE_URL"]

FINDS = (1..500).to_a.freeze
PAGE = "<!DOCTYPE html>\n<html>\n<head><title>Hello</title></head>\n<body><h1>Hello, World!</h1></body>\n</html>\n"

get("/show") { "hello\n" }
get("/html") { html PAGE }
get("/finds") { parallel(*FINDS.map { |id| -> { db[:world].find(id) } }) }
get("/reads") { db.pipeline { |p| FINDS.each { |id| p.query db[:world].where(id: id).limit(1) } }.map(&:first) }
