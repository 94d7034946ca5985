//! One of many processes: locks, timers that run on one of all, and messages to all, over a database that they share. Knows no language of
//! applications and no request. Rule: who holds a lease stops before another can get it, by a clock that no one sets, and has a token that only grows.
//!
//! A lease is taken and renewed at an engine ([`ClusterEngine`]), which keeps the only clock that counts: the server's for PostgreSQL, that of the
//! machine for SQLite and within one process. What a holder may believe is a pure function of events and times ([`LeaseState`]).
//! Boxed edge: what may ask the engine.
//!
//! ```
//! use std::time::Duration;
//! use tsumugi_cluster::{Cluster, ChannelEvent, LockWait};
//!
//! # async fn example() -> tsumugi_cluster::Result<()> {
//! let cluster = Cluster::of_process();
//! let token = cluster
//!     .lock("report", Duration::from_secs(30), LockWait::Forever, async |token| token)
//!     .await?;
//! assert!(token > 0);
//!
//! let chat = cluster.channel("chat")?;
//! let mut messages = chat.subscribe().await?;
//! chat.publish("hello").await?;
//! assert_eq!(messages.recv().await, ChannelEvent::Message("hello".into()));
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(example()).unwrap();
//! ```

#![forbid(unsafe_code)]

mod abandon;
mod attempt;
mod channel;
mod channel_figures;
mod checks;
mod clock;
mod cluster;
mod computation;
mod engine;
mod error;
mod fence;
mod follower;
mod hub;
mod kept_in_memory;
mod lease;
pub mod limits;
mod message_queue;
mod message_table;
mod postgres;
mod process;
mod sqlite;
mod state;
mod table;
mod timer;

pub use abandon::abandon_by;
pub use channel::MessageChannel;
pub use channel_figures::{ChannelFigures, channel_figures};
pub use clock::BootTime;
pub use cluster::{Cluster, LockWait};
pub use computation::{COMPUTATION_TTL, computation_name};
pub use engine::{
    ClusterEngine, EngineFuture, KeptChannelName, KeptMessage, KeptRange, LeaseClaim, ReleaseKind,
    TakeAnswer, TakeRequest,
};
pub use error::{Error, Result};
pub use fence::fence;
pub use follower::{FollowEvent, Follower, KeptChannel, event_position};
pub use hub::{Hub, Subscription};
pub use lease::Lease;
pub use message_queue::ChannelEvent;
pub use state::LeaseState;
pub use timer::ClusterTimer;
