# One application for one process, one machine and ten: docs/scale.md. Which engines it has is said by its environment alone.
plugin(:db) { DB.connect ENV.fetch("DATABASE_URL", "sqlite:#{Tsumugi.data_dir}/app.db"), pool: 4 }
plugin(:store) { KV.open ENV.fetch("STORE_URL", "#{Tsumugi.data_dir}/store") }
cluster db
sessions kv: store

db.create(:notes) { increments :id; text :text; timestamp :at, default_now: true }
NEWS = channel("news", cluster: true)

get("/") { { visits: store.incr("visits"), mine: session[:visits] = (session[:visits] || 0) + 1 } }
get("/notes") { db[:notes].order(:id).limit(50) }
post "/notes" do
  id = db[:notes].insert(text: body.require(text: String)[:text])
  NEWS.publish id.to_s
  json({ id: id }, status: 201)
end
get "/news" do
  events { |out| NEWS.subscribe(missed: -> { out.event "read /notes again", event: "missed" }) { |id| out.event id } }
end
every(60, cluster: :one, name: "old notes") { db[:notes].where("at < ?", Time.now - 30 * 86_400).delete }
