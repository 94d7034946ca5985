//! What there is to know of timers while they run: their periods, when each ran last and how that went. Runs none.
//! Rule: a timer is listed for as long as it runs; what is written at a tick is read by others without waiting.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

use tsumugi_jobs::CronSchedule;
use tsumugi_trace::{Activity, ActivityKind, Ending};

use crate::unix_time::unix_ms;

/// The timers of this process. Locked where one begins, and by who reads.
static TIMERS: Mutex<Vec<Weak<TimerFigures>>> = Mutex::new(Vec::new());

/// Where a timer ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerKind {
    /// On one worker of this process, or on each.
    Worker,
    /// On one of all processes.
    Cluster,
    /// By a line of cron: a job for one of all processes.
    Cron,
}

impl TimerKind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TimerKind::Worker => "worker",
            TimerKind::Cluster => "cluster",
            TimerKind::Cron => "cron",
        }
    }
}

/// What an application says of a timer.
#[derive(Clone, Debug)]
pub struct TimerDescription {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it is declared: file and line.
    pub place: Option<String>,
    /// Where it ticks.
    pub kind: TimerKind,
    /// The worker that it is on.
    pub worker: usize,
}

/// A timer that runs.
#[derive(Debug)]
pub struct TimerFigures {
    pub(crate) description: TimerDescription,
    /// What its ticks are called in traces.
    trace_name: Arc<str>,
    /// In words.
    pub(crate) period: String,
    /// None by a line of cron.
    pub(crate) period_ms: Option<u64>,
    /// When the last tick began, in milliseconds since 1970; 0 before the first.
    last_at: AtomicU64,
    /// How long it took, in microseconds; negative while it runs.
    last_us: AtomicI64,
    /// When the next one is due, in milliseconds since 1970; 0 where that is not known.
    next_at: AtomicU64,
    last_error: Mutex<Option<String>>,
    /// The line of cron that says when the next one is due.
    schedule: Option<CronSchedule>,
}

/// A look at a timer.
pub(crate) struct TimerLook {
    pub last_at: Option<u64>,
    pub last: Option<Duration>,
    pub next_at: Option<u64>,
    pub last_error: Option<String>,
}

impl TimerFigures {
    /// A timer that begins now, with this period.
    pub(crate) fn begin(description: TimerDescription, period: Duration) -> Arc<TimerFigures> {
        let words = format!("{} s", period.as_secs_f64());
        TimerFigures::list(description, words, Some(period), None)
    }

    /// A line of cron from now on.
    pub(crate) fn begin_schedule(
        description: TimerDescription,
        schedule: CronSchedule,
    ) -> Arc<TimerFigures> {
        let words = schedule.words().to_owned();
        TimerFigures::list(description, words, None, Some(schedule))
    }

    fn list(
        description: TimerDescription,
        period: String,
        length: Option<Duration>,
        schedule: Option<CronSchedule>,
    ) -> Arc<TimerFigures> {
        let timer = Arc::new(TimerFigures {
            trace_name: trace_name(&description, &period),
            description,
            period,
            period_ms: length.map(|length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX)),
            last_at: AtomicU64::new(0),
            last_us: AtomicI64::new(-1),
            next_at: AtomicU64::new(0),
            last_error: Mutex::default(),
            schedule,
        });
        let mut timers = TIMERS.lock().unwrap_or_else(PoisonError::into_inner);
        timers.retain(|timer| timer.strong_count() > 0);
        timers.push(Arc::downgrade(&timer));
        timer
    }

    /// The next tick is due after this.
    pub(crate) fn next_in(&self, wait: Duration) {
        let at = now_ms().saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self.next_at.store(at, Relaxed);
    }

    /// Runs a tick, which gives the text of its failure.
    pub(crate) async fn tick(&self, tick: impl Future<Output = Option<String>>) {
        let begun = Instant::now();
        self.last_us.store(-1, Relaxed);
        self.last_at.store(now_ms(), Relaxed);
        let activity =
            Activity::begin_named(ActivityKind::Timer, Arc::clone(&self.trace_name), None);
        activity.show();
        let failure = Activity::scope(Some(activity.share()), tick).await;
        activity.end(Ending {
            // The text is the application's, and may have values.
            error: failure.as_ref().map(|_| "it failed".to_owned()),
            ..Ending::default()
        });
        let took = i64::try_from(begun.elapsed().as_micros()).unwrap_or(i64::MAX);
        *self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = failure;
        self.last_us.store(took, Relaxed);
    }

    pub(crate) fn look(&self) -> TimerLook {
        let some = |ms: u64| (ms > 0).then_some(ms);
        let last_us = u64::try_from(self.last_us.load(Relaxed)).ok();
        let error = self.last_error.lock();
        TimerLook {
            last_at: some(self.last_at.load(Relaxed)),
            last: last_us.map(Duration::from_micros),
            next_at: match &self.schedule {
                Some(schedule) => i64::try_from(now_ms())
                    .ok()
                    .and_then(|now| schedule.next_after(now))
                    .and_then(|next| u64::try_from(next).ok()),
                None => some(self.next_at.load(Relaxed)),
            },
            last_error: error.unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// The name of a timer, else its period and where it is declared, which tell timers without a name apart.
fn trace_name(description: &TimerDescription, period: &str) -> Arc<str> {
    match (&description.name, &description.place) {
        (Some(name), _) => name.as_str().into(),
        (None, Some(place)) => format!("every {period} at {place}").into(),
        (None, None) => format!("every {period}").into(),
    }
}

/// All that run now, in the order in which they began.
pub(crate) fn timers() -> Vec<Arc<TimerFigures>> {
    let timers = TIMERS.lock().unwrap_or_else(PoisonError::into_inner);
    timers.iter().filter_map(Weak::upgrade).collect()
}

fn now_ms() -> u64 {
    unix_ms(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_without_a_name_is_traced_by_its_period_and_its_place() {
        let check = |name: Option<&str>, place: Option<&str>, expected: &str| {
            let described = TimerDescription {
                name: name.map(str::to_owned),
                place: place.map(str::to_owned),
                kind: TimerKind::Worker,
                worker: 0,
            };
            let timer = TimerFigures::begin(described, Duration::from_millis(2_500));
            assert_eq!(&*timer.trace_name, expected);
        };
        check(Some("sweep"), Some("app.rb:12"), "sweep");
        check(None, Some("app.rb:12"), "every 2.5 s at app.rb:12");
        check(None, None, "every 2.5 s");
    }

    #[test]
    fn timer_is_listed_while_it_runs_and_shows_its_last_tick() {
        let described = TimerDescription {
            name: Some("timer_figures".to_owned()),
            place: None,
            kind: TimerKind::Cluster,
            worker: 0,
        };
        let listed = || {
            let mut timers = timers().into_iter();
            timers.any(|timer| timer.description.name.as_deref() == Some("timer_figures"))
        };
        let timer = TimerFigures::begin(described, Duration::from_secs(1));
        assert!(listed());
        assert!(timer.look().last_at.is_none() && timer.look().last.is_none());
        timer.next_in(Duration::from_secs(3_600));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(timer.tick(async { Some("it failed".to_owned()) }));
        let seen = timer.look();
        assert_eq!(seen.last_error.as_deref(), Some("it failed"));
        assert!(seen.last.is_some() && seen.next_at > seen.last_at);
        runtime.block_on(timer.tick(async { None }));
        assert_eq!(timer.look().last_error, None);
        drop(timer);
        assert!(!listed());
    }
}
