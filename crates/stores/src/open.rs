//! Opening stores for one application on one worker. Rule: stores with the same way to a server share its client, however many are opened.

use std::cell::RefCell;
use std::path::PathBuf;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_kv::Spec;
use tsumugi_rpc::ServiceNote;
use tsumugi_worker::Pool;

use crate::access::StoreAccess;
use crate::address::StoreAddress;
use crate::engine_handle::EngineHandle;
use crate::error::Result;
use crate::etcd::{EtcdAddress, EtcdStore};
use crate::redis::{RedisAddress, RedisStore};
use crate::store::{Store, WeakStore};
use crate::tkrzw::{TkrzwAddress, TkrzwStore};

/// What stores of one application are opened with.
#[derive(Debug)]
pub struct StoreOpener {
    pool: Pool,
    access: StoreAccess,
    certificates: Option<PathBuf>,
    /// What is behind a network, for its clients.
    opened: RefCell<Vec<WeakStore>>,
}

impl StoreOpener {
    /// `certificates` is the file of authorities that servers are verified by unless a store names its own.
    #[must_use]
    pub fn new(pool: Pool, access: StoreAccess, certificates: Option<PathBuf>) -> StoreOpener {
        StoreOpener {
            pool,
            access,
            certificates,
            opened: RefCell::default(),
        }
    }

    /// Opens a store, and asks once whether it is there.
    ///
    /// # Errors
    /// As [`KvDatabase::open`](tsumugi_kv::KvDatabase::open) of a database of this process; why a server cannot be reached or does not let the application in.
    pub fn open(&self, address: StoreAddress) -> LocalBoxFuture<'_, Result<Store>> {
        async move {
            match address {
                StoreAddress::Local(spec) => self.local(spec).await,
                StoreAddress::Tkrzw(address) => self.tkrzw(&address).await,
                StoreAddress::Etcd(address) => self.etcd(&address).await,
                StoreAddress::Redis(address) => self.redis(&address).await,
            }
        }
        .boxed_local()
    }

    /// A database of this process, or the one that another process has, through its service.
    async fn local(&self, spec: Spec) -> Result<Store> {
        let (spec, access) = (self.access.database(spec), self.access.clone());
        let opened = self.pool.run(move || (access.open(&spec), spec));
        let (database, spec) = opened.await?;
        let database = database?;
        let has_other = self.access == StoreAccess::Shared && database.is_unavailable();
        if has_other && let Some(store) = self.through_service(&spec).await {
            return Ok(store);
        }
        Ok(Store::local(database, self.pool.clone()))
    }

    async fn tkrzw(&self, address: &TkrzwAddress) -> Result<Store> {
        let open = self.engines(|engine| match engine {
            EngineHandle::Tkrzw(store) => Some(store.clone()),
            _ => None,
        });
        let open = open.into_iter();
        let store = TkrzwStore::open(address, open, self.certificates.as_ref(), &self.pool);
        let store = Store::remote(EngineHandle::Tkrzw(store.await?), address.to_string());
        self.opened.borrow_mut().push(store.downgrade());
        Ok(store)
    }

    async fn etcd(&self, address: &EtcdAddress) -> Result<Store> {
        if let StoreAccess::Own(_) = self.access {
            let place = address.to_string().replace("://", ":");
            return self.in_memory(&place).await;
        }
        let open = self.engines(|engine| match engine {
            EngineHandle::Etcd(store) => Some(store.clone()),
            _ => None,
        });
        let open = open.into_iter();
        let store = EtcdStore::open(address, open, self.certificates.as_ref(), &self.pool);
        let store = Store::remote(EngineHandle::Etcd(store.await?), address.to_string());
        self.opened.borrow_mut().push(store.downgrade());
        Ok(store)
    }

    async fn redis(&self, address: &RedisAddress) -> Result<Store> {
        if let StoreAccess::Own(_) = self.access {
            let place = address.to_string().replace("://", ":");
            return self.in_memory(&place).await;
        }
        let open = self.engines(|engine| match engine {
            EngineHandle::Redis(store) => Some(store.clone()),
            _ => None,
        });
        let open = open.into_iter();
        let store = RedisStore::open(address, open, self.certificates.as_ref(), &self.pool);
        let store = Store::remote(EngineHandle::Redis(store.await?), address.to_string());
        self.opened.borrow_mut().push(store.downgrade());
        Ok(store)
    }

    /// What a command that only looks has in place of a cluster's store: an empty one.
    async fn in_memory(&self, name: &str) -> Result<Store> {
        let spec = Spec::of_place(&format!("memory:{name}"))?;
        let store = self.local(spec).await?;
        store.stand_in();
        Ok(store)
    }

    /// What is open of one engine.
    fn engines<T>(&self, of: impl Fn(&EngineHandle) -> Option<T>) -> Vec<T> {
        let mut opened = self.opened.borrow_mut();
        opened.retain(|store| store.upgrade().is_some());
        let opened = opened.iter().filter_map(WeakStore::upgrade);
        opened.filter_map(|store| of(store.engine())).collect()
    }

    /// The store of a folder that another process has, through the service that it has noted there; none when it serves none.
    async fn through_service(&self, spec: &Spec) -> Option<Store> {
        let folder = spec.path.clone();
        let path = folder.display().to_string();
        let reached = async {
            let note = self.pool.run(move || ServiceNote::read(&folder));
            let Some(ServiceNote { target, index }) = note.await? else {
                return Ok(None);
            };
            // Opening it sees whether what is noted is still so.
            let store = self.tkrzw(&TkrzwAddress::of(target, index)).await;
            store.map(Some)
        };
        match reached.await {
            Ok(Some(store)) => {
                tracing::warn!("{path} is open in another process, and used through its service");
                Some(store)
            }
            Ok(None) => {
                tracing::warn!(
                    "{path} is open in another process, which serves it to nobody: its calls raise KV::Locked. Start the server with --kv-listen unix:PATH --kv-database {path} to use it from here"
                );
                None
            }
            Err(error) => {
                tracing::warn!(
                    "{path} is open in another process, whose service is not reached: its calls raise KV::Locked ({error})"
                );
                None
            }
        }
    }
}
