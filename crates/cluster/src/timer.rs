//! When a timer that runs on one of all processes ticks here. Runs no tick. Rule: a lease is held for a tick, not between ticks: who dies in
//! between keeps nobody waiting, and who dies in one is replaced after half of a period.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::sleep;

use crate::attempt::{LeaseAttempt, TakeOutcome};
use crate::checks::check_name;
use crate::engine::{ClusterEngine, TakeRequest};
use crate::error::{Error, Result};
use crate::lease::Lease;
use crate::limits::{CLUSTER_PERIOD_MIN, ENGINE_PAUSE_MAX, LOCK_POLL_MIN, TICK_TTL_MAX};

/// A timer of all processes that declare it by the same name.
#[derive(Clone, Debug)]
pub struct ClusterTimer {
    engine: Rc<dyn ClusterEngine>,
    name: String,
    period: Duration,
}

impl ClusterTimer {
    pub(crate) fn new(
        engine: &Rc<dyn ClusterEngine>,
        name: &str,
        period: Duration,
    ) -> Result<ClusterTimer> {
        ClusterTimer::check(name, period)?;
        engine.check_leases()?;
        Ok(ClusterTimer {
            engine: Rc::clone(engine),
            name: name.to_owned(),
            period,
        })
    }

    /// Refuses what cannot be a timer of a cluster.
    ///
    /// # Errors
    /// [`Error::Usage`] of a period below [`CLUSTER_PERIOD_MIN`] or a name that is none, [`Error::TooLarge`] of a long name.
    pub fn check(name: &str, period: Duration) -> Result<()> {
        check_name("the name of a timer", name)?;
        if period < CLUSTER_PERIOD_MIN {
            return Err(Error::Usage(format!(
                "a timer of the cluster takes at least {} s (CLUSTER_PERIOD_MIN), not {} s",
                CLUSTER_PERIOD_MIN.as_secs(),
                period.as_secs_f64()
            )));
        }
        Ok(())
    }

    /// How long after a tick the next one is due.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Waits until this process is to tick. The tick runs under the lease ([`Lease::hold`]) and gives it back with
    /// [`ReleaseKind::Ticked`](crate::ReleaseKind::Ticked). Dropping the future leaves the tick to others.
    pub fn turn(&self) -> LocalBoxFuture<'_, Lease> {
        async move {
            let mut attempt = LeaseAttempt::new(
                &self.engine,
                &self.name,
                TakeRequest {
                    name: lease_name(&self.name),
                    holder: String::new(),
                    ttl: (self.period / 2).min(TICK_TTL_MAX),
                    period: Some(self.period),
                },
            );
            let mut is_noted = false;
            let mut is_failing = false;
            loop {
                let outcome = match is_noted {
                    true => attempt.take().await,
                    false => {
                        let name = lease_name(&self.name);
                        let noted = self.engine.begin_timer(&name, self.period).await;
                        is_noted = noted.is_ok();
                        noted.map(|()| TakeOutcome::Busy(Duration::ZERO))
                    }
                };
                let pause = match outcome {
                    Ok(TakeOutcome::Held(lease)) => return lease,
                    Ok(TakeOutcome::Busy(wait)) => {
                        is_failing = false;
                        wait.clamp(LOCK_POLL_MIN, self.period)
                    }
                    Err(error) => {
                        // Once for each time that it begins to fail.
                        if !std::mem::replace(&mut is_failing, true) {
                            tracing::warn!("the timer {} waits for its turn: {error}", self.name);
                        }
                        (self.period / 4).min(ENGINE_PAUSE_MAX)
                    }
                };
                sleep(pause).await;
            }
        }
        .boxed_local()
    }
}

/// The name of a timer's lease, which no lock has by accident.
fn lease_name(timer: &str) -> String {
    format!("every {timer}")
}
