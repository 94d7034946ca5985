# The profiles of the public suite HttpArena that Ruby serves, as its documents ask for them. `tsumugi bench arena` writes `dataset.rb` beside
# this file: `ITEMS`, fifty Hashes. The table `items` is in the database of `DATABASE_URL`, the files below `ARENA_FILES`.
require_relative "dataset"

public ENV["ARENA_FILES"], at: "/static"
plugin(:cache) { KV.open "memory:arena", ttl: 0.2 }
plugin(:db) { DB.connect ENV["DATABASE_URL"] } if ENV["DATABASE_URL"]

COLUMNS = "id, name, category, price, quantity, active, tags, rating_score, rating_count"
BY_PRICE = "select #{COLUMNS} from items where price between ? and ? limit ?"
BY_CATEGORY = "select #{COLUMNS} from items where category = ? order by id limit ? offset ?"
BY_ID = "select #{COLUMNS} from items where id = ?"
UPSERT = <<~SQL
  insert into items (#{COLUMNS}) values (?, ?, ?, ?, ?, true, '["bench"]', 0, 0)
  on conflict (id) do update set name = excluded.name, price = excluded.price, quantity = excluded.quantity
SQL
UPDATE = "update items set name = ?, price = ?, quantity = ? where id = ?"

helpers do
  def sum = query.int(:a, 0) + query.int(:b, 0)

  # A row with its rating as an object of its own.
  def item(row)
    {
      id: row[:id], name: row[:name], category: row[:category], price: row[:price], quantity: row[:quantity],
      active: row[:active], tags: row[:tags], rating: { score: row[:rating_score], count: row[:rating_count] }
    }
  end
end

get("/baseline11") { sum.to_s }
post("/baseline11") { (sum + body.text.to_i).to_s }
get("/baseline2") { sum.to_s }
get("/pipeline") { "ok" }

get "/json/:count", count: Integer do |count|
  factor = query.int(:m, 1)
  items = ITEMS.first(count).map { |item| { **item, total: item[:price] * item[:quantity] * factor } }
  { items: items, count: items.size }
end

post "/upload" do
  size = 0
  body.each_chunk { |bytes| size += bytes.bytesize }
  size.to_s
end

get "/async-db" do
  limit = query.int(:limit, 50).clamp(1, 50)
  items = db.query(BY_PRICE, query.int(:min, 10), query.int(:max, 50), limit).map { |row| item(row) }
  { items: items, count: items.size }
end

scope "/crud/items" do
  get do
    page = query.int(:page, 1, in: 1..1_000_000)
    limit = query.int(:limit, 10).clamp(1, 50)
    rows = db.query(BY_CATEGORY, query[:category] || "electronics", limit, (page - 1) * limit)
    items = rows.map { |row| item(row) }
    { items: items, total: items.size, page: page, limit: limit }
  end

  get ":id", id: Integer do |id|
    key = id.to_s
    found = cache.get(key)
    header "x-cache", found ? "HIT" : "MISS"
    unless found
      row = db.query(BY_ID, id).first
      halt 404, error: "no such item" unless row
      found = JSON.generate(item(row))
      cache.set key, found
    end
    header "content-type", "application/json"
    found
  end

  post do
    given = body.require(id: Integer, name: String, category: String, price: Integer, quantity: Integer)
    db.execute UPSERT, given[:id], given[:name], given[:category], given[:price], given[:quantity]
    json(given, status: 201)
  end

  put ":id", id: Integer do |id|
    given = body.require(name: String, price: Integer, quantity: Integer)
    changed = db.execute(UPDATE, given[:name], given[:price], given[:quantity], id)
    halt 404, error: "no such item" if changed == 0
    cache.delete id.to_s
    { id: id, **given }
  end
end
