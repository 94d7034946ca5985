//! How many watches there are, of one connection and of one server. Counts and refuses; watches nothing.
//! A permit is given back when it is dropped, however its watch ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use tonic::Status;

/// Watches of a connection, or of a server.
#[derive(Debug, Default)]
pub(crate) struct WatchCount(AtomicUsize);

impl WatchCount {
    /// How many there are.
    pub(crate) fn get(&self) -> usize {
        self.0.load(SeqCst)
    }

    /// One more, until the permit is dropped.
    pub(crate) fn permit(
        self: &Arc<WatchCount>,
        name: &str,
        most: usize,
    ) -> Result<WatchPermit, Status> {
        let room = |count: usize| (count < most).then_some(count + 1);
        match self.0.fetch_update(SeqCst, SeqCst, room) {
            Ok(_) => Ok(WatchPermit(Arc::clone(self))),
            Err(count) => Err(Status::resource_exhausted(format!(
                "one more than {count} watches is beyond {name} ({most}); end one or raise {name}"
            ))),
        }
    }
}

/// Leave for one watch.
#[derive(Debug)]
pub(crate) struct WatchPermit(Arc<WatchCount>);

impl Drop for WatchPermit {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_end_at_the_limit_and_return_when_they_are_dropped() {
        let count = Arc::new(WatchCount::default());
        let permits: Vec<WatchPermit> = (0..3)
            .map(|_| count.permit("watches_max", 3).unwrap())
            .collect();
        let refused = count.permit("watches_max", 3).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert!(refused.message().contains("watches_max (3)"), "{refused}");
        assert_eq!(count.get(), 3);
        drop(permits);
        assert_eq!(count.get(), 0);
        assert!(count.permit("watches_max", 3).is_ok());
    }
}
