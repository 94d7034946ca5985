# The application: evaluated once per worker when it is loaded. `tsumugi serve --dev` reloads it as you edit.
public "public"                                        # public/style.css is sent for /style.css

# What each worker owns. A query parks its request only; the worker answers others meanwhile.
plugin(:db) { DB.connect "sqlite:#{Tsumugi.data_dir}/app.db" }
db.execute "create table if not exists notes (id integer primary key, text text not null)"

get("/") { render "home", notes: db.query("select id, text from notes order by id desc limit 50") }

# A Hash, an Array or rows become JSON, a String becomes text.
scope "/notes" do
  get { db.query "select id, text from notes order by id" }

  post do
    note = body.require(text: String)                  # 422 with every field that is missing or wrong
    id = db.insert "insert into notes (text) values (?)", note[:text]
    json({ id: id }, status: 201, location: "/notes/#{id}")
  end

  get ":id", id: Integer do |id|                       # /notes/abc does not match: 404
    db.query("select id, text from notes where id = ?", id).first || halt(404, error: "no note #{id}")
  end
end
