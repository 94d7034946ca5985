//! A store of an engine as `tsumugi kv` serves it to clients of Tkrzw-RPC: each error as a status of the protocol. Serves nothing itself.
//! Rule: what the engine refuses by name is NOT_IMPLEMENTED, and what may have taken place is never reported as not done.

use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{ChangeEvent, KeyRange, Lifetime, Pair, Write, WriteResult};
use tsumugi_rpc::server::{EngineError, EngineSource, EngineWatch, RemoteEngine, RemoteFuture};
use tsumugi_rpc::{GrpcCode, TkrzwCode};
use tsumugi_worker::Pool;

use crate::access::StoreAccess;
use crate::address::StoreAddress;
use crate::capability::Capability;
use crate::error::{Error, Result};
use crate::open::StoreOpener;
use crate::store::Store;
use crate::watch::StoreWatch;

/// A store that is served, by its address. Each worker opens it for itself. Needs the feature `service`.
#[derive(Clone, Debug)]
pub struct StoreSource {
    address: StoreAddress,
    certificates: Option<PathBuf>,
}

impl StoreSource {
    /// `certificates` is the file of authorities that the engine's servers are verified by unless the address names its own.
    #[must_use]
    pub fn new(address: StoreAddress, certificates: Option<PathBuf>) -> StoreSource {
        StoreSource {
            address,
            certificates,
        }
    }
}

impl EngineSource for StoreSource {
    fn place(&self) -> String {
        self.address.place()
    }

    fn engine(&self) -> &'static str {
        self.address.capabilities().engine
    }

    fn open(&self, pool: &Pool) -> RemoteFuture<Rc<dyn RemoteEngine>> {
        let opener = StoreOpener::new(pool.clone(), StoreAccess::Whole, self.certificates.clone());
        let address = self.address.clone();
        Box::pin(async move {
            let store = opener.open(address).await;
            let engine: Rc<dyn RemoteEngine> = Rc::new(ServedStore(store.map_err(status)?));
            Ok(engine)
        })
    }
}

/// An open store.
struct ServedStore(Store);

impl ServedStore {
    fn ask<T: 'static>(
        &self,
        call: impl AsyncFnOnce(Store) -> Result<T> + 'static,
    ) -> RemoteFuture<T> {
        let store = self.0.clone();
        Box::pin(async move { call(store).await.map_err(status) })
    }
}

impl RemoteEngine for ServedStore {
    fn get(&self, key: Bytes) -> RemoteFuture<Option<Bytes>> {
        self.ask(async move |store| store.get(key).await)
    }

    fn lifetime(&self, key: Bytes) -> RemoteFuture<Option<Lifetime>> {
        self.ask(async move |store| store.lifetime(key).await)
    }

    fn records(&self, keys: Vec<Bytes>) -> RemoteFuture<Vec<Pair>> {
        self.ask(async move |store| store.records(keys).await)
    }

    fn write(&self, write: Write) -> RemoteFuture<WriteResult> {
        self.ask(async move |store| store.write(write).await)
    }

    fn pop(&self, queue: Option<Bytes>, wait: Duration) -> RemoteFuture<WriteResult> {
        self.ask(async move |store| store.pop(queue, wait).await)
    }

    fn page(&self, range: KeyRange, limit: usize) -> RemoteFuture<Vec<Pair>> {
        self.ask(async move |store| store.page(&range, limit).await)
    }

    fn count(&self) -> RemoteFuture<u64> {
        self.ask(async |store| store.count().await)
    }

    fn search(&self, mode: String, pattern: Bytes, limit: usize) -> RemoteFuture<Vec<Bytes>> {
        self.ask(async move |store| store.search(&mode, pattern, limit).await)
    }

    fn synchronize(&self) -> RemoteFuture<()> {
        self.ask(async |store| store.synchronize().await)
    }

    fn backup(&self) -> RemoteFuture<()> {
        self.ask(async |store| store.capabilities().check(Capability::Backup))
    }

    fn inspect(&self) -> RemoteFuture<Vec<(String, String)>> {
        self.ask(async |store| store.inspect().await)
    }

