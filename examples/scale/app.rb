# What `scripts/scale-costs` asks of a server in Ruby: requests that wait, subscribers of one channel and of many, and a publish. The same in
# Rust is main.rs beside it. DATABASE_URL, where it is set, names a PostgreSQL that several processes share; it has a table `gate`.
# Run: tsumugi serve examples/scale/app.rb
if ENV["DATABASE_URL"]
  plugin(:db) { DB.connect ENV["DATABASE_URL"], acquire: 60 }
  cluster db
end

NEWS = channel("news", cluster: true)

get("/hello") { "hello\n" }
get("/sleep") { sleep 25; "hello\n" }
get("/statement") { db.query("select count(*) as n from gate").first[:n].to_s }
get("/events") { events { |out| NEWS.subscribe { |text| out.event text } } }
get("/events/:name") { |name| events { |out| channel(name, cluster: true).subscribe { |text| out.event text } } }
post("/publish") { NEWS.publish body.text; status 204 }
