//! The calls as methods of a client: each sends a request and returns the outcome in a type of its own. Keeps no state.
//! A missing record, a duplicate and a comparison that fails are outcomes; everything else that is no success is an error.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_kv::{Desired, RekeySource, SetMode};

use super::Client;
use super::records::{CompareExchange, ExchangeOutcome, RekeyOutcome};
use crate::code::TkrzwCode;
use crate::error::{Error, Result};
use crate::method::Method;
use crate::proto::*;

/// Sorts a status: one of the outcomes that the caller expects, or an error.
fn outcome(status: Option<StatusProto>, expected: &[TkrzwCode]) -> Result<TkrzwCode> {
    let status = status.unwrap_or_default();
    let code = TkrzwCode::of(status.code);
    if code == TkrzwCode::Success || expected.contains(&code) {
        return Ok(code);
    }
    let message = status.message;
    Err(Error::Database { code, message })
}

pub(super) fn done(status: Option<StatusProto>) -> Result<()> {
    outcome(status, &[]).map(drop)
}

pub(super) fn is_done(status: Option<StatusProto>, otherwise: TkrzwCode) -> Result<bool> {
    outcome(status, &[otherwise]).map(|code| code == TkrzwCode::Success)
}

impl Client {
    /// The server sends the message back.
    pub fn echo<'a>(&'a self, message: &'a str) -> LocalBoxFuture<'a, Result<String>> {
        async move {
            let message = message.to_owned();
            let answer: EchoResponse = self.call("Echo", &EchoRequest { message }).await?;
            done(answer.status)?;
            Ok(answer.echo)
        }
        .boxed_local()
    }

