//! CompareExchange, as a call and within a stream: the write, the wait for its record, and the reply. Knows no connection.
//! Rule: an exchange that changed its record is always answered.

use std::sync::Arc;
use std::time::Duration;

use tonic::Status;
use tsumugi_kv::{KvDatabase, WriteResult};

use super::budget::Claim;
use super::engine_call::EngineLine;
use super::lane::{LaneStore, ServiceLane};
use super::outcome::{self, of_error, of_write};
use super::waiting::{self, WaitSubject};
use crate::proto::{CompareExchangeRequest, CompareExchangeResponse, StatusProto};

/// What an exchange came to. One that changed its record is answered whatever else waits: a refusal would say that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExchangeResult {
    Changed,
    AsItWas,
}

impl ExchangeResult {
    /// What holds its answer.
    pub(crate) fn claim(self, claim: Result<Claim, Status>) -> Result<Claim, Status> {
        match self {
            ExchangeResult::Changed => Ok(claim.unwrap_or_default()),
            ExchangeResult::AsItWas => claim,
        }
    }
}

/// CompareExchange, also within a stream. What it stores has a time to live, or none.
pub(crate) async fn exchange(
    lane: &ServiceLane,
    store: &LaneStore,
    request: CompareExchangeRequest,
    ttl: Option<Duration>,
) -> (CompareExchangeResponse, ExchangeResult) {
    let changes = !request.desire_no_update;
    let get_actual = request.get_actual;
    let written = match store {
        LaneStore::Local(database) => local(lane, database, request, ttl).await,
        LaneStore::Engine(line) => Box::pin(engine(lane, line, request, ttl)).await,
    };
    let exchanged = match &written {
        Ok(WriteResult::Exchanged { .. }) if changes => ExchangeResult::Changed,
        _ => ExchangeResult::AsItWas,
    };
    let status = Some(of_write(&written));
    let actual = match written {
        Ok(WriteResult::Exchanged { actual } | WriteResult::Mismatch { actual }) => actual,
        _ => None,
    };
    let found = actual.is_some();
    let actual = actual.filter(|_| get_actual).unwrap_or_default();
    let answer = CompareExchangeResponse {
        status,
        actual,
        found,
    };
    (answer, exchanged)
}

async fn local(
    lane: &ServiceLane,
    database: &KvDatabase,
    request: CompareExchangeRequest,
    ttl: Option<Duration>,
) -> Result<WriteResult, StatusProto> {
    let (key, retry_wait, notify) = (request.key.clone(), request.retry_wait, request.notify);
    let write = outcome::expiring(outcome::exchange(request), ttl);
    let subject = WaitSubject::Key(&key);
    let written = waiting::write(lane, database, subject, retry_wait, write).await;
    if notify && matches!(written, Ok(WriteResult::Exchanged { .. })) {
        waiting::notify(database, subject);
    }
    written.map_err(|error| of_error(&error))
}

async fn engine(
    lane: &ServiceLane,
    line: &Arc<EngineLine>,
    request: CompareExchangeRequest,
    ttl: Option<Duration>,
) -> Result<WriteResult, StatusProto> {
    let (key, retry_wait, notify) = (request.key.clone(), request.retry_wait, request.notify);
    let write = outcome::expiring(outcome::exchange(request), ttl);
    let engine = line.call("CompareExchange");
    let written = waiting::engine_exchange(lane, line, &engine, &key, retry_wait, write).await;
    if notify && matches!(written, Ok(WriteResult::Exchanged { .. })) {
        line.notices().notify(&key, usize::MAX);
    }
    written
}
