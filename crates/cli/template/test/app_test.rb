# Run with `tsumugi test`. Each test has the application to itself, with an empty database.

test "the first page says that there is no note" do
  assert_match "No note yet", get("/").body
  assert_status 200
end

test "a note is listed and can be read after it was added" do
  post "/notes", json: { text: "bread & milk" }
  assert_status 201
  assert_equal "bread & milk", get(response.location).json["text"]
  assert_match "bread &amp; milk", get("/").body
end

test "a note needs a text" do
  post "/notes", form: {}
  assert_status 422
end

test "an unknown note is not found" do
  get "/notes/1"
  assert_status 404
end
