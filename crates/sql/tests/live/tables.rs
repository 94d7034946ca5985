//! Tables made, described, compared and altered.

use tsumugi_sql::schema::{
    Alteration, Column, OnDelete, Rebuild, Table, alter, big_integer, binary, boolean, char, date,
    datetime, decimal, double, enumeration, float, foreign, increments, integer, json,
    medium_integer, small_integer, string, text, time, timestamp, uuid,
};
use tsumugi_sql::{Error, SQLITE, Value};

use crate::database::LiveDatabase;

fn groups() -> Table {
    Table::new("groups")
        .column(increments("id"))
        .column(string("name", 20))
}

/// One of everything.
fn everything() -> Table {
    Table::new("everything")
        .columns([
            increments("id"),
            small_integer("small").default(-5),
            medium_integer("medium").unsigned().default(0),
            integer("int").nullable(),
            big_integer("big").nullable().index(),
            decimal("price", 10, 2).default("1.50"),
            double("double").default(0.5),
            float("float").nullable(),
            uuid("uuid").nullable().unique(),
            char("char", 2).default("it"),
            string("string", 50).default("it's (so)"),
            text("text").nullable().default(Value::Null),
            date("date").default_now(),
            datetime("datetime").default_now(),
            time("time").default_now(),
            timestamp("timestamp").default_now(),
            binary("binary").default(vec![1_u8, 255]),
            boolean("boolean").default(true),
            enumeration("enum", ["new", "it's", ")"]).default("new"),
            json("json").default(Value::Json("{\"a\": 1}".into())),
        ])
        .column(
            foreign("group_id")
                .on("groups")
                .nullable()
                .on_delete(OnDelete::Cascade),
        )
        .column(foreign("second_id").on("groups").nullable())
        .column(integer("order").unsigned().nullable())
        .timestamps()
        .soft_delete()
        .unique(["int", "big"])
        .index(["string", "int"])
        .comment("one of everything")
}

/// A database with these tables.
#[track_caller]
fn with(live: &LiveDatabase, tables: &[Table]) {
    for table in tables {
        live.run_all(&table.create(live.dialect()).unwrap());
    }
}

#[track_caller]
fn is(live: &LiveDatabase, wanted: &Table) -> Result<(), Error> {
    let found = live.describe(wanted.name()).expect("the table is there");
    wanted.compare(&found, live.dialect())
}

#[test]
fn a_table_that_was_made_is_the_one_that_is_wanted() {
    for live in LiveDatabase::both() {
        assert_eq!(live.describe("everything"), None);
        let raw = Table::new("raw").column(integer("n").default_raw("1 + (2 * 3)"));
        with(&live, &[groups(), everything(), raw.clone()]);
        assert_eq!(is(&live, &raw), Ok(()));
        assert_eq!(is(&live, &everything()), Ok(()), "{}", live.dialect().name);
        assert_eq!(is(&live, &groups()), Ok(()));
        assert_eq!(live.describe("groups").unwrap().primary_key(), ["id"]);
        live.run("insert into groups(name) values ('a')");
        live.run("insert into everything(group_id, \"order\") values (1, 2)");
    }
}

#[test]
fn keys_of_several_columns_and_odd_names_are_described() {
    let members = Table::new("Odd `names\" here")
        .columns([
            big_integer("user_id"),
            string("Group's", 9),
            integer("select").unsigned(),
        ])
        .primary(["Group's", "user_id"])
        .unique(["select"]);
    for live in LiveDatabase::both() {
        with(&live, std::slice::from_ref(&members));
        assert_eq!(is(&live, &members), Ok(()), "{}", live.dialect().name);
        assert_eq!(
            live.describe(members.name()).unwrap().primary_key(),
            ["Group's", "user_id"]
        );
    }
}

fn users() -> Table {
    Table::new("users")
        .columns([
            increments("id"),
            string("name", 20).index(),
            integer("age").nullable().unsigned(),
        ])
        .column(enumeration("state", ["new", "old"]).default("new"))
        .column(foreign("group_id").on("groups").nullable())
}

