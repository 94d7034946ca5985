//! Many records: split among calls, several of which are under way at a time. Keeps the order of what it returns.
//! Each record is on its own; what a failed call held may be stored in part.

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use tsumugi_kv::SetMode;

use super::Client;
use super::methods::{done, is_done};
use crate::code::TkrzwCode;
use crate::error::Result;
use crate::limits::{CALL_BYTES_MAX, CALL_RECORDS_MAX, CALLS_MAX};
use crate::proto::*;

/// Cuts items into groups of one call each.
pub(super) fn groups<T>(
    items: impl IntoIterator<Item = T>,
    bytes: impl Fn(&T) -> usize,
) -> Vec<Vec<T>> {
    let (mut groups, mut group, mut size) = (Vec::new(), Vec::new(), 0);
    for item in items {
        let more = bytes(&item);
        if !group.is_empty() && (group.len() >= CALL_RECORDS_MAX || size + more > CALL_BYTES_MAX) {
            groups.push(std::mem::take(&mut group));
            size = 0;
        }
        size += more;
        group.push(item);
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

/// The outcomes of calls in their order, of which so many are under way at a time.
pub(super) async fn outcomes<T>(
    calls: impl Iterator<Item = impl Future<Output = Result<T>>>,
    underway_max: usize,
) -> Result<Vec<T>> {
    let calls = stream::iter(calls).buffered(underway_max);
    calls.try_collect().await
}

impl Client {
    /// The records of those keys that exist, in the order of the keys.
    pub fn records(
        &self,
        keys: impl IntoIterator<Item = Bytes>,
    ) -> LocalBoxFuture<'_, Result<Vec<(Bytes, Bytes)>>> {
        self.records_of(groups(keys, Bytes::len))
    }

    fn records_of(
        &self,
        groups: Vec<Vec<Bytes>>,
    ) -> LocalBoxFuture<'_, Result<Vec<(Bytes, Bytes)>>> {
        let calls = groups.into_iter().map(move |keys| async move {
            let request = GetMultiRequest {
                dbm_index: self.index(),
                keys,
            };
            let answer: GetMultiResponse = self.call("GetMulti", &request).await?;
            is_done(answer.status, TkrzwCode::NotFound)?;
            Ok(answer.records)
        });
        async move {
            let records = outcomes(calls, CALLS_MAX).await?.into_iter().flatten();
            Ok(records.map(|pair| (pair.first, pair.second)).collect())
        }
        .boxed_local()
    }

    /// Stores records. `false` when [`SetMode::IfAbsent`] left one as it was. Keys should differ: of two values for one key, either
    /// may be the last.
    pub fn set_multi(
        &self,
        records: impl IntoIterator<Item = (Bytes, Bytes)>,
        mode: SetMode,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        self.set_groups(groups(records, pair_bytes), mode)
    }

    fn set_groups(
        &self,
        groups: Vec<Vec<(Bytes, Bytes)>>,
        mode: SetMode,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        let calls = groups.into_iter().map(move |records| async move {
            let request = SetMultiRequest {
                dbm_index: self.index(),
                records: pairs(records),
                overwrite: mode == SetMode::Overwrite,
            };
            let answer: SetMultiResponse = self.call("SetMulti", &request).await?;
            is_done(answer.status, TkrzwCode::Duplication)
        });
        async move { all(outcomes(calls, CALLS_MAX).await?) }.boxed_local()
    }

    /// Removes records. `false` when one of them was not there.
    pub fn remove_multi(
        &self,
        keys: impl IntoIterator<Item = Bytes>,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        self.remove_groups(groups(keys, Bytes::len))
    }

    fn remove_groups(&self, groups: Vec<Vec<Bytes>>) -> LocalBoxFuture<'_, Result<bool>> {
        let calls = groups.into_iter().map(move |keys| async move {
            let request = RemoveMultiRequest {
                dbm_index: self.index(),
                keys,
            };
            let answer: RemoveMultiResponse = self.call("RemoveMulti", &request).await?;
            is_done(answer.status, TkrzwCode::NotFound)
        });
        async move { all(outcomes(calls, CALLS_MAX).await?) }.boxed_local()
    }

    /// Adds to the ends of values.
    pub fn append_multi(
        &self,
        records: impl IntoIterator<Item = (Bytes, Bytes)>,
        delimiter: Bytes,
    ) -> LocalBoxFuture<'_, Result<()>> {
        self.append_groups(groups(records, pair_bytes), delimiter)
    }

    fn append_groups(
        &self,
        groups: Vec<Vec<(Bytes, Bytes)>>,
        delimiter: Bytes,
    ) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            // One after the other: two parts for one key stay in order.
            for records in groups {
                let request = AppendMultiRequest {
                    dbm_index: self.index(),
                    records: pairs(records),
                    delim: delimiter.clone(),
                };
                let answer: AppendMultiResponse = self.call("AppendMulti", &request).await?;
                done(answer.status)?;
            }
            Ok(())
        }
        .boxed_local()
    }
}

/// What a record takes of a call.
pub(super) fn pair_bytes((key, value): &(Bytes, Bytes)) -> usize {
    key.len() + value.len()
}

pub(super) fn pairs(records: Vec<(Bytes, Bytes)>) -> Vec<BytesPair> {
    let records = records.into_iter();
    records
        .map(|(first, second)| BytesPair { first, second })
        .collect()
}

fn all(outcomes: Vec<bool>) -> Result<bool> {
    Ok(outcomes.into_iter().all(|outcome| outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_end_at_either_limit() {
        let sizes = |items: Vec<usize>| -> Vec<usize> {
            groups(items, |bytes| *bytes).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(vec![]), [0_usize; 0]);
        assert_eq!(sizes(vec![1; CALL_RECORDS_MAX]), [CALL_RECORDS_MAX]);
        assert_eq!(sizes(vec![1; CALL_RECORDS_MAX + 1]), [CALL_RECORDS_MAX, 1]);
        assert_eq!(
            sizes(vec![CALL_BYTES_MAX, 1, CALL_BYTES_MAX + 1]),
            [1, 1, 1]
        );
    }
}
