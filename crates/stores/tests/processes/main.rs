//! One of many processes over etcd and Redis: what every engine of a cluster does, by the tests of `crates/cluster`, and what these two do while their
//! servers die. Each test that does harm has servers of its own.

#[path = "../../../cluster/tests/behaviour/mod.rs"]
mod behaviour;
#[path = "../engines/mod.rs"]
#[expect(dead_code, reason = "stores are opened here, and nothing else is done")]
mod engines;
mod faults;
mod model;
mod redis;

use std::time::Duration;

use tokio::task::LocalSet;
use tsumugi_cluster::Cluster;
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::redis::RedisServer;

use crate::engines::open;

/// A place that several processes share, each of which the test stands for by a store of its own.
struct Place(String);

impl Place {
    /// A cluster as another process has it.
    async fn cluster(&self) -> Cluster {
        open(&self.0).await.unwrap().cluster().unwrap()
    }

    /// How long a lease lasts that a test waits for the end of. etcd grants two seconds at least.
    fn short(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// The period of timers: half of it is a lease.
    fn period(&self) -> Duration {
        Duration::from_secs(4)
    }

    /// How much later than a period a timer is due that nobody waited for.
    fn late(&self) -> Duration {
        Duration::from_secs(2)
    }
}

/// Runs a test at a place, on a runtime like a worker's.
fn at(place: Place, test: impl AsyncFnOnce(Place)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, test(place));
}

/// Runs a test with each engine that keeps leases.
fn with_each(test: impl AsyncFn(Place)) {
    at(Place(EtcdCluster::shared().place("processes")), &test);
}

/// Runs a test with each engine that carries messages.
fn with_each_carrier(test: impl AsyncFn(Place)) {
    with_each(&test);
    at(Place(RedisServer::shared().url()), &test);
}