    fn watch(&self, prefix: Bytes) -> RemoteFuture<Box<dyn EngineWatch>> {
        self.ask(async move |store| {
            let watch: Box<dyn EngineWatch> = Box::new(store.watch(prefix).await?);
            Ok(watch)
        })
    }
}

impl EngineWatch for StoreWatch {
    fn next(
        &mut self,
    ) -> Pin<Box<dyn Future<Output = std::result::Result<ChangeEvent, EngineError>> + '_>> {
        Box::pin(async move { StoreWatch::next(self).await.map_err(status) })
    }
}

/// An error as clients of the protocol have it.
fn status(error: Error) -> EngineError {
    let code = match &error {
        Error::Kv(error) => return EngineError::from(error),
        Error::Service(error) => return service_status(error),
        Error::Unsupported { .. } | Error::NotBuiltIn { .. } => TkrzwCode::NotImplemented,
        Error::Address { .. }
        | Error::Setting { .. }
        | Error::ValueTooLong { .. }
        | Error::NotANumber(_) => TkrzwCode::InvalidArgument,
        Error::Unavailable { .. } | Error::Deadline { .. } => TkrzwCode::Network,
        Error::Refused { .. } => TkrzwCode::Permission,
        Error::Contended { .. } => TkrzwCode::Precondition,
        Error::Full { .. } | Error::Server { .. } | Error::Worker(_) => TkrzwCode::System,
    };
    EngineError::new(code, error.to_string())
}

/// The same of another service, whose statuses go on as they are.
fn service_status(error: &tsumugi_rpc::Error) -> EngineError {
    use tsumugi_rpc::Error as Service;
    const UNKNOWN: &str = "; a write may or may not have taken place";
    let (code, suffix) = match error {
        Service::Database { code, message } => return EngineError::new(*code, message.clone()),
        Service::Unsupported { .. } => (TkrzwCode::NotImplemented, ""),
        Service::Refused { code, .. } => match code {
            GrpcCode::Unauthenticated | GrpcCode::PermissionDenied => (TkrzwCode::Permission, ""),
            GrpcCode::InvalidArgument => (TkrzwCode::InvalidArgument, ""),
            GrpcCode::Unimplemented => (TkrzwCode::NotImplemented, ""),
            _ => (TkrzwCode::System, ""),
        },
        Service::Connect { .. } => (TkrzwCode::Network, "; nothing was written"),
        Service::Lost { .. } | Service::Deadline { .. } => (TkrzwCode::Network, UNKNOWN),
        Service::Protocol(_) => (TkrzwCode::System, UNKNOWN),
        _ => (TkrzwCode::System, ""),
    };
    EngineError::new(code, format!("{error}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CallFate;

    fn check(error: Error, code: TkrzwCode, text: &str) {
        let status = status(error);
        assert_eq!(status.code, code, "{status}");
        assert!(status.message.contains(text), "{status}");
    }

    #[test]
    fn refusal_by_name_is_not_implemented_and_a_lost_write_may_have_taken_place() {
        check(
            Error::Unsupported {
                engine: "a store in Redis",
                reason: "has no order of keys",
            },
            TkrzwCode::NotImplemented,
            "a store in Redis has no order",
        );
        check(
            Error::NotBuiltIn {
                engine: "Redis",
                feature: "redis",
            },
            TkrzwCode::NotImplemented,
            "without the feature `redis`",
        );
        for (fate, text) in [
            (CallFate::Unknown, "may or may not have taken place"),
            (CallFate::NotApplied, "nothing was written"),
        ] {
            let lost = Error::Deadline {
                engine: "a store in etcd",
                limit_ms: 5,
                fate,
            };
            check(lost, TkrzwCode::Network, text);
        }
        let lost = tsumugi_rpc::Error::Deadline { limit_ms: 5 };
        check(Error::Service(lost), TkrzwCode::Network, "may or may not");
        let database = tsumugi_rpc::Error::Database {
            code: TkrzwCode::BrokenData,
            message: "damaged".to_owned(),
        };
        check(Error::Service(database), TkrzwCode::BrokenData, "damaged");
    }
}
