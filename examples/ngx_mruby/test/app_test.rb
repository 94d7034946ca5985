# The demonstrations, asked through the in-process client: tsumugi test examples/ngx_mruby/app.rb

test "a loop of sleeps writes 01234" do
  assert_equal "01234", get("/loop").body
end

test "return ends a handler anywhere" do
  assert_equal "foo", get("/return?stop=1").body
  assert_equal "foobar", get("/return").body
end

test "return with a condition that holds ends a handler" do
  assert_equal "hoge", get("/hoge").body
  assert_equal 200, response.status
end

test "sleeping requests run at once and never mix what they write" do
  started = Time.now
  bodies = parallel(-> { get("/loop").body }, -> { get("/sleep").body }, -> { get("/loop").body })
  assert_equal %w[01234 body 01234], bodies
  assert Time.now - started < 6
end

test "hello names module and version" do
  assert_match "hello tsumugi ", get("/hello").body
end

test "the request and its headers are those of the caller" do
  response = get("/request?x=1")
  assert_match "GET /request?x=1 HTTP/1.1", response.body
  assert_equal "GET", response.headers["x-method"]
  assert_equal "text/plain", response.headers["content-type"]
end

test "redirects and access handlers" do
  assert_equal 301, get("/old").status
  assert_equal 401, get("/private").status
  assert_equal "welcome\n", get("/private", headers: { "authorization" => "x" }).body
end
