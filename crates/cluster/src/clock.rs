//! The machine's time since it was started, the suspended time too. Not the time of day: nobody sets this clock. Rule: of two times of one
//! machine and one start, the later one is the greater.

use std::sync::LazyLock;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The clock that also counts while the machine is suspended. Other systems than Linux have no such one by this name.
#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

static BOOT_ID: LazyLock<String> = LazyLock::new(|| {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
});

/// A time since the start of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootTime(Duration);

impl BootTime {
    /// Now.
    ///
    /// # Panics
    /// Where the system has no such clock, which Linux has since 2.6.39.
    #[must_use]
    pub fn now() -> BootTime {
        match clock_gettime(CLOCK) {
            Ok(time) => BootTime(Duration::from(time)),
            Err(error) => panic!("the system has no clock since its start: {error}"),
        }
    }

    /// So long after the start.
    #[must_use]
    pub const fn since_start(elapsed: Duration) -> BootTime {
        BootTime(elapsed)
    }

    /// So much later.
    #[must_use]
    pub fn plus(self, later: Duration) -> BootTime {
        BootTime(self.0.saturating_add(later))
    }

    /// How long it is until `later`; nothing when that has passed.
    #[must_use]
    pub fn until(self, later: BootTime) -> Duration {
        later.0.saturating_sub(self.0)
    }

    /// Milliseconds since the start.
    #[must_use]
    pub fn milliseconds(self) -> i64 {
        i64::try_from(self.0.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Which start of the machine the times are of. Empty where the system does not say.
pub(crate) fn boot_id() -> &'static str {
    &BOOT_ID
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_since_start_never_goes_back() {
        let first = BootTime::now();
        let second = BootTime::now();
        assert!(second >= first);
        assert_eq!(second.until(first), Duration::ZERO.max(second.until(first)));
        assert_eq!(first.plus(Duration::MAX).until(first), Duration::ZERO);
    }
}
