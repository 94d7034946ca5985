//! The calls as methods of a client: each sends a request and returns the outcome in a type of its own. Keeps no state.
//! A missing record, a duplicate and a comparison that fails are outcomes; everything else that is no success is an error.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
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
    pub async fn echo(&self, message: &str) -> Result<String> {
        let message = message.to_owned();
        let answer: EchoResponse = self.call("Echo", &EchoRequest { message }).await?;
        done(answer.status)?;
        Ok(answer.echo)
    }

    /// Names and values about the database; about the server itself at index -1.
    pub async fn inspect(&self) -> Result<Vec<(String, String)>> {
        let request = InspectRequest {
            dbm_index: self.index,
        };
        let answer: InspectResponse = self.call("Inspect", &request).await?;
        done(answer.status)?;
        let records = answer.records.into_iter();
        Ok(records.map(|pair| (pair.first, pair.second)).collect())
    }

    /// The value at a key.
    pub async fn get(&self, key: impl Into<Bytes>) -> Result<Option<Bytes>> {
        let request = GetRequest {
            dbm_index: self.index,
            key: key.into(),
            omit_value: false,
        };
        let answer: GetResponse = self.call("Get", &request).await?;
        let found = is_done(answer.status, TkrzwCode::NotFound)?;
        Ok(found.then_some(answer.value))
    }

    /// Stores a value. `false` when a record is there and [`SetMode::IfAbsent`] leaves it.
    pub async fn set(
        &self,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        mode: SetMode,
    ) -> Result<bool> {
        let request = SetRequest {
            dbm_index: self.index,
            key: key.into(),
            value: value.into(),
            overwrite: mode == SetMode::Overwrite,
        };
        let answer: SetResponse = self.call("Set", &request).await?;
        is_done(answer.status, TkrzwCode::Duplication)
    }

    /// Removes a record. `false` when there is none.
    pub async fn remove(&self, key: impl Into<Bytes>) -> Result<bool> {
        let request = RemoveRequest {
            dbm_index: self.index,
            key: key.into(),
        };
        let answer: RemoveResponse = self.call("Remove", &request).await?;
        is_done(answer.status, TkrzwCode::NotFound)
    }

    /// Adds to the end of a value, after a delimiter when there is one already.
    pub async fn append(
        &self,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        delimiter: impl Into<Bytes>,
    ) -> Result<()> {
        let request = AppendRequest {
            dbm_index: self.index,
            key: key.into(),
            value: value.into(),
            delim: delimiter.into(),
        };
        let answer: AppendResponse = self.call("Append", &request).await?;
        done(answer.status)
    }

    /// Adds to a number and returns it. [`i64::MIN`] only reads.
    pub async fn increment(&self, key: impl Into<Bytes>, by: i64, initial: i64) -> Result<i64> {
        let request = IncrementRequest {
            dbm_index: self.index,
            key: key.into(),
            increment: by,
            initial,
        };
        let answer: IncrementResponse = self.call("Increment", &request).await?;
        done(answer.status)?;
        Ok(answer.current)
    }

    /// Changes a record that is as expected. With a time to live of what it becomes this is a call of our own.
    pub async fn compare_exchange(&self, exchange: CompareExchange) -> Result<ExchangeOutcome> {
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

    /// Changes records if all are as expected. `false` when one is not.
    pub async fn compare_exchange_multi(
        &self,
        expected: Vec<RecordState>,
        desired: Vec<RecordState>,
    ) -> Result<bool> {
        let request = CompareExchangeMultiRequest {
            dbm_index: self.index,
            expected,
            desired,
        };
        let answer: CompareExchangeMultiResponse =
            self.call("CompareExchangeMulti", &request).await?;
        is_done(answer.status, TkrzwCode::Infeasible)
    }

    /// Gives a record another key.
    pub async fn rekey(
        &self,
        old: impl Into<Bytes>,
        new: impl Into<Bytes>,
        mode: SetMode,
        source: RekeySource,
    ) -> Result<RekeyOutcome> {
        let request = RekeyRequest {
            dbm_index: self.index,
            old_key: old.into(),
            new_key: new.into(),
            overwrite: mode == SetMode::Overwrite,
            copying: source == RekeySource::Copy,
        };
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

    /// Takes the first record out, waiting for one for this long.
    pub async fn pop_first(&self, wait: Duration) -> Result<Option<(Bytes, Bytes)>> {
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

    /// Adds a record that is the last, and wakes those who wait for one. Its key is made of the time; now without it.
    pub async fn push_last(&self, value: impl Into<Bytes>, at: Option<SystemTime>) -> Result<()> {
        let since = at.map(|at| {
            at.duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default()
        });
        let request = PushLastRequest {
            dbm_index: self.index,
            value: value.into(),
            wtime: since.map_or(-1.0, |since| since.as_secs_f64()),
            notify: true,
        };
        let answer: PushLastResponse = self.call("PushLast", &request).await?;
        done(answer.status)
    }

    /// How many records there are.
    pub async fn count(&self) -> Result<u64> {
        let request = CountRequest {
            dbm_index: self.index,
        };
        let answer: CountResponse = self.call("Count", &request).await?;
        done(answer.status)?;
        Ok(u64::try_from(answer.count).unwrap_or(0))
    }

    /// Bytes that the database takes.
    pub async fn file_size(&self) -> Result<u64> {
        let request = GetFileSizeRequest {
            dbm_index: self.index,
        };
        let answer: GetFileSizeResponse = self.call("GetFileSize", &request).await?;
        done(answer.status)?;
        Ok(u64::try_from(answer.file_size).unwrap_or(0))
    }

    /// Removes every record.
    pub async fn clear(&self) -> Result<()> {
        let request = ClearRequest {
            dbm_index: self.index,
        };
        let answer: ClearResponse = self.call("Clear", &request).await?;
        done(answer.status)
    }

    /// Has the disk confirm what was written.
    pub async fn synchronize(&self) -> Result<()> {
        self.synchronize_with(Vec::new()).await
    }

    /// Has the disk confirm what was written, and copies the database beside itself, under its name and this suffix.
    pub async fn backup(&self, suffix: &str) -> Result<()> {
        let params = vec![StringPair {
            first: "make_backup".to_owned(),
            second: suffix.to_owned(),
        }];
        self.synchronize_with(params).await
    }

    async fn synchronize_with(&self, params: Vec<StringPair>) -> Result<()> {
        let request = SynchronizeRequest {
            dbm_index: self.index,
            hard: true,
            params,
        };
        let answer: SynchronizeResponse = self.call("Synchronize", &request).await?;
        done(answer.status)
    }

    /// Has the database put itself in better order.
    pub async fn rebuild(&self) -> Result<()> {
        let request = RebuildRequest {
            dbm_index: self.index,
            params: Vec::new(),
        };
        let answer: RebuildResponse = self.call("Rebuild", &request).await?;
        done(answer.status)
    }

    /// Keys that fit a pattern, at most `capacity`, or as many as there may be when that is 0. The modes are those of the service.
    pub async fn search(
        &self,
        mode: &str,
        pattern: impl Into<Bytes>,
        capacity: i32,
    ) -> Result<Vec<Bytes>> {
        let request = SearchRequest {
            dbm_index: self.index,
            mode: mode.to_owned(),
            pattern: pattern.into(),
            capacity,
        };
        let answer: SearchResponse = self.call("Search", &request).await?;
        done(answer.status)?;
        Ok(answer.matched)
    }
}
