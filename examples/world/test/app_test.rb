# Run with: cargo run --package tsumugi-testkit --bin tsumugi-with-postgres -- target/debug/tsumugi test --shared-database examples/world/app.rb

def world?(world) = world.keys == %w[id randomNumber] && world.values.all? { |number| number.between?(1, 10_000) }

test "plain text and JSON need no database" do
  assert_equal "Hello, World!", get("/plaintext").body
  assert_match "text/plain", response["content-type"]
  assert_equal({ "message" => "Hello, World!" }, get("/json").json)
end

test "one row, as the database has it" do
  world = get("/db").json
  assert world?(world), world.inspect
  assert_equal db.query("select randomnumber from world where id = ?", world["id"]).first[:randomnumber], world["randomNumber"]
end

test "as many rows as are asked for, 1 to 500; junk is 1" do
  { "20" => 20, "1" => 1, "500" => 500, "501" => 500, "0" => 1, "-3" => 1, "junk" => 1, "" => 1 }.each do |asked, rows|
    assert_equal rows, get("/queries", query: { q: asked }).json.size, asked
  end
  assert_equal 1, get("/queries").json.size
  assert get("/queries?q=500").json.all? { |world| world?(world) }
  assert get("/queries?q=500").json.uniq.size > 400
end

test "an update answers what the database has afterwards" do
  worlds = get("/updates?q=20").json
  assert worlds.size.between?(15, 20), worlds.size.to_s
  worlds.each do |world|
    assert world?(world), world.inspect
    assert_equal db.query("select randomnumber from world where id = ?", world["id"]).first[:randomnumber], world["randomNumber"]
  end
  assert_equal 1, get("/updates?q=junk").json.size
end

test "fortunes are sorted, escaped, and one more than there are" do
  page = get("/fortunes").body
  assert_match "text/html", response["content-type"]
  messages = page.scan(%r{<td>([^<]*)</td></tr>}).flatten
  assert_equal 13, messages.size
  assert_match "<td>0</td><td>Additional fortune added at request time.</td>", page
  assert_match "&lt;script&gt;alert(", page
  refute_match "<script>", page
  assert_match "糸を紡ぐ者は夢も紡ぐ。", messages.last
end

test "all ways of asking 500 times answer 500 rows" do
  %w[single_prepared pool_unprepared pool_prepared pipelined].each do |way|
    worlds = get("/pool", query: { way: way }).json
    assert_equal 500, worlds.size, way
    assert worlds.all? { |world| world?(world) }, way
  end
  get "/pool?way=none"
  assert_status 400
  assert_match "pipelined", response.body
end
