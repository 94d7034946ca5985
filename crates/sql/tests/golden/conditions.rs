//! Conditions. Rule: as in `main.rs`.

use tsumugi_sql::{
    Expr, Operand, Value, all, any, call, col, count, escape_like, excluded, exists, raw, sum,
    table, value, values,
};

use crate::Golden;

fn id() -> Expr {
    col("id")
}

fn name() -> Expr {
    col("name")
}

fn age() -> Expr {
    col("age")
}

#[test]
fn comparison_has_the_sql_of_each_database() {
    let mut golden = Golden::of("conditions");
    let mut case = |title: &str, condition: Expr| {
        golden.case(title, |dialect| {
            table("users").filter(condition.clone()).to_rows(dialect)
        });
    };
    case("equal to a value", id().eq(1));
    case("equal to NULL is null", name().eq(None::<&str>));
    case("different from NULL is not null", name().ne(Value::Null));
    case("the text NULL is a text", name().eq("NULL"));
    case("not equal", name().ne("an"));
    case(
        "compared",
        all([age().lt(1), age().le(2), age().gt(3), age().ge(4)]),
    );
    case("a column with another", col("users.age").lt(col("balance")));
    golden.check();
}

#[test]
fn list_or_range_condition_has_the_sql_of_each_database() {
    let mut golden = Golden::of("lists");
    let mut case = |title: &str, condition: Expr| {
        golden.case(title, |dialect| {
            table("users").filter(condition.clone()).to_rows(dialect)
        });
    };
    case("one of a list", id().is_in([1, 2, 3]));
    case("none of a list", id().not_in([1, 2]));
    case(
        "of an empty list nothing is one",
        id().is_in(Vec::<i64>::new()),
    );
    case(
        "of an empty list everything is none",
        id().not_in(Vec::<i64>::new()),
    );
    case("one of a list with NULL", age().is_in([Some(1), None]));
    case("none of a list with NULL", age().not_in([Some(1), None]));
    case("one of NULL only", age().is_in([None::<i64>]));
    case(
        "one of a query's rows",
        id().is_in(table("posts").select("user_id").filter(col("total").gt(9))),
    );
    case(
        "none of a query's rows",
        id().not_in(table("posts").select("user_id")),
    );
    case("between", age().between(1, 2));
    case("not between", age().not_between(1, 2));
    case("a range with its end", age().within(1..=5));
    case("a range without its end", age().within(1..5));
    case("a range without beginning", age().within(..5));
    case("a range without end", age().within(18..));
    case("a range without either", age().within::<i64>(..));
    case("matches a value", age().matches(1));
    case("matches NULL", age().matches(Value::Null));
    case(
        "matches a list",
        age().matches(Operand::List(values![1, 2])),
    );
    case(
        "matches a query",
        id().matches(table("posts").select("user_id")),
    );
    golden.check();
}

