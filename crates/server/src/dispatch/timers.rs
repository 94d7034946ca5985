//! `every`: what runs by the clock until the application retires. Knows no language of applications.
//! Rule: a tick never begins before the last one has ended, and a period that no clock can keep is refused where it is declared.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::StopSignal;
use crate::limits::{TIMER_SECONDS_MAX, TIMER_SECONDS_MIN};

/// How long after the last tick the next one is due.
#[derive(Clone, Copy, Debug)]
pub struct TimerPeriod(Duration);

/// The period is no time that the clock can keep. Declare another one.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "every takes from {TIMER_SECONDS_MIN} to timer_seconds_max ({TIMER_SECONDS_MAX}) seconds, not {seconds:?}"
)]
pub struct TimerPeriodError {
    seconds: f64,
}

impl TimerPeriod {
    /// A period of so many seconds.
    ///
    /// # Errors
    /// When it is shorter than [`TIMER_SECONDS_MIN`] or longer than [`TIMER_SECONDS_MAX`].
    pub fn of_seconds(seconds: f64) -> Result<TimerPeriod, TimerPeriodError> {
        match (TIMER_SECONDS_MIN..=TIMER_SECONDS_MAX).contains(&seconds) {
            true => Ok(TimerPeriod(Duration::from_secs_f64(seconds))),
            false => Err(TimerPeriodError { seconds }),
        }
    }
}

/// Ticks until `stop` is given between two ticks; what becomes of a tick that runs then is its own affair.
pub async fn run_timer(period: TimerPeriod, stop: &StopSignal, tick: impl AsyncFn()) {
    let TimerPeriod(period) = period;
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! { _ = ticks.tick() => {}, () = stop.given() => return }
        tick().await;
    }
}
