//! What reads rows and numbers about rows. Rule: as in `main.rs`.

use tsumugi_sql::{
    Aggregate, Name, Query, Source, Statement, asc, avg, call, col, count, count_distinct,
    count_of, desc, max, min, raw, sum, table, value, values,
};

use crate::Golden;

fn users() -> Query {
    table("users")
}

#[test]
fn selected_items_have_the_sql_of_each_database() {
    let mut golden = Golden::of("select");
    let mut case = |title: &str, query: Query| {
        golden.case(title, |dialect| query.to_rows(dialect));
    };
    case("a table", users());
    case(
        "a table with a schema and an alias",
        table("main.users as u").filter(col("u.id").eq(1)),
    );
    case("an alias given later", users().alias("u").select("u.id"));
    case(
        "columns",
        users().select(("id", "users.name", "name as called")),
    );
    case(
        "a column with capitals as an alias",
        users().select("name as Called"),
    );
    case("all columns of one table", users().select("users.*"));
    case(
        "select replaces, select_append adds",
        users().select("id").select("name").select_append("age"),
    );
    case(
        "functions are named by function and column",
        users().select([
            count(),
            count_of("name"),
            count_distinct("age"),
            sum("users.balance"),
            avg("age"),
            min("age"),
            max("age"),
            call("lower", [col("name")]),
        ]),
    );
    case(
        "functions with an alias",
        users().select((sum("balance").alias("total"), count().alias("n"))),
    );
    case(
        "a calculation with an alias",
        users().select((col("age") + 1).alias("next")),
    );
    case("a calculation without", users().select(col("age") + 1));
    case(
        "a query's value",
        users().select((
            "id",
            tsumugi_sql::Expr::from(table("posts").select(count())).alias("posts"),
        )),
    );
    case(
        "raw",
        users().select((
            raw("count(*) over (partition by age) as same", []),
            raw("age + ? as more", values![1]),
        )),
    );
    case("distinct", users().select("age").distinct());
    golden.check();
}

#[test]
fn join_or_source_has_the_sql_of_each_database() {
    let mut golden = Golden::of("joins");
    let mut case = |title: &str, query: Query| {
        golden.case(title, |dialect| query.to_rows(dialect));
    };
    case(
        "join",
        users().join("posts", col("posts.user_id").eq(col("users.id"))),
    );
    case(
        "left join",
        users().left_join("posts as p", col("p.user_id").eq(col("users.id"))),
    );
    case(
        "right join",
        users().right_join("posts", col("posts.user_id").eq(col("users.id"))),
    );
    case("cross join", users().cross_join("posts"));
    case(
        "join with a query",
        users().join(
            Source::query(
                table("posts")
                    .select(("user_id", sum("total")))
                    .group("user_id"),
                "p",
            ),
            col("p.user_id").eq(col("users.id")),
        ),
    );
    case(
        "from a query",
        table(Source::query(users().filter(col("age").gt(1)), "grown")).select("grown.id"),
    );
    case(
        "from raw SQL",
        table(Source::raw("(select 1 as n from users)", [], "numbers")),
    );
    golden.check();
}

#[test]
fn group_order_or_limit_has_the_sql_of_each_database() {
    let mut golden = Golden::of("order");
    let mut case = |title: &str, query: Query| {
        golden.case(title, |dialect| query.to_rows(dialect));
    };
    case("group", users().select(("age", count())).group("age"));
    case(
        "group by several",
        users()
            .select(("age", "name", count()))
            .group(("age", "name")),
    );
    case(
        "group adds, regroup replaces",
        users()
            .select(count())
            .group("age")
            .regroup("name")
            .group("id"),
    );
    case("order", users().order("name").order(desc("id")));
    case(
        "order replaced",
        users().order("name").reorder((desc("age"), "id")),
    );
    case(
        "order with NULL said",
        users().order((asc("age").nulls_first(), desc("id").nulls_last())),
    );
    case(
        "order turned round",
        users().order(asc("age").nulls_first().reverse()),
    );
    case(
        "order by an expression",
        users().order((
            call("lower", [col("name")]).desc(),
            raw("age + ?", values![1]),
        )),
    );
    case("limit", users().limit(5));
    case("limit and offset", users().limit(5).offset(10));
    case("offset", users().offset(10));
    case("limit of none", users().limit(0));
    case("a limit that is too great", users().limit(u64::MAX));
    golden.check();
}

