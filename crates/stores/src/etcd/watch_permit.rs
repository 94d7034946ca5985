//! How many watches a client of etcd has at once. Watches nothing itself.
//! Rule: a permit lives as long as its watch.

use std::cell::Cell;
use std::rc::Rc;

use crate::error::{Error, Result};
use crate::limits::REMOTE_WATCHES_MAX;

/// How many watches a client has.
pub(super) type WatchCount = Rc<Cell<usize>>;

/// One of them, while it lives.
pub(super) struct WatchPermit(WatchCount);

impl WatchPermit {
    pub(super) fn take(count: &WatchCount) -> Result<WatchPermit> {
        if count.get() >= REMOTE_WATCHES_MAX {
            return Err(Error::Kv(tsumugi_kv::Error::QueueFull {
                what: "watches",
                limit: "REMOTE_WATCHES_MAX",
                max: REMOTE_WATCHES_MAX,
            }));
        }
        count.set(count.get() + 1);
        Ok(WatchPermit(Rc::clone(count)))
    }
}

impl Drop for WatchPermit {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watch_beyond_the_limit_is_refused_until_another_ends() {
        let count = WatchCount::default();
        let mut held: Vec<_> = (0..REMOTE_WATCHES_MAX)
            .map(|_| WatchPermit::take(&count).unwrap())
            .collect();
        let refused = WatchPermit::take(&count).err().unwrap().to_string();
        assert!(refused.contains("REMOTE_WATCHES_MAX"), "{refused}");
        held.pop();
        assert!(WatchPermit::take(&count).is_ok());
    }
}
