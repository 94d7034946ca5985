//! The engine that a store is on, whichever it is. Checks nothing: the store has.
//! Boxed edge: every call.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_kv::{KeyRange, Lifetime, Pair, Write, WriteResult};

use crate::capability::{Capabilities, Capability};
use crate::engine::StoreEngine as _;
use crate::error::Result;
use crate::local::LocalStore;
use crate::subscription::StoreSubscription;
use crate::watch::StoreWatch;

/// The engines.
pub(crate) enum EngineHandle {
    Local(LocalStore),
    #[cfg(feature = "grpc")]
    Tkrzw(crate::tkrzw::TkrzwStore),
    #[cfg(feature = "grpc")]
    Etcd(crate::etcd::EtcdStore),
    #[cfg(feature = "redis")]
    Redis(crate::redis::RedisStore),
}

/// Evaluates the expression on the engine that the handle holds. Awaits nothing.
macro_rules! on_engine {
    ($handle:expr, $engine:ident => $call:expr) => {
        match $handle {
            EngineHandle::Local($engine) => $call,
            #[cfg(feature = "grpc")]
            EngineHandle::Tkrzw($engine) => $call,
            #[cfg(feature = "grpc")]
            EngineHandle::Etcd($engine) => $call,
            #[cfg(feature = "redis")]
            EngineHandle::Redis($engine) => $call,
        }
    };
}

macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl EngineHandle {
            $(pub(crate) fn $name<'a>(&'a self, $($argument: $type),*) -> LocalBoxFuture<'a, Result<$answer>> {
                on_engine!(self, engine => engine.$name($($argument),*).boxed_local())
            })*
        }
    };
}

calls! {
    require(wanted: Capability) -> ();
    get(key: Bytes) -> Option<Bytes>;
    lifetime(key: Bytes) -> Option<Lifetime>;
    records(keys: Vec<Bytes>) -> Vec<Pair>;
    write(write: Write) -> WriteResult;
    pop(queue: Option<Bytes>, wait: Duration) -> WriteResult;
    page(range: &'a KeyRange, limit: usize) -> Vec<Pair>;
    count() -> u64;
    search(mode: &'a str, pattern: Bytes, limit: usize) -> Vec<Bytes>;
    synchronize() -> ();
    inspect() -> Vec<(String, String)>;
    watch(prefix: Bytes) -> StoreWatch;
    publish(channel: Bytes, message: Bytes) -> ();
    subscribe(channel: Bytes) -> StoreSubscription;
}

impl EngineHandle {
    pub(crate) fn capabilities(&self) -> &'static Capabilities {
        on_engine!(self, engine => engine.capabilities())
    }

    /// The engine of this process, if it is that one.
    pub(crate) fn local(&self) -> Option<&LocalStore> {
        match self {
            EngineHandle::Local(local) => Some(local),
            #[cfg(any(feature = "grpc", feature = "redis"))]
            _ => None,
        }
    }
}
