# Another one: tsumugi migrate new add_title_to_notes
up do
  db.create(:notes) do
    increments :id
    text :text
  end
end

down { db.drop :notes }
