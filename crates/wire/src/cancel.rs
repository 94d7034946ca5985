//! When the server is asked to stop what no caller waits for any more, or what a driver says. How it is asked is the protocol's.
//! Rule: of itself it is asked only when no caller waits for a reply and everything written was sent, and nothing is sent until that is over; so
//! it cannot hit a statement that a caller wants.

use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::limits::{CANCEL_AFTER, CANCEL_TIMEOUT};
use crate::loss::Loss;
use crate::pipeline::{CancelOutcome, Pipeline, PipelineRef, Protocol};

/// A caller left before its last reply came. If the server does not finish soon, and no other caller waits, it is asked to stop.
pub(crate) fn on_abandon<P: Protocol>(pipeline: &PipelineRef<P>) {
    // The sooner its reply comes, and is thrown away, the sooner the connection is clean.
    pipeline.flush();
    if !pipeline.driver.can_cancel() || tokio::runtime::Handle::try_current().is_err() {
        return;
    }
    if pipeline.watching_abandoned.replace(true) {
        return;
    }
    let pipeline = pipeline.clone();
    tokio::task::spawn_local(async move {
        loop {
            sleep(CANCEL_AFTER).await;
            if !pipeline.driver.will_answer() || !pipeline.is_alive() {
                break;
            }
            if !may_cancel(&pipeline) {
                continue;
            }
            pipeline.is_paused.set(true);
            let outcome = timeout(CANCEL_TIMEOUT, P::cancel(&pipeline)).await;
            tracing::debug!(target: "tsumugi_wire", ?outcome, "the server was asked to cancel");
            if outcome != Ok(CancelOutcome::Over) {
                pipeline.lose(Loss::aborted(P::CANCEL_FAILED));
            }
            pipeline.is_paused.set(false);
            pipeline.slots.borrow_mut().wake_watchers();
            pipeline.ring();
            P::after_cancel(&pipeline).await;
        }
        // The handle goes with the task; the pump may have been waiting for that.
        pipeline.watching_abandoned.set(false);
    });
}

/// Has the server stop what it runs, whether a caller waits for the reply or not: it comes all the same, as a protocol's [`Protocol::may_interrupt`] has
/// no say here. The connection ends, for this reason, where the server does not take the request, or has not replied to everything within
/// [`CANCEL_TIMEOUT`].
pub async fn interrupt<P: Protocol>(pipeline: &PipelineRef<P>, reason: &'static str) {
    let until = Instant::now() + CANCEL_TIMEOUT;
    pipeline.is_paused.set(true);
    let outcome = timeout_at(until, P::cancel(pipeline)).await;
    pipeline.is_paused.set(false);
    pipeline.slots.borrow_mut().wake_watchers();
    pipeline.ring();
    let is_over =
        outcome == Ok(CancelOutcome::Over) && timeout_at(until, pipeline.settled()).await.is_ok();
    if !is_over {
        pipeline.lose(Loss::aborted(reason));
    }
}

/// Whether all that the server may be running was abandoned, and may be stopped.
fn may_cancel<P: Protocol>(pipeline: &Pipeline<P>) -> bool {
    !pipeline.slots.borrow().has_callers()
        && pipeline.out.borrow().is_empty()
        && pipeline.driver.may_interrupt()
}
