# The bank of the tests: transfers, notes and pairs of notes, each an entry under its caller's key. bank.rs is the same in Rust, and processes of both
# serve side by side. Rule: an answer says "not-kept" only where the database is certain, and "unknown" where it is not; callers rely on the first.
NAME = ENV["BANK_NAME"]
db = DB.connect ENV["BANK_DATABASE"], reads: :replica, log: false
plugin(:db) { db }
cluster db
sessions kv: KV.open(ENV["BANK_SESSIONS"])

ENTRY = "insert into entries (key, part, client, sequence, source, target, amount) values (?, ?, ?, ?, ?, ?, ?)"

error(DB::Error) do |e|
  is_certain = !e.is_a?(DB::CommitUnknown) && !e.message.include?("may or may not have run")
  status 503
  "#{is_certain ? "not-kept" : "unknown"} #{e.class.name.sub("DB::", "")}: #{e.message}"
end
error(KV::Error) do |e|
  status 503
  "unknown KV: #{e.message}"
end

get("/name") { NAME }

post "/transfer" do
  source, target, amount = query.int(:source), query.int(:target), query.int(:amount)
  isolation = query[:serializable] == "true" ? :serializable : :read_committed
  db.transaction(retries: 3, isolation: isolation) do
    took = db.execute "update accounts set balance = balance - ? where id = ? and balance >= ?", amount, source, amount
    halt 409, "not-kept insufficient funds" if took == 0
    db.execute "update accounts set balance = balance + ? where id = ?", amount, target
    db.execute ENTRY, query[:key], 0, query.int(:client), query.int(:sequence), source, target, amount
  end
  "committed"
end

post "/note" do
  db.execute ENTRY, query[:key], 0, query.int(:client), query.int(:sequence), nil, nil, nil
  "committed"
end

post "/pair" do
  db.pipeline(atomic: true) do |p|
    [1, 2].each { |part| p.execute ENTRY, query[:key], part, query.int(:client), query.int(:sequence), nil, nil, nil }
  end
  "committed"
end

get "/last" do
  sql = "select coalesce(max(sequence), 0) as last, pg_is_in_recovery()::int as standby from entries where client = ?"
  found = db.read { db.query(sql, query.int(:client)).first }
  text "read #{found[:last]} #{found[:standby]}"
end

get "/sum" do
  text "read #{db.read { db.query("select sum(balance)::bigint as sum from accounts").first[:sum] }}"
end

post "/visit" do
  session[:visit] = query.int(:visit)
  "committed"
end

get("/visit") { text "read #{session[:visit] || 0}" }

# Two never tick at once: what an older holder writes behind a younger one's beginning is refused.
every(1, cluster: :one, name: "beat") do
  Tsumugi.lock("beat", ttl: 3, wait: 0) do |token|
    db.transaction do
      db.fence "beat", token
      db.execute "insert into ticks (name, token, began) values (?, ?, clock_timestamp())", NAME, token
    end
    4.times do
      sleep 0.1
      db.transaction do
        db.fence "beat", token
        db.execute "insert into marks (token, at) values (?, clock_timestamp())", token
      end
    end
  end
rescue Tsumugi::Lock::Error, DB::Error => e
  log.info "a tick ends early", error: e.message
end
