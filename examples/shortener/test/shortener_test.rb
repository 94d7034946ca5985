# Run with: tsumugi test examples/shortener/app.rb, on any database: each test has one of its own beside that of DATABASE_URL.

def register(name = "ann")
  post "/users", form: { name: name, password: "long enough" }
  assert_status 303
end

def shorten(url = "https://example.org/a", **more) = post("/links", form: { url: url, **more })

test "a page without a login leads to the login" do
  assert_equal "/login", get("/").location
end

test "a user registers, leaves and comes back" do
  register
  post "/logout"
  post "/login", form: { name: "ann", password: "wrong" }
  assert_status 403
  post "/login", form: { name: "ann", password: "long enough" }
  assert_match "Log out ann", follow_redirect.body
  post "/users", form: { name: "ann", password: "long enough" }
  assert_status 409
end

test "a link leads on, is counted by day and gets its title" do
  register
  stub_http :get, "https://example.org/a", body: "<html><title>Tea &amp;\n cake</title>"
  shorten code: "abc"
  assert_equal 1, jobs.run_ready
  2.times { get "/abc" }
  assert_equal "https://example.org/a", response.location
  assert_match "Tea &amp; cake", get("/links/#{db[:links].max(:id)}").body
  assert_match "<td>2</td>", response.body
  assert_match "id=\"total\">2<", get("/").body
end

test "what is no address, a taken name and others' links are refused" do
  register
  shorten "javascript:alert(1)"
  assert_status 422
  2.times { shorten code: "abc" }
  assert_status 409
  path = "/links/#{db[:links].max(:id)}"
  post "/logout"
  register "bob"
  assert_equal [404, 404], [get(path).status, post("#{path}/delete").status]
end

test "an address is one from its beginning to its end" do
  register
  ["http://", "https:///a", "https://example.org/\r\nx-injected: 1", "https://example.org/\0x", "https://example.org/a b", "see https://example.org/"].each do |address|
    shorten address, code: "bad"
    assert_status 422
  end
  assert_equal 404, get("/bad").status
  shorten "https://example.org/日本?q=%20#end", code: "good"
  assert_equal "https://example.org/%E6%97%A5%E6%9C%AC?q=%20#end", get("/good").location
end

test "names of pages are no codes" do
  register
  %w[links live login logout users].each do |code|
    shorten code: code
    assert_status 422
    assert_match "a page of this site has that name", response.body
  end
end

test "more links than the limit of a minute are refused" do
  register
  (2 * PER_MINUTE + 1).times { shorten }               # a minute may end between two of them
  assert_status 429
end

test "the counter is live" do
  register
  shorten code: "abc"
  live = get "/live"
  assert_equal({ "total" => 0 }, JSON.parse(live.events(1, within: 30)[0][:data]))
  get "/abc"
  assert_equal({ "total" => 1 }, JSON.parse(live.events(1, within: 30)[0][:data]))
end
