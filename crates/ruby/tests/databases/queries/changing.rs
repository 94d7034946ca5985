//! What each method that changes rows answers: cells of the table that is run on every database. Rule: what a cell changes it undoes.

use super::Cell;

pub(super) const CHANGING: &[Cell] = &[
    (
        "insert",
        "undone { [users.insert(name: 'ed'), users.count] }.then { |id, n| [id > 4, n] }",
        "[true,5]",
    ),
    (
        "insert",
        "undone { [users.insert([{ name: 'x', age: 1 }, { age: 2, name: 'y' }]), users.where(name: 'y').first[:age]] }",
        "[2,2]",
    ),
    (
        "insert",
        "undone { [db[:tags].insert(word: 'w'), db[:pairs].insert(a: 1, b: 2)] }",
        "[null,[1,2]]",
    ),
    ("insert", "undone { users.insert([]) }.to_s", "0"),
    (
        "insert_id",
        "undone { users.insert_id({ name: 'ed' }, :name) }",
        "ed",
    ),
    (
        "insert_id",
        "undone { users.insertId([{ name: 'x' }, { name: 'y' }]).then { |ids| ids[1] - ids[0] } }.to_s",
        "1",
    ),
    (
        "returning",
        "undone { users.returning(:name, :age).insert(name: 'ed', age: 3) }",
        r#"[{"name":"ed","age":3}]"#,
    ),
    (
        "returning",
        "undone { users.where(id: 1).returning(:id, :age).update(age: col(:age) + 1) }",
        r#"[{"id":1,"age":31}]"#,
    ),
    (
        "returning",
        "undone { orders.where(id: 4).returning.delete }",
        r#"[{"id":4,"user_id":null,"total":7}]"#,
    ),
    (
        "insert_conflict",
        "undone { [users.insert_conflict.insert(name: 'an', age: 1), users.find(1)[:age]] }",
        "[null,30]",
    ),
    (
        "insert_conflict",
        "undone { [users.insert_conflict(:name, update: true).insert(name: 'an', age: 1), users.find(1)[:age]] }",
        "[1,1]",
    ),
    (
        "insert_conflict",
        "undone { users.insert_conflict(:name, update: { age: col('users.age') + excluded(:age) }).insert(name: 'an', age: 5); users.find(1)[:age] }.to_s",
        "35",
    ),
    (
        "upsert",
        "undone { users.upsert({ name: 'bo', age: 8 }, on: :name); users.find(2)[:age] }.to_s",
        "8",
    ),
    (
        "update",
        "undone { [users.where(city: 'Oslo').update(age: 1), users.where(age: 1).count, users.where(id: 9).update(age: 2)] }",
        "[2,2,0]",
    ),
    (
        "update",
        "undone { users.where(id: 1).update(age: col(:age) * 2, city: nil); users.find(1).values }",
        r#"[1,"an",60,null,1.5]"#,
    ),
    (
        "delete",
        "undone { [orders.where_null(:user_id).delete, orders.count] }",
        "[1,3]",
    ),
    (
        "all_rows!",
        "undone { [orders.all_rows!.delete, orders.count] }",
        "[4,0]",
    ),
    (
        "raw",
        "undone { db.raw('update users set age = ? where id = ?', 3, 1).exec }.to_s",
        "1",
    ),
    (
        "for_update",
        "db.transaction { ids users.where(id: 1).for_update }",
        "[1]",
    ),
    (
        "skip_locked",
        "db.transaction { ids users.where(id: [1, 2]).skip_locked }",
        "[1,2]",
    ),
    (
        "no_wait",
        "db.transaction { ids users.where(id: 2).no_wait }",
        "[2]",
    ),
    (
        "sql",
        "users.where(id: 1).sql.include?('where').to_s",
        "true",
    ),
    ("sql", "users.where(id: 1).binds", "[1]"),
    (
        "transaction",
        "undone { db.transaction { |tx| tx[:users].where(id: 1).update(age: 2) } }.to_s",
        "1",
    ),
];
