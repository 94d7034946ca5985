# The tasks of the board.
up do
  db.create(:tasks) do
    increments :id
    string :title, 120
    enum :colour, %w[ai kurenai kohaku matsu fuji]
    boolean :done, default: false
    big_integer :changed                               # milliseconds since 1970
    index :done, :id
  end
end

down { db.drop :tasks }
