//! The lines in the log about a database that cannot be connected to. Opens nothing itself.
//! Rule: all workers try the same database, and one line in [`OUTAGE_NOTICE_EVERY`] is enough for all of them; none shows a password.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{OUTAGE_NOTICE_EVERY, WAIT_NOTICE_AFTER};

/// What helps, in each line.
const ADVICE: &str = "which is tried again; check the server and its address, that of DATABASE_URL unless the application names another";

/// When the last line was written about each address that cannot be connected to.
static NOTICES: Mutex<BTreeMap<Arc<str>, Instant>> = Mutex::new(BTreeMap::new());

/// Waits until the first connection to a database is open, which is given up after `limit`.
pub(super) async fn wait<T>(
    address: Option<&Arc<str>>,
    limit: Duration,
    last_failure: impl Fn() -> Option<Rc<str>>,
    opening: impl Future<Output = T>,
) -> T {
    let mut opening = pin!(opening);
    if let Ok(opened) = tokio::time::timeout(WAIT_NOTICE_AFTER, &mut opening).await {
        return opened;
    }
    if let Some(address) = address.filter(|address| is_due(address)) {
        let reason = last_failure();
        let reason = reason.as_deref().unwrap_or("there is no answer yet");
        tracing::warn!(
            target: "tsumugi_db",
            "waiting for the database {address} for up to {limit:?} (acquire_timeout), {ADVICE}: {reason}"
        );
    }
    opening.await
}

/// An attempt has failed, as all have for a while.
pub(super) fn note_failure(address: &Arc<str>, reason: &str) {
    if is_due(address) {
        tracing::warn!(target: "tsumugi_db", "no connection to the database {address}, {ADVICE}: {reason}");
    }
}

/// A connection is open. Says so where a line has said that there was none.
pub(super) fn note_success(address: &Arc<str>) {
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    if notices.remove(address).is_some() {
        tracing::info!(target: "tsumugi_db", "connected to the database {address}");
    }
}

/// Whether a line about the address is to be written, which the caller does then.
fn is_due(address: &Arc<str>) -> bool {
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    if is_recent(notices.get(address), OUTAGE_NOTICE_EVERY) {
        return false;
    }
    // An address that nothing tries any more stays here no longer.
    notices.retain(|_, written| is_recent(Some(written), OUTAGE_NOTICE_EVERY * 10));
    notices.insert(Arc::clone(address), Instant::now());
    true
}

fn is_recent(written: Option<&Instant>, within: Duration) -> bool {
    written.is_some_and(|written| written.elapsed() < within)
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;
    use tsumugi_testkit::LogBuffer;

    use super::*;

    /// The lines that a test has logged.
    async fn logged(test: impl Future<Output = ()>) -> Vec<String> {
        let log = LogBuffer::default();
        let guard = tracing::subscriber::set_default(log.subscriber(tracing::Level::INFO));
        test.await;
        drop(guard);
        log.take().lines().map(str::to_owned).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn wait_is_logged_once_for_all_workers_with_address_and_reason() {
        let address: Arc<str> = "postgres://ann@db:5432/once".into();
        let opening = |seconds| {
            let reason = || Some(Rc::from("connection refused"));
            wait(
                Some(&address),
                Duration::from_secs(20),
                reason,
                sleep(Duration::from_secs(seconds)),
            )
        };
        let lines = logged(async {
            opening(0).await;
            tokio::join!(opening(3), opening(4));
        });
        let lines = lines.await;
        assert_eq!(lines.len(), 1, "{lines:#?}");
        for part in [
            " WARN ",
            &address,
            "20s (acquire_timeout)",
            "connection refused",
            "tried again",
            "DATABASE_URL",
        ] {
            assert!(lines[0].contains(part), "{part}: {}", lines[0]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn outage_is_logged_every_ten_seconds_until_its_end() {
        let address: Arc<str> = "postgres://ann@db:5432/often".into();
        let lines = logged(async {
            note_success(&address);
            for _ in 0..25 {
                note_failure(&address, "connection refused");
                sleep(Duration::from_secs(1)).await;
            }
            note_success(&address);
            note_success(&address);
        });
        let lines = lines.await;
        let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
        assert_eq!((count(" WARN "), count(" INFO ")), (3, 1), "{lines:#?}");
    }
}
