# What the suite soak loads: the ways in which a handler spends its time, each as short as it can be.
plugin(:db) { DB.connect "sqlite::memory:" }
plugin(:lines) { Tsumugi::Channel.new(16) }
helpers { def greeting(name) = "hello #{name}\n" }
before { header "x-worker", worker.id }

get("/hello") { "hello\n" }
get("/slow") { sleep 1; "hello\n" }
get("/parked") { sleep 5; "hello\n" }
get("/wait") { sleep 0.005; "hello\n" }
get("/greet/:name") { |name| greeting(name) }
get("/json") { { at: Time.now.to_i, list: (1..20).map { |i| { id: i, name: "name #{i}" } } } }
get("/query") { { q: query[:q], page: query.int(:page, 1), cookie: cookies["a"] } }
get("/rows") { db.query("select 1 as id, 'one' as name") }
get("/both") { parallel(a: -> { sleep 0.002; 1 }, b: -> { db.query("select 2 as b").first }) }
get("/gone") { halt 404, error: "gone" }
get("/fail") { raise ArgumentError, "this is asked for" }
post("/echo") { { said: body["text"] } }

get "/ensured" do
  sleep 0.02
  "hello\n"
ensure
  lines.size
end

# Number of the worker and what its VM holds on to.
get "/figures" do
  GC.start
  "#{worker.id} #{Tsumugi.vm_bytes}\n"
end
