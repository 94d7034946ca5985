//! The engine that a store is on, whichever it is. Checks nothing: the store has.
//! Boxed edge: every call.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_kv::{KeyRange, Lifetime, Pair, Write, WriteResult};

use crate::capability::{Capabilities, Capability};
use crate::engine::StoreEngine as _;
use crate::error::Result;
use crate::etcd::EtcdStore;
use crate::local::LocalStore;
use crate::redis::RedisStore;
use crate::tkrzw::TkrzwStore;
use crate::watch::StoreWatch;

/// The engines.
pub(crate) enum EngineHandle {
    Local(LocalStore),
    Tkrzw(TkrzwStore),
    Etcd(EtcdStore),
    Redis(RedisStore),
}

macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl EngineHandle {
            $(pub(crate) fn $name<'a>(&'a self, $($argument: $type),*) -> LocalBoxFuture<'a, Result<$answer>> {
                match self {
                    EngineHandle::Local(engine) => engine.$name($($argument),*).boxed_local(),
                    EngineHandle::Tkrzw(engine) => engine.$name($($argument),*).boxed_local(),
                    EngineHandle::Etcd(engine) => engine.$name($($argument),*).boxed_local(),
                    EngineHandle::Redis(engine) => engine.$name($($argument),*).boxed_local(),
                }
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
}

impl EngineHandle {
    pub(crate) fn capabilities(&self) -> &'static Capabilities {
        match self {
            EngineHandle::Local(engine) => engine.capabilities(),
            EngineHandle::Tkrzw(engine) => engine.capabilities(),
            EngineHandle::Etcd(engine) => engine.capabilities(),
            EngineHandle::Redis(engine) => engine.capabilities(),
        }
    }
}
