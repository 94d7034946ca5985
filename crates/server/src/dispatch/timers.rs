//! `every`: what runs by the clock until the application retires or the server drains. Knows no language of applications.
//! A timer of the cluster waits for its turn among the processes.
//! Rule: a tick never begins before the last one has ended, and a period that no clock can keep is refused where it is declared. None begins
//! once a drain has: from then on the timers of the process that took over run.
//! Boxed edge: what runs jobs.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tsumugi_cluster::{Cluster, ClusterTimer, Lease, ReleaseKind};
use tsumugi_jobs::{CronSchedule, JobKind, JobQueue, JobWorker, run_schedules};
use tsumugi_kv::none_awaited;
use tsumugi_worker::WorkerHandle;

use super::StopSignal;
use super::timer_figures::{TimerDescription, TimerFigures, TimerKind};
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

    /// A timer of this period that ticks on one of all processes.
    ///
    /// # Errors
    /// As [`ClusterTimer::check`].
    pub fn in_cluster(
        self,
        cluster: &Cluster,
        name: &str,
    ) -> tsumugi_cluster::Result<ClusterTimer> {
        cluster.timer(name, self.0)
    }

    /// Refuses what cannot be a timer of a cluster.
    ///
    /// # Errors
    /// As [`ClusterTimer::check`].
    pub fn check_in_cluster(self, name: &str) -> tsumugi_cluster::Result<()> {
        ClusterTimer::check(name, self.0)
    }
}

/// Ticks until `stop` is given or the server drains, between two ticks; [`tick_cut`] says what becomes of one that runs then. A tick gives the
/// text of its failure.
pub async fn run_timer(
    worker: &WorkerHandle,
    period: TimerPeriod,
    stop: &StopSignal,
    description: TimerDescription,
    tick: impl AsyncFn() -> Option<String>,
) {
    let TimerPeriod(period) = period;
    tokio::select! {
        biased;
        () = stop.given() => return,
        // Not beside the process that this one takes over from, nor without the stores that it has until it has drained.
        () = begin(worker) => {}
    }
    let figures = TimerFigures::begin(description, period);
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut drain = pin!(worker.drain_started());
    loop {
        figures.next_in(period);
        tokio::select! {
            biased;
            () = &mut drain => return,
            () = stop.given() => return,
            _ = ticks.tick() => {}
        }
        figures.tick(tick()).await;
    }
}

/// The same for a timer of the cluster: this process ticks when no other one does and a period has passed since any of them did. A tick that
/// has lost its lease is dropped.
pub async fn run_cluster_timer(
    worker: &WorkerHandle,
    timer: &ClusterTimer,
    stop: &StopSignal,
    description: TimerDescription,
    tick: impl AsyncFn(&Lease) -> Option<String>,
) {
    tokio::select! {
        biased;
        () = stop.given() => return,
        () = begin(worker) => {}
    }
    let figures = TimerFigures::begin(description, timer.period());
    let mut drain = pin!(worker.drain_started());
    loop {
        let lease = tokio::select! {
            biased;
            () = &mut drain => return,
            () = stop.given() => return,
            lease = timer.turn() => lease,
        };
        let held = lease.hold(tick(&lease));
        let ticked = async {
            match held.await {
                Ok(failure) => {
                    lease.release(ReleaseKind::Ticked).await;
                    failure
                }
                Err(error) => {
                    tracing::warn!("a tick of every was cut short: {error}");
                    Some(format!("it was cut short: {error}"))
                }
            }
        };
        figures.tick(ticked).await;
    }
}

/// The part of a drain that is left for giving jobs back.
const JOBS_BACK_PART: u32 = 10;

/// Runs jobs until `stop` is given or the server drains: then none begins, and those that run go on for a while, in a drain up to nine tenths of its time.
pub fn run_jobs<'r>(
    worker: &'r WorkerHandle,
    stop: &'r StopSignal,
    jobs: JobWorker,
) -> LocalBoxFuture<'r, ()> {
    async move {
        tokio::select! {
            biased;
            () = stop.given() => return,
            () = begin(worker) => {}
        }
        let drain = worker.drain_started();
        let ending = async {
            tokio::select! {
                () = drain => {}
                () = stop.given() => {}
            }
        };
        let (last, longest) = (worker.drain_started(), worker.limits().drain_ms_max);
        let longest = Duration::from_millis(longest);
        let last = async {
            last.await;
            worker.sleep(longest - longest / JOBS_BACK_PART).await;
        };
        jobs.run_until(ending, last).await;
    }
    .boxed_local()
}

/// The same for the jobs of schedules, which one worker of a process pushes.
pub fn push_schedules<'p>(
    worker: &'p WorkerHandle,
    stop: &'p StopSignal,
    queue: JobQueue,
    schedules: Vec<(JobKind, CronSchedule)>,
) -> LocalBoxFuture<'p, ()> {
    async move {
        tokio::select! {
            biased;
            () = stop.given() => return,
            () = begin(worker) => {}
        }
        let _figures: Vec<_> = schedules
            .iter()
            .map(|(kind, schedule)| {
                let description = TimerDescription {
                    name: Some(kind.name.clone()),
                    place: None,
                    kind: TimerKind::Cron,
                    worker: worker.id(),
                };
                TimerFigures::begin_schedule(description, schedule.clone())
            })
            .collect();
        let drain = worker.drain_started();
        let ending = async {
            tokio::select! {
                () = drain => {}
                () = stop.given() => {}
            }
        };
        run_schedules(queue, schedules, ending).await;
    }
    .boxed_local()
}

async fn begin(worker: &WorkerHandle) {
    worker.serving_started().await;
    none_awaited().await;
}

/// Resolves when a tick that runs is to be cut short, because another application has taken the place of its own. While the server drains
/// it runs to its end, for which there is as much time as for requests.
pub async fn tick_cut(worker: &WorkerHandle, stop: &StopSignal) {
    stop.given().await;
    if worker.draining() {
        pending().await
    }
}
