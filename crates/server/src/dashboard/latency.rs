//! How long requests took, counted in steps that grow with the time: four for each doubling. Knows no request.
//! Rule: one thread counts, with plain stores on memory of its own; any thread reads. A quantile is right within an eighth.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Steps for each doubling are 2 to this.
const STEP_BITS: u32 = 2;

/// The last takes what took longer than two minutes.
const STEPS: usize = 104;

/// Durations that one thread counts.
#[derive(Debug)]
pub(crate) struct LatencyCounter([AtomicU64; STEPS]);

/// Counts at one moment, or between two.
#[derive(Clone, Debug)]
pub(crate) struct LatencyCounts([u64; STEPS]);

impl Default for LatencyCounter {
    fn default() -> LatencyCounter {
        LatencyCounter(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Default for LatencyCounts {
    fn default() -> LatencyCounts {
        LatencyCounts([0; STEPS])
    }
}

impl LatencyCounter {
    /// Counts one. Only by the thread that these are of.
    pub fn add(&self, us: u64) {
        if let Some(count) = self.0.get(step(us)) {
            count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }

    /// Adds what has been counted so far.
    pub fn add_to(&self, counts: &mut LatencyCounts) {
        for (sum, count) in counts.0.iter_mut().zip(&self.0) {
            *sum += count.load(Relaxed);
        }
    }
}

impl LatencyCounts {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &LatencyCounts) -> LatencyCounts {
        let mut more = self.clone();
        for (count, before) in more.0.iter_mut().zip(&earlier.0) {
            *count = count.saturating_sub(*before);
        }
        more
    }

    pub fn add(&mut self, other: &LatencyCounts) {
        for (count, more) in self.0.iter_mut().zip(&other.0) {
            *count += more;
        }
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The time that this share of all stayed below, in milliseconds; none when nothing was counted.
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let rank = ((total as f64 * share).ceil() as u64).clamp(1, total);
        let mut up_to = 0;
        let found = self.0.iter().position(|count| {
            up_to += count;
            up_to >= rank
        });
        found.map(|step| middle_us(step) / 1_000.0)
    }
}

/// The step of a duration in microseconds.
fn step(us: u64) -> usize {
    let least = 1 << STEP_BITS;
    if us < least {
        return us as usize;
    }
    let doubling = us.ilog2();
    let within = (us >> (doubling - STEP_BITS)) & (least - 1);
    let step = u64::from(doubling - STEP_BITS + 1) * least + within;
    usize::try_from(step).map_or(STEPS - 1, |step| step.min(STEPS - 1))
}

/// The middle of a step in microseconds.
fn middle_us(step: usize) -> f64 {
    let least = 1_usize << STEP_BITS;
    if step < least {
        return step as f64 + 0.5;
    }
    let doubling = (step / least - 1) as i32;
    let within = (step % least + least) as f64;
    (within + 0.5) * 2_f64.powi(doubling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_is_within_an_eighth_of_the_middle_of_its_step() {
        for us in (4..200).chain((1..1_000).map(|n| n * n * 100)) {
            if us > 120_000_000 {
                break;
            }
            let middle = middle_us(step(us));
            let error = (middle - us as f64).abs() / us as f64;
            assert!(error <= 0.126, "{us}: {middle}");
        }
        assert_eq!(step(u64::MAX), STEPS - 1);
    }

    #[test]
    fn quantiles_are_of_what_was_counted_in_between() {
        let latency = LatencyCounter::default();
        let counts = || {
            let mut counts = LatencyCounts::default();
            latency.add_to(&mut counts);
            counts
        };
        latency.add(50_000_000);
        let before = counts();
        assert_eq!(counts().since(&before).quantile_ms(0.5), None);
        for _ in 0..98 {
            latency.add(1_000);
        }
        latency.add(100_000);
        latency.add(100_000);
        let since = counts().since(&before);
        assert_eq!(since.total(), 100);
        let near = |found: Option<f64>, expected: f64| {
            let found = found.unwrap();
            assert!((found - expected).abs() <= expected * 0.126, "{found}");
        };
        near(since.quantile_ms(0.5), 1.0);
        near(since.quantile_ms(0.99), 100.0);
    }
}
