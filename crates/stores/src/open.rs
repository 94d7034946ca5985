//! Opening stores for one application on one worker. Rule: where a command only looks, an empty store in memory stands in for one of a cluster,
//! whether its engine is here or not; stores with the same way to a server share its client, however many are opened.

#[cfg(any(feature = "grpc", feature = "redis"))]
mod remote;

use std::fmt::Display;
use std::path::PathBuf;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_kv::Spec;
use tsumugi_worker::Pool;

use crate::access::StoreAccess;
use crate::address::StoreAddress;
use crate::error::Result;
use crate::store::Store;

/// What stores of one application are opened with.
#[derive(Debug)]
pub struct StoreOpener {
    pool: Pool,
    access: StoreAccess,
    #[cfg_attr(
        not(any(feature = "grpc", feature = "redis")),
        expect(dead_code, reason = "only what is behind a network is verified by it")
    )]
    certificates: Option<PathBuf>,
    /// What is behind a network, for its clients.
    #[cfg(any(feature = "grpc", feature = "redis"))]
    opened: std::cell::RefCell<Vec<crate::store::WeakStore>>,
}

impl StoreOpener {
    /// `certificates` is the file of authorities that servers are verified by unless a store names its own.
    #[must_use]
    pub fn new(pool: Pool, access: StoreAccess, certificates: Option<PathBuf>) -> StoreOpener {
        StoreOpener {
            pool,
            access,
            certificates,
            #[cfg(any(feature = "grpc", feature = "redis"))]
            opened: std::cell::RefCell::default(),
        }
    }

    /// Opens a store, and asks once whether it is there.
    ///
    /// # Errors
    /// As [`KvDatabase::open`](tsumugi_kv::KvDatabase::open) of a database of this process, in a folder without the feature `disk` of `tsumugi-kv`
    /// [`NotBuiltIn`](tsumugi_kv::Error::NotBuiltIn); [`NotBuiltIn`](crate::Error::NotBuiltIn) of a store of a cluster whose engine is not here; why a server cannot be reached or does not let the application in.
    pub fn open(&self, address: StoreAddress) -> LocalBoxFuture<'_, Result<Store>> {
        async move {
            match address {
                StoreAddress::Local(spec) => self.local(spec).await,
                #[cfg(feature = "grpc")]
                StoreAddress::Tkrzw(address) => self.tkrzw(&address).await,
                #[cfg(feature = "grpc")]
                StoreAddress::Etcd(address) => self.etcd(&address).await,
                #[cfg(feature = "redis")]
                StoreAddress::Redis(address) => self.redis(&address).await,
                StoreAddress::Absent(absent) => match self.stand_in(&absent).await? {
                    Some(store) => Ok(store),
                    None => Err(absent.error()),
                },
            }
        }
        .boxed_local()
    }

    /// What a command that only looks has in place of a cluster's store: an empty one. Nothing where the application has everything.
    async fn stand_in(&self, address: &impl Display) -> Result<Option<Store>> {
        let StoreAccess::Own(_) = self.access else {
            return Ok(None);
        };
        let name = address.to_string().replace("://", ":");
        let store = self
            .local(Spec::of_place(&format!("memory:{name}"))?)
            .await?;
        store.stand_in();
        Ok(Some(store))
    }

    /// A database of this process, or the one that another process has, through its service.
    async fn local(&self, spec: Spec) -> Result<Store> {
        // By what it is: a command that only looks may have one in memory instead.
        spec.require_engine()?;
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

    /// The store of a folder that another process has: none here, where its service cannot be spoken to.
    #[cfg(not(feature = "grpc"))]
    async fn through_service(&self, spec: &Spec) -> Option<Store> {
        let path = spec.path.display();
        tracing::warn!(
            "{path} is open in another process: its calls fail with Locked. A program with the feature `grpc` uses it through the service of that process"
        );
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::absent_address;
    use crate::error::Error;

    fn opened(access: StoreAccess) -> Result<Store> {
        let limits = tsumugi_worker::WorkerLimits::default();
        let opened = tsumugi_worker::alone(limits, async |worker| {
            let opener = StoreOpener::new(worker.pool().clone(), access, None);
            opener
                .open(absent_address("redis://h:6379/0", "redis")?)
                .await
        });
        opened.unwrap()
    }

    #[test]
    fn store_whose_engine_is_not_here_has_a_stand_in_for_a_command_that_only_looks() {
        let folder = tempfile::tempdir().unwrap();
        let instead = opened(StoreAccess::Own(folder.path().to_owned())).unwrap();
        assert!(instead.stands_in() && instead.database().is_some());
        for access in [StoreAccess::Whole, StoreAccess::Shared] {
            let refused = opened(access).unwrap_err();
            assert!(matches!(refused, Error::NotBuiltIn { .. }), "{refused:?}");
        }
    }
}
