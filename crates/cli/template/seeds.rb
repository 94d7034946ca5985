# What a new database begins with: `tsumugi seed`. A block runs only if its table is empty, in one transaction.
seeder(:notes) do
  db[:notes].insert([{ text: "buy milk" }, { text: "write a migration" }])
end
