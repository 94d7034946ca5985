//! What changes rows. Rule: as in `main.rs`.

use tsumugi_sql::{
    Conflict, Query, Record, call, col, count, excluded, raw, record, table, values,
};

use crate::Golden;

fn users() -> Query {
    table("users")
}

#[test]
fn insert_of_one_or_many_rows_has_the_sql_of_each_database() {
    let mut golden = Golden::of("inserts");
    let an = || record! { "name" => "an", "age" => 3 };
    golden.case("one row", |d| users().to_insert(&an(), d));
    golden.case("a row of defaults", |d| {
        users().to_insert(&Record::new(), d)
    });
    golden.case("an expression", |d| users().to_insert(&record! { "name" => call("lower", [tsumugi_sql::value("An")]), "age" => raw("1 + ?", values![2]) }, d));
    golden.case("a row with what it became", |d| {
        users()
            .returning(("id", "name as called"))
            .to_insert(&an(), d)
    });
    golden.case("a column twice", |d| {
        users().to_insert(&record! { "age" => 1, "age" => 2 }, d)
    });
    golden.case("a column of a table", |d| {
        users().to_insert(&record! { "users.age" => 1 }, d)
    });
    golden.case("into a query", |d| Query::of_nothing().to_insert(&an(), d));
    golden.case("into some rows", |d| {
        users().filter(col("id").eq(1)).to_insert(&an(), d)
    });
    golden.cases("no rows", |d| users().to_insert_all(&[], d));
    golden.cases("rows with their columns in any order", |d| {
        users().to_insert_all(&[an(), record! { "age" => 4, "name" => "bo" }], d)
    });
    golden.cases("rows with what they became", |d| {
        users().returning("id").to_insert_all(&[an(), an()], d)
    });
    golden.cases("a row with a column less", |d| {
        users().to_insert_all(&[an(), record! { "age" => 4 }], d)
    });
    golden.cases("a row with a column more", |d| {
        users().to_insert_all(
            &[
                record! { "age" => 4 },
                record! { "age" => 4, "name" => "bo" },
            ],
            d,
        )
    });
    golden.cases("rows of defaults", |d| {
        users().to_insert_all(&[Record::new(), Record::new()], d)
    });
    golden.check();
}

#[test]
fn insert_with_on_conflict_has_the_sql_of_each_database() {
    let mut golden = Golden::of("upserts");
    let an = || record! { "email" => "an@x", "name" => "an", "age" => 3 };
    let mut case = |title: &str, conflict: Conflict| {
        golden.case(title, |d| {
            users().on_conflict(conflict.clone()).to_insert(&an(), d)
        });
    };
    case("leave what is there, whatever the key", Conflict::ignore());
    case("leave what is there", Conflict::on(["email"]));
    case("replace", Conflict::on(["email"]).replace());
    case(
        "replace by a key of several columns",
        Conflict::on(["email", "name"]).replace(),
    );
    case(
        "replace where everything is the key",
        Conflict::on(["email", "name", "age"]).replace(),
    );
    case(
        "update",
        Conflict::on(["email"])
            .update(record! { "age" => col("age") + excluded("age"), "name" => "bo" }),
    );
    case(
        "update nothing",
        Conflict::on(["email"]).update(Record::new()),
    );
    case("replace without a key", Conflict::ignore().replace());
    golden.cases("several rows", |d| {
        let all = [
            record! { "email" => "a", "age" => 1 },
            record! { "email" => "b", "age" => 2 },
        ];
        users()
            .on_conflict(Conflict::on(["email"]).replace())
            .returning("id")
            .to_insert_all(&all, d)
    });
    golden.case("a table with an alias", |d| {
        let sum = Conflict::on(["email"]).update(record! { "age" => col("age") + 1 });
        table("users as u").on_conflict(sum).to_insert(&an(), d)
    });
    golden.check();
}

#[test]
fn update_has_the_sql_of_each_database() {
    let mut golden = Golden::of("updates");
    let mut update = |title: &str, query: Query| golden.case(title, |d| query.to_update(d));
    update(
        "update",
        users()
            .filter(col("id").eq(1))
            .set("age", 3)
            .set("name", None::<&str>),
    );
    update(
        "update by what is there",
        users()
            .filter(col("id").eq(1))
            .filter(col("balance").ge(10))
            .set("balance", col("balance") - 10),
    );
    update(
        "update of several columns",
        users()
            .filter(col("id").eq(1))
            .set_all(record! { "age" => 3, "name" => "bo" }),
    );
    update(
        "update by a query",
        users()
            .filter(col("id").is_in(table("posts").select("user_id")))
            .set(
                "age",
                tsumugi_sql::Expr::from(table("posts").select(count())),
            ),
    );
    update(
        "update with what became of the rows",
        users()
            .filter(col("id").eq(1))
            .set("age", 3)
            .returning("id"),
    );
    golden.check();
}

#[test]
fn update_of_all_rows_or_of_other_than_plain_rows_is_refused_unless_meant() {
    let mut golden = Golden::of("updates_refused");
    let mut update = |title: &str, query: Query| golden.case(title, |d| query.to_update(d));
    update("update of every row", users().set("age", 3));
    update(
        "update of every row, meant",
        users().all_rows().set("age", 3),
    );
    update(
        "update of every row by a group of none",
        users().filter(tsumugi_sql::all([])).set("age", 3),
    );
    update(
        "update of every row by one of several conditions",
        users()
            .filter(tsumugi_sql::all([]))
            .or_filter(col("id").eq(1))
            .set("age", 3),
    );
    update("update of nothing", users().filter(col("id").eq(1)));
    update(
        "update of a column twice",
        users().filter(col("id").eq(1)).set("age", 1).set("age", 2),
    );
    update(
        "update of a column of a table",
        users().filter(col("id").eq(1)).set("users.age", 1),
    );
    update(
        "update of limited rows",
        users().filter(col("id").eq(1)).limit(1).set("age", 1),
    );
    update(
        "update of joined rows",
        users()
            .filter(col("id").eq(1))
            .cross_join("posts")
            .set("age", 1),
    );
    update(
        "update of a table with an alias",
        table("users as u").filter(col("u.id").eq(1)).set("age", 1),
    );
    update(
        "update with a named query",
        users()
            .with_query("old", table("posts").select("user_id"))
            .filter(col("id").is_in(table("old").select("user_id")))
            .set("age", 1),
    );
    update(
        "order and select are not asked",
        users()
            .order("id")
            .select("id")
            .filter(col("id").eq(1))
            .set("age", 1),
    );
    golden.check();
}

#[test]
fn delete_has_the_sql_of_each_database_or_is_refused() {
    let mut golden = Golden::of("deletes");
    let mut delete = |title: &str, query: Query| golden.case(title, |d| query.to_delete(d));
    delete("delete", users().filter(col("id").eq(1)));
    delete("delete where null", users().filter(col("age").is_null()));
    delete("delete by a range", users().filter(col("age").within(..18)));
    delete(
        "delete of an empty list",
        users().filter(col("id").is_in(Vec::<i64>::new())),
    );
    delete(
        "delete with what was there",
        users().filter(col("id").eq(1)).returning("name"),
    );
    delete("delete of every row", users());
    delete("delete of every row, meant", users().all_rows());
    delete(
        "delete of groups",
        users().filter(col("id").eq(1)).group("age"),
    );
    delete(
        "delete that sets",
        users().filter(col("id").eq(1)).set("age", 1),
    );
    golden.check();
}
