//! The statements of the goldens, prepared. Rule: a case whose columns are made up is named here, every other is taken.

use std::fs;
use std::path::Path;

use crate::database::LiveDatabase;

/// Cases with columns or operators that the tables do not have, and one that PostgreSQL wants grouped.
const MADE_UP: &[&str] = &[
    "a name with capitals",
    "a name with quotes",
    "a reserved word",
    "an exact name with a dot",
    "functions are named by function and column",
    "raw with a name in the quotes of SQLite",
    "raw with the operator ?",
];

/// Goldens of statements that need other tables, and are run in `tables.rs`.
const TABLES: &[&str] = &[
    "columns",
    "columns_added",
    "columns_changed",
    "defaults",
    "renamed",
    "tables",
    "tables_refused",
];

/// What the statements are about.
const SCHEMA: &[&str] = &[
    "create table users(id integer primary key, name text, email text, age integer, balance integer, active boolean, unique(email), unique(email, name), unique(email, name, age))",
    "create table posts(id integer primary key, user_id integer, title text, total integer)",
];

#[test]
fn every_statement_is_one_that_the_database_takes() {
    for live in LiveDatabase::both() {
        let database = live.dialect().name;
        SCHEMA.iter().for_each(|sql| live.run(sql));
        if let LiveDatabase::Postgres(_) = live {
            live.run("create schema main; create table main.users(id integer)");
        }
        let (mut taken, mut script) = (0, String::new());
        for (title, sql) in statements(database) {
            taken += 1;
            if let LiveDatabase::Sqlite(connection) = &live
                && let Err(error) = connection.prepare(&sql)
            {
                panic!("{title}: {sql}: {error}");
            }
            script += &format!("prepare s{taken} as {sql};\n");
        }
        if let LiveDatabase::Postgres(_) = live {
            live.run(&script);
        }
        assert!(taken > 100, "only {taken} statements");
    }
}

/// The goldens' statements for this database, with the titles of their cases.
fn statements(database: &str) -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let mut statements = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if TABLES.contains(&name.as_str()) {
            continue;
        }
        let mut title = String::new();
        for line in fs::read_to_string(&path).unwrap().lines() {
            if let Some(next) = line.strip_prefix("# ") {
                title = next.to_owned();
            } else if let Some(rest) = line.strip_prefix(database) {
                let rest = rest.trim_start();
                let sql = rest.split("  <- ").next().unwrap_or(rest);
                if sql != "nothing"
                    && !sql.starts_with("refused: ")
                    && !MADE_UP.contains(&title.as_str())
                {
                    statements.push((title.clone(), sql.to_owned()));
                }
            }
        }
    }
    statements
}
