# Run with `tsumugi test`. Each test has the application to itself, with an empty database.

test "the first page counts the notes" do
  assert_match '"notes":0', get("/").body
  assert_equal 200, response.status
end

test "a note can be read after it was added" do
  post "/notes", form: { text: "buy milk" }
  assert_status 201
  assert_match "buy milk", get(response.location).body
end

test "a note needs a text" do
  post "/notes", form: {}
  assert_status 422
end

test "an unknown note is not found" do
  get "/notes/1"
  assert_status 404
end
