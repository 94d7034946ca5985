# A task board in Japanese and English: forms, search, a live count, a CSV export, slow sources asked at once.
# Evaluated once per worker when it is loaded. Run: make run, or tsumugi serve examples/demo/app.rb --dev; as three processes: make demo-cluster
require_relative "texts"
require_relative "live"

plugin(:db) { DB.connect(acquire: 20, timeout: 5) }    # DATABASE_URL, else a file among the data; waits while another server takes over
db.migrate                                             # migrations/: whoever starts first, once
cluster db if ENV["DATABASE_URL"].to_s.start_with?("postgres") # the other processes, by the database that all use
plugin(:live) { Live.new(db, channel("board", cluster: true)) }
every(5) { live.look }                                 # sees what was not announced
every(15) { live.keep_alive }                          # proxies close what is silent

# Not only over TLS, so that it works on http://127.0.0.1 as well.
sessions secure: false
public "public", at: "/assets"
views "views", layout: "layout"

COLOURS = %w[ai kurenai kohaku matsu fuji].freeze
TITLE_CHARACTERS_MAX = 120
PROCESS = ENV["DEMO_PROCESS"]                          # which of several this is

helpers do
  # The language chosen in this session, else the browser's.
  def lang = @lang ||= TEXTS.key?(session[:lang]) ? session[:lang] : browser_lang
  def browser_lang = (headers["accept-language"] || "ja").downcase.start_with?("ja") ? "ja" : "en"
  def t(key, *values) = values.empty? ? TEXTS[lang][key] : format(TEXTS[lang][key], *values)

  # Newest first; of those whose title has the words, when there are any.
  def tasks(words)
    found = db[:tasks].select(:id, :title, :colour, :done).order(desc(:id)).limit(200)
    words.empty? ? found.all : found.where(col(:title).contains(words)).all
  end

  # What the board's templates show.
  def board(words: query[:q].to_s.strip)
    open, done = tasks(words).partition { |task| !task[:done] }
    { words: words, open: open, done: done }
  end

  def index(problem: nil, status: 200)
    render "index", status: status, title: t(:board), problem: problem, count: live.look, **board
  end

  def now = (Time.now.to_f * 1000).to_i

  # Writes: what was certainly not done, because the database was lost, is done again.
  def write(&block) = db.transaction(retries: 3, &block)

  # A number that a script gives a task, else a new one.
  def sent_as = body[:sent_as].to_s.size == 32 ? body[:sent_as] : SecureRandom.uuid

  # After a change the browser goes back to the list; a script that asked gets the new list at once.
  def changed
    live.announce
    live.look
    headers["x-requested-with"] == "board" ? render("board", layout: false, **board(words: "")) : redirect("/")
  end
end

before do
  header "content-security-policy", "default-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
  header "x-content-type-options", "nosniff"
  header "referrer-policy", "same-origin"
end

get("/") { index }
get("/board") { render "board", layout: false, **board }

get "/language/:code" do |code|
  session[:lang] = code if TEXTS.key?(code)
  redirect "/"
end

post "/tasks" do
  title = body[:title].to_s.strip
  return index(problem: t(:title_missing), status: 422) if title.empty?
  return index(problem: t(:title_long, TITLE_CHARACTERS_MAX), status: 422) if title.size > TITLE_CHARACTERS_MAX

  colour = COLOURS.include?(body[:colour]) ? body[:colour] : COLOURS.first
  write { db[:tasks].upsert({ sent_as: sent_as, title: title, colour: colour, changed: now }, on: :sent_as) }
  changed
end

# The form says what is to be, so that it can be sent twice.
post "/tasks/:id/toggle", id: Integer do |id|
  done = body[:done] == "true"
  halt 404 if write { db[:tasks].where(id: id).update(done: done, changed: now) } == 0
  changed
end

post "/tasks/:id/delete", id: Integer do |id|
  halt 404 if write { db[:tasks].where(id: id).delete } == 0
  changed
end

# The count, whenever it changes. The handler parks in between; a page that is closed ends it.
get "/events" do
  events do |out|
    parallel(-> { live.listen }, -> { live.watch { |count| out.event(count.to_h, event: "count") } })
  end
end

# The rows go from the database to the client in pieces and never become Ruby objects.
get "/tasks.csv" do
  header "content-disposition", "attachment; filename=\"tasks.csv\""
  stream db[:tasks].select(:id, :title, :colour, :done).order(:id), as: :csv
end

# Three sources that take 0.9, 0.6 and 0.3 seconds: together 0.9, not 1.8.
get "/sources" do
  started = Time.now
  ask = ->(name, seconds, answer) { -> { sleep seconds; { name: name, seconds: seconds, answer: answer } } }
  found = parallel(
    ask.call(t(:weather), 0.9, t(:weather_answer)),
    ask.call(t(:trains), 0.6, t(:trains_answer)),
    ask.call(t(:yarn), 0.3, t(:yarn_answer))
  )
  render "sources", title: t(:sources), found: found, took: Time.now - started
end

get("/oops") { raise "a thread has snapped" }

# In development the page with source and backtrace is more help than this one.
error do |e|
  raise e if Tsumugi.development?

  render "message", status: 500, title: t(:error_title), text: t(:error_text)
end
not_found { render "message", status: 404, title: t(:lost_title), text: t(:lost_text) }
