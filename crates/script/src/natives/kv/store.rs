//! The store behind a `KV` object: a database of this process. Knows no Ruby but how to find itself in an object.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tsumugi_kv::Database;
use tsumugi_mruby::{Result, Scope, Value};

use crate::natives::wrong_type;

/// What a `KV` object carries, in an `Rc`.
pub(crate) struct Store {
    pub backend: Backend,
    /// What tells this store from others of the process.
    pub place: Arc<str>,
    /// How long what is stored through this object lives unless a call says otherwise.
    pub ttl: Option<Duration>,
}

impl Store {
    pub(super) fn embedded(database: Database, ttl: Option<Duration>) -> Store {
        let path = &database.spec().path;
        let place = match database.is_in_memory() {
            true => path.clone(),
            false => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
        };
        Store {
            place: place.to_string_lossy().into(),
            backend: Backend::Embedded(database),
            ttl,
        }
    }
}

/// Where the records are.
pub(crate) enum Backend {
    /// A database of this process, the same for all workers.
    Embedded(Database),
}

/// The store of an object.
pub(super) fn store<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Rc<Store>> {
    scope
        .data::<Rc<Store>>(value)
        .ok_or_else(|| wrong_type(scope, value, "the store", "what KV.open answered"))
}

/// The database of an object of `KV::Embedded`.
pub(super) fn embedded<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Database> {
    match &store(scope, value)?.backend {
        Backend::Embedded(database) => Ok(database),
    }
}
