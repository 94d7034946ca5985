//! Tables: every kind of column, keys, alterations. Rule: as in `main.rs`; a statement without binds is its text.

use tsumugi_sql::schema::{
    Column, Kind, OnDelete, Table, alter, big_integer, binary, boolean, char, column, date,
    datetime, decimal, double, drop_table, enumeration, float, foreign, increments, integer, json,
    medium_integer, small_integer, string, text, time, timestamp, uuid,
};
use tsumugi_sql::{Dialect, Result, Statement, Value};

use crate::Golden;

fn texts(of: Vec<String>) -> Vec<Statement> {
    let statement = |sql| Statement { sql, binds: vec![] };
    of.into_iter().map(statement).collect()
}

#[test]
fn column_of_every_kind_has_the_sql_of_each_database() {
    let mut golden = Golden::of("columns");
    let mut case = |title: &str, column: Column| {
        golden.cases(title, |dialect| {
            Ok(texts(
                Table::new("t").column(column.clone()).create(dialect)?,
            ))
        });
    };
    case("increments", increments("id"));
    case("small integer", small_integer("n"));
    case("medium integer", medium_integer("n"));
    case("integer", integer("n"));
    case("big integer", big_integer("n"));
    case("decimal", decimal("n", 10, 2));
    case("decimal of 30 digits", decimal("n", 30, 2));
    case("decimal of no digits", decimal("n", 0, 0));
    case(
        "decimal with more digits after the point than it has",
        decimal("n", 3, 4),
    );
    case("double", double("n"));
    case("float", float("n"));
    case("uuid", uuid("n"));
    case("char", char("n", 2));
    case("string", string("n", 50));
    case("string of no characters", string("n", 0));
    case("text", text("n"));
    case("date", date("n"));
    case("datetime", datetime("n"));
    case("time", time("n"));
    case("timestamp", timestamp("n"));
    case("binary", binary("n"));
    case("boolean", boolean("n"));
    case("enum", enumeration("n", ["new", "it's"]));
    case("enum of nothing", enumeration("n", Vec::<String>::new()));
    case("json", json("n"));
    case("column of a kind", column("n", Kind::Text));
    case("nullable", integer("n").nullable());
    case("unsigned", integer("n").unsigned());
    golden.check();
}

#[test]
fn column_attributes_have_the_sql_of_each_database() {
    let mut golden = Golden::of("defaults");
    let mut case = |title: &str, column: Column| {
        golden.cases(title, |dialect| {
            let table = Table::new("t")
                .column(increments("id"))
                .column(column.clone());
            Ok(texts(table.create(dialect)?))
        });
    };
    case("default", integer("n").default(-5));
    case("default text", string("n", 9).default("it's"));
    case(
        "default NULL",
        string("n", 9).nullable().default(Value::Null),
    );
    case("default true", boolean("n").default(true));
    case("default decimal", decimal("n", 5, 2).default("1.50"));
    case("default bytes", binary("n").default(vec![1_u8, 255]));
    case("default json", json("n").default(Value::Json("{}".into())));
    case("default that is no number", double("n").default(f64::NAN));
    case("default now", timestamp("n").default_now());
    case("default now of a datetime", datetime("n").default_now());
    case("default now of a date", date("n").default_now());
    case("default now of a time", time("n").default_now());
    case("default now of a number", integer("n").default_now());
    case("default raw", integer("n").default_raw("1 + 1"));
    case("default raw that is open", integer("n").default_raw("'"));
    case("unique", string("n", 9).unique());
    case("index", string("n", 9).index());
    case("comment", integer("n").comment("it's n"));
    case("reference", foreign("n").on("users"));
    case(
        "reference of another kind",
        uuid("n")
            .reference("key")
            .on("users")
            .on_delete(OnDelete::Cascade),
    );
    case(
        "reference that is restricted",
        foreign("n").on("users").on_delete(OnDelete::Restrict),
    );
    case("reference to nothing", foreign("n"));
    golden.check();
}

#[test]
fn table_with_keys_and_indexes_has_the_sql_of_each_database() {
    let mut golden = Golden::of("tables");
    let mut case = |title: &str, table: Table| {
        golden.cases(title, |dialect| Ok(texts(table.create(dialect)?)));
    };
    case(
        "with times",
        Table::new("posts")
            .column(increments("id"))
            .timestamps()
            .soft_delete(),
    );
    case(
        "with keys of several columns",
        Table::new("members")
            .columns([
                big_integer("user_id"),
                big_integer("group_id"),
                string("role", 20),
            ])
            .primary(["user_id", "group_id"])
            .unique(["group_id", "role"])
            .index(["role", "user_id"]),
    );
    case(
        "with a key that is a column",
        Table::new("tags").column(string("name", 40).primary()),
    );
    case(
        "with a comment",
        Table::new("tags")
            .column(string("name", 40))
            .comment("what posts are about"),
    );
    case(
        "with long names",
        Table::new("measurements_of_stations")
            .column(integer("temperature_at_the_ground").unsigned().index())
            .column(integer("temperature_at_the_top").unsigned().index()),
    );
    case(
        "with reserved words",
        Table::new("order").column(integer("select").unsigned().unique()),
    );
    golden.check();
}

