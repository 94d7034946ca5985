//! Figures of databases for exporters. Knows no exporter and keeps no connection open.
//! Rule: a name shows neither user nor password.

use std::{rc, sync};

use crate::database::Database;
use crate::metrics::{Figures, Snapshot};
use crate::on_each::{on_database, on_server};
use crate::postgres::Postgres;
use crate::server;
use crate::weak_database::WeakDatabase;

/// A look at a database. When its last [`Database`] has gone there is nothing to see.
#[derive(Debug)]
pub struct DatabaseWatch {
    name: sync::Arc<str>,
    scheme: &'static str,
    connections_max: usize,
    role: Option<PoolRole>,
    database: WeakDatabase,
    connections: Connections,
    replicas: Vec<DatabaseWatch>,
}

/// Which servers the connections of a database go to that has replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolRole {
    /// The primary.
    Primary,
    /// The replicas.
    Replica,
}

impl PoolRole {
    /// As figures are labelled.
    pub fn as_str(self) -> &'static str {
        match self {
            PoolRole::Primary => "primary",
            PoolRole::Replica => "replica",
        }
    }
}

#[derive(Debug)]
enum Connections {
    Process(sync::Weak<dyn Figures>),
    Thread(rc::Weak<dyn Figures>),
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
    /// Its name, as [`DatabaseWatch::name`].
    pub fn name(&self) -> sync::Arc<str> {
        on_database!(Database, self, pool => pool.name())
    }

    /// How many connections there may be: of SQLite its readers and the writer, or the only one of a database in memory.
    fn connections_max(&self) -> usize {
        on_server!(
            Database, self,
            Sqlite(pool) => match pool.path() {
                Some(_) => pool.options().pool + 1,
                None => 1,
            },
            pool => pool.options().pool
        )
    }

    /// A look at the figures of this database that does not keep it open.
    pub fn watch(&self) -> DatabaseWatch {
        let connections = on_server!(
            Database, self,
            Sqlite(pool) => Connections::Process(pool.watch()),
            pool => Connections::Thread(pool.watch())
        );
        let replicas = self.as_postgres().into_iter();
        let replicas = replicas.flat_map(server::Pool::replica_pools);
        let replicas: Vec<DatabaseWatch> = replicas.map(DatabaseWatch::of_replica).collect();
        DatabaseWatch {
            name: self.name(),
            role: (!replicas.is_empty()).then_some(PoolRole::Primary),
            scheme: self.scheme(),
            connections_max: self.connections_max(),
            database: self.downgrade(),
            connections,
            replicas,
        }
    }
}

impl DatabaseWatch {
    fn of_replica(pool: &server::Pool<Postgres>) -> DatabaseWatch {
        DatabaseWatch {
            name: pool.name(),
            role: Some(PoolRole::Replica),
            scheme: "postgres",
            connections_max: pool.options().pool,
            database: Database::Postgres(pool.clone()).downgrade(),
            connections: Connections::Thread(pool.watch()),
            replicas: Vec::new(),
        }
    }

    /// A look at each of its replicas.
    pub fn replicas(&self) -> &[DatabaseWatch] {
        &self.replicas
    }

    /// Which servers the figures are about, where the database has replicas.
    pub fn role(&self) -> Option<PoolRole> {
        self.role
    }

    /// How URLs of the database begin.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// How many connections there may be.
    pub fn connections_max(&self) -> usize {
        self.connections_max
    }

    /// The database, unless it has been closed by all its users.
    pub fn database(&self) -> Option<Database> {
        self.database.upgrade()
    }

    /// The name of the database on its server, that of its file, or `:memory:`.
    pub fn name(&self) -> &sync::Arc<str> {
        &self.name
    }

    /// Whose connections the figures are about.
    pub fn extent(&self) -> PoolScope {
        match self.connections {
            Connections::Process(_) => PoolScope::Process,
            Connections::Thread(_) => PoolScope::Thread,
        }
    }

    /// The figures now; none when the database has been closed by all its users.
    pub fn snapshot(&self) -> Option<Snapshot> {
        match &self.connections {
            Connections::Process(of) => Some(of.upgrade()?.snapshot()),
            Connections::Thread(of) => Some(of.upgrade()?.snapshot()),
        }
    }

    /// Whether both look at the same connections.
    pub fn is(&self, other: &DatabaseWatch) -> bool {
        match (&self.connections, &other.connections) {
            (Connections::Process(one), Connections::Process(other)) => one.ptr_eq(other),
            (Connections::Thread(one), Connections::Thread(other)) => one.ptr_eq(other),
            (Connections::Process(_), Connections::Thread(_))
            | (Connections::Thread(_), Connections::Process(_)) => false,
        }
    }
}
