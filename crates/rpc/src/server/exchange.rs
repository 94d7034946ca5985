//! CompareExchange, as a call and within a stream: the write, the wait for its record, and the reply. Knows no connection.
//! Rule: an exchange that changed its record is always answered.

use std::time::Duration;

use tonic::Status;
use tsumugi_kv::{KvDatabase, WriteResult};

use super::budget::Claim;
use super::lane::ServiceLane;
use super::outcome::{self, of_write};
use super::waiting::{self, WaitSubject};
use crate::proto::{CompareExchangeRequest, CompareExchangeResponse};

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
    database: &KvDatabase,
    request: CompareExchangeRequest,
    ttl: Option<Duration>,
) -> (CompareExchangeResponse, ExchangeResult) {
    let changes = !request.desire_no_update;
    let (key, retry_wait) = (request.key.clone(), request.retry_wait);
    let (notify, get_actual) = (request.notify, request.get_actual);
    let write = outcome::expiring(outcome::exchange(request), ttl);
    let subject = WaitSubject::Key(&key);
    let written = waiting::write(lane, database, subject, retry_wait, write).await;
    if notify && matches!(written, Ok(WriteResult::Exchanged { .. })) {
        waiting::notify(database, subject);
    }
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
