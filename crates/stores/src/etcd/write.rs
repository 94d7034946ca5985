//! Writes of a store in etcd: each is one transaction, which holds what it read to be unchanged, so that no write of another caller is lost.
//! Rule: a transaction whose guard failed has changed nothing and is tried again from what is there; one whose answer was lost is not.

use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use tsumugi_kv::{Desired, Error as KvError, Expected, RekeySource, SetMode, Write, WriteResult};

use super::EtcdStore;
use super::client::{Repeat, spread};
use super::messages::{
    DeleteRangeRequest, KeyValue, Request, RequestOp, Response, ResponseOp, TxnRequest,
    TxnResponse, path,
};
use super::status::is_lease_missing;
use super::table::{CAPABILITIES, ENGINE};
use super::txn::{
    attach, delete, found, has_value, is_absent, is_there, is_unchanged, operation, prefix_end,
    put, put_in_place, range,
};
use crate::error::{CallFate, Error, Result};
use crate::limits::{ETCD_EXCHANGE_RECORDS_MAX, ETCD_REQUEST_BYTES_MAX, WRITE_TRIES_MAX};

/// Tries of a write that others precede.
pub(super) struct Tries(usize);

impl Tries {
    pub(super) fn new() -> Tries {
        Tries(0)
    }

    /// Counts one that failed, and rests a moment after the first few, so that callers do not stay in step.
    pub(super) async fn again(&mut self) -> Result<()> {
        self.0 += 1;
        if self.0 >= WRITE_TRIES_MAX {
            return Err(Error::Contended {
                tries: self.0,
                limit: "WRITE_TRIES_MAX",
            });
        }
        if self.0 > 2 {
            let rest_ms = spread(self.0.min(32)) as u64;
            tokio::time::sleep(Duration::from_millis(rest_ms)).await;
        }
        Ok(())
    }
}

/// An answer that lacks what was asked for.
pub(super) fn unexpected() -> Error {
    Error::Server {
        engine: ENGINE,
        message: "an answer without what was asked for".to_owned(),
        fate: CallFate::Unknown,
    }
}

impl EtcdStore {
    pub(super) async fn txn(&self, request: &TxnRequest) -> Result<TxnResponse> {
        self.client.call(path::TXN, request, Repeat::Never).await
    }

    /// A write for whose record a lease may be needed. A lease that is gone is replaced by another one.
    pub(super) async fn txn_with_lease(
        &self,
        ttl: Option<Duration>,
        make: impl Fn(i64) -> TxnRequest,
    ) -> Result<TxnResponse> {
        let mut tries = Tries::new();
        loop {
            let lease = self.leases.lease(&self.client, ttl).await?;
            match self.txn(&make(lease)).await {
                Err(error) if lease != 0 && is_lease_missing(&error) => {
                    self.leases.forget(lease);
                    tries.again().await?;
                }
                answered => return answered,
            }
        }
    }

    pub(super) async fn apply(&self, write: Write) -> Result<WriteResult> {
        match write {
            Write::Set {
                key,
                value,
                mode,
                ttl,
            } => self.set(&self.key(&key), value, mode, ttl).await,
            Write::Remove { key } => self.remove(&self.key(&key)).await,
            Write::Append {
                key,
                value,
                delimiter,
            } => self.append(&self.key(&key), &value, &delimiter).await,
            Write::Increment { key, by, initial } => {
                self.increment(&self.key(&key), by, initial).await
            }
            Write::CompareExchange {
                key,
                expected,
                desired,
            } => self.exchange(&self.key(&key), expected, desired).await,
            Write::CompareExchangeMulti { expected, desired } => {
                self.exchange_multi(expected, desired).await
            }
            Write::Rekey {
                old,
                new,
                mode,
                source,
            } => {
                self.rekey(&self.key(&old), &self.key(&new), mode, source)
                    .await
            }
            Write::Touch { key, ttl } => self.touch(&self.key(&key), ttl).await,
            Write::PopFirst => self.pop_first(&self.prefix).await,
            Write::Pop { queue } => self.pop_first(&self.queue(&queue)).await,
            Write::PushLast { value, at } => self.push_last(value, at).await,
            Write::Push { queue, value } => self.push(&queue, value).await,
            Write::Batch(writes) => self.batch(writes).await,
            Write::Clear => self.clear().await,
            _ => Err(Error::Unsupported {
                engine: ENGINE,
                reason: "has no such write",
            }),
        }
    }

