# What handlers do, each in a few lines: their answers are the same each time.
sessions
views "views", layout: "layout"

TICKS = []
FAILURES = []

plugin :db do
  db = DB.connect "sqlite:#{Tsumugi.data_dir}/faults.db"
  db.execute "create table if not exists people (id integer primary key, name text, born text)"
  db.execute "delete from people"
  20.times { |i| db.execute "insert into people (id, name, born) values (?, ?, ?)", i + 1, "name #{i}", "1990-01-01" }
  db
end
plugin(:kv) { KV.open "memory:faults" }

helpers { def shout(text) = text.upcase }
before { @started = [request.path, 1] }
after { header "x-after", @started.size.to_s }

post("/echo") { body.text }
post("/json") { value = body.json; { sum: value["list"].sum, names: value["people"].map { |person| person["name"] }, all: value } }
post("/form") { [body[:text], body.to_h.size] }
post("/require") { body.require(name: String, age: Integer) }
post("/pieces") { sizes = []; body.each_chunk { |piece| sizes << piece.bytesize }; sizes.sum.to_s }
get("/search") { { q: query[:q], page: query.int(:page, 1), agent: headers["user-agent"].to_s } }
get("/people/:id", id: Integer) { |id| db.query("select * from people where id = ?", id).first }
get("/rows") { db.query "select * from people order by id" }
get("/values") { db.query("select * from people order by id").map { |row| "#{row[:id]} #{row[:name]}" }.join(",") }
get("/transaction") do
  db.transaction do
    db.execute "update people set born = ? where id = 1", "1990-01-02"
    db.execute "update people set born = ? where id = 1", "1990-01-01"
  end
  db.query("select born from people where id = 1").first[:born]
end
get("/taken") do
  db.execute "insert into people (id, name) values (?, ?)", 1, "again"
rescue DB::UniqueViolation
  "taken"
rescue DB::Error => error
  "#{error.class}"
end
get("/builder") { db[:people].where(id: 1..5).order(:id).select(:id, :name).all.map(&:to_h) }
get("/stream_rows") { stream db.stream("select * from people order by id"), as: :json }
get("/page") { render "page", names: %w[a < &], title: "T" }
get("/session") { session[:user] = "someone"; session[:list] = [1, 2]; session.to_h }
get("/kv") { kv.set("key", "value" * 50); [kv.get("key").size, kv.fetch("made", ttl: 60) { "made here" }, kv.get("absent")] }
get("/parallel") { parallel(a: -> { sleep 0; [1, 2].map { |i| i * 2 } }, b: -> { db.query("select 1 as one").first[:one] }) }
get("/failing") { parallel(-> { sleep 0; raise ArgumentError, "in a branch" }, -> { sleep 10 }) }
get("/stream") { stream("text/plain") { |out| 5.times { |i| out << "piece #{i}\n"; sleep 0 } } }
get("/events") { events { |out| 3.times { |i| out.event("text #{i}", id: i) } } }
get("/ensure") do
  begin
    begin
      sleep 0
      raise "from the handler"
    ensure
      sleep 0
      FAILURES << 1
      FAILURES.shift if FAILURES.size > 3
    end
  rescue => error
    "rescued #{error.message}"
  end
end
get("/raises") { raise "not rescued" }
get("/halts") { halt 418, tea: true }
get("/regexp") { text = "abc 123 def 45".gsub(/\d+/) { |digits| (digits.to_i * 2).to_s }; text =~ /(2\d+)/; [text, $1, text.scan(/[a-z]+/), text.split(/ /)] }
get("/texts") { [Time.at(0).utc.strftime("%Y-%m-%d"), JSON.parse('{"a":[1,2,{"b":null}]}'), JSON.generate([1, "two"]), Digest::SHA256.hexdigest("x"), Base64.encode64("text")] }
get("/channel") { channel = Tsumugi::Channel.new(2); parallel(-> { 3.times { |i| channel.push(i) }; channel.close }, -> { found = []; 3.times { found << channel.pop }; found }).last }
get("/eval") { [eval("1 + 2"), Class.new { define_method(:made) { 7 } }.new.made, begin; eval("1 +"); rescue SyntaxError; "no"; end, Struct.new(:a).new(1).a] }
get("/cookies") { cookies.signed[:visitor] = 7; cookies[:theme] = "dark"; text "set" }
get("/waits") { begin; sleep 30; ensure; FAILURES.first.to_s * 3; end }
get("/ticks") { TICKS.size.to_s }
error(ArgumentError) { |error| json({ error: error.message }, status: 400) }
not_found { { error: "nothing here" } }

every(0.002) { TICKS << [1]; TICKS.shift if TICKS.size > 5 }
