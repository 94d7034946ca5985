//! Figures of databases for exporters. Knows no exporter and keeps no connection open.
//! Rule: a name shows neither user nor password.

use std::sync::Arc;

use crate::database::Database;
use crate::firebird::Firebird;
use crate::metrics::Snapshot;
use crate::postgres::Postgres;
use crate::{server, sqlite};

/// A look at a database. When its last [`Database`] has gone there is nothing to see.
#[derive(Debug)]
pub struct DatabaseWatch {
    name: Arc<str>,
    watch: Watch,
}

#[derive(Debug)]
enum Watch {
    Sqlite(sqlite::Watch),
    Postgres(server::Watch<Postgres>),
    Firebird(server::Watch<Firebird>),
}

/// Whose the connections of a database are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolScope {
    /// All threads of the process have them together.
    Process,
    /// The thread that connected has them.
    Thread,
}

impl Database {
    /// A look at the figures of this database that does not keep it open.
    pub fn watch(&self) -> DatabaseWatch {
        match self {
            Database::Sqlite(pool) => DatabaseWatch {
                name: pool.name(),
                watch: Watch::Sqlite(pool.watch()),
            },
            Database::Postgres(pool) => DatabaseWatch {
                name: pool.name(),
                watch: Watch::Postgres(pool.watch()),
            },
            Database::Firebird(pool) => DatabaseWatch {
                name: pool.name(),
                watch: Watch::Firebird(pool.watch()),
            },
        }
    }
}

impl DatabaseWatch {
    /// The name of the database on its server, that of its file, or `:memory:`.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whose connections the figures are about.
    pub fn extent(&self) -> PoolScope {
        match self.watch {
            Watch::Sqlite(_) => PoolScope::Process,
            Watch::Postgres(_) | Watch::Firebird(_) => PoolScope::Thread,
        }
    }

    /// The figures now; none when the database has been closed by all its users.
    pub fn snapshot(&self) -> Option<Snapshot> {
        match &self.watch {
            Watch::Sqlite(watch) => watch.snapshot(),
            Watch::Postgres(watch) => watch.snapshot(),
            Watch::Firebird(watch) => watch.snapshot(),
        }
    }

    /// Whether both look at the same connections.
    pub fn is(&self, other: &DatabaseWatch) -> bool {
        match &self.watch {
            Watch::Sqlite(watch) => {
                matches!(&other.watch, Watch::Sqlite(other) if watch.is(other))
            }
            Watch::Postgres(watch) => {
                matches!(&other.watch, Watch::Postgres(other) if watch.is(other))
            }
            Watch::Firebird(watch) => {
                matches!(&other.watch, Watch::Firebird(other) if watch.is(other))
            }
        }
    }
}
