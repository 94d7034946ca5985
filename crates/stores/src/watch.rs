//! Changes of a store as its watcher takes them, whichever engine reports them. Carries no values.
//! Keeps none: each engine's queue has the bounds.

use tsumugi_kv::{ChangeEvent, Error as KvError, PrefixWatch};

use crate::error::{Error, Result};
#[cfg(feature = "grpc")]
use crate::etcd::ChangeQueue;

/// The changes of one prefix from now on. Ends when it is dropped.
#[derive(Debug)]
pub struct StoreWatch(ChangeSource);

/// Where they come from.
#[derive(Debug)]
pub(crate) enum ChangeSource {
    Local(PrefixWatch),
    #[cfg(feature = "grpc")]
    Service(tsumugi_rpc::client::Watch),
    #[cfg(feature = "grpc")]
    Etcd(ChangeQueue),
}

impl StoreWatch {
    pub(crate) fn of(source: ChangeSource) -> StoreWatch {
        StoreWatch(source)
    }

    /// The next change. Dropping the future loses nothing.
    ///
    /// # Errors
    /// Why the watch has ended, once; [`Closed`](KvError::Closed) afterwards.
    pub async fn next(&mut self) -> Result<ChangeEvent> {
        match &mut self.0 {
            ChangeSource::Local(watch) => watch.next().await.ok_or(Error::Kv(KvError::Closed)),
            #[cfg(feature = "grpc")]
            ChangeSource::Service(watch) => Ok(watch.next().await?),
            #[cfg(feature = "grpc")]
            ChangeSource::Etcd(queue) => queue.next().await,
        }
    }
}