#[test]
fn invalid_table_is_refused_before_its_sql() {
    let mut golden = Golden::of("tables_refused");
    let mut case = |title: &str, table: Table| {
        golden.cases(title, |dialect| Ok(texts(table.create(dialect)?)));
    };
    case("without columns", Table::new("t"));
    case(
        "with a column twice",
        Table::new("t").column(integer("n")).column(text("n")),
    );
    case(
        "with two increments",
        Table::new("t")
            .column(increments("a"))
            .column(increments("b")),
    );
    case(
        "with increments in a key of several",
        Table::new("t")
            .columns([increments("a"), integer("b")])
            .primary(["a", "b"]),
    );
    case(
        "with a key of another table",
        Table::new("t").column(integer("a")).index(["b"]),
    );
    case(
        "with a key of nothing",
        Table::new("t")
            .column(integer("a"))
            .unique(Vec::<&str>::new()),
    );
    golden.check();
}

fn users() -> Table {
    Table::new("users")
        .columns([
            increments("id"),
            string("name", 50).index(),
            integer("age").nullable(),
        ])
        .column(foreign("group_id").on("groups").nullable())
        .unique(["name", "age"])
}

#[test]
fn added_column_has_the_sql_of_each_database() {
    let mut golden = Golden::of("columns_added");
    let mut case = |title: &str, of: &dyn Fn(&'static Dialect) -> Result<Vec<String>>| {
        golden.cases(title, |dialect| Ok(texts(of(dialect)?)));
    };
    let users_with = |column: Column| {
        move |d: &Dialect| {
            Ok(alter("users")
                .add_column(column.clone())
                .statements(d, None)?
                .statements)
        }
    };
    case("add", &users_with(string("city", 40).nullable()));
    case(
        "add with a default",
        &users_with(integer("visits").unsigned().default(0)),
    );
    case("add that needs a default", &users_with(integer("visits")));
    case(
        "add with a default that is calculated",
        &users_with(timestamp("seen_at").default_now()),
    );
    case(
        "add unique",
        &users_with(string("email", 90).nullable().unique()),
    );
    case(
        "add with a reference",
        &users_with(
            foreign("boss_id")
                .on("users")
                .nullable()
                .on_delete(OnDelete::SetNull)
                .comment("who"),
        ),
    );
    case("add a primary key", &users_with(increments("id")));
    golden.check();
}

#[test]
fn changed_column_has_the_sql_of_each_database() {
    let mut golden = Golden::of("columns_changed");
    let mut case = |title: &str, of: &dyn Fn(&'static Dialect) -> Result<Vec<String>>| {
        golden.cases(title, |dialect| Ok(texts(of(dialect)?)));
    };
    let changed = |current: Option<Table>| {
        move |d: &Dialect| {
            let change = string("age", 3).default("?");
            Ok(alter("users")
                .change_column(change)
                .statements(d, current.as_ref())?
                .statements)
        }
    };
    case("change", &changed(Some(users())));
    case("change of a table that is not known", &changed(None));
    case("change of what is not there", &|d| {
        Ok(alter("users")
            .change_column(text("nothing").nullable())
            .statements(d, Some(&users()))?
            .statements)
    });
    case("change to an enum", &|d| {
        let change = enumeration("name", ["a", "b"]).nullable();
        Ok(alter("users")
            .change_column(change)
            .statements(d, Some(&users()))?
            .statements)
    });
    case("change of keys", &|d| {
        Ok(alter("users")
            .change_column(text("name").unique())
            .statements(d, None)?
            .statements)
    });
    golden.check();
}

#[test]
fn rename_drop_and_index_have_the_sql_of_each_database() {
    let mut golden = Golden::of("renamed");
    let mut case = |title: &str, of: &dyn Fn(&'static Dialect) -> Result<Vec<String>>| {
        golden.cases(title, |dialect| Ok(texts(of(dialect)?)));
    };
    case("rename a column", &|d| {
        Ok(alter("users")
            .rename_column("name", "called")
            .statements(d, None)?
            .statements)
    });
    case("drop a column", &|d| {
        Ok(alter("users")
            .drop_column("age")
            .statements(d, None)?
            .statements)
    });
    case("drop a column of indexes", &|d| {
        Ok(alter("users")
            .drop_column("age")
            .statements(d, Some(&users()))?
            .statements)
    });
    case("drop a column that refers to a table", &|d| {
        Ok(alter("users")
            .drop_column("group_id")
            .statements(d, Some(&users()))?
            .statements)
    });
    case("indexes", &|d| {
        let steps = alter("users")
            .add_index(["age"])
            .add_unique(["name", "age"])
            .drop_index(["age"]);
        Ok(steps
            .drop_unique(["name", "age"])
            .drop_index_named("other")
            .statements(d, None)?
            .statements)
    });
    case("index of a table in a schema", &|d| {
        Ok(alter("app.users")
            .drop_index(["age"])
            .statements(d, None)?
            .statements)
    });
    case("rename", &|d| {
        Ok(alter("users")
            .rename("people")
            .add_index(["age"])
            .statements(d, None)?
            .statements)
    });
    case("drop", &|d| Ok(vec![drop_table("users", d)?]));
    golden.check();
}

#[test]
fn change_that_rebuilds_the_table_says_so() {
    use tsumugi_sql::schema::Rebuild;
    let rebuild = |dialect| {
        let change = alter("users").change_column(text("age"));
        change.statements(dialect, Some(&users())).unwrap().rebuild
    };
    assert_eq!(rebuild(&tsumugi_sql::SQLITE), Rebuild::Yes);
    assert_eq!(rebuild(&tsumugi_sql::POSTGRES), Rebuild::No);
}
