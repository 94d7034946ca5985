//! Queues of a store in etcd. The records of a named queue lie where they do on every engine; beside them, out of the store's namespace, is
//! noted which place was taken last, so that a push lands behind all others without a look at them.
//! Rule: a record is given once: what is popped was removed by the transaction that found it first.

use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;
use tsumugi_kv::{ChangeEvent, WriteResult, place_at, place_key, place_of, queue_prefix};

use super::EtcdStore;
use super::client::Repeat;
use super::messages::{KeyValue, RangeRequest, RangeResponse, SortOrder, TxnRequest, path};
use super::queue_notes::place_in;
use super::txn::{delete, found, is_absent, is_unchanged, prefix_end, put, range};
use super::write::Tries;
use crate::error::{Error, Result};

impl EtcdStore {
    /// What the keys of a queue begin with, in etcd.
    pub(super) fn queue(&self, name: &[u8]) -> Bytes {
        self.key(&queue_prefix(name))
    }

    /// Removes the record with the least key of those that begin so.
    pub(super) async fn pop_first(&self, prefix: &Bytes) -> Result<WriteResult> {
        let request = RangeRequest {
            key: prefix.clone(),
            range_end: prefix_end(prefix),
            limit: 1,
            sort_order: SortOrder::None.into(),
            ..RangeRequest::default()
        };
        let mut tries = Tries::new();
        loop {
            let first: RangeResponse = self
                .client
                .call(path::RANGE, &request, Repeat::Safe)
                .await?;
            let Some(first) = first.kvs.into_iter().next() else {
                return Ok(WriteResult::Missing);
            };
            let taking = TxnRequest {
                compare: vec![is_unchanged(&first.key, Some(&first))],
                success: vec![delete(&first.key)],
                failure: Vec::new(),
            };
            if self.txn(&taking).await?.succeeded {
                return Ok(WriteResult::Popped {
                    key: self.without_prefix(&first.key),
                    value: first.value,
                });
            }
            tries.again().await?;
        }
    }

    /// Stores a value behind all others of a queue.
    pub(super) async fn push(&self, name: &[u8], value: Bytes) -> Result<WriteResult> {
        let prefix = queue_prefix(name);
        let mut note_key = BytesMut::from(&self.notes_prefix[..]);
        note_key.extend_from_slice(name);
        let note_key = note_key.freeze();
        let mut tries = Tries::new();
        let mut note = match self.notes.find(&note_key) {
            Some(note) => Some(note),
            None => self.read(&note_key).await?,
        };
        loop {
            let last = place_in(note.as_ref());
            let place = place_at(SystemTime::now()).max(last.saturating_add(1));
            let key = place_key(&prefix, place);
            let stored = self.key(&key);
            let noted = Bytes::copy_from_slice(&place.to_be_bytes());
            let request = TxnRequest {
                compare: vec![
                    is_unchanged(&note_key, note.as_ref()),
                    // Another name for a record may have put it there.
                    is_absent(&stored),
                ],
                success: vec![
                    put(&note_key, noted, 0),
                    put(&stored, value.clone(), 0),
                    range(&note_key),
                ],
                failure: vec![range(&note_key), range(&stored)],
            };
            let answer = self.txn(&request).await?;
            if answer.succeeded {
                if let Some(note) = found(answer.responses.into_iter().nth(2)) {
                    self.notes.keep(note);
                }
                return Ok(WriteResult::Pushed { key });
            }
            let mut read = answer.responses.into_iter();
            note = found(read.next());
            let taken = found(read.next()).and_then(|there| {
                let key = self.without_prefix(&there.key);
                place_of(&prefix, &key)
            });
            if let Some(taken) = taken
                && place_in(note.as_ref()) < taken
            {
                self.step_over(&note_key, note.take(), taken).await?;
                note = self.read(&note_key).await?;
            }
            tries.again().await?;
        }
    }

    /// Notes a place that a record has which no push has put there.
    async fn step_over(&self, note_key: &Bytes, note: Option<KeyValue>, taken: u64) -> Result<()> {
        let noted = Bytes::copy_from_slice(&taken.to_be_bytes());
        let request = TxnRequest {
            compare: vec![is_unchanged(note_key, note.as_ref())],
            success: vec![put(note_key, noted, 0)],
            failure: Vec::new(),
        };
        self.txn(&request).await?;
        Ok(())
    }

    /// Stores a value at the time as its key, or at the first one after it that is free.
    pub(super) async fn push_last(
        &self,
        value: Bytes,
        at: Option<SystemTime>,
    ) -> Result<WriteResult> {
        let mut place = place_at(at.unwrap_or_else(SystemTime::now));
        let mut tries = Tries::new();
        loop {
            let key = Bytes::copy_from_slice(&place.to_be_bytes());
            let stored = self.key(&key);
            let request = TxnRequest {
                compare: vec![is_absent(&stored)],
                success: vec![put(&stored, value.clone(), 0)],
                failure: Vec::new(),
            };
            if self.txn(&request).await?.succeeded {
                return Ok(WriteResult::Pushed { key });
            }
            place = place.saturating_add(1);
            tries.again().await?;
        }
    }

    /// Removes the first record of a queue, and waits for one for this long.
    pub(super) async fn pop_within(
        &self,
        queue: Option<Bytes>,
        wait: Duration,
    ) -> Result<WriteResult> {
        let (prefix, name) = match queue {
            Some(queue) => (self.queue(&queue), queue_prefix(&queue)),
            None => (self.prefix.clone(), Bytes::new()),
        };
        let deadline = Instant::now() + wait;
        let popped = self.pop_first(&prefix).await?;
        if wait.is_zero() || !matches!(popped, WriteResult::Missing) {
            return Ok(popped);
        }
        // Watched before the next look, so that nothing pushed falls between.
        let mut watch = self.watch_prefix(name).await?;
        loop {
            let popped = match self.pop_first(&prefix).await {
                Err(Error::Contended { .. }) if Instant::now() < deadline => continue,
                popped => popped?,
            };
            if !matches!(popped, WriteResult::Missing) {
                return Ok(popped);
            }
            loop {
                match tokio::time::timeout_at(deadline, watch.next()).await {
                    Err(_) => return Ok(WriteResult::Missing),
                    Ok(Ok(ChangeEvent::Removed(_))) => {}
                    Ok(Ok(_)) => break,
                    Ok(Err(error)) => return Err(error),
                }
            }
        }
    }
}
