//! `every`: blocks that run by the clock. One task per timer; a tick never begins before the last one has ended.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tsumugi_mruby::{Raise, Result, Root, Scope};
use tsumugi_server::dispatch::StopSignal;

use crate::answer::answer;
use crate::driver::{self, Bounds};
use crate::host::{Host, JobResult};

/// A timer as the application declared it.
pub(crate) struct Timer {
    object: Rc<Root>,
    period: Duration,
    location: String,
}

/// Reads the timers of this worker: `workers: :one` runs on the first.
pub(crate) fn read<'s>(host: &Host, scope: &'s Scope<'_>) -> Result<'s, Vec<Timer>> {
    let declared = scope.constant("Tsumugi::TIMERS")?;
    let declared = (0..scope.array_len(declared)).map(|i| scope.array_at(declared, i));
    let mine = declared.filter_map(|timer| {
        let ivar = |name: &str| scope.ivar(timer, scope.intern(name));
        let everywhere = scope.text(ivar("@workers")).as_deref() == Some("all");
        let period = ivar("@seconds")
            .as_float()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())?;
        let location = scope.text(ivar("@location")).unwrap_or_default();
        (everywhere || host.worker.id() == 0).then(|| {
            Ok(Timer {
                object: Rc::new(scope.root(timer)?),
                period,
                location,
            })
        })
    });
    mine.collect()
}

/// Starts a timer. It ends when `stop` is given; a tick that runs then is cancelled.
pub(crate) fn start(host: &Rc<Host>, timer: Timer, stop: &Rc<StopSignal>) -> JoinHandle<()> {
    let (host, stop) = (Rc::clone(host), Rc::clone(stop));
    let worker = host.worker.clone();
    worker.spawn(async move {
        let mut ticks =
            tokio::time::interval_at(tokio::time::Instant::now() + timer.period, timer.period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let bounds = Bounds {
            signal: Some(Rc::clone(&stop)),
            ..Bounds::default()
        };
        loop {
            tokio::select! { _ = ticks.tick() => {}, () = stop.given() => return }
            tick(&host, &timer, &bounds).await;
        }
    })
}

async fn tick(host: &Rc<Host>, timer: &Timer, bounds: &Bounds) {
    let object = Rc::clone(&timer.object);
    let job = answer(move |scope| scope.call(scope.rooted(&object), "job", &[]));
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| match ended {
        JobResult::Value(_) => None,
        JobResult::Raised(exception) => Some(scope.report(Raise(exception))),
    };
    if let Some(report) = driver::run(host, job, bounds, finish).await
        && report.class != "Tsumugi::Cancelled"
    {
        host.log_exception(&format!("every at {}", timer.location), &report);
    }
}
