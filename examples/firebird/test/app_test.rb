# Run with: target/debug/tsumugi-with-firebird target/debug/tsumugi test examples/firebird/app.rb

def names(rows) = rows.map { |row| row["rdb$relation_name"] || row[:"rdb$relation_name"] }

# A transaction sees the attachments of its beginning.
def connections
  prepared.transaction { prepared.query("select count(*) as n from mon$attachments where mon$system_flag = 0").first[:n] }
end

{ "" => [ALL, 17], "?only=ten" => [PARTS["ten"], 17], "?only=plain" => [PARTS["plain"], 12] }.each do |asked, (sql, columns)|
  test "all ways answer the same to #{asked.empty? ? "no question" : asked}" do
    bodies = WAYS.keys.map do |path|
      get "#{path}#{asked}"
      assert_status 200
      assert_match "application/json", response["content-type"]
      response.body
    end
    assert_equal 1, bodies.uniq.size
    assert_equal names(prepared.query(sql)), names(response.json)
    assert_equal columns, response.json.first.size
  end
end

test "blobs come with their contents" do
  blobs = get("/prepared").json.map { |row| row["rdb$runtime"] }.compact
  assert blobs.size > 0
  assert blobs.all? { |blob| blob.size > 20 }, blobs.inspect
end

# The pools may open connections at any time, up to this many together.
POOLED = 11

test "connections of single requests do not stay" do
  20.times { get "/connect" }
  # The server forgets a connection a moment after its end.
  100.times { connections > POOLED ? sleep(0.1) : break }
  assert connections <= POOLED
end

test "the page needs no database" do
  page = get("/").body
  assert_match "text/html", response["content-type"]
  assert_match "five connections that keep their statements prepared", page
  assert_equal 8, page.scan("<a href=").size
end
