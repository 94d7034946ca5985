# The application: evaluated once per worker when it is loaded. `tsumugi serve --dev` reloads it as you edit.
public "public"                                        # public/style.css is sent for /style.css

# What each worker owns. A query parks its request only; the worker answers others meanwhile.
plugin(:db) { DB.connect }                             # DATABASE_URL, else data/app.db
db.migrate                                             # migrations/: each once, whoever starts first

get("/") { render "home", notes: db[:notes].order(desc(:id)).limit(50).all }

# A query, a Hash or an Array becomes JSON, a String becomes text.
scope "/notes" do
  get { db[:notes].order(:id) }

  post do
    note = body.require(text: String)                  # 422 with every field that is missing or wrong
    id = db[:notes].insert(note)
    json({ id: id }, status: 201, location: "/notes/#{id}")
  end

  get ":id", id: Integer do |id|                       # /notes/abc does not match: 404
    db[:notes].find(id) || halt(404, error: "no note #{id}")
  end
end
