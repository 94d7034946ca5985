//! Bytes that one worker holds for its clients, all connections together. Counts; refuses what would go beyond.
//! A claim is given back when it is dropped, wherever that happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tonic::Status;

/// A bounded number of bytes. Written by one worker only; the figures may be read by others.
#[derive(Debug)]
pub(crate) struct Budget {
    name: &'static str,
    bytes_max: usize,
    used: AtomicUsize,
}

/// Bytes taken from a budget.
#[derive(Debug, Default)]
pub(crate) struct Claim(Option<Share>);

impl Claim {
    /// How many.
    pub(crate) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |share| share.bytes)
    }
}

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

    /// Takes the bytes of one message.
    pub(crate) fn claim(self: &Arc<Budget>, bytes: usize) -> Result<Claim, Status> {
        let used = self.used.load(Relaxed);
        if bytes > self.bytes_max.saturating_sub(used) {
            let (name, bytes_max) = (self.name, self.bytes_max);
            return Err(Status::resource_exhausted(format!(
                "{bytes} bytes more than the {used} in use are beyond {name} ({bytes_max}); try later or raise {name}"
            )));
        }
        Ok(self.charge(bytes))
    }

    /// Takes bytes that are there already, also beyond the bound; messages that claim theirs are refused until they are given back.
    pub(crate) fn charge(self: &Arc<Budget>, bytes: usize) -> Claim {
        if bytes == 0 {
            return Claim::default();
        }
        self.used.fetch_add(bytes, Relaxed);
        Claim(Some(Share {
            budget: Arc::clone(self),
            bytes,
        }))
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
    fn claim_beyond_the_budget_is_refused_by_name_until_bytes_return() {
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
    fn charge_beyond_the_budget_refuses_later_claims() {
        let budget = Budget::new("outbound_bytes_max", 10);
        let charge = budget.charge(11);
        assert_eq!((charge.bytes(), budget.used()), (11, 11));
        assert!(budget.claim(1).is_err());
        drop(charge);
        assert!(budget.claim(10).is_ok());
    }
}