/// Each wanted table differs in one thing from what is there, which the error names.
#[track_caller]
fn check(differences: &[(Table, &str)]) {
    for live in LiveDatabase::both() {
        with(&live, &[groups(), users()]);
        for (wanted, difference) in differences {
            let Err(Error::Different {
                table,
                difference: is,
            }) = is(&live, wanted)
            else {
                panic!("no difference was found: {difference}");
            };
            assert_eq!(table, "users");
            assert!(is.contains(difference), "{is}, not {difference}");
        }
    }
}

/// `users()` with another column of the name.
fn instead(column: Column, name: &str) -> Table {
    let others = [
        ("id", increments("id")),
        ("name", string("name", 20).index()),
        ("age", integer("age").nullable().unsigned()),
        ("state", enumeration("state", ["new", "old"]).default("new")),
        ("group_id", foreign("group_id").on("groups").nullable()),
    ];
    let kept = others
        .into_iter()
        .filter(|(other, _)| *other != name)
        .map(|(_, column)| column);
    Table::new("users").columns(kept).column(column)
}

#[test]
fn differences_of_columns_are_named() {
    check(&[
        (users().column(text("more")), "there is no column more"),
        (
            instead(integer("years").nullable().unsigned(), "age"),
            "there is no column years",
        ),
        (
            Table::new("users").columns([increments("id"), string("name", 20).index()]),
            "there is a column age, and none is wanted",
        ),
        (
            instead(big_integer("age").nullable().unsigned(), "age"),
            "the column age is integer, and bigint is wanted",
        ),
        (
            instead(integer("age").unsigned(), "age"),
            "the column age may be NULL, and it must not be is wanted",
        ),
        (instead(string("name", 30).index(), "name"), "(20), and "),
        (
            instead(integer("age").nullable().unsigned().default(1), "age"),
            "the default of the column age is none, and 1 is wanted",
        ),
        (
            instead(enumeration("state", ["new", "old"]), "state"),
            "the default of the column state is 'new'",
        ),
        (instead(big_integer("id").primary(), "id"), "the column id"),
    ]);
}

#[test]
fn differences_of_keys_are_named() {
    let group = || foreign("group_id").on("groups").nullable();
    check(&[
        (users().index(["age"]), "there is no index on (age)"),
        (
            instead(string("name", 20), "name"),
            "there is an index on (name), and none is wanted",
        ),
        (
            instead(string("name", 20).unique(), "name"),
            "there is no unique index on (name)",
        ),
        (
            instead(group().on_delete(OnDelete::Cascade), "group_id"),
            "the column group_id refers to groups (id) on delete no action, and groups (id) on delete cascade is wanted",
        ),
        (
            instead(group().on("users"), "group_id"),
            "and users (id) on delete no action is wanted",
        ),
        (
            instead(big_integer("group_id").nullable(), "group_id"),
            "and nothing is wanted",
        ),
        (
            instead(
                enumeration("state", ["new", "gone"]).default("new"),
                "state",
            ),
            "[\"new\", \"gone\"]",
        ),
        (instead(integer("age").nullable(), "age"), "checks"),
    ]);
}

/// After the alteration of `users()` there is the wanted table, with the row that was there.
#[track_caller]
fn becomes(alteration: &Alteration, wanted: Table) {
    for live in LiveDatabase::both() {
        with(&live, &[groups(), users()]);
        live.run("insert into groups(name) values ('a')");
        live.run("insert into users(name, age, group_id) values ('an', 3, 1)");
        // SQLite says itself what the table is.
        let now = match live.dialect() == &SQLITE {
            true => live
                .describe("users")
                .unwrap()
                .table("users", &SQLITE)
                .unwrap(),
            false => users(),
        };
        let altered = alteration.statements(live.dialect(), Some(&now)).unwrap();
        if altered.rebuild == Rebuild::Yes {
            live.run("pragma foreign_keys = off");
        }
        live.run("begin");
        live.run_all(&altered.statements);
        live.run("commit");
        assert_eq!(is(&live, &wanted), Ok(()), "{}", live.dialect().name);
        live.run(&format!(
            "insert into {}(id, group_id) select id + 1, 1 from {0}",
            wanted.name()
        ));
    }
}

