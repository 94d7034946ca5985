//! The calls of our own service as methods of a client: times to live and named queues. Keeps no state.
//! Rule: a server that lacks them is named in the error, and is sent nothing; what the protocol has is done by its calls.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tsumugi_kv::{Lifetime, SetMode};

use super::Client;
use super::batches::{groups, outcomes, pairs};
use super::methods::{done, is_done};
use super::records::{CompareExchange, ExchangeOutcome};
use crate::code::TkrzwCode;
use crate::error::{Error, Result};
use crate::limits::CALLS_MAX;
use crate::method::Method;
use crate::own_proto::*;
use crate::proto::RecordState;

/// A time to live as it is on the wire, where 0 is for ever.
fn millis(ttl: Duration) -> u64 {
    let up = ttl.saturating_add(Duration::from_nanos(999_999));
    u64::try_from(up.as_millis()).unwrap_or(u64::MAX).max(1)
}

impl Client {
    /// Whether the server has the calls beyond the protocol: times to live, named queues, watches. The others work with any server.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) when it has not.
    pub async fn require_own_service(&self) -> Result<()> {
        self.inner.require(Method::named("SetWithTtl")).await
    }

    /// A call of our own service that may take `more` than others.
    async fn own_call<Q: Message, R: Message + Default>(
        &self,
        name: &str,
        request: &Q,
        more: Duration,
    ) -> Result<R> {
        let method = Method::named(name);
        self.inner.require(method).await?;
        let answer = self.call_for(method, request, more).await;
        answer.map_err(|error| self.inner.own_error(method, error))
    }

    /// Stores a value for a time. `false` when a record is there and [`SetMode::IfAbsent`] leaves it.
    pub async fn set_with_ttl(
        &self,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        mode: SetMode,
        ttl: Duration,
    ) -> Result<bool> {
        let request = SetWithTtlRequest {
            dbm_index: self.index(),
            key: key.into(),
            value: value.into(),
            overwrite: mode == SetMode::Overwrite,
            ttl_ms: millis(ttl),
        };
        let answer = self.own_call("SetWithTtl", &request, Duration::ZERO);
        let answer: SetWithTtlResponse = answer.await?;
        is_done(answer.status, TkrzwCode::Duplication)
    }

    /// Stores records for a time, each on its own, and says how many were stored. All are tried; then the first error is returned.
    pub async fn set_multi_with_ttl(
        &self,
        records: impl IntoIterator<Item = (Bytes, Bytes)>,
        mode: SetMode,
        ttl: Duration,
    ) -> Result<u64> {
        let bytes = |(key, value): &(Bytes, Bytes)| key.len() + value.len();
        let calls = groups(records, bytes)
            .into_iter()
            .map(|records| async move {
                let request = SetMultiWithTtlRequest {
                    dbm_index: self.index(),
                    records: pairs(records),
                    overwrite: mode == SetMode::Overwrite,
                    ttl_ms: millis(ttl),
                };
                let answer = self.own_call("SetMultiWithTtl", &request, Duration::ZERO);
                let answer: SetMultiWithTtlResponse = answer.await?;
                let stored = is_done(answer.status, TkrzwCode::Duplication);
                Ok::<_, Error>(stored.map(|_| answer.stored))
            });
        let each = outcomes(calls, CALLS_MAX).await?;
        each.into_iter().sum()
    }

    /// [`compare_exchange`](Client::compare_exchange) of what has a time to live.
    pub(super) async fn compare_exchange_with_ttl(
        &self,
        exchange: CompareExchange,
        ttl: Duration,
    ) -> Result<ExchangeOutcome> {
        let wait = exchange.wait;
        let plain = exchange.into_request(self.index());
        let request = CompareExchangeWithTtlRequest {
            dbm_index: plain.dbm_index,
            key: plain.key,
            expected_existence: plain.expected_existence,
            expected_value: plain.expected_value,
            expect_any_value: plain.expect_any_value,
            desired_existence: plain.desired_existence,
            desired_value: plain.desired_value,
            desire_no_update: plain.desire_no_update,
            get_actual: plain.get_actual,
            retry_wait: plain.retry_wait,
            notify: plain.notify,
            ttl_ms: millis(ttl),
        };
        let answer = self.own_call("CompareExchangeWithTtl", &request, wait);
        let answer: CompareExchangeWithTtlResponse = answer.await?;
        let exchanged = is_done(answer.status, TkrzwCode::Infeasible)?;
        let actual = answer.found.then_some(answer.actual);
        Ok(ExchangeOutcome { exchanged, actual })
    }

    /// Changes records if all are as expected; what is stored has this time to live. `false` when one is not.
    pub async fn compare_exchange_multi_with_ttl(
        &self,
        expected: Vec<RecordState>,
        desired: Vec<RecordState>,
        ttl: Duration,
    ) -> Result<bool> {
        let request = CompareExchangeMultiWithTtlRequest {
            dbm_index: self.index(),
            expected,
            desired,
            ttl_ms: millis(ttl),
        };
        let answer = self.own_call("CompareExchangeMultiWithTtl", &request, Duration::ZERO);
        let answer: CompareExchangeMultiWithTtlResponse = answer.await?;
        is_done(answer.status, TkrzwCode::Infeasible)
    }

    /// Gives a record another time to live, counted from now; none without one. `false` when there is no record.
    pub async fn touch(&self, key: impl Into<Bytes>, ttl: Option<Duration>) -> Result<bool> {
        let request = TouchRequest {
            dbm_index: self.index(),
            key: key.into(),
            ttl_ms: ttl.map_or(0, millis),
        };
        let answer = self.own_call("Touch", &request, Duration::ZERO);
        let answer: TouchResponse = answer.await?;
        is_done(answer.status, TkrzwCode::NotFound)
    }

    /// How long a record is still there; `None` when there is none.
    pub async fn lifetime(&self, key: impl Into<Bytes>) -> Result<Option<Lifetime>> {
        let request = LifetimeRequest {
            dbm_index: self.index(),
            key: key.into(),
        };
        let answer = self.own_call("Lifetime", &request, Duration::ZERO);
        let answer: LifetimeResponse = answer.await?;
        let found = is_done(answer.status, TkrzwCode::NotFound)?;
        let lifetime = match answer.expires {
            true => Lifetime::Left(Duration::from_millis(answer.left_ms)),
            false => Lifetime::Unlimited,
        };
        Ok(found.then_some(lifetime))
    }

    /// Adds a record behind all others of a queue, wakes those who wait for one, and returns its key.
    pub async fn push(&self, queue: impl Into<Bytes>, value: impl Into<Bytes>) -> Result<Bytes> {
        let request = PushRequest {
            dbm_index: self.index(),
            queue: queue.into(),
            value: value.into(),
        };
        let answer: PushResponse = self.own_call("Push", &request, Duration::ZERO).await?;
        done(answer.status)?;
        Ok(answer.key)
    }

    /// Takes the first record of a queue out, waiting for one for this long.
    pub async fn pop(
        &self,
        queue: impl Into<Bytes>,
        wait: Duration,
    ) -> Result<Option<(Bytes, Bytes)>> {
        let request = PopRequest {
            dbm_index: self.index(),
            queue: queue.into(),
            retry_wait: wait.as_secs_f64(),
        };
        let answer: PopResponse = self.own_call("Pop", &request, wait).await?;
        let found = is_done(answer.status, TkrzwCode::NotFound)?;
        Ok(found.then_some((answer.key, answer.value)))
    }
}
