# A shop with each word that a description of routes knows. Nothing of it is answered. Its description is shop.json beside it.
shape :order do
  text :customer, length: 1..100
  text :email, format: :email, optional: true
  text :kind, in: %w[new used], default: "new"
  number :discount, min: 0.0, max: 0.5, optional: true
  list :tags, of: :text, each: { length: 1..5 }, default: []
  list :items, length: 1..3 do
    text :name
    integer :count, min: 1
  end
end

helpers do
  def page = query.int(:page, 1, in: 1..100)
end

get "/" do
  html "<h1>Shop</h1>"
end

scope "/orders" do
  before { halt 401 unless headers[:x_key] }

  get do
    { page: page, q: query[:q], tags: query.list(:tag), all: query.bool(:all, false) }
  end

  post do
    order = body.check :order
    json order, status: 201
  end

  get ":id", id: Integer do |id|
    halt 404, error: "no such order" unless id == 1
    { id: id }
  end

  delete(":id", id: Integer) { status 204 }
end

post "/users" do
  user = body.require(name: String, age: Integer, admin: :bool)
  json user, status: 201
end

post "/photos/:name", name: :uuid do |name|
  body.require(photo: Upload)
  redirect "/photos/#{name}"
end

get "/files/*path" do |path|
  send_file path, within: "files"
end
