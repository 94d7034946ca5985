//! The key-value store of an application, wherever its records are: in this process, behind a Tkrzw service, in etcd, in Redis. Knows no
//! language of applications. Rule: a call means the same on every engine, and what an engine cannot promise it refuses by name.
//!
//! [`StoreAddress`] reads what an author writes, [`StoreOpener`] opens it, and [`Store`] is what both languages, sessions and `fetch` use.
//! Writes and their answers are `tsumugi-kv`'s [`Write`](tsumugi_kv::Write) and [`WriteResult`](tsumugi_kv::WriteResult) on every engine.
//! An engine is a type that implements `StoreEngine` (`engine.rs`), with a table of what it promises (`capability.rs`).

#![forbid(unsafe_code)]

mod access;
mod address;
mod capability;
mod cluster;
mod engine;
mod engine_handle;
mod error;
mod etcd;
pub mod limits;
mod local;
mod messages;
mod open;
mod redis;
mod server_url;
mod service_engine;
mod store;
mod tkrzw;
mod watch;

pub use access::StoreAccess;
pub use address::StoreAddress;
pub use capability::{Bound, Capabilities, Capability, Consistency};
pub use error::{CallFate, Error, Result};
pub use etcd::EtcdAddress;
pub use open::StoreOpener;
pub use redis::{RedisAddress, RedisMessage, RedisSubscription};
pub use server_url::StoreSettings;
pub use service_engine::StoreSource;
pub use store::{Store, WeakStore};
pub use tkrzw::TkrzwAddress;
pub use watch::StoreWatch;

/// The page on Redis: its Rust is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/redis.md")]
struct Page;
