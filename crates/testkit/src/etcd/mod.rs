//! Throwaway clusters of etcd. Knows no client but etcdctl.

mod cluster;
mod limits;

pub use self::cluster::{EtcdCluster, EtcdOptions};
