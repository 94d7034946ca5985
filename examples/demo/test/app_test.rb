# Run with: tsumugi test examples/demo/app.rb, on any database: each test has one of its own beside that of DATABASE_URL.

ENGLISH = { "accept-language" => "en-GB,en;q=0.9" }.freeze

setup { live.look }

# The newest task's number.
def newest = db[:tasks].max(:id)

def add(title, colour = "ai")
  post "/tasks", form: { title: title, colour: colour }
  assert_status 303
end

test "a new board is empty" do
  get "/", headers: ENGLISH
  assert_status 200
  assert_match "Nothing, for now.", response.body
  assert_match "text/html", response["content-type"]
end

test "the browser's language is spoken, until another is chosen" do
  assert_match 'lang="ja"', get("/").body
  assert_match 'lang="en"', get("/", headers: ENGLISH).body
  get "/language/ja"
  assert_match 'lang="ja"', get("/", headers: ENGLISH).body
  get "/language/nonsense"
  assert_match 'lang="ja"', get("/", headers: ENGLISH).body
end

test "a task is added, and its text is never markup" do
  add "<b>糸</b> & \"針\""
  assert_match "&lt;b&gt;糸&lt;/b&gt; &amp;", follow_redirect.body
  refute_match "<b>糸", response.body
end

test "a task without a title is not added, and the page says why" do
  post "/tasks", form: { title: "  " }, headers: ENGLISH
  assert_status 422
  assert_match "Write what is to be done.", response.body
  post "/tasks", form: { title: "x" * 121 }, headers: ENGLISH
  assert_match "Keep it to 120 characters.", response.body
  assert_equal 0, live.count.open
end

test "a task is finished, reopened and deleted" do
  add "Knit"
  id = newest
  post "/tasks/#{id}/toggle", form: { done: "true" }
  assert_equal [0, 1], [live.count.open, live.count.done]
  post "/tasks/#{id}/toggle", form: { done: "false" }
  assert_equal [1, 0], [live.count.open, live.count.done]
  post "/tasks/#{id}/delete"
  assert_equal [0, 0], [live.count.open, live.count.done]
  post "/tasks/#{id}/delete"
  assert_status 404
end

test "a task that is sent again is the same task" do
  number = "0123456789abcdef" * 2
  2.times { post "/tasks", form: { title: "Once", colour: "ai", sent_as: number } }
  assert_equal 1, live.count.open
  2.times { post "/tasks/#{newest}/toggle", form: { done: "true" } }
  assert_equal [0, 1], [live.count.open, live.count.done]
end

test "a search finds words, and signs are only signs" do
  ["100% wool", "100 skeins", "under_line", "underline"].each { |title| add title }
  assert_match "100% wool", get("/board", query: { q: "0%" }).body
  refute_match "100 skeins", response.body
  assert_match "under_line", get("/board", query: { q: "r_l" }).body
  refute_match "underline", response.body
  assert_match "“nothing”", get("/", query: { q: "nothing" }, headers: ENGLISH).body
end

test "a form from another site is refused" do
  get "/language/en"
  post "/tasks", form: { title: "evil" }, headers: { "sec-fetch-site" => "cross-site" }
  assert_status 403
  assert_equal 0, live.count.open
end

test "the count is sent to whoever watches" do
  events = get("/events")
  assert_match "text/event-stream", events["content-type"]
  assert_equal({ "open" => 0, "done" => 0, "version" => nil }, JSON.parse(events.events(1)[0][:data]))
  add "Spin"
  assert_equal 1, JSON.parse(events.events(1)[0][:data])["open"]
end

test "the tasks are exported as CSV" do
  add "one, two"
  add "three", "matsu"
  lines = get("/tasks.csv").body.split("\n").map { |line| line.strip }
  assert_equal ["id,title,colour,done", "#{newest - 1},\"one, two\",ai,false", "#{newest},three,matsu,false"], lines
  assert_match "tasks.csv", response["content-disposition"]
end

test "three slow sources are asked at once" do
  started = Time.now
  get "/sources", headers: ENGLISH
  assert Time.now - started < 1.75, "it took as long as one after the other"
  assert_match "One by one", response.body
end

test "what is unknown is answered with a page" do
  get "/nowhere", headers: ENGLISH
  assert_status 404
  assert_match "There is no such path", response.body
end

test "an exception is answered with 500, and the next request is well" do
  get "/oops"
  assert_status 500
  get "/"
  assert_status 200
end

test "pages load nothing from elsewhere" do
  assert_match "default-src 'self'", get("/")["content-security-policy"]
end