    async fn set(
        &self,
        key: &Bytes,
        value: Bytes,
        mode: SetMode,
        ttl: Option<Duration>,
    ) -> Result<WriteResult> {
        let answer = self
            .txn_with_lease(ttl, |lease| set_request(key, &value, mode, lease))
            .await?;
        Ok(set_result(answer))
    }

    async fn remove(&self, key: &Bytes) -> Result<WriteResult> {
        let request = TxnRequest {
            success: vec![delete(key)],
            ..TxnRequest::default()
        };
        let answer = self.txn(&request).await?;
        answer
            .responses
            .into_iter()
            .next()
            .and_then(removed)
            .ok_or_else(unexpected)
    }

    async fn clear(&self) -> Result<WriteResult> {
        let request = TxnRequest {
            success: vec![operation(Request::DeleteRange(DeleteRangeRequest {
                key: self.prefix.clone(),
                range_end: prefix_end(&self.prefix),
            }))],
            ..TxnRequest::default()
        };
        self.txn(&request).await?;
        Ok(WriteResult::Done)
    }

    /// Changes a record by what it was: `change` gives its value, and what is answered then. A time to live stays as it is.
    async fn update(
        &self,
        key: &Bytes,
        change: impl Fn(Option<&Bytes>) -> Result<(Option<Bytes>, WriteResult)>,
    ) -> Result<WriteResult> {
        let mut tries = Tries::new();
        let mut seen = self.read(key).await?;
        loop {
            let (changed, result) = change(seen.as_ref().map(|seen| &seen.value))?;
            let Some(value) = changed else {
                return Ok(result);
            };
            let request = TxnRequest {
                compare: vec![is_unchanged(key, seen.as_ref())],
                success: vec![match &seen {
                    Some(_) => put_in_place(key, value),
                    None => put(key, value, 0),
                }],
                failure: vec![range(key)],
            };
            let mut answer = self.txn(&request).await?;
            if answer.succeeded {
                return Ok(result);
            }
            seen = found(answer.responses.pop());
            tries.again().await?;
        }
    }

    async fn append(&self, key: &Bytes, value: &Bytes, delimiter: &[u8]) -> Result<WriteResult> {
        let joined = |before: Option<&Bytes>| {
            let joined = match before {
                None => value.clone(),
                Some(before) => {
                    let length = before.len() + delimiter.len() + value.len();
                    CAPABILITIES.check_value(length)?;
                    let mut joined = BytesMut::with_capacity(length);
                    joined.put_slice(before);
                    joined.put_slice(delimiter);
                    joined.put_slice(value);
                    joined.freeze()
                }
            };
            Ok::<_, Error>((Some(joined), WriteResult::Done))
        };
        self.update(key, joined).await
    }

    async fn increment(&self, key: &Bytes, by: i64, initial: i64) -> Result<WriteResult> {
        let added = |before: Option<&Bytes>| {
            let before = match before {
                None => initial,
                Some(value) => match <[u8; 8]>::try_from(&value[..]) {
                    Ok(bytes) => i64::from_be_bytes(bytes),
                    Err(_) => {
                        let length = value.len();
                        return Err(Error::Kv(KvError::NotANumber { length }));
                    }
                },
            };
            if by == i64::MIN {
                return Ok((None, WriteResult::Number(before)));
            }
            let number = before.wrapping_add(by);
            let value = Bytes::copy_from_slice(&number.to_be_bytes());
            Ok::<_, Error>((Some(value), WriteResult::Number(number)))
        };
        self.update(key, added).await
    }

