//! The databases that a command is run on, each a throwaway one of its own. Asserts nothing. Rule: what runs on one runs on all.

/// SQLite, or a database on a server, which lasts as long as this.
pub enum Database {
    Sqlite,
    Postgres(tsumugi_testkit::postgres::PostgresDatabase<'static>),
    Firebird(tsumugi_testkit::firebird::FirebirdDatabase<'static>),
}

impl Database {
    /// An empty one of each kind.
    pub fn all() -> [Database; 3] {
        [
            Database::Sqlite,
            Database::Postgres(tsumugi_testkit::postgres::Server::shared().database()),
            Database::Firebird(tsumugi_testkit::firebird::Server::shared().database()),
        ]
    }

    /// The URL of a database on a server.
    pub fn url(&self) -> Option<String> {
        match self {
            Database::Sqlite => None,
            Database::Postgres(database) => Some(database.url()),
            Database::Firebird(database) => Some(database.url()),
        }
    }

    /// Whether it is one of Firebird.
    pub fn is_firebird(&self) -> bool {
        matches!(self, Database::Firebird(_))
    }
}
