//! The calls of our own service as methods of a client: times to live and named queues. Keeps no state.
//! Rule: a server that lacks them is named in the error, and is sent nothing; what the protocol has is done by its calls.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use prost::Message;
use tsumugi_kv::{Lifetime, SetMode};

use super::Client;
use super::batches::{groups, outcomes, pair_bytes, pairs};
use super::methods::{done, is_done};
use super::records::{CompareExchange, ExchangeOutcome};
use crate::client::call::answer;
use crate::code::TkrzwCode;
use crate::error::{Error, Result};
use crate::frame;
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
    pub fn require_own_service(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move { self.inner.require(Method::named("SetWithTtl")).await }.boxed_local()
    }

    /// A call of our own service that may take `more` than others.
    async fn own_call<Q: Message, R: Message + Default>(
        &self,
        name: &str,
        request: &Q,
        more: Duration,
    ) -> Result<R> {
        let asked = self.call_own_service(Method::named(name), frame::one(request), more);
        answer(asked.await?)
    }

    fn call_own_service(
        &self,
        method: Method,
        body: Bytes,
        more: Duration,
    ) -> LocalBoxFuture<'_, Result<Bytes>> {
        async move {
            self.inner.require(method).await?;
            let asked = self.inner.ask(self.inner.uri(method), body, more).await;
            let (message, _) = asked.map_err(|error| self.inner.own_error(method, error))?;
            Ok(message)
        }
        .boxed_local()
    }

    /// Stores a value for a time. `false` when a record is there and [`SetMode::IfAbsent`] leaves it.
    pub fn set_with_ttl(
        &self,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        mode: SetMode,
        ttl: Duration,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        self.send_set_with_ttl(SetWithTtlRequest {
            dbm_index: self.index(),
            key: key.into(),
            value: value.into(),
            overwrite: mode == SetMode::Overwrite,
            ttl_ms: millis(ttl),
        })
    }

    fn send_set_with_ttl(&self, request: SetWithTtlRequest) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let answer = self.own_call("SetWithTtl", &request, Duration::ZERO);
            let answer: SetWithTtlResponse = answer.await?;
            is_done(answer.status, TkrzwCode::Duplication)
        }
        .boxed_local()
    }

    /// Stores records for a time, each on its own, and says how many were stored. All are tried; then the first error is returned.
    pub fn set_multi_with_ttl(
        &self,
        records: impl IntoIterator<Item = (Bytes, Bytes)>,
        mode: SetMode,
        ttl: Duration,
    ) -> LocalBoxFuture<'_, Result<u64>> {
        self.set_groups_with_ttl(groups(records, pair_bytes), mode, ttl)
    }

    fn set_groups_with_ttl(
        &self,
        groups: Vec<Vec<(Bytes, Bytes)>>,
        mode: SetMode,
        ttl: Duration,
    ) -> LocalBoxFuture<'_, Result<u64>> {
        let calls = groups.into_iter().map(move |records| async move {
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
        async move {
            let each = outcomes(calls, CALLS_MAX).await?;
            each.into_iter().sum()
        }
        .boxed_local()
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
    pub fn compare_exchange_multi_with_ttl(
        &self,
        expected: Vec<RecordState>,
        desired: Vec<RecordState>,
        ttl: Duration,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
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
        .boxed_local()
    }

    /// Gives a record another time to live, counted from now; none without one. `false` when there is no record.
    pub fn touch(
        &self,
        key: impl Into<Bytes>,
        ttl: Option<Duration>,
    ) -> LocalBoxFuture<'_, Result<bool>> {
        self.send_touch(TouchRequest {
            dbm_index: self.index(),
            key: key.into(),
            ttl_ms: ttl.map_or(0, millis),
        })
    }

    fn send_touch(&self, request: TouchRequest) -> LocalBoxFuture<'_, Result<bool>> {
        async move {
            let answer = self.own_call("Touch", &request, Duration::ZERO);
            let answer: TouchResponse = answer.await?;
            is_done(answer.status, TkrzwCode::NotFound)
        }
        .boxed_local()
    }

    /// How long a record is still there; `None` when there is none.
    pub fn lifetime(&self, key: impl Into<Bytes>) -> LocalBoxFuture<'_, Result<Option<Lifetime>>> {
        self.send_lifetime(LifetimeRequest {
            dbm_index: self.index(),
            key: key.into(),
        })
    }

    fn send_lifetime(
        &self,
        request: LifetimeRequest,
    ) -> LocalBoxFuture<'_, Result<Option<Lifetime>>> {
        async move {
            let answer = self.own_call("Lifetime", &request, Duration::ZERO);
            let answer: LifetimeResponse = answer.await?;
            let found = is_done(answer.status, TkrzwCode::NotFound)?;
            let lifetime = match answer.expires {
                true => Lifetime::Left(Duration::from_millis(answer.left_ms)),
                false => Lifetime::Unlimited,
            };
            Ok(found.then_some(lifetime))
        }
        .boxed_local()
    }

    /// Adds a record behind all others of a queue, wakes those who wait for one, and returns its key.
    pub fn push(
        &self,
        queue: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> LocalBoxFuture<'_, Result<Bytes>> {
        self.send_push(PushRequest {
            dbm_index: self.index(),
            queue: queue.into(),
            value: value.into(),
        })
    }

    fn send_push(&self, request: PushRequest) -> LocalBoxFuture<'_, Result<Bytes>> {
        async move {
            let answer: PushResponse = self.own_call("Push", &request, Duration::ZERO).await?;
            done(answer.status)?;
            Ok(answer.key)
        }
        .boxed_local()
    }

    /// Takes the first record of a queue out, waiting for one for this long.
    pub fn pop(
        &self,
        queue: impl Into<Bytes>,
        wait: Duration,
    ) -> LocalBoxFuture<'_, Result<Option<(Bytes, Bytes)>>> {
        let request = PopRequest {
            dbm_index: self.index(),
            queue: queue.into(),
            retry_wait: wait.as_secs_f64(),
        };
        self.send_pop(request, wait)
    }

    fn send_pop(
        &self,
        request: PopRequest,
        wait: Duration,
    ) -> LocalBoxFuture<'_, Result<Option<(Bytes, Bytes)>>> {
        async move {
            let answer: PopResponse = self.own_call("Pop", &request, wait).await?;
            let found = is_done(answer.status, TkrzwCode::NotFound)?;
            Ok(found.then_some((answer.key, answer.value)))
        }
        .boxed_local()
    }
}