    async fn touch(&self, key: &Bytes, ttl: Option<Duration>) -> Result<WriteResult> {
        let answer = self
            .txn_with_lease(ttl, |lease| TxnRequest {
                compare: vec![is_there(key)],
                success: vec![attach(key, lease)],
                failure: Vec::new(),
            })
            .await?;
        Ok(match answer.succeeded {
            true => WriteResult::Done,
            false => WriteResult::Missing,
        })
    }

    async fn exchange(
        &self,
        key: &Bytes,
        expected: Expected,
        desired: Desired,
    ) -> Result<WriteResult> {
        let (value, ttl) = match &desired {
            Desired::Put(value, ttl) => (Some(value), *ttl),
            Desired::Keep | Desired::Remove => (None, None),
        };
        let compared = match &expected {
            Expected::Value(value) => value.len(),
            Expected::Absent | Expected::Any => 0,
        };
        // Both values may be beyond what one request takes: then the record is looked at here, and its revision is the guard.
        if key.len() * 4 + compared + value.map_or(0, Bytes::len) > ETCD_REQUEST_BYTES_MAX {
            return self.exchange_by_revision(key, &expected, &desired).await;
        }
        let guard = match &expected {
            Expected::Absent => is_absent(key),
            Expected::Any => is_there(key),
            Expected::Value(value) => has_value(key, value),
        };
        let make = |lease| TxnRequest {
            compare: vec![guard.clone()],
            // What was there is read before it is changed.
            success: [Some(range(key)), desired_operation(key, &desired, lease)]
                .into_iter()
                .flatten()
                .collect(),
            failure: vec![range(key)],
        };
        let answer = self.txn_with_lease(ttl, make).await?;
        let actual = found(answer.responses.into_iter().next()).map(|there| there.value);
        Ok(match answer.succeeded {
            true => WriteResult::Exchanged { actual },
            false => WriteResult::Mismatch { actual },
        })
    }

    async fn exchange_by_revision(
        &self,
        key: &Bytes,
        expected: &Expected,
        desired: &Desired,
    ) -> Result<WriteResult> {
        let ttl = match desired {
            Desired::Put(_, ttl) => *ttl,
            Desired::Keep | Desired::Remove => None,
        };
        let mut tries = Tries::new();
        let mut seen = self.read(key).await?;
        loop {
            let actual = seen.as_ref().map(|seen| seen.value.clone());
            let fits = match (&actual, expected) {
                (None, Expected::Absent) | (Some(_), Expected::Any) => true,
                (Some(there), Expected::Value(value)) => there == value,
                _ => false,
            };
            if !fits {
                return Ok(WriteResult::Mismatch { actual });
            }
            let make = |lease| TxnRequest {
                compare: vec![is_unchanged(key, seen.as_ref())],
                success: desired_operation(key, desired, lease).into_iter().collect(),
                failure: vec![range(key)],
            };
            let mut answer = self.txn_with_lease(ttl, make).await?;
            if answer.succeeded {
                return Ok(WriteResult::Exchanged { actual });
            }
            seen = found(answer.responses.pop());
            tries.again().await?;
        }
    }

