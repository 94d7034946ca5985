//! A database that is not kept open, for lists of what an application has. Asks nothing of it.

use crate::database::Database;
use crate::firebird::Firebird;
use crate::log::opaque;
use crate::postgres::Postgres;
use crate::{server, sqlite};

/// A database while somebody else has it.
pub(crate) enum WeakDatabase {
    Sqlite(sqlite::WeakPool),
    Postgres(server::WeakPool<Postgres>),
    Firebird(server::WeakPool<Firebird>),
}

impl WeakDatabase {
    pub(crate) fn upgrade(&self) -> Option<Database> {
        match self {
            WeakDatabase::Sqlite(pool) => pool.upgrade().map(Database::Sqlite),
            WeakDatabase::Postgres(pool) => pool.upgrade().map(Database::Postgres),
            WeakDatabase::Firebird(pool) => pool.upgrade().map(Database::Firebird),
        }
    }
}

impl Database {
    pub(crate) fn downgrade(&self) -> WeakDatabase {
        match self {
            Database::Sqlite(pool) => WeakDatabase::Sqlite(pool.downgrade()),
            Database::Postgres(pool) => WeakDatabase::Postgres(pool.downgrade()),
            Database::Firebird(pool) => WeakDatabase::Firebird(pool.downgrade()),
        }
    }
}

opaque!(WeakDatabase);
