//! The line in the log about a database that is waited for when it is opened. Opens nothing itself.
//! Rule: workers open the same database at the same time, and one line is enough for all of them.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::limits::WAIT_NOTICE_AFTER;

/// Databases whose line is written and that are waited for still.
static WAITED_FOR: Mutex<BTreeSet<Arc<str>>> = Mutex::new(BTreeSet::new());

/// Waits for `opening` of the database `name`, which is given up after `limit`.
pub(super) async fn wait<T>(
    name: &Arc<str>,
    limit: Duration,
    opening: impl Future<Output = T>,
) -> T {
    let mut opening = pin!(opening);
    if let Ok(opened) = tokio::time::timeout(WAIT_NOTICE_AFTER, &mut opening).await {
        return opened;
    }
    let _notice = WaitNotice::write(name, limit);
    opening.await
}

/// A line that is written, until the wait ends.
struct WaitNotice(Arc<str>);

impl WaitNotice {
    /// None where another one has written it.
    fn write(name: &Arc<str>, limit: Duration) -> Option<WaitNotice> {
        let mut names = WAITED_FOR.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = names.insert(Arc::clone(name));
        is_first.then(|| {
            tracing::warn!(
                "waiting for the database {name}: it does not answer yet, and is given up after {limit:?} (acquire_timeout)"
            );
            WaitNotice(Arc::clone(name))
        })
    }
}

impl Drop for WaitNotice {
    fn drop(&mut self) {
        let mut names = WAITED_FOR.lock().unwrap_or_else(PoisonError::into_inner);
        names.remove(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wait_notice_is_written_once_per_database_until_the_wait_ends() {
        let name: Arc<str> = "noted once".into();
        let is_noted = || {
            let names = WAITED_FOR.lock().unwrap_or_else(PoisonError::into_inner);
            names.contains(&name)
        };
        let quick = wait(
            &name,
            Duration::MAX,
            tokio::time::sleep(WAIT_NOTICE_AFTER / 2),
        );
        quick.await;
        assert!(!is_noted());
        let slow = || {
            wait(
                &name,
                Duration::MAX,
                tokio::time::sleep(WAIT_NOTICE_AFTER * 3),
            )
        };
        let look = async {
            tokio::time::sleep(WAIT_NOTICE_AFTER * 2).await;
            assert!(is_noted());
            assert!(WaitNotice::write(&name, Duration::MAX).is_none());
        };
        tokio::join!(slow(), slow(), look);
        assert!(!is_noted());
        assert!(WaitNotice::write(&name, Duration::MAX).is_some());
    }
}
