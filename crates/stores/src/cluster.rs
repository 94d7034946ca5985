//! The processes that find each other by a store: locks, timers and channels over the servers that it is on. Keeps and sends nothing itself.
//! Rule: an engine that cannot keep a promise of a cluster refuses it by name, and says what to use.

use tsumugi_cluster::{Cluster, Error, Result};

use crate::engine_handle::EngineHandle;
use crate::store::Store;

impl Store {
    /// The processes that use this store's namespace of etcd, for locks, timers and channels (needs the feature `grpc`); those that use its Redis, for channels
    /// alone (needs `redis`). What stands in for such a store
    /// where a command only looks is a cluster of this process.
    ///
    /// # Errors
    /// [`Error::Unsupported`] of a store of this process, or of a Tkrzw service.
    pub fn cluster(&self) -> Result<Cluster> {
        match self.engine() {
            EngineHandle::Local(_) if self.stands_in() => Ok(Cluster::of_process()),
            EngineHandle::Local(_) => Err(Error::Unsupported {
                engine: "a store of this process",
                what: "other processes: leave `cluster` out, or use PostgreSQL, SQLite in a file, etcd or Redis",
            }),
            #[cfg(feature = "grpc")]
            EngineHandle::Tkrzw(_) => Err(Error::Unsupported {
                engine: "a store behind a service",
                what: "locks, timers and channels of a cluster: use PostgreSQL, SQLite in a file, etcd or Redis",
            }),
            #[cfg(feature = "grpc")]
            EngineHandle::Etcd(store) => Ok(crate::etcd::cluster(store)),
            #[cfg(feature = "redis")]
            EngineHandle::Redis(store) => Ok(crate::redis::cluster(store)),
        }
    }
}
