//! `every`: functions that run by the clock, on one worker or on all, or on one of all processes. Knows no request and no clock.
//! Rule: a tick that runs when the application retires is dropped, but where the server drains.

use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tsumugi_cluster::Lease;
use tsumugi_server::dispatch::{
    StopSignal, TimerDescription, TimerKind, TimerPeriod, run_cluster_timer, run_timer, tick_cut,
};
use tsumugi_worker::LocalTask;

use crate::error::{Error, Result, report, story};
use crate::plugin::Worker;

/// Where a timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// On the first worker only.
    OneWorker,
    /// On each worker.
    AllWorkers,
    /// On one of all processes of the worker's [cluster](Worker::cluster). The timer is the same in all of them by its name.
    OneInCluster {
        /// At most 128 bytes.
        name: &'static str,
    },
}

/// A timer as the router declares it.
pub(crate) struct Timer<S> {
    pub(crate) period: Duration,
    pub(crate) on: On,
    pub(crate) location: &'static Location<'static>,
    pub(crate) job: Job<S>,
}

type Job<S> = Rc<dyn Fn(Rc<S>) -> LocalTask<Result<()>>>;

/// What a tick may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a timer",
    note = "return `()` or a `Result<()>`"
)]
pub trait TickOutcome {
    /// Whether it failed.
    fn ticked(self) -> Result<()>;
}

impl TickOutcome for () {
    fn ticked(self) -> Result<()> {
        Ok(())
    }
}

impl<E: Into<Error>> TickOutcome for Result<(), E> {
    fn ticked(self) -> Result<()> {
        self.map_err(Into::into)
    }
}

pub(crate) fn job<S, F, R>(tick: F) -> Job<S>
where
    S: 'static,
    F: AsyncFn(&S) -> R + 'static,
    R: TickOutcome,
{
    let tick = Rc::new(tick);
    Rc::new(move |state| {
        let tick = Rc::clone(&tick);
        Box::pin(async move { tick(&state).await.ticked() })
    })
}

/// Reads the periods of all, before anything starts.
pub(crate) fn with_periods<S>(timers: Vec<Timer<S>>) -> Result<Vec<(TimerPeriod, Timer<S>)>> {
    let with_period = |timer: Timer<S>| {
        let period = TimerPeriod::of_seconds(timer.period.as_secs_f64());
        let refused = |error: String| Error::Usage(format!("{}: {error}", timer.location).into());
        let period = period.map_err(|error| refused(error.to_string()))?;
        if let On::OneInCluster { name } = timer.on {
            let checked = period.check_in_cluster(name);
            checked.map_err(|error| refused(error.to_string()))?;
        }
        Ok((period, timer))
    };
    timers.into_iter().map(with_period).collect()
}

/// Refuses timers of a cluster that keeps no leases, before any starts.
pub(crate) fn check_cluster<S>(timers: &[(TimerPeriod, Timer<S>)], worker: &Worker) -> Result<()> {
    let is_clusters =
        |(_, timer): &(TimerPeriod, Timer<S>)| matches!(timer.on, On::OneInCluster { .. });
    match timers.iter().any(is_clusters) {
        true => Ok(worker.cluster().check_leases()?),
        false => Ok(()),
    }
}

/// Starts a timer, if it is one of this worker. It ends when `stop` is given.
pub(crate) fn start<S: 'static>(
    worker: &Worker,
    state: &Rc<S>,
    (period, timer): (TimerPeriod, Timer<S>),
    stop: &Rc<StopSignal>,
) -> Option<JoinHandle<()>> {
    if timer.on != On::AllWorkers && worker.id() != 0 {
        return None;
    }
    let (state, stop) = (Rc::clone(state), Rc::clone(stop));
    let worker = worker.clone();
    let spawner = worker.clone();
    Some(spawner.spawn_boxed(Box::pin(async move {
        tokio::select! {
            () = run(&worker, &state, period, &timer, &stop) => {}
            () = tick_cut(worker.inner(), &stop) => {}
        }
    })))
}

async fn run<S: 'static>(
    worker: &Worker,
    state: &Rc<S>,
    period: TimerPeriod,
    timer: &Timer<S>,
    stop: &StopSignal,
) {
    let tick = async || {
        let error = (timer.job)(Rc::clone(state)).await.err()?;
        let (place, story) = (format!("every at {}", timer.location), story(&error));
        tracing::error!("{place}: {story}");
        report(error.class(), &story, &place);
        Some(story)
    };
    let description = |name: Option<&str>| TimerDescription {
        name: name.map(str::to_owned),
        place: Some(timer.location.to_string()),
        kind: match name {
            Some(_) => TimerKind::Cluster,
            None => TimerKind::Worker,
        },
        worker: worker.id(),
    };
    let On::OneInCluster { name } = timer.on else {
        return run_timer(worker.inner(), period, stop, description(None), tick).await;
    };
    match period.in_cluster(&worker.cluster(), name) {
        Ok(cluster_timer) => {
            let tick = async |_: &Lease| tick().await;
            let described = description(Some(name));
            run_cluster_timer(worker.inner(), &cluster_timer, stop, described, tick).await;
        }
        Err(error) => tracing::error!("every at {}: {error}", timer.location),
    }
}
