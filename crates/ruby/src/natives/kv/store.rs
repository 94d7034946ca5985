//! The store behind a `KV` object: a database of this process or of another server. Knows no Ruby but how to find itself in an object.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tsumugi_kv::KvDatabase;
use tsumugi_kv::single_flight::StoreId;
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_rpc::{Client, RpcTarget};
use tsumugi_worker::WorkerHandle;

use super::failure::Outcome;
use crate::natives::arguments::data;

/// What a `KV` object carries, in an `Rc`.
pub(crate) struct KvStore {
    pub backend: Backend,
    /// The name of this store among those of the process, for people.
    pub place: Arc<str>,
    /// The same for computations of its values.
    pub flights: StoreId,
    /// How long what is stored through this object lives unless a call says otherwise.
    pub ttl: Option<Duration>,
}

impl KvStore {
    pub(super) fn embedded(database: KvDatabase, ttl: Option<Duration>) -> KvStore {
        KvStore {
            place: database.place(),
            flights: database.flights(),
            backend: Backend::Embedded(database),
            ttl,
        }
    }

    pub(super) fn remote(client: Client, options: ServiceOptions) -> KvStore {
        let place: Arc<str> = format!("{}/{}", options.target, client.index()).into();
        KvStore {
            flights: StoreId::Service(Arc::clone(&place)),
            place,
            backend: Backend::Remote { client, options },
            ttl: None,
        }
    }

    /// What many records are read for, or files: off the worker, or by the service of another server.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        worker: &WorkerHandle,
        here: impl FnOnce(&KvDatabase) -> tsumugi_kv::Result<T> + Send + 'static,
        there: impl AsyncFnOnce(&Client) -> Outcome<T>,
    ) -> Outcome<T> {
        match &self.backend {
            Backend::Embedded(database) => {
                let database = database.clone();
                Ok(worker.offload(move || here(&database)).await??)
            }
            Backend::Remote { client, .. } => there(client).await,
        }
    }
}

/// Where the records are.
pub(crate) enum Backend {
    /// A database of this process, the same for all workers.
    Embedded(KvDatabase),
    /// A database of another server. The client is this VM's, whatever the number of stores on that server.
    Remote {
        client: Client,
        /// How it was opened; stores with the same options share the client.
        options: ServiceOptions,
    },
}

/// How a service is reached. Not `Debug`: a token is a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServiceOptions {
    pub target: RpcTarget,
    pub token: Option<String>,
    pub timeout_ms: Option<u64>,
    pub authority: Option<PathBuf>,
}

/// The store of an object.
pub(super) fn store<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c Rc<KvStore>> {
    data(scope, value, "the store", "what KV.open answered")
}

/// The database of an object of `KV::Embedded`.
pub(super) fn embedded<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, &'c KvDatabase> {
    match &store(scope, value)?.backend {
        Backend::Embedded(database) => Ok(database),
        Backend::Remote { .. } => {
            let message =
                "a store behind a service cannot do this: open the store in this process for it";
            Err(scope.error("KV::Unsupported", message))
        }
    }
}
