//! What a comparison takes and tells, and the outcome of a new key. Sends nothing.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected};

use crate::proto::CompareExchangeRequest;

/// A change of one record on a condition.
#[derive(Clone, Debug)]
pub struct CompareExchange {
    /// The key.
    pub key: Bytes,
    /// What the record must be.
    pub expected: Expected,
    /// What it becomes. A time to live needs a server of ours.
    pub desired: Desired,
    /// How long to try again, after every notice about the key.
    pub wait: Duration,
    /// Whether others that wait for notices about the key are woken.
    pub notice: NotifyMode,
}

/// Whether waiters are notified of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotifyMode {
    /// No waiter is notified.
    #[default]
    Silent,
    /// Those who wait for the key are.
    Given,
}

/// The outcome of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeOutcome {
    /// Whether it took place.
    pub exchanged: bool,
    /// The value that was there; `None` when there was no record.
    pub actual: Option<Bytes>,
}

/// What became of a new key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RekeyOutcome {
    /// The record has it.
    Done,
    /// There is no record with the old key.
    Missing,
    /// There is a record with the new key, and it stays.
    Duplicate,
}

impl CompareExchange {
    /// An exchange at once, without a notice.
    pub fn new(key: impl Into<Bytes>, expected: Expected, desired: Desired) -> CompareExchange {
        CompareExchange {
            key: key.into(),
            expected,
            desired,
            wait: Duration::ZERO,
            notice: NotifyMode::Silent,
        }
    }

    pub(crate) fn into_request(self, dbm_index: i32) -> CompareExchangeRequest {
        let mut request = CompareExchangeRequest {
            dbm_index,
            key: self.key,
            get_actual: true,
            retry_wait: self.wait.as_secs_f64(),
            notify: self.notice == NotifyMode::Given,
            ..CompareExchangeRequest::default()
        };
        match self.expected {
            Expected::Absent => {}
            Expected::Any => (request.expected_existence, request.expect_any_value) = (true, true),
            Expected::Value(value) => {
                (request.expected_existence, request.expected_value) = (true, value)
            }
        }
        match self.desired {
            Desired::Keep => request.desire_no_update = true,
            Desired::Remove => {}
            Desired::Put(value, _) => {
                (request.desired_existence, request.desired_value) = (true, value)
            }
        }
        request
    }
}
