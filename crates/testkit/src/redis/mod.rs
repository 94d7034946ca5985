//! Throwaway servers of Redis for tests: one alone, a master with a replica and three Sentinels, a cluster of three. Not a client, and used by tests
//! only. What fails here panics and says what to do, because a test has no better answer; nothing is skipped in silence.
//!
//! ```no_run
//! let server = tsumugi_testkit::redis::RedisServer::start(&[]);
//! println!("{}", server.url());
//! ```

mod certificates;
mod cluster;
mod inline;
mod limits;
mod sentinels;
mod server;

pub use self::certificates::RedisCertificates;
pub use self::cluster::RedisCluster;
pub use self::sentinels::{RedisSentinels, SERVICE};
pub use self::server::RedisServer;
