//! Harm to the members of a cluster of etcd, one after the other. No tests in here.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::pause;

fn faults_max() -> u64 {
    std::env::var("CLUSTER_FAULTS").map_or(6, |count| count.parse().unwrap())
}

/// Harms one member after the other, each in another way, until enough was done.
pub fn harm(cluster: &EtcdCluster, faults: &AtomicU64) {
    for fault in 0..faults_max() {
        let at = usize::try_from(fault).unwrap() % cluster.members();
        match fault % 2 {
            0 => {
                cluster.kill(at);
                rest(50);
                cluster.start_again(at);
            }
            _ => {
                cluster.freeze(at);
                rest(150);
                cluster.thaw(at);
            }
        }
        cluster.wait_all();
        faults.fetch_add(1, SeqCst);
    }
}

/// So many moments.
pub fn rest(moments: usize) {
    (0..moments).for_each(|_| pause());
}
