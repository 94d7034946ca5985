//! The calls of our own service by their messages, beside those of the protocol in `calls.rs`: times to live, named queues, watches.
//! Knows no connection. Rule: what they share with a call of the protocol is done by the same code.

use std::time::Duration;

use tonic::{Request, Response, Status};
use tsumugi_kv::{self as kv, Lifetime, Write, WriteResult, queue_prefix};

use super::budget::Claim;
use super::calls::{Calls, Reply, small};
use super::exchange::exchange;
use super::lane::LaneStore;
use super::outcome::{self, missing, of_error, of_read, of_write, success};
use super::waiting::{self, WaitSubject};
use super::watch_call::WatchCall;
use crate::own_proto::store_service_server::StoreService;
use crate::own_proto::*;
use crate::proto::{
    CompareExchangeMultiRequest, CompareExchangeRequest, SetMultiRequest, SetRequest,
};

/// A time to live as it is on the wire; 0 is none.
fn ttl(ttl_ms: u64) -> Option<Duration> {
    (ttl_ms > 0).then(|| Duration::from_millis(ttl_ms))
}

impl Calls {
    pub(crate) async fn set_with_ttl(
        &self,
        request: SetWithTtlRequest,
    ) -> Reply<SetWithTtlResponse> {
        let index = request.dbm_index;
        let set = outcome::set(SetRequest {
            dbm_index: index,
            key: request.key,
            value: request.value,
            overwrite: request.overwrite,
        });
        let set = outcome::expiring(set, ttl(request.ttl_ms));
        let status = self.written(index, set, "SetWithTtl").await?;
        small(SetWithTtlResponse { status })
    }

    pub(crate) async fn set_multi_with_ttl(
        &self,
        request: SetMultiWithTtlRequest,
    ) -> Reply<SetMultiWithTtlResponse> {
        let sets = outcome::set_each(SetMultiRequest {
            dbm_index: request.dbm_index,
            records: request.records,
            overwrite: request.overwrite,
        });
        let sets = outcome::expiring(sets, ttl(request.ttl_ms));
        let written = self
            .submitted(request.dbm_index, sets, "SetMultiWithTtl")
            .await?;
        let stored = match &written {
            Ok(WriteResult::Each(each)) => {
                let is_stored =
                    |one: &&kv::Result<WriteResult>| matches!(one, Ok(WriteResult::Done));
                each.iter().filter(is_stored).count() as u64
            }
            _ => 0,
        };
        let status = self.count_status(of_write(&written));
        small(SetMultiWithTtlResponse { status, stored })
    }

    pub(crate) async fn compare_exchange_with_ttl(
        &self,
        request: CompareExchangeWithTtlRequest,
    ) -> Reply<CompareExchangeWithTtlResponse> {
        let store = self.store(request.dbm_index)?;
        let ttl = ttl(request.ttl_ms);
        let request = CompareExchangeRequest {
            dbm_index: request.dbm_index,
            key: request.key,
            expected_existence: request.expected_existence,
            expected_value: request.expected_value,
            expect_any_value: request.expect_any_value,
            desired_existence: request.desired_existence,
            desired_value: request.desired_value,
            desire_no_update: request.desire_no_update,
            get_actual: request.get_actual,
            retry_wait: request.retry_wait,
            notify: request.notify,
        };
        let (answer, exchanged) = exchange(self.lane(), store, request, ttl).await;
        let answer = CompareExchangeWithTtlResponse {
            status: answer.status.and_then(|status| self.count_status(status)),
            actual: answer.actual,
            found: answer.found,
        };
        let claim = exchanged.claim(self.lane().claim(answer.actual.len()))?;
        Ok((answer, claim))
    }

    pub(crate) async fn compare_exchange_multi_with_ttl(
        &self,
        request: CompareExchangeMultiWithTtlRequest,
    ) -> Reply<CompareExchangeMultiWithTtlResponse> {
        let exchange = outcome::exchange_each(CompareExchangeMultiRequest {
            dbm_index: request.dbm_index,
            expected: request.expected,
            desired: request.desired,
        });
        let exchange = outcome::expiring(exchange, ttl(request.ttl_ms));
        let status = self
            .written(request.dbm_index, exchange, "CompareExchangeMultiWithTtl")
            .await?;
        small(CompareExchangeMultiWithTtlResponse { status })
    }

    pub(crate) async fn touch(&self, request: TouchRequest) -> Reply<TouchResponse> {
        let touch = Write::Touch {
            key: request.key,
            ttl: ttl(request.ttl_ms),
        };
        let status = self.written(request.dbm_index, touch, "Touch").await?;
        small(TouchResponse { status })
    }

    pub(crate) async fn lifetime(&self, request: LifetimeRequest) -> Reply<LifetimeResponse> {
        let (status, lifetime) = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => of_read(database.lifetime(&request.key)),
            LaneStore::Engine(engine) => {
                of_read(engine.call("Lifetime").lifetime(request.key).await)
            }
        };
        let left = match lifetime {
            Some(Lifetime::Left(left)) => Some(left),
            Some(Lifetime::Unlimited) | None => None,
        };
        let left_ms = left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        small(LifetimeResponse {
            status: self.count_status(status),
            expires: left.is_some(),
            left_ms: left_ms.unwrap_or_default(),
        })
    }

    pub(crate) async fn push(&self, request: PushRequest) -> Reply<PushResponse> {
        let index = request.dbm_index;
        let push = Write::Push {
            queue: request.queue,
            value: outcome::compact(request.value),
        };
        let written = self.submitted(index, push, "Push").await?;
        let status = self.count_status(of_write(&written));
        let key = match written {
            Ok(WriteResult::Pushed { key }) => key,
            _ => {
                return small(PushResponse {
                    status,
                    ..PushResponse::default()
                });
            }
        };
        // Those who wait at an engine see what is pushed.
        if let LaneStore::Local(database) = self.store(index)? {
            database.notify_pushed(&key);
        }
        small(PushResponse { status, key })
    }

    pub(crate) async fn pop(&self, request: PopRequest) -> Reply<PopResponse> {
        let (queue, wait) = (request.queue, request.retry_wait);
        let popped = match self.store(request.dbm_index)? {
            LaneStore::Local(database) => {
                let prefix = queue_prefix(&queue);
                let subject = WaitSubject::Key(&prefix);
                let pop = Write::Pop { queue };
                let popped = waiting::write(self.lane(), database, subject, wait, pop);
                popped.await.map_err(|error| of_error(&error))
            }
            LaneStore::Engine(engine) => {
                let engine = engine.call("Pop");
                waiting::engine_pop(self.lane(), &engine, Some(queue), wait).await
            }
        };
        let (status, key, value) = match popped {
            Ok(WriteResult::Popped { key, value }) => (success(), key, value),
            Ok(_) => (missing(), Default::default(), Default::default()),
            Err(status) => (status, Default::default(), Default::default()),
        };
        let status = self.count_status(status);
        // The record is gone, so its answer is sent whatever else waits.
        let claim: Claim = self.lane().claim(value.len()).unwrap_or_default();
        Ok((PopResponse { status, key, value }, claim))
    }
}

/// The call with a stream, which the generated service knows.
#[tonic::async_trait]
impl StoreService for Calls {
    type WatchStream = WatchCall;

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<WatchCall>, Status> {
        let WatchRequest { dbm_index, prefix } = request.into_inner();
        let watch = WatchCall::begin(self.lane(), self.watches(), dbm_index, &prefix).await?;
        Ok(Response::new(watch))
    }
}
