# The tables of the tour. What they begin with is in seeds.rb.
up do
  db.create(:users) do
    increments :id
    string :name, 100
    string :email, 200, unique: true
  end
  db.create(:orders) do
    increments :id
    foreign :user_id, on: :users, on_delete: :cascade, index: true
    decimal :total, 10, 2
  end
  db.create(:accounts) do
    increments :id
    big_integer :balance, unsigned: true, default: 0
  end
  db.create(:events) do
    increments :id
    string :kind, 50
    timestamp :at, default_now: true
  end
  db.create(:sessions) do
    string :id, 64, primary: true
    big_integer :expires_at, index: true               # seconds since 1970
  end
end

down do
  %i[sessions events accounts orders users].each { |table| db.drop table }
end
