# What empty tables of the tour begin with. Run with: tsumugi seed examples/tour/app.rb
seeder(:users) do
  %w[Ann Bo Chika Dan].each { |name| db[:users].insert(name: name, email: "#{name.downcase}@example.com") }
end
seeder(:orders) do
  db[:orders].insert([{ user_id: 1, total: "10.10" }, { user_id: 1, total: "0.20" }, { user_id: 2, total: "7.00" }])
end
seeder(:accounts) { db[:accounts].insert([{ balance: 100 }, { balance: 0 }]) }
seeder(:events) do
  progress(1_200, "events") { |n| db[:events].insert(kind: n.even? ? "tick" : "tock", at: Time.at(1_767_225_600 + n).utc) }
end
