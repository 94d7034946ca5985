//! Stores in etcd: every operation is linearizable, through the death of any minority of its servers. Reads are quorum reads, writes are
//! guarded transactions (`write.rs`), times to live are leases (`leases.rs`), watches go on where they were (`watch.rs`).
//! Rule: the records lie below a namespace of their own, as they are: other clients of the cluster read and write the same values.

mod address;
mod change_queue;
mod client;
mod cluster;
mod leases;
mod messages;
mod queue;
mod queue_notes;
mod scan;
mod status;
mod table;
mod txn;
mod watch;
mod watch_permit;
mod write;

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tsumugi_kv::{KeyRange, Lifetime, Pair, Write, WriteResult};
use tsumugi_worker::Pool;

pub use self::address::EtcdAddress;
pub(crate) use self::change_queue::ChangeQueue;
use self::client::{ConnectionSettings, EtcdClient, Repeat};
pub(crate) use self::cluster::cluster;
use self::leases::LeaseTable;
use self::messages::{
    KeyValue, LeaseTimeToLiveRequest, LeaseTimeToLiveResponse, RangeRequest, RangeResponse,
    StatusRequest, StatusResponse, TxnRequest, TxnResponse, path,
};
use self::queue_notes::QueueNotes;
pub(crate) use self::table::CAPABILITIES;
use self::watch_permit::WatchCount;
use crate::capability::{Capabilities, Capability};
use crate::engine::StoreEngine;
use crate::error::Result;
use crate::watch::StoreWatch;

/// A namespace of a cluster.
#[derive(Clone)]
pub(crate) struct EtcdStore {
    client: Rc<EtcdClient>,
    leases: Rc<LeaseTable>,
    watches: WatchCount,
    notes: Rc<QueueNotes>,
    /// What its keys begin with in etcd.
    prefix: Bytes,
    /// What the keys of its queues' notes begin with.
    notes_prefix: Bytes,
    /// What the keys of locks, timers and channels begin with.
    cluster_prefix: Bytes,
}

impl EtcdStore {
    /// Asks once whether the cluster is there. `open` are the stores whose client may be shared; `configured` is the file of authorities that
    /// holds for all.
    pub(crate) async fn open(
        address: &EtcdAddress,
        open: impl Iterator<Item = EtcdStore>,
        configured: Option<&Path>,
        pool: &Pool,
    ) -> Result<EtcdStore> {
        let settings = ConnectionSettings::of(address, configured);
        let (prefix, notes_prefix) = (address.prefix(), address.notes_prefix());
        let cluster_prefix = address.cluster_prefix();
        let shared = { open }.find(|other| other.client.settings == settings);
        let store = match shared {
            Some(other) => EtcdStore {
                // The notes are of one namespace.
                notes: match other.prefix == prefix {
                    true => other.notes,
                    false => Rc::default(),
                },
                prefix,
                notes_prefix,
                cluster_prefix,
                ..other
            },
            None => EtcdStore {
                client: EtcdClient::connect(settings, pool).await?,
                leases: Rc::default(),
                watches: Rc::default(),
                notes: Rc::default(),
                prefix,
                notes_prefix,
                cluster_prefix,
            },
        };
        store.read(&store.prefix).await?;
        Ok(store)
    }

    /// A key in etcd.
    fn key(&self, key: &[u8]) -> Bytes {
        let mut whole = BytesMut::with_capacity(self.prefix.len() + key.len());
        whole.extend_from_slice(&self.prefix);
        whole.extend_from_slice(key);
        whole.freeze()
    }

    /// The key of a record of this store.
    fn without_prefix(&self, key: &Bytes) -> Bytes {
        key.slice(self.prefix.len().min(key.len())..)
    }

    /// The record at a key in etcd, as a majority has it.
    async fn read(&self, key: &Bytes) -> Result<Option<KeyValue>> {
        let request = RangeRequest {
            key: key.clone(),
            ..RangeRequest::default()
        };
        let read: RangeResponse = self
            .client
            .call(path::RANGE, &request, Repeat::Safe)
            .await?;
        Ok(read.kvs.into_iter().next())
    }
}

impl StoreEngine for EtcdStore {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    async fn get(&self, key: Bytes) -> Result<Option<Bytes>> {
        let found = self.read(&self.key(&key)).await?;
        Ok(found.map(|found| found.value))
    }

    async fn lifetime(&self, key: Bytes) -> Result<Option<Lifetime>> {
        let Some(found) = self.read(&self.key(&key)).await? else {
            return Ok(None);
        };
        if found.lease == 0 {
            return Ok(Some(Lifetime::Unlimited));
        }
        let request = LeaseTimeToLiveRequest { id: found.lease };
        let left: LeaseTimeToLiveResponse = self
            .client
            .call(path::LEASE_TIME_TO_LIVE, &request, Repeat::Safe)
            .await?;
        // A lease that is gone took its records along.
        let left = u64::try_from(left.ttl).ok().map(Duration::from_secs);
        Ok(left.map(Lifetime::Left))
    }

    async fn records(&self, keys: Vec<Bytes>) -> Result<Vec<Pair>> {
        let mut records = Vec::new();
        for group in keys.chunks(RECORDS_AT_ONCE) {
            let request = TxnRequest {
                success: group.iter().map(|key| txn::range(&self.key(key))).collect(),
                ..TxnRequest::default()
            };
            let read: TxnResponse = self.client.call(path::TXN, &request, Repeat::Safe).await?;
            for (key, response) in group.iter().zip(read.responses) {
                if let Some(there) = txn::found(Some(response)) {
                    records.push((key.clone(), there.value));
                }
            }
        }
        Ok(records)
    }

    async fn write(&self, write: Write) -> Result<WriteResult> {
        self.apply(write).await
    }

    async fn pop(&self, queue: Option<Bytes>, wait: Duration) -> Result<WriteResult> {
        self.pop_within(queue, wait).await
    }

    async fn page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Pair>> {
        self.read_page(range, limit).await
    }

    async fn count(&self) -> Result<u64> {
        self.count_records().await
    }

    async fn search(&self, _mode: &str, _pattern: Bytes, _limit: usize) -> Result<Vec<Bytes>> {
        CAPABILITIES.check(Capability::Search)?;
        Ok(Vec::new())
    }

    async fn synchronize(&self) -> Result<()> {
        // What is acknowledged is on the disks of a majority.
        Ok(())
    }

    async fn inspect(&self) -> Result<Vec<(String, String)>> {
        let status: StatusResponse = self
            .client
            .call(path::STATUS, &StatusRequest {}, Repeat::Safe)
            .await?;
        let revision = status.header.unwrap_or_default().revision;
        Ok(vec![
            ("engine".to_owned(), "etcd".to_owned()),
            ("version".to_owned(), status.version),
            ("revision".to_owned(), revision.to_string()),
            ("database_bytes".to_owned(), status.db_size.to_string()),
            ("leader".to_owned(), format!("{:x}", status.leader)),
        ])
    }

    async fn watch(&self, prefix: Bytes) -> Result<StoreWatch> {
        self.watch_prefix(prefix).await
    }
}

/// Records of one read of several: as many as fit one answer, whatever their values are.
const RECORDS_AT_ONCE: usize = 16;
