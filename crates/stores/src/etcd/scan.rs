//! Pages of a store in etcd. Rule: how many records one request asks for follows from what the last ones weighed, since etcd bounds no answer by
//! its bytes.

use std::ops::Bound;

use bytes::Bytes;
use tsumugi_kv::limits::PAGE_BYTES_MAX;
use tsumugi_kv::{KeyRange, Pair, ReadDirection};
use tsumugi_rpc::Error as RpcError;

use super::EtcdStore;
use super::client::Repeat;
use super::messages::{RangeRequest, RangeResponse, SortOrder, path};
use super::txn::{after, prefix_end};
use crate::error::{Error, Result};
use crate::limits::{ETCD_ANSWER_BYTES_MAX, ETCD_PAGE_RECORDS_MAX, ETCD_VALUE_BYTES_MAX};

/// Records of the first request, which fit whatever their values are.
const FIRST: usize = ETCD_ANSWER_BYTES_MAX / (2 * ETCD_VALUE_BYTES_MAX);

impl EtcdStore {
    /// The bounds of a range in etcd: the first key, and the first one that does not belong to it.
    fn bounds(&self, range: &KeyRange) -> (Bytes, Bytes) {
        let from = match &range.from {
            Bound::Unbounded => self.prefix.clone(),
            Bound::Included(key) => self.key(key),
            Bound::Excluded(key) => after(&self.key(key)),
        };
        let to = match &range.to {
            Bound::Unbounded => prefix_end(&self.prefix),
            Bound::Included(key) => after(&self.key(key)),
            Bound::Excluded(key) => self.key(key),
        };
        (from, to)
    }

    pub(super) async fn read_page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Pair>> {
        let (mut from, mut to) = self.bounds(range);
        let limit = limit.min(tsumugi_kv::limits::PAGE_RECORDS_MAX);
        let (mut page, mut bytes, mut wanted) = (Vec::new(), 0, FIRST);
        while from < to {
            let asked = wanted.min(limit - page.len());
            let request = RangeRequest {
                key: from.clone(),
                range_end: to.clone(),
                limit: asked as i64,
                sort_order: match range.direction {
                    ReadDirection::Forward => SortOrder::None.into(),
                    ReadDirection::Backward => SortOrder::Descend.into(),
                },
                count_only: false,
            };
            let read = self.client.call(path::RANGE, &request, Repeat::Safe);
            let read: RangeResponse = match read.await {
                // What others have put there may be larger than what is put here.
                Err(Error::Service(RpcError::TooLarge { .. })) if wanted > 1 => {
                    wanted = (wanted / 4).max(1);
                    continue;
                }
                read => read?,
            };
            let (count, before) = (read.kvs.len(), bytes);
            for record in read.kvs {
                bytes += record.key.len() + record.value.len();
                match range.direction {
                    ReadDirection::Forward => from = after(&record.key),
                    ReadDirection::Backward => to = record.key.clone(),
                }
                page.push((self.without_prefix(&record.key), record.value));
            }
            if count < asked || page.len() >= limit || bytes >= PAGE_BYTES_MAX {
                break;
            }
            // As many as weigh a page, if they go on like these.
            let weight = ((bytes - before) / count.max(1)).max(1);
            let fitting = (PAGE_BYTES_MAX - bytes) / weight;
            wanted = fitting.clamp(FIRST, ETCD_PAGE_RECORDS_MAX);
        }
        Ok(page)
    }

    pub(super) async fn count_records(&self) -> Result<u64> {
        let request = RangeRequest {
            key: self.prefix.clone(),
            range_end: prefix_end(&self.prefix),
            count_only: true,
            ..RangeRequest::default()
        };
        let counted: RangeResponse = self
            .client
            .call(path::RANGE, &request, Repeat::Safe)
            .await?;
        Ok(u64::try_from(counted.count).unwrap_or_default())
    }
}
