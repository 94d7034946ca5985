# A URL shortener: users, short addresses with titles that are fetched in the background, statistics, a daily report, a live counter, a limit.
# Run: tsumugi serve examples/shortener/app.rb --dev
plugin(:db) { DB.connect }                             # DATABASE_URL, else a file among the data
db.create(:users) { increments :id; string :name, 40, unique: true; string :password, 200 }
db.create :links do
  increments :id
  integer :user_id, index: true
  string :code, 16, unique: true
  string :url, 2_000
  string :title, 200, nullable: true
  integer :visits, default: 0
end
db.create(:visits) { increments :id; integer :link_id, index: true; string :day, 10, index: true }
db.create(:reports) { string :day, 10, primary: true; integer :visits }

plugin(:kv) { KV.open "memory:shortener", capacity: "16m", when_full: :evict }
cluster db if ENV["DATABASE_URL"].to_s.start_with?("postgres")
LIVE = channel("visits", cluster: true, keep: 1_000)
sessions max_age: 30 * 86_400, secure: false           # works on http://127.0.0.1 as well
views "views", layout: "layout"
jobs db
http.public_only!                                      # titles of the public internet, never of what stands beside this server
ADDRESS = %r{\Ahttps?://[^/\s[:cntrl:]][^\s[:cntrl:]]*\z}i
CODE = /\A[\w-]{3,16}\z/
PAGES = %w[links live login logout users]              # paths of this file come before /:code
PER_MINUTE = 20
def today(at = Time.now) = at.utc.strftime("%Y-%m-%d")

helpers do
  def user = @user ||= session[:user] && db[:users].find(session[:user])
  def login_needed = user || halt(redirect("/login"))
  def own_links = db[:links].where(user_id: user[:id])
  def own_link(id) = own_links.where(id: id).first || halt(404, error: "no such link")
  def page(template, status: 200, problem: nil, **values) = html(render_to_string(template, problem: problem, **values), status: status)

  # So many new links a minute for each user.
  def limit_rate
    key = "links:#{user[:id]}:#{Time.now.to_i / 60}"
    kv.cas(key, nil, [0].pack("Q>"), ttl: 120)
    halt 429, error: "at most #{PER_MINUTE} links a minute" if kv.incr(key) > PER_MINUTE
  end

  def log_in(id)
    session.clear
    session[:user] = id
    redirect "/"
  end
end

get("/login") { page "login", title: "Log in" }
post "/users" do
  form = body.require(name: String, password: String)
  name = form[:name].strip
  next page("login", title: "Log in", status: 422, problem: "A name of 2 to 40 letters, a password of 8 or more") unless (2..40) === name.size && form[:password].size >= 8

  log_in db[:users].insert(name: name, password: Password.create(form[:password]))
end
error(DB::UniqueViolation) { |e| halt 409, error: "that is taken already" }

post "/login" do
  form = body.require(name: String, password: String)
  found = db[:users].where(name: form[:name].strip).first
  next log_in(found[:id]) if found && Password.verify(form[:password], found[:password])

  page "login", title: "Log in", status: 403, problem: "That name and password do not belong together"
end
post("/logout") { session.clear; redirect "/login" }
get "/" do
  login_needed
  page "links", title: "Links", links: own_links.order(desc(:id)).limit(100).all, total: own_links.sum(:visits) || 0
end

post "/links" do
  login_needed
  limit_rate
  url = body.require(url: String)[:url].strip
  halt 422, error: "an address that begins with http:// or https://, please" unless url =~ ADDRESS && url.size <= 2_000

  code = body[:code].to_s.strip
  code = SecureRandom.alphanumeric(7) if code.empty?
  halt 422, error: "3 to 16 letters, digits, - and _" unless code =~ CODE
  halt 422, error: "a page of this site has that name" if PAGES.include?(code)

  db.transaction do
    id = db[:links].insert(user_id: user[:id], code: code, url: url)
    jobs.push :title, id: id
  end
  redirect "/"
end

get "/links/:id", id: Integer do |id|
  login_needed
  link = own_link(id)
  days = db[:visits].where(link_id: id).group_by(:day).select(:day, count.as(:visits)).order(desc(:day)).limit(30).all
  page "link", title: link[:code], link: link, days: days
end
post("/links/:id/delete", id: Integer) do |id|
  login_needed
  own_link(id)
  db.transaction { db[:visits].where(link_id: id).delete; db[:links].where(id: id).delete }
  redirect "/"
end

get "/live" do
  login_needed
  mine = user[:id].to_s
  events do |out|
    seen = LIVE.last
    out.event({ total: own_links.sum(:visits) || 0 })
    LIVE.follow(after: seen) { |text| out.event({ total: own_links.sum(:visits) || 0 }) if text == mine }
  end
end

get "/:code" do |code|
  link = db[:links].where(code: code).first or halt(404, error: "no such address")
  db.transaction do
    db[:links].where(id: link[:id]).update(visits: col(:visits) + 1)
    db[:visits].insert(link_id: link[:id], day: today)
  end
  LIVE.publish link[:user_id].to_s
  redirect link[:url]
end

# The page's title, for the list. Pages that cannot be had are tried again.
job :title, retries: 3, timeout: 20 do |id:|
  link = db[:links].find(id) or next
  answer = http.get(link[:url], timeout: 10, max_bytes: 1_000_000, headers: { accept: "text/html" })
  title = answer.body[%r{<title[^>]*>(.*?)</title>}mi, 1].to_s.gsub(/\s+/, " ").strip
  db[:links].where(id: id).update(title: CGI.unescapeHTML(title)[0, 200]) unless title.empty?
end

# How often all links were followed on the day before.
every "5 0 * * *", zone: "UTC", name: "report" do
  day = today(Time.now - 86_400)
  visits = db[:visits].where(day: day).count
  db[:reports].insert_conflict(:day, update: true).insert(day: day, visits: visits)
  log.info "report", day: day, visits: visits
end
