//! Pages by number and by key. Rule: as in `main.rs`.

use tsumugi_sql::{Key, Query, Result, Value, asc, col, count, desc, table, values};

use crate::Golden;

#[test]
fn page_by_number_has_the_sql_of_each_database_or_is_refused() {
    let mut golden = Golden::of("pages");
    let mut case = |title: &str, query: Query, page: u64, per_page: u64| {
        golden.cases(title, |dialect| {
            let page = query.to_page(page, per_page, dialect)?;
            Ok(vec![page.rows, page.total])
        });
    };
    let users = || table("users").order("id");
    case("the first page", users(), 1, 20);
    case(
        "a later page of some",
        users().filter(col("age").gt(3)),
        3,
        20,
    );
    case(
        "groups",
        table("users")
            .select(("age", count()))
            .group("age")
            .order("age"),
        2,
        5,
    );
    case("page 0", users(), 0, 20);
    case("no rows", users(), 1, 0);
    case("too many rows", users(), 1, 1_000_001);
    case("beyond all numbers", users(), u64::MAX, 20);
    case("of a limited query", users().limit(3), 1, 20);
    golden.check();
}

#[test]
fn page_after_a_key_has_the_sql_of_each_database_or_is_refused() {
    let mut golden = Golden::of("keys");
    let mut case = |title: &str, query: &dyn Fn() -> Result<Query>| {
        golden.case(title, |dialect| query()?.to_rows(dialect));
    };
    let users = || table("users");
    let id = || Key::from(asc("id")).never_null();
    let age = || Key::from(desc("age"));
    case("the first page", &|| users().page_after(id(), None, 20));
    case("after a key", &|| {
        users().page_after(id(), Some(&values![7]), 20)
    });
    case("after a key, backwards", &|| {
        users().page_after(Key::from(desc("id")).never_null(), Some(&values![7]), 20)
    });
    case("after a key that may be NULL", &|| {
        users().page_after("id", Some(&values![7]), 20)
    });
    case("after two keys that are never NULL", &|| {
        users().page_after(
            [Key::from(asc("name")).never_null(), id()],
            Some(&values!["an", 7]),
            20,
        )
    });
    case("after two keys in two directions", &|| {
        users().page_after([age().never_null(), id()], Some(&values![30, 7]), 20)
    });
    case("after two keys of which one may be NULL", &|| {
        users()
            .filter(col("active"))
            .page_after([Key::new("age"), id()], Some(&values![30, 7]), 20)
    });
    case("after NULL, which comes last", &|| {
        users().page_after([Key::new("age"), id()], Some(&values![Value::Null, 7]), 20)
    });
    case("after NULL, which comes first", &|| {
        users().page_after([age(), id()], Some(&values![Value::Null, 7]), 20)
    });
    case("values of another page", &|| {
        users().page_after(id(), Some(&values![7, 8]), 20)
    });
    case("ordered otherwise", &|| {
        users().order("name").page_after(id(), None, 20)
    });
    case("no key", &|| {
        users().page_after(Vec::<Key>::new(), None, 20)
    });
    golden.check();
}
