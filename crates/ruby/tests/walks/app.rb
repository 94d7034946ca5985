# What the product's own natives walk over, beside everything of mruby's: JSON, pages, statements, records, headers.
# Below walks.rb of the binding's tests, which makes the containers and changes them.

plugin(:db) do
  db = DB.connect "sqlite::memory:"
  db.execute "create table if not exists things (id integer primary key, name text)"
  db
end
plugin(:kv) { KV.open }

WALKS.each_value do |walks|
  walks.merge!(
    to_json: ->(c, o, w) { c.to_json },
    generate: ->(c, o, w) { JSON.generate([c, { o: o, "c" => c }]) },
    pretty: ->(c, o, w) { JSON.pretty_generate(c) },
    page: ->(c, o, w) { $context.render_to_string("walk", c: c, o: o, w: w) },
    bound: ->(c, o, w) { $context.db.query("select ?, ?", c, w.spoiler).to_a },
    regexp: ->(c, o, w) { c.inspect.gsub(/v(\d+)/) { w.spoil; $1 } },
    digest: ->(c, o, w) { Digest::SHA256.hexdigest(c) },
    header: ->(c, o, w) { $context.header("x-walk", w.spoiler) },
  )
end

WALKS[:object].delete(:to_json) # Object has none

WALKS[:array].merge!(
  where_in: ->(c, o, w) { $context.db.from(:things).where_in(:id, c).all },
  where: ->(c, o, w) { $context.db.from(:things).where(id: c, name: w.spoiler).all },
  columns: ->(c, o, w) { $context.db.from(:things).select(*c).all },
  order: ->(c, o, w) { $context.db.from(:things).order(*c).all },
  insert_many: ->(c, o, w) { $context.db.from(:things).insert(c.map { |e| { name: e } }) },
  insert_rows: ->(c, o, w) { $context.db.from(:things).insert(c) },
  binds: ->(c, o, w) { $context.db.query("select ?#{', ?' * 3}", *c).to_a },
  get_multi: ->(c, o, w) { $context.kv.get_multi(*c) },
  delete_multi: ->(c, o, w) { $context.kv.delete_multi(*c) },
  append: ->(c, o, w) { c.each { |e| $context.kv.append("a", e) } },
  answer: ->(c, o, w) { JSON.parse(c.to_json) },
  parallel: ->(c, o, w) { $context.parallel(*c.map { |e| -> { w.spoil; e } }) },
  scan: ->(c, o, w) { c.join(" ").scan(/v\d/) { w.spoil } },
  sorted_strings: ->(c, o, w) { c.map(&:to_s).sort_by { |s| w.spoil; s } },
  escape: ->(c, o, w) { c.map { |e| CGI.escape(e) } },
  strftime: ->(c, o, w) { Time.at(0).strftime(w.spoiler) },
  sort_by!: ->(c, o, w) { c.sort_by! { |e| w.spoil; e.class.to_s } },
  each_entry: ->(c, o, w) { c.each_entry { |e| w.spoil } },
  chunk_while: ->(c, o, w) { c.chunk_while { |a, b| w.spoil; true }.to_a },
  union_pattern: ->(c, o, w) { Regexp.union(*c) },
)

WALKS[:hash].merge!(
  assoc: ->(c, o, w) { c.assoc(w.key) },
  each_entry: ->(c, o, w) { c.each_entry { |e| w.spoil } },
  set_multi: ->(c, o, w) { $context.kv.set_multi(c) },
  where: ->(c, o, w) { $context.db.from(:things).where(c).all },
  insert: ->(c, o, w) { $context.db.from(:things).insert(c) },
  update: ->(c, o, w) { $context.db.from(:things).where(id: 1).update(c) },
  order: ->(c, o, w) { $context.db.from(:things).order(c).all },
  select: ->(c, o, w) { $context.db.from(:things).select(c).all },
  cas_multi: ->(c, o, w) { $context.kv.cas_multi(c, o) },
  form: ->(c, o, w) { URI.encode_www_form(c) },
  headers: ->(c, o, w) { c.each { |k, v| $context.header(k, v) } },
  cookie: ->(c, o, w) { $context.cookies["c"] = c },
  session: ->(c, o, w) { c.each { |k, v| $context.session[k] = v } },
  gsub_hash: ->(c, o, w) { "v1 v2 k3".gsub(/[vk]\d/, c) },
  request: ->(c, o, w) { HTTP.get("http://127.0.0.1:1/", headers: c) },
  log: ->(c, o, w) { log.info("walk", **c.to_h { |k, v| [:"k#{v.class}", v] }) },
)

WALKS[:string].merge!(
  gsub_pattern: ->(c, o, w) { c.gsub(/v/) { w.spoil; "x" } },
  gsub_pattern!: ->(c, o, w) { c.gsub!(/v/) { w.spoil; "x" } },
  scan_pattern: ->(c, o, w) { c.scan(/v/) { w.spoil; $~[0] } },
  match: ->(c, o, w) { m = c.match(/(v)(.)/); w.spoil; m && [m.pre_match, m.post_match, m.to_a] },
  match_later: ->(c, o, w) { c =~ /(v)(.)/; w.spoil; [$~ && $~.to_a, $1, $~&.pre_match, $~&.post_match] },
  split_pattern: ->(c, o, w) { c.split(/,/).map { |e| w.spoil; e } },
  parse: ->(c, o, w) { JSON.parse(c) },
)

get "/walk/:seed", seed: Integer do |seed|
  $context = self
  prepared = Walk.new(seed, WALKS)
  prepared.run
  prepared.to_s
end

# What a handler returns is walked over when it has ended.
get "/answer/:seed", seed: Integer do |seed|
  Walk.new(seed, { array: WALKS[:array], hash: WALKS[:hash] }).container
end
