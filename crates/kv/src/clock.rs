//! The time that times to live are measured with. Not a timer: it wakes no task.
//! Rule: wall-clock milliseconds, because a time to live goes on while the process is not running.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where a database takes its time from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's.
    #[default]
    System,
    /// Milliseconds since 1970 that a test sets.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// A clock that stands at `at` after 1970 until it is moved.
    #[must_use]
    pub fn manual(at: Duration) -> Self {
        Self::Manual(Arc::new(AtomicU64::new(millis(at))))
    }

    /// Moves a manual clock forward; the system's is not ours to move.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(now) = self {
            now.fetch_add(millis(by), SeqCst);
        }
    }

    /// Milliseconds since 1970, a fraction of one cut off.
    pub(crate) fn now_ms(&self) -> u64 {
        match self {
            Self::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, millis),
            Self::Manual(now) => now.load(SeqCst),
        }
    }

    /// By how many milliseconds it may be later than [`now_ms`](Self::now_ms) says. A time to live is counted from then: who asked for a
    /// second has his record for a second.
    pub(crate) const fn cut_off_ms(&self) -> u64 {
        match self {
            Self::System => 1,
            Self::Manual(_) => 0,
        }
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Whole milliseconds that are at least as long.
pub(crate) fn millis_ceil(duration: Duration) -> u64 {
    millis(duration.saturating_add(Duration::from_nanos(999_999)))
}
