//! `every`: functions that run by the clock, on one worker or on all. Knows no request.
//! Rule: a tick never begins before the last one has ended; one that runs when the application retires is dropped.

use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tsumugi_server::dispatch::StopSignal;

use crate::error::{Error, Result, story};
use crate::local::Local;
use crate::plugin::Worker;

/// Where a timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// On the first worker only.
    OneWorker,
    /// On each worker.
    AllWorkers,
}

/// A timer as the router declares it.
pub(crate) struct Timer<S> {
    pub(crate) period: Duration,
    pub(crate) on: On,
    pub(crate) location: &'static Location<'static>,
    pub(crate) job: Job<S>,
}

type Job<S> = Rc<dyn Fn(Rc<S>) -> Local<Result<()>>>;

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

/// Starts a timer, if it is one of this worker. It ends when `stop` is given.
pub(crate) fn start<S: 'static>(
    worker: &Worker,
    state: &Rc<S>,
    timer: Timer<S>,
    stop: &Rc<StopSignal>,
) -> Option<JoinHandle<()>> {
    if timer.on == On::OneWorker && worker.id() != 0 {
        return None;
    }
    let (state, stop) = (Rc::clone(state), Rc::clone(stop));
    Some(worker.spawn(async move {
        tokio::select! { () = run(timer, state) => {}, () = stop.given() => {} }
    }))
}

async fn run<S>(timer: Timer<S>, state: Rc<S>) {
    // Tokio's interval refuses no time at all.
    let period = timer.period.max(Duration::from_millis(1));
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = (timer.job)(Rc::clone(&state)).await {
            tracing::error!("every at {}: {}", timer.location, story(&error));
        }
    }
}
