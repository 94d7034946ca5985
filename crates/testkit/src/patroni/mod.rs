//! Throwaway clusters of PostgreSQL under Patroni, with an etcd of their own, whose members are killed, stopped and cut off. Not a driver.
//!
//! ```no_run
//! use std::time::Duration;
//! let cluster = tsumugi_testkit::patroni::PatroniCluster::start();
//! let first = cluster.wait_primary(Duration::from_secs(60));
//! cluster.kill(first);
//! let second = cluster.wait_other_primary(first, Duration::from_secs(60));
//! cluster.start_again(first);
//! println!("{} writes at {second} now", cluster.urls("postgres"));
//! ```

mod cluster;
mod configuration;
mod limits;
mod member;

pub use self::cluster::{PatroniCluster, PatroniOptions};
