# The number under which a script sends a task: one that is sent again, because its answer was lost, is the same task.
up do
  db.alter(:tasks) do
    add.string :sent_as, 36, nullable: true
    add_unique :sent_as
  end
end

down do
  db.alter(:tasks) do
    drop_unique :sent_as
    drop_column :sent_as
  end
end
