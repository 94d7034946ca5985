//! `every`: blocks that run by the clock, one task for each timer. Knows no clock.
//! Rule: a tick that runs when the application retires is cancelled, but where the server drains.

use std::pin::pin;
use std::rc::Rc;

use tokio::task::JoinHandle;
use tsumugi_mruby::{Result, Root, Scope};
use tsumugi_server::dispatch::{StopSignal, TimerPeriod, run_timer, tick_cut};

use crate::answer::answer;
use crate::driver::{self, Bounds};
use crate::host::{Host, JobResult};
use crate::natives::timer_period;

/// A timer as the application declared it.
pub(crate) struct Timer {
    object: Rc<Root>,
    period: TimerPeriod,
    location: String,
}

/// Reads the timers of this worker: `workers: :one` runs on the first.
pub(crate) fn read<'s>(host: &Host, scope: &'s Scope<'_>) -> Result<'s, Vec<Timer>> {
    let declared = scope.constant("Tsumugi::TIMERS")?;
    let mine = scope.elements(declared).filter_map(|timer| {
        let ivar = |name: &str| scope.ivar(timer, scope.intern(name));
        let everywhere = scope.text(ivar("@workers")).as_deref() == Some("all");
        let location = scope.text(ivar("@location")).unwrap_or_default();
        (everywhere || host.worker.id() == 0).then(|| {
            Ok(Timer {
                object: Rc::new(scope.root(timer)?),
                period: timer_period(scope, ivar("@seconds"))?,
                location,
            })
        })
    });
    mine.collect()
}

/// Starts a timer. It ends when `stop` is given; a tick that runs then is cancelled, unless the server drains.
pub(crate) fn start(host: &Rc<Host>, timer: Timer, stop: &Rc<StopSignal>) -> JoinHandle<()> {
    let (host, stop) = (Rc::clone(host), Rc::clone(stop));
    let worker = host.worker.clone();
    worker.spawn(async move {
        let cancel = Rc::new(StopSignal::default());
        let bounds = Bounds {
            signal: Some(Rc::clone(&cancel)),
            ..Bounds::default()
        };
        let ticks = run_timer(&host.worker, timer.period, &stop, async || {
            tick(&host, &timer, &bounds).await;
        });
        let mut ticks = pin!(ticks);
        tokio::select! {
            () = &mut ticks => return,
            () = tick_cut(&host.worker, &stop) => cancel.give(),
        }
        // What is cancelled ends by itself.
        ticks.await;
    })
}

async fn tick(host: &Rc<Host>, timer: &Timer, bounds: &Bounds) {
    let object = Rc::clone(&timer.object);
    let job = answer(move |scope| scope.call(scope.rooted(&object), "job", &[]));
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| driver::failure_of(scope, &ended);
    if let Some(report) = driver::run(host, job, bounds, finish).await {
        host.log_exception(&format!("every at {}", timer.location), &report);
    }
}