#[test]
fn lock_or_named_query_has_the_sql_of_each_database() {
    let mut golden = Golden::of("locks");
    let mut case = |title: &str, query: Query| {
        golden.case(title, |dialect| query.to_rows(dialect));
    };
    case("for update", users().filter(col("id").eq(1)).for_update());
    case("skip locked", users().limit(1).skip_locked());
    case("no wait", users().no_wait());
    case(
        "locked groups",
        users().select("age").group("age").for_update(),
    );
    case(
        "with",
        table("old").with_query("old", users().filter(col("age").gt(60))),
    );
    case(
        "with raw SQL",
        table("old").with_query("old", raw("select * from users where age > ?", values![60])),
    );
    case(
        "with, recursive",
        table("chain").with_recursive(
            "chain",
            ["n"],
            raw(
                "select id from users where id = ? union all select n + 1 from chain where n < ?",
                values![1, 5],
            ),
        ),
    );
    case("nothing", Query::of_nothing().select(value(1).alias("one")));
    case(
        "digits that are a text, of nothing",
        Query::of_nothing().select(value("007").alias("code")),
    );
    case("nothing of nothing", Query::of_nothing());
    case("what only a change could use", users().set("age", 1));
    case(
        "an exact name with a dot",
        users().select(col(Name::exact("a.b"))),
    );
    golden.check();
}

#[test]
fn aggregate_or_first_row_has_the_sql_of_each_database() {
    let mut golden = Golden::of("numbers");
    let limited = || users().order("id").limit(3);
    golden.case("first", |d| users().order("id").to_first(d));
    golden.case("first of no rows", |d| users().limit(0).to_first(d));
    golden.case("first of several", |d| limited().to_first(d));
    golden.case("find", |d| users().filter(col("id").eq(5)).to_first(d));
    golden.case("columns", |d| limited().to_columns(d));
    golden.case("whether there is one", |d| {
        users().filter(col("age").gt(1)).order("id").to_exists(d)
    });
    golden.case("whether there is a group", |d| {
        users()
            .select(("age", count().alias("n")))
            .group("age")
            .having(count().gt(1))
            .to_exists(d)
    });
    golden.case("whether there is one beyond", |d| {
        users().order("id").offset(3).to_exists(d)
    });
    golden.case("count", |d| {
        users().filter(col("age").gt(1)).order("id").to_count(d)
    });
    golden.case("count of limited rows", |d| {
        limited().filter(col("age").gt(1)).to_count(d)
    });
    golden.case("count of distinct rows", |d| {
        users().select("age").distinct().order("age").to_count(d)
    });
    golden.case("count of groups", |d| {
        users().select("age").group("age").to_count(d)
    });
    golden.case("count of locked rows", |d| users().for_update().to_count(d));
    let about = |of: Aggregate| {
        move |d| {
            users()
                .filter(col("age").gt(1))
                .to_aggregate(of, "balance", d)
        }
    };
    for (title, of) in [
        ("how many have a value", Aggregate::Count),
        ("sum", Aggregate::Sum),
        ("average", Aggregate::Avg),
        ("smallest", Aggregate::Min),
        ("greatest", Aggregate::Max),
    ] {
        golden.case(title, about(of));
    }
    golden.case("sum of limited rows", |d| {
        limited().to_aggregate(Aggregate::Sum, "users.balance", d)
    });
    golden.case("sum of an expression", |d| {
        users().to_aggregate(Aggregate::Sum, col("age") * 2, d)
    });
    golden.case("sum of an expression of limited rows", |d| {
        limited().to_aggregate(Aggregate::Sum, col("age") * 2, d)
    });
    golden.case("a statement of one's own", |d| {
        Statement::raw("select '?', ? from users where id = ?", values![1, 2], d)
    });
    golden.case("a statement with the operator ?", |d| {
        Statement::raw("select '{}'::jsonb ?? 'a'", vec![], d)
    });
    golden.check();
}