#[test]
fn like_pattern_has_the_sql_of_each_database() {
    let mut golden = Golden::of("patterns");
    let mut case = |title: &str, condition: Expr| {
        golden.case(title, |dialect| {
            table("users").filter(condition.clone()).to_rows(dialect)
        });
    };
    case("like, where case matters", name().like("a%_b"));
    case(
        "like with what would mean something else elsewhere",
        name().like(r"100\%*?["),
    );
    case("like with a last escape", name().like(r"a\"));
    case("not like", name().not_like("a%"));
    case("like, where case does not matter", name().ilike("aN%"));
    case(
        "not like, where case does not matter",
        name().not_ilike("aN%"),
    );
    case("contains", name().contains("50%_"));
    case(
        "begins and ends with",
        all([name().starts_with("a"), name().ends_with("z")]),
    );
    case(
        "an escaped text as a pattern",
        name().like(escape_like(r"a_b\c%")),
    );
    golden.check();
}

#[test]
fn nested_condition_or_calculation_has_the_sql_of_each_database() {
    let mut golden = Golden::of("groups");
    let mut case = |title: &str, condition: Expr| {
        golden.case(title, |dialect| {
            table("users").filter(condition.clone()).to_rows(dialect)
        });
    };
    case(
        "groups in groups",
        any([
            id().eq(1),
            all([id().eq(2), any([age().eq(3), age().eq(4)])]),
        ]),
    );
    case(
        "and, or",
        id().eq(1)
            .and(age().eq(2))
            .or(name().eq("a"))
            .and(age().eq(3)),
    );
    case("not of a group", !any([id().eq(1), id().eq(2)]));
    case("not of one", !id().eq(1));
    case("a group of none is true", all([]));
    case("one of none is false", any([]));
    case("a column that is a condition", col("active"));
    case(
        "calculations",
        (age() + 1).gt((col("balance") - age() - 2) * 3),
    );
    case(
        "calculations from the right",
        (age() - (col("balance") - 2)).eq(-(age() + 1)),
    );
    case("remainder and division", ((age() % 3) / 2).eq(0));
    case(
        "texts joined",
        name().concat("!").concat(col("email")).eq("a!b"),
    );
    case(
        "digits that are a text",
        name().concat("007").eq(call(
            "replace",
            [name(), value("00"), value("12345678901234567890")],
        )),
    );
    case("a function", call("lower", [name()]).eq("an"));
    case(
        "a query's value",
        age().eq(Expr::from(
            table("users as u").select(tsumugi_sql::max("u.age")),
        )),
    );
    case(
        "where there are rows",
        exists(
            table("posts")
                .select("id")
                .filter(col("posts.user_id").eq(col("users.id"))),
        ),
    );
    case("where there are none", !exists(table("posts").select("id")));
    golden.check();
}

#[test]
fn comparison_of_decimals_has_the_sql_of_each_database() {
    let mut golden = Golden::of("exact");
    let mut case = |title: &str, condition: Expr| {
        golden.case(title, |dialect| {
            table("users").filter(condition.clone()).to_rows(dialect)
        });
    };
    let exact = |digits: &str| Value::Decimal(digits.to_owned());
    case(
        "beside others",
        call("abs", [value(exact("-1.50"))]).lt(col("balance") * "1.5" - exact("2.25")),
    );
    case(
        "beside whole ones",
        (age() * exact("1.5"))
            .gt(exact("2"))
            .and(age().ge(exact("0.5")))
            .and(age().is_in([exact("1"), exact("2.5")]))
            .and(age().between(exact("0"), exact("9.5")))
            .and(call("coalesce", [age(), value(exact("0.5"))]).lt(1)),
    );
    golden.check();
}

#[test]
fn raw_sql_and_quoted_names_have_the_sql_of_each_database() {
    let mut golden = Golden::of("raw");
    let mut case = |title: &str, condition: Expr| {
        golden.case(title, |dialect| {
            table("users").filter(condition.clone()).to_rows(dialect)
        });
    };
    case("raw", raw("age > ? and name <> '?'", values![3]));
    case(
        "raw in a group",
        any([id().eq(1), raw("age > ? or age < ?", values![3, 1])]),
    );
    case(
        "raw with ? right after a word",
        raw(
            "1 in (select id from posts where id =? or'a' like?)",
            values![1, "a"],
        ),
    );
    case("raw with the operator ?", raw("name ?? 'a'", []));
    case(
        "raw with too few values",
        raw("age > ? and age < ?", values![3]),
    );
    case("raw with too many values", raw("age > ?", values![3, 4]));
    case("raw with a number", raw("age > $1", values![3]));
    case("raw with a number after ?", raw("age > ?1", values![3]));
    case("raw that is open", raw("name = 'a", []));
    case("raw that ends in a comment", raw("age = 1 -- note", []));
    case(
        "raw with a name in the quotes of SQLite",
        raw("`a?` = ?", values![1]),
    );
    case("a value where a condition is", value(true));
    case(
        "the row to be inserted, where none is",
        excluded("age").eq(1),
    );
    case("a name with quotes", col("a`b\"c").eq(1));
    case("a name with capitals", col("userName").eq(1));
    case("a reserved word", col("order.select").eq(1));
    case("an empty name", col("a.").eq(1));
    case("a function that is none", call("lower(", [name()]).eq("an"));
    golden.check();
}

#[test]
fn conditions_are_joined_in_the_order_they_are_given() {
    let mut golden = Golden::of("filters");
    let users = || table("users");
    let (a, b, c) = (
        || col("id").eq(1),
        || col("age").eq(2),
        || col("name").eq("c"),
    );
    let mut case = |title: &str, query: tsumugi_sql::Query| {
        golden.case(title, |dialect| query.to_rows(dialect));
    };
    case("one after the other", users().filter(a()).filter(b()));
    case("or", users().filter(a()).or_filter(b()));
    case(
        "or after two",
        users().filter(a()).filter(b()).or_filter(c()),
    );
    case(
        "and after or",
        users().filter(a()).or_filter(b()).filter(c()),
    );
    case(
        "or twice",
        users().filter(a()).or_filter(b()).or_filter(c()),
    );
    case("a first or", users().or_filter(a()));
    case(
        "having",
        users()
            .select(("age", count()))
            .group("age")
            .having(count().gt(1))
            .having(sum("balance").lt(9))
            .or_having(col("age").is_null()),
    );
    case(
        "binds are where they are written, not where they were called",
        users()
            .limit(7)
            .having(count().gt(6))
            .filter(col("age").gt(5))
            .join(
                "posts",
                col("posts.user_id")
                    .eq(col("users.id"))
                    .and(col("posts.total").gt(4)),
            )
            .group(("users.id", raw("users.age + ?", values![5])))
            .select(("users.id", (col("users.id") + 3).alias("more")))
            .offset(8)
            .with_query("old", table("users").filter(col("age").gt(2)))
            .order(raw("users.id + ?", values![6])),
    );
    golden.check();
}
