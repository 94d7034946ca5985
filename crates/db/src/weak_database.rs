//! A database that is not kept open, for lists of what an application has. Asks nothing of it.

use crate::database::Database;
use crate::log::opaque;
use crate::on_each::on_database;
use crate::postgres::Postgres;
use crate::{server, sqlite};

/// A database while somebody else has it.
pub(crate) enum WeakDatabase {
    Sqlite(sqlite::WeakPool),
    Postgres(server::WeakPool<Postgres>),
    #[cfg(feature = "firebird")]
    Firebird(server::WeakPool<crate::firebird::Firebird>),
}

impl WeakDatabase {
    pub(crate) fn upgrade(&self) -> Option<Database> {
        on_database!(WeakDatabase => Database, self, pool => pool.upgrade())
    }
}

impl Database {
    pub(crate) fn downgrade(&self) -> WeakDatabase {
        match self {
            Database::Sqlite(pool) => WeakDatabase::Sqlite(pool.downgrade()),
            Database::Postgres(pool) => WeakDatabase::Postgres(pool.downgrade()),
            #[cfg(feature = "firebird")]
            Database::Firebird(pool) => WeakDatabase::Firebird(pool.downgrade()),
        }
    }
}

opaque!(WeakDatabase);