#[test]
fn columns_are_added() {
    let seen = || integer("seen").unsigned().default(0);
    let boss = || {
        foreign("boss_id")
            .on("users")
            .nullable()
            .on_delete(OnDelete::SetNull)
    };
    let email = || string("email", 90).nullable().unique();
    let alteration = alter("users")
        .change_column(string("name", 20).default(""))
        .add_column(seen())
        .add_column(boss())
        .add_column(email());
    becomes(
        &alteration,
        instead(string("name", 20).default("").index(), "name").columns([seen(), boss(), email()]),
    );
}

#[test]
fn columns_are_changed() {
    let age = || big_integer("age").default(7);
    let name = || text("name").nullable();
    let alteration = alter("users").change_column(age()).change_column(name());
    let wanted = Table::new("users")
        .columns([increments("id"), name().index(), age()])
        .column(enumeration("state", ["new", "old"]).default("new"))
        .column(foreign("group_id").on("groups").nullable());
    becomes(&alteration, wanted);
}

#[test]
fn columns_are_renamed_and_dropped() {
    let alteration = alter("users")
        .rename_column("age", "years")
        .drop_column("name")
        .drop_column("state")
        .add_index(["years"])
        .add_unique(["years", "group_id"])
        .drop_index(["years"]);
    let wanted = Table::new("users")
        .columns([increments("id"), integer("years").nullable().unsigned()])
        .column(foreign("group_id").on("groups").nullable())
        .unique(["years", "group_id"]);
    becomes(&alteration, wanted);
}

#[test]
fn a_table_is_renamed() {
    let alteration = alter("users")
        .change_column(text("name").nullable())
        .rename("people")
        .drop_index_named("users_name_index");
    let wanted = Table::new("people")
        .columns([
            increments("id"),
            text("name").nullable(),
            integer("age").nullable().unsigned(),
        ])
        .column(enumeration("state", ["new", "old"]).default("new"))
        .column(foreign("group_id").on("groups").nullable());
    becomes(&alteration, wanted);
}

#[test]
fn sqlite_tells_what_a_table_is() {
    let [live, other] = [LiveDatabase::sqlite(), LiveDatabase::sqlite()];
    with(&live, &[groups(), everything()]);
    let described = live.describe("everything").unwrap();
    let restored = described.table("everything", &SQLITE).unwrap();
    with(&other, &[groups(), restored]);
    assert_eq!(other.describe("everything"), Some(described));
    assert_eq!(is(&other, &everything()), Ok(()));
}

#[test]
fn sqlite_tables_of_others_are_not_made_anew() {
    for (sql, reason) in [
        ("create table t(n int)", "the word t "),
        (
            "create table `t`(`n` integer collate nocase)",
            "the word nocase",
        ),
        ("create table `t`(`n` integer) strict", "the word strict"),
        (
            "create table `t`(`a` integer, `n` integer generated always as (1))",
            "the word generated",
        ),
        ("create table `t`(`n` point)", "the word point"),
        (
            "create table `t`(`n` integer); create index `i` on `t`(`n`) where `n` > 1",
            "an index of some rows",
        ),
        (
            "create table `t`(`n` integer); create index `i` on `t`(`n` + 1)",
            "an index of an expression",
        ),
        (
            "create table `t`(`n` integer); create trigger `a` after insert on `t` begin select 1; end",
            "the trigger a",
        ),
        (
            "create table `t`(`a` integer, `b` integer, foreign key(`a`, `b`) references `o`(`a`, `b`))",
            "a foreign key of several columns",
        ),
    ] {
        let live = LiveDatabase::sqlite();
        live.run(sql);
        let restored = live.describe("t").unwrap().table("t", &SQLITE);
        let Err(Error::Usage(message)) = restored else {
            panic!("{sql}: {restored:?}");
        };
        assert!(message.contains(reason), "{sql}: {message}");
    }
}
