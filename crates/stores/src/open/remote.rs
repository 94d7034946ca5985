//! Opening stores that are on other servers. Rule: where a command only looks, a cluster's store is not opened, but what stands in for it.

use std::fmt::Display;

use tsumugi_kv::Spec;
#[cfg(feature = "grpc")]
use tsumugi_rpc::ServiceNote;

use super::StoreOpener;
use crate::engine_handle::EngineHandle;
use crate::error::Result;
#[cfg(feature = "grpc")]
use crate::etcd::{EtcdAddress, EtcdStore};
#[cfg(feature = "redis")]
use crate::redis::{RedisAddress, RedisStore};
use crate::store::{Store, WeakStore};
#[cfg(feature = "grpc")]
use crate::tkrzw::{TkrzwAddress, TkrzwStore};

impl StoreOpener {
    /// An open store, whose client others may share.
    fn opened(&self, engine: EngineHandle, address: &impl Display) -> Store {
        let store = Store::remote(engine, address.to_string());
        self.opened.borrow_mut().push(store.downgrade());
        store
    }

    /// What is open of one engine.
    fn engines<T>(&self, of: impl Fn(&EngineHandle) -> Option<T>) -> impl Iterator<Item = T> {
        let mut opened = self.opened.borrow_mut();
        opened.retain(|store| store.upgrade().is_some());
        let opened = opened.iter().filter_map(WeakStore::upgrade);
        let found: Vec<T> = opened.filter_map(|store| of(store.engine())).collect();
        found.into_iter()
    }
}

#[cfg(feature = "redis")]
impl StoreOpener {
    pub(super) async fn redis(&self, address: &RedisAddress) -> Result<Store> {
        if let Some(store) = self.stand_in(address).await? {
            return Ok(store);
        }
        let open = self.engines(|engine| match engine {
            EngineHandle::Redis(store) => Some(store.clone()),
            _ => None,
        });
        let store =
            RedisStore::open(address, open, self.certificates.as_deref(), &self.pool).await?;
        Ok(self.opened(EngineHandle::Redis(store), address))
    }
}

#[cfg(feature = "grpc")]
impl StoreOpener {
    pub(super) async fn etcd(&self, address: &EtcdAddress) -> Result<Store> {
        if let Some(store) = self.stand_in(address).await? {
            return Ok(store);
        }
        let open = self.engines(|engine| match engine {
            EngineHandle::Etcd(store) => Some(store.clone()),
            _ => None,
        });
        let store =
            EtcdStore::open(address, open, self.certificates.as_deref(), &self.pool).await?;
        Ok(self.opened(EngineHandle::Etcd(store), address))
    }

    pub(super) async fn tkrzw(&self, address: &TkrzwAddress) -> Result<Store> {
        let open = self.engines(|engine| match engine {
            EngineHandle::Tkrzw(store) => Some(store.clone()),
            _ => None,
        });
        let store =
            TkrzwStore::open(address, open, self.certificates.as_deref(), &self.pool).await?;
        Ok(self.opened(EngineHandle::Tkrzw(store), address))
    }

    /// The store of a folder that another process has, through the service that it has noted there; none when it serves none.
    pub(super) async fn through_service(&self, spec: &Spec) -> Option<Store> {
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
