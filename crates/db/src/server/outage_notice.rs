//! The lines in the log about a database that cannot be connected to. Opens nothing itself.
//! Rule: all workers try the same database, and one line in [`OUTAGE_NOTICE_EVERY`] is enough for all of them, with one more when it is back; none shows a password.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{OUTAGE_NOTICE_EVERY, OUTAGE_NOTICE_MEMORY, WAIT_NOTICE_AFTER};

/// What helps, at the end of each line.
const ADVICE: &str =
    "check the server and its address: that of DATABASE_URL unless the application names another";

/// The last line about each address that could not be connected to.
static NOTICES: Mutex<BTreeMap<Arc<str>, Notice>> = Mutex::new(BTreeMap::new());

struct Notice {
    written: Instant,
    return_notice: ReturnNotice,
}

/// The line that says that the database is back.
#[derive(PartialEq, Eq)]
enum ReturnNotice {
    Pending,
    Written,
}

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
    if let Some(address) = address
        && begin_notice(address)
    {
        let reason = last_failure();
        let reason = reason.as_deref().unwrap_or("there is no answer yet");
        tracing::warn!(
            target: "tsumugi_db",
            "cannot connect to the database {address}: {reason}; trying again (for up to {limit:?}, acquire_timeout; {ADVICE})"
        );
    }
    opening.await
}

/// An attempt has failed, as all have for a while.
pub(super) fn note_failure(address: &Arc<str>, reason: &str) {
    if begin_notice(address) {
        tracing::warn!(
            target: "tsumugi_db",
            "cannot connect to the database {address}: {reason}; trying again ({ADVICE})"
        );
    }
}

/// A connection is open. Says so once for each line that has said that there was none.
pub(super) fn note_success(address: &Arc<str>) {
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    // The notice stays: a server that takes one connection and refuses the next is not written about each time.
    if let Some(notice) = notices.get_mut(address)
        && notice.return_notice == ReturnNotice::Pending
    {
        notice.return_notice = ReturnNotice::Written;
        tracing::info!(target: "tsumugi_db", "connected to the database {address}");
    }
}

/// Notes that a line about the address is being written, which the caller does. False within [`OUTAGE_NOTICE_EVERY`] of the last, and nothing is
/// noted then.
fn begin_notice(address: &Arc<str>) -> bool {
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    let last = notices.get(address);
    if last.is_some_and(|last| last.written.elapsed() < OUTAGE_NOTICE_EVERY) {
        return false;
    }
    // An address that nothing tries any more stays here no longer.
    notices.retain(|_, notice| notice.written.elapsed() < OUTAGE_NOTICE_MEMORY);
    let notice = Notice {
        written: Instant::now(),
        return_notice: ReturnNotice::Pending,
    };
    notices.insert(Arc::clone(address), notice);
    true
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
            "/once: connection refused; trying again",
            "20s, acquire_timeout",
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
        assert!(
            lines[0].contains("/often: connection refused; trying again (check "),
            "{lines:#?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn server_that_refuses_some_is_logged_every_ten_seconds_and_connected_to_once_for_each() {
        let address: Arc<str> = "postgres://ann@db:5432/full".into();
        let lines = logged(async {
            for _ in 0..25 {
                note_failure(&address, "too many clients already");
                note_success(&address);
                note_success(&address);
                sleep(Duration::from_secs(1)).await;
            }
        });
        let lines = lines.await;
        let is_warning = |line: &String| line.contains(" WARN ");
        let warnings: Vec<bool> = lines.iter().map(is_warning).collect();
        let expected = [true, false, true, false, true, false];
        assert_eq!(warnings, expected, "{lines:#?}");
    }
}
