//! A throwaway database of either kind, as far as these tests need one.

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tsumugi_sql::schema::{Catalog, CatalogRows, Description};
use tsumugi_sql::{Dialect, POSTGRES, SQLITE, Statement};
use tsumugi_testkit::postgres::{PostgresDatabase, Server};

/// SQLite in memory, or a database on the server of the test process.
pub enum LiveDatabase {
    Sqlite(Connection),
    Postgres(PostgresDatabase<'static>),
}

impl LiveDatabase {
    /// One of each.
    pub fn both() -> [LiveDatabase; 2] {
        let postgres = LiveDatabase::Postgres(Server::shared().database());
        [LiveDatabase::sqlite(), postgres]
    }

    pub fn sqlite() -> LiveDatabase {
        let sqlite = Connection::open_in_memory().unwrap();
        // Bytewise is enough here: nothing is compared.
        sqlite.create_collation("decimal", |a, b| a.cmp(b)).unwrap();
        LiveDatabase::Sqlite(sqlite)
    }

    pub fn dialect(&self) -> &'static Dialect {
        match self {
            LiveDatabase::Sqlite(_) => &SQLITE,
            LiveDatabase::Postgres(_) => &POSTGRES,
        }
    }

    #[track_caller]
    pub fn run(&self, sql: &str) {
        match self {
            LiveDatabase::Sqlite(connection) => {
                if let Err(error) = connection.execute_batch(sql) {
                    panic!("{sql}: {error}");
                }
            }
            LiveDatabase::Postgres(database) => drop(database.psql(sql)),
        }
    }

    #[track_caller]
    pub fn run_all(&self, statements: &[String]) {
        for sql in statements {
            self.run(sql);
        }
    }

    /// What the catalog says of a table.
    pub fn describe(&self, table: &str) -> Option<Description> {
        let catalog = Catalog::of(table, self.dialect()).unwrap();
        let rows = CatalogRows {
            columns: self.rows(&catalog.columns, 5),
            keys: self.rows(&catalog.keys, 3),
            foreign_keys: self.rows(&catalog.foreign_keys, 5),
            checks: self.rows(&catalog.checks, 2),
        };
        Description::read(&rows, self.dialect())
    }

    /// The rows of a question with one bound text.
    fn rows(&self, question: &Statement, columns: usize) -> Vec<Vec<Option<String>>> {
        let [tsumugi_sql::Value::Text(bound)] = question.binds.as_slice() else {
            panic!("the questions bind the name of the table");
        };
        match self {
            LiveDatabase::Sqlite(connection) => {
                let mut statement = connection.prepare(&question.sql).unwrap();
                let text = |value: ValueRef<'_>| match value {
                    ValueRef::Null => None,
                    ValueRef::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
                    other => panic!("{other:?} is no text: {}", question.sql),
                };
                let row = |row: &rusqlite::Row<'_>| {
                    (0..columns)
                        .map(|index| row.get_ref(index).map(text))
                        .collect()
                };
                statement
                    .query_map([bound], row)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect()
            }
            LiveDatabase::Postgres(database) => {
                let literal = format!("'{}'", bound.replace('\'', "''"));
                let names: Vec<String> = (0..columns).map(|index| format!("c{index}")).collect();
                let (names, sql) = (names.join(", "), question.sql.replace("$1", &literal));
                let printed = database.psql(&format!(
                    "select coalesce(json_agg(json_build_array({names})), '[]') from ({sql}) q({names})"
                ));
                serde_json::from_str(&printed).unwrap()
            }
        }
    }
}
