# A board with something on it; `make run` has it. Run with: tsumugi seed examples/demo/app.rb
seeder(:tasks) do
  now = (Time.now.to_f * 1000).to_i
  titles = ["糸を買いに行く", "Wind the bobbin", "機を掃除する", "Dye with indigo"]
  rows = titles.each_with_index.map { |title, i| { title: title, colour: %w[ai kurenai kohaku matsu][i], done: i == 2, changed: now } }
  db[:tasks].insert(rows)
end
