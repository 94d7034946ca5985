//! Bytes that one worker holds for its clients, all connections together. Counts; refuses what would go beyond.
//! A claim is given back when it is dropped, wherever that happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tonic::Status;

use crate::limits::SMALL_MESSAGE_BYTES;

/// A bounded number of bytes. Written by one worker only; the figures may be read by others.
#[derive(Debug)]
pub(crate) struct Budget {
    name: &'static str,
    bytes_max: usize,
    used: AtomicUsize,
}

/// Bytes taken from a budget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim(
    #[expect(dead_code, reason = "its drop gives the bytes back")] Option<Arc<Share>>,
);

#[derive(Debug)]
struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(name: &'static str, bytes_max: usize) -> Arc<Budget> {
        Arc::new(Budget {
            name,
            bytes_max,
            used: AtomicUsize::new(0),
        })
    }

    /// Takes the bytes of one message; a small one takes nothing.
    pub(crate) fn claim(self: &Arc<Budget>, bytes: usize) -> Result<Claim, Status> {
        if bytes <= SMALL_MESSAGE_BYTES {
            return Ok(Claim::default());
        }
        let used = self.used.load(Relaxed);
        if bytes > self.bytes_max.saturating_sub(used) {
            let (name, bytes_max) = (self.name, self.bytes_max);
            return Err(Status::resource_exhausted(format!(
                "{bytes} bytes more than the {used} in use are beyond {name} ({bytes_max}); try later or raise {name}"
            )));
        }
        self.used.store(used + bytes, Relaxed);
        Ok(Claim(Some(Arc::new(Share {
            budget: Arc::clone(self),
            bytes,
        }))))
    }

    /// Bytes in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_beyond_is_refused_by_name_until_something_is_given_back() {
        let budget = Budget::new("inbound_bytes_max", 300_000);
        let first = budget.claim(200_000).unwrap();
        let refused = budget.claim(100_001).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert!(refused.message().contains("inbound_bytes_max (300000)"));
        let second = budget.claim(100_000).unwrap();
        drop(first);
        assert_eq!(budget.used(), 100_000);
        drop(second);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn small_messages_take_nothing() {
        let budget = Budget::new("inbound_bytes_max", 1);
        let _claim = budget.claim(SMALL_MESSAGE_BYTES).unwrap();
        assert_eq!(budget.used(), 0);
    }
}