    /// Names and values about the database; about the server itself at index -1.
    pub fn inspect(&self) -> LocalBoxFuture<'_, Result<Vec<(String, String)>>> {
        async move {
            let request = InspectRequest {
                dbm_index: self.index,
            };
            let answer: InspectResponse = self.call("Inspect", &request).await?;
            done(answer.status)?;
            let records = answer.records.into_iter();
            Ok(records.map(|pair| (pair.first, pair.second)).collect())
        }
        .boxed_local()
    }

    /// The value at a key.
    pub fn get(&self, key: impl Into<Bytes>) -> LocalBoxFuture<'_, Result<Option<Bytes>>> {
        self.send_get(GetRequest {
            dbm_index: self.index,
            key: key.into(),
            omit_value: false,
        })
    }

    fn send_get(&self, request: GetRequest) -> LocalBoxFuture<'_, Result<Option<Bytes>>> {
        async move {
            let answer: GetResponse = self.call("Get", &request).await?;
            let found = is_done(answer.status, TkrzwCode::NotFound)?;
            Ok(found.then_some(answer.value))
        }
        .boxed_local()
    }

    /// Stores a value. `false` when a record is there and [`SetMode::IfAbsent`] leaves it.
    pub fn set(
        &self,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        mode: SetMode,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        self.send_set(SetRequest {
            dbm_index: self.index,
            key: key.into(),
            value: value.into(),
            overwrite: mode == SetMode::Overwrite,
        })
    }

    fn send_set(&self, request: SetRequest) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let answer: SetResponse = self.call("Set", &request).await?;
            is_done(answer.status, TkrzwCode::Duplication)
        }
        .boxed_local()
    }

    /// Removes a record. `false` when there is none.
    pub fn remove(&self, key: impl Into<Bytes>) -> LocalBoxFuture<'_, Result<bool>> {
        self.send_remove(RemoveRequest {
            dbm_index: self.index,
            key: key.into(),
        })
    }

    fn send_remove(&self, request: RemoveRequest) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let answer: RemoveResponse = self.call("Remove", &request).await?;
            is_done(answer.status, TkrzwCode::NotFound)
        }
        .boxed_local()
    }

    /// Adds to the end of a value, after a delimiter when there is one already.
    pub fn append(
        &self,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        delimiter: impl Into<Bytes>,
    ) -> LocalBoxFuture<'_, Result<()>> {
        self.send_append(AppendRequest {
            dbm_index: self.index,
            key: key.into(),
            value: value.into(),
            delim: delimiter.into(),
        })
    }

    fn send_append(&self, request: AppendRequest) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let answer: AppendResponse = self.call("Append", &request).await?;
            done(answer.status)
        }
        .boxed_local()
    }

    /// Adds to a number and returns it. [`i64::MIN`] only reads.
    pub fn increment(
        &self,
        key: impl Into<Bytes>,
        by: i64,
        initial: i64,
    ) -> LocalBoxFuture<'_, Result<i64>> {
        self.send_increment(IncrementRequest {
            dbm_index: self.index,
            key: key.into(),
            increment: by,
            initial,
        })
    }

    fn send_increment(&self, request: IncrementRequest) -> LocalBoxFuture<'_, Result<i64>> {
        async move {
            let answer: IncrementResponse = self.call("Increment", &request).await?;
            done(answer.status)?;
            Ok(answer.current)
        }
        .boxed_local()
    }

    /// Changes a record that is as expected. With a time to live of what it becomes this is a call of our own.
    pub fn compare_exchange(
        &self,
        exchange: CompareExchange,
    ) -> LocalBoxFuture<'_, Result<ExchangeOutcome>> {
        async move {
            if let Desired::Put(_, Some(ttl)) = exchange.desired {
                return self.compare_exchange_with_ttl(exchange, ttl).await;
            }
            let wait = exchange.wait;
            let request = exchange.into_request(self.index);
            let method = Method::named("CompareExchange");
            let answer: CompareExchangeResponse = self.call_for(method, &request, wait).await?;
            let exchanged = is_done(answer.status, TkrzwCode::Infeasible)?;
            let actual = answer.found.then_some(answer.actual);
            Ok(ExchangeOutcome { exchanged, actual })
        }
        .boxed_local()
    }

    /// Changes records if all are as expected. `false` when one is not.
    pub fn compare_exchange_multi(
        &self,
        expected: Vec<RecordState>,
        desired: Vec<RecordState>,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let request = CompareExchangeMultiRequest {
                dbm_index: self.index,
                expected,
                desired,
            };
            let answer: CompareExchangeMultiResponse =
                self.call("CompareExchangeMulti", &request).await?;
            is_done(answer.status, TkrzwCode::Infeasible)
        }
        .boxed_local()
    }

    /// Gives a record another key.
    pub fn rekey(
        &self,
        old: impl Into<Bytes>,
        new: impl Into<Bytes>,
        mode: SetMode,
        source: RekeySource,
    ) -> LocalBoxFuture<'_, Result<RekeyOutcome>> {
        self.send_rekey(RekeyRequest {
            dbm_index: self.index,
            old_key: old.into(),
            new_key: new.into(),
            overwrite: mode == SetMode::Overwrite,
            copying: source == RekeySource::Copy,
        })
    }

    fn send_rekey(&self, request: RekeyRequest) -> LocalBoxFuture<'_, Result<RekeyOutcome>> {
        async move {
            let answer: RekeyResponse = self.call("Rekey", &request).await?;
            Ok(
                match outcome(
                    answer.status,
                    &[TkrzwCode::NotFound, TkrzwCode::Duplication],
                )? {
                    TkrzwCode::NotFound => RekeyOutcome::Missing,
                    TkrzwCode::Duplication => RekeyOutcome::Duplicate,
                    _ => RekeyOutcome::Done,
                },
            )
        }
        .boxed_local()
    }

    /// Takes the first record out, waiting for one for this long.
    pub fn pop_first(&self, wait: Duration) -> LocalBoxFuture<'_, Result<Option<(Bytes, Bytes)>>> {
        async move {
            let request = PopFirstRequest {
                dbm_index: self.index,
                omit_key: false,
                omit_value: false,
                retry_wait: wait.as_secs_f64(),
            };
            let method = Method::named("PopFirst");
            let answer: PopFirstResponse = self.call_for(method, &request, wait).await?;
            let found = is_done(answer.status, TkrzwCode::NotFound)?;
            Ok(found.then_some((answer.key, answer.value)))
        }
        .boxed_local()
    }

    /// Adds a record that is the last, and wakes those who wait for one. Its key is made of the time; now without it.
    pub fn push_last(
        &self,
        value: impl Into<Bytes>,
        at: Option<SystemTime>,
    ) -> LocalBoxFuture<'_, Result<()>> {
        let since = at.map(|at| {
            at.duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default()
        });
        self.send_push_last(PushLastRequest {
            dbm_index: self.index,
            value: value.into(),
            wtime: since.map_or(-1.0, |since| since.as_secs_f64()),
            notify: true,
        })
    }

    fn send_push_last(&self, request: PushLastRequest) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let answer: PushLastResponse = self.call("PushLast", &request).await?;
            done(answer.status)
        }
        .boxed_local()
    }

    /// How many records there are.
    pub fn count(&self) -> LocalBoxFuture<'_, Result<u64>> {
        async move {
            let request = CountRequest {
                dbm_index: self.index,
            };
            let answer: CountResponse = self.call("Count", &request).await?;
            done(answer.status)?;
            Ok(u64::try_from(answer.count).unwrap_or(0))
        }
        .boxed_local()
    }

    /// Bytes that the database takes.
    pub fn file_size(&self) -> LocalBoxFuture<'_, Result<u64>> {
        async move {
            let request = GetFileSizeRequest {
                dbm_index: self.index,
            };
            let answer: GetFileSizeResponse = self.call("GetFileSize", &request).await?;
            done(answer.status)?;
            Ok(u64::try_from(answer.file_size).unwrap_or(0))
        }
        .boxed_local()
    }

    /// Removes every record.
    pub fn clear(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let request = ClearRequest {
                dbm_index: self.index,
            };
            let answer: ClearResponse = self.call("Clear", &request).await?;
            done(answer.status)
        }
        .boxed_local()
    }

    /// Has the disk confirm what was written.
    pub fn synchronize(&self) -> LocalBoxFuture<'_, Result<()>> {
        self.synchronize_with(Vec::new())
    }

    /// Has the disk confirm what was written, and copies the database beside itself, under its name and this suffix.
    pub fn backup<'a>(&'a self, suffix: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let params = vec![StringPair {
                first: "make_backup".to_owned(),
                second: suffix.to_owned(),
            }];
            self.synchronize_with(params).await
        }
        .boxed_local()
    }

    fn synchronize_with(&self, params: Vec<StringPair>) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let request = SynchronizeRequest {
                dbm_index: self.index,
                hard: true,
                params,
            };
            let answer: SynchronizeResponse = self.call("Synchronize", &request).await?;
            done(answer.status)
        }
        .boxed_local()
    }

    /// Has the database put itself in better order.
    pub fn rebuild(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let request = RebuildRequest {
                dbm_index: self.index,
                params: Vec::new(),
            };
            let answer: RebuildResponse = self.call("Rebuild", &request).await?;
            done(answer.status)
        }
        .boxed_local()
    }

    /// Keys that fit a pattern, at most `capacity`, or as many as there may be when that is 0. The modes are those of the service.
    pub fn search(
        &self,
        mode: &str,
        pattern: impl Into<Bytes>,
        capacity: i32,
    ) -> LocalBoxFuture<'_, Result<Vec<Bytes>>> {
        self.send_search(SearchRequest {
            dbm_index: self.index,
            mode: mode.to_owned(),
            pattern: pattern.into(),
            capacity,
        })
    }

    fn send_search(&self, request: SearchRequest) -> LocalBoxFuture<'_, Result<Vec<Bytes>>> {
        async move {
            let answer: SearchResponse = self.call("Search", &request).await?;
            done(answer.status)?;
            Ok(answer.matched)
        }
        .boxed_local()
    }
}
