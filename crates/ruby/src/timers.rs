//! `every`: blocks that run by the clock, one task for each timer. Knows no clock.
//! Rule: a tick that runs when the application retires is cancelled, but where the server drains.

use std::pin::pin;
use std::rc::Rc;

use tokio::task::JoinHandle;
use tsumugi_cluster::Lease;
use tsumugi_mruby::{Result, Root, Scope};
use tsumugi_server::dispatch::{
    StopSignal, TimerDescription, TimerKind, TimerPeriod, run_cluster_timer, run_timer, tick_cut,
};

use crate::answer::answer;
use crate::driver::{self, Bounds};
use crate::host::{Host, JobResult};
use crate::natives::timer_period;

/// A timer as the application declared it.
pub(crate) struct Timer {
    object: Rc<Root>,
    period: TimerPeriod,
    location: String,
    /// Its name among the processes of the cluster, if it ticks on one of them.
    cluster_name: Option<String>,
}

impl Timer {
    fn description(&self, host: &Host) -> TimerDescription {
        TimerDescription {
            name: self.cluster_name.clone(),
            place: Some(self.location.clone()),
            kind: match self.cluster_name {
                Some(_) => TimerKind::Cluster,
                None => TimerKind::Worker,
            },
            worker: host.worker.id(),
        }
    }
}

/// Reads the timers of this worker: `workers: :one` runs on the first, and so does `cluster: :one`, if it is this process' turn.
pub(crate) fn read<'s>(host: &Host, scope: &'s Scope<'_>) -> Result<'s, Vec<Timer>> {
    let declared = scope.constant("Tsumugi::TIMERS")?;
    let mine = scope.elements(declared).filter_map(|timer| {
        let ivar = |name: &str| scope.ivar(timer, scope.intern(name));
        let everywhere = scope.text(ivar("@workers")).as_deref() == Some("all");
        let location = scope.text(ivar("@location")).unwrap_or_default();
        let cluster_name = scope.text(ivar("@cluster_name"));
        let is_mine = everywhere && cluster_name.is_none() || host.worker.id() == 0;
        is_mine.then(|| {
            Ok(Timer {
                object: Rc::new(scope.root(timer)?),
                period: timer_period(scope, ivar("@seconds"))?,
                location,
                cluster_name,
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
        let mut ticks = pin!(run(&host, &timer, &stop, &bounds));
        tokio::select! {
            () = &mut ticks => return,
            () = tick_cut(&host.worker, &stop) => cancel.give(),
        }
        // What is cancelled ends by itself.
        ticks.await;
    })
}

async fn run(host: &Rc<Host>, timer: &Timer, stop: &StopSignal, bounds: &Bounds) {
    let Some(name) = &timer.cluster_name else {
        let tick = async || tick(host, timer, bounds).await;
        let described = timer.description(host);
        return run_timer(&host.worker, timer.period, stop, described, tick).await;
    };
    let cluster = host.resources.cluster.borrow().clone();
    let tick = async |lease: &Lease| {
        let lease = Some(lease.clone());
        let bounds = Bounds {
            lease,
            ..bounds.clone()
        };
        tick(host, timer, &bounds).await
    };
    match timer.period.in_cluster(&cluster, name) {
        Ok(cluster_timer) => {
            let described = timer.description(host);
            run_cluster_timer(&host.worker, &cluster_timer, stop, described, tick).await;
        }
        Err(error) => tracing::error!("every at {}: {error}", timer.location),
    }
}

/// Runs the block, and gives the text of its failure.
async fn tick(host: &Rc<Host>, timer: &Timer, bounds: &Bounds) -> Option<String> {
    let object = Rc::clone(&timer.object);
    let job = answer(move |scope| scope.call(scope.rooted(&object), "job", &[]));
    let finish = |scope: &Scope<'_>, ended: JobResult<'_>| driver::failure_of(scope, &ended);
    let report = driver::run(host, job, bounds, finish).await?;
    host.log_exception(&format!("every at {}", timer.location), &report);
    Some(report.to_string())
}