    async fn exchange_multi(
        &self,
        expected: Vec<(Bytes, Expected)>,
        all: Vec<(Bytes, Desired)>,
    ) -> Result<WriteResult> {
        let compare = expected.iter().map(|(key, expected)| {
            let key = self.key(key);
            match expected {
                Expected::Absent => is_absent(&key),
                Expected::Any => is_there(&key),
                Expected::Value(value) => has_value(&key, value),
            }
        });
        let compare: Vec<_> = compare.collect();
        let mut tries = Tries::new();
        loop {
            let (mut success, mut leases) = (Vec::new(), Vec::new());
            for (at, (key, desired)) in all.iter().enumerate() {
                // etcd changes a record once in a transaction: the last change holds.
                let mut later = all.iter().skip(at + 1);
                let is_change = |desired: &Desired| !matches!(desired, Desired::Keep);
                if later.any(|(other, desired)| other == key && is_change(desired)) {
                    continue;
                }
                let lease = match desired {
                    Desired::Put(_, ttl) => self.leases.lease(&self.client, *ttl).await?,
                    Desired::Keep | Desired::Remove => 0,
                };
                leases.push(lease);
                success.extend(desired_operation(&self.key(key), desired, lease));
            }
            let request = TxnRequest {
                compare: compare.clone(),
                success,
                failure: Vec::new(),
            };
            check_size(&request)?;
            match self.txn(&request).await {
                Ok(answer) => {
                    return Ok(match answer.succeeded {
                        true => WriteResult::Done,
                        false => WriteResult::Mismatch { actual: None },
                    });
                }
                Err(error) if is_lease_missing(&error) => {
                    leases
                        .into_iter()
                        .for_each(|lease| self.leases.forget(lease));
                    tries.again().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn rekey(
        &self,
        old: &Bytes,
        new: &Bytes,
        mode: SetMode,
        source: RekeySource,
    ) -> Result<WriteResult> {
        // Both of one moment.
        let look = || TxnRequest {
            success: vec![range(old), range(new)],
            ..TxnRequest::default()
        };
        let both = |answer: TxnResponse| {
            let mut read = answer.responses.into_iter();
            (found(read.next()), found(read.next()))
        };
        let mut tries = Tries::new();
        let answer = self.client.call(path::TXN, &look(), Repeat::Safe).await?;
        let mut seen: (Option<KeyValue>, Option<KeyValue>) = both(answer);
        loop {
            let (from, there) = &seen;
            let Some(from) = from else {
                return Ok(WriteResult::Missing);
            };
            if let (SetMode::IfAbsent, Some(there)) = (mode, there) {
                let value = there.value.clone();
                return Ok(WriteResult::Duplicate { value });
            }
            if old == new {
                return Ok(WriteResult::Done);
            }
            let mut success = vec![put(new, from.value.clone(), from.lease)];
            if source == RekeySource::Move {
                success.push(delete(old));
            }
            let mut compare = vec![is_unchanged(old, Some(from))];
            if mode == SetMode::IfAbsent {
                compare.push(is_absent(new));
            }
            let request = TxnRequest {
                compare,
                success,
                failure: look().success,
            };
            seen = match self.txn(&request).await {
                Ok(answer) if answer.succeeded => return Ok(WriteResult::Done),
                Ok(answer) => both(answer),
                // It ended just now, and its records with it.
                Err(error) if is_lease_missing(&error) => {
                    both(self.client.call(path::TXN, &look(), Repeat::Safe).await?)
                }
                Err(error) => return Err(error),
            };
            tries.again().await?;
        }
    }

    /// Writes on their own, many in one transaction of transactions.
    async fn batch(&self, writes: Vec<Write>) -> Result<WriteResult> {
        let mut each = Vec::with_capacity(writes.len());
        let mut group: Vec<Write> = Vec::new();
        let mut bytes = 0;
        for write in writes {
            let (key, length) = match &write {
                Write::Set { key, value, .. } => (key, key.len() * 2 + value.len()),
                Write::Remove { key } => (key, key.len()),
                _ => {
                    return Err(Error::Unsupported {
                        engine: ENGINE,
                        reason: "takes only set and delete in a batch",
                    });
                }
            };
            // etcd changes a record once in a transaction.
            let is_twice = group.iter().any(|other| key_of(other) == Some(key));
            // A transaction within counts beside all others.
            let is_full = group.len() + 1 >= ETCD_EXCHANGE_RECORDS_MAX
                || bytes + length + RECORD_BYTES > ETCD_REQUEST_BYTES_MAX;
            if !group.is_empty() && (is_twice || is_full) {
                each.extend(self.apply_group(&group).await?);
                group.clear();
                bytes = 0;
            }
            bytes += length + RECORD_BYTES;
            group.push(write);
        }
        if !group.is_empty() {
            each.extend(self.apply_group(&group).await?);
        }
        Ok(WriteResult::Each(each))
    }

    async fn apply_group(&self, group: &[Write]) -> Result<Vec<tsumugi_kv::Result<WriteResult>>> {
        let mut tries = Tries::new();
        loop {
            let mut leases = Vec::new();
            let mut success = Vec::with_capacity(group.len());
            for write in group {
                success.push(match write {
                    Write::Set {
                        key,
                        value,
                        mode,
                        ttl,
                    } => {
                        let lease = self.leases.lease(&self.client, *ttl).await?;
                        leases.push(lease);
                        match mode {
                            SetMode::Overwrite => put(&self.key(key), value.clone(), lease),
                            SetMode::IfAbsent => {
                                let set = set_request(&self.key(key), value, *mode, lease);
                                operation(Request::Txn(set))
                            }
                        }
                    }
                    write => delete(&self.key(key_of(write).unwrap_or(&Bytes::new()))),
                });
            }
            let request = TxnRequest {
                success,
                ..TxnRequest::default()
            };
            match self.txn(&request).await {
                Ok(answer) => {
                    let results =
                        answer
                            .responses
                            .into_iter()
                            .map(|response| match response.response {
                                Some(Response::Put(_)) => Some(WriteResult::Done),
                                Some(Response::Txn(answer)) => Some(set_result(answer)),
                                response => removed(ResponseOp { response }),
                            });
                    let results: Option<Vec<_>> = results.map(|result| result.map(Ok)).collect();
                    return results.ok_or_else(unexpected);
                }
                Err(error) if is_lease_missing(&error) => {
                    leases
                        .into_iter()
                        .for_each(|lease| self.leases.forget(lease));
                    tries.again().await?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// What a record of a batch takes beside its key and its value.
const RECORD_BYTES: usize = 64;

fn key_of(write: &Write) -> Option<&Bytes> {
    match write {
        Write::Set { key, .. } | Write::Remove { key } => Some(key),
        _ => None,
    }
}

fn set_request(key: &Bytes, value: &Bytes, mode: SetMode, lease: i64) -> TxnRequest {
    let put = put(key, value.clone(), lease);
    match mode {
        SetMode::Overwrite => TxnRequest {
            success: vec![put],
            ..TxnRequest::default()
        },
        SetMode::IfAbsent => TxnRequest {
            compare: vec![is_absent(key)],
            success: vec![put],
            failure: vec![range(key)],
        },
    }
}

fn set_result(answer: TxnResponse) -> WriteResult {
    match answer.succeeded {
        true => WriteResult::Done,
        false => {
            let there = found(answer.responses.into_iter().next());
            let value = there.map(|there| there.value).unwrap_or_default();
            WriteResult::Duplicate { value }
        }
    }
}

fn removed(response: ResponseOp) -> Option<WriteResult> {
    match response.response? {
        Response::DeleteRange(answer) if answer.deleted > 0 => Some(WriteResult::Done),
        Response::DeleteRange(_) => Some(WriteResult::Missing),
        _ => None,
    }
}

fn desired_operation(key: &Bytes, desired: &Desired, lease: i64) -> Option<RequestOp> {
    match desired {
        Desired::Keep => None,
        Desired::Remove => Some(delete(key)),
        Desired::Put(value, _) => Some(put(key, value.clone(), lease)),
    }
}

/// Refuses what etcd does not take in one request.
fn check_size(request: &TxnRequest) -> Result<()> {
    let asked = prost::Message::encoded_len(request);
    match asked > ETCD_REQUEST_BYTES_MAX {
        false => Ok(()),
        true => Err(Error::Kv(KvError::TooMany {
            what: "bytes of records in one exchange",
            asked,
            max: ETCD_REQUEST_BYTES_MAX,
            limit: "ETCD_REQUEST_BYTES_MAX",
        })),
    }
}
