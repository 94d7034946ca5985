//! The key-value store of an application, wherever its records are: in this process, behind a Tkrzw service, in etcd, in Redis. Knows no
//! language of applications. Rule: a call means the same on every engine, and what an engine cannot promise it refuses by name.
//!
//! [`StoreAddress`] reads what an author writes, [`StoreOpener`] opens it, and [`Store`] is what both languages, sessions and `fetch` use.
//! Writes and their answers are `tsumugi-kv`'s [`Write`](tsumugi_kv::Write) and [`WriteResult`](tsumugi_kv::WriteResult) on every engine.
//! An engine is a type that implements `StoreEngine` (`engine.rs`), with a table of what it promises (`capability.rs`).
//!
//! # Features
//!
//! Without any, stores are those of this process: in memory, and in folders where `tsumugi-kv` has its feature `disk`. The place of a store whose engine
//! is not built in is refused with [`Error::NotBuiltIn`].
//!
//! | feature | what it adds | on by default |
//! | --- | --- | --- |
//! | `grpc` | stores on etcd, with a cluster of processes over it, and on servers of Tkrzw-RPC; a folder that another process serves | yes |
//! | `redis` | stores on Redis and Valkey, and channels of several processes over them | yes |
//! | `service` | any of these as what the service of `tsumugi-rpc` serves, by `StoreSource`; has `grpc` with it | yes |

#![forbid(unsafe_code)]

mod access;
mod address;
mod capability;
mod cluster;
mod engine;
mod engine_handle;
mod error;
#[cfg(feature = "grpc")]
mod etcd;
pub mod limits;
mod local;
mod messages;
mod open;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "grpc", feature = "redis"))]
mod server_url;
#[cfg(feature = "service")]
mod service_engine;
mod settings;
mod store;
mod subscription;
#[cfg(feature = "grpc")]
mod tkrzw;
mod watch;

pub use access::StoreAccess;
pub use address::{AbsentEngine, StoreAddress};
pub use capability::{Bound, Capabilities, Capability, Consistency};
pub use error::{CallFate, Error, Result};
#[cfg(feature = "grpc")]
pub use etcd::EtcdAddress;
pub use open::StoreOpener;
#[cfg(feature = "redis")]
pub use redis::RedisAddress;
#[cfg(feature = "service")]
pub use service_engine::StoreSource;
pub use settings::StoreSettings;
pub use store::{Store, WeakStore};
pub use subscription::{ChannelMessage, StoreSubscription};
#[cfg(feature = "grpc")]
pub use tkrzw::TkrzwAddress;
pub use watch::StoreWatch;

/// The page on Redis: its Rust is compiled with the tests.
#[cfg(all(doctest, feature = "redis"))]
#[doc = include_str!("../../../docs/redis.md")]
struct Page;
