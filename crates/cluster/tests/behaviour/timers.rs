//! Timers that tick on one of many: never two at once, one for each period, another one when a tick does not end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tsumugi_cluster::{ClusterTimer, Lease, ReleaseKind};
use tsumugi_testkit::{RunningTick, any_length_of};

use crate::{Place, with_each};

/// For what must come, however crowded the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

async fn timer(place: &Place, name: &str) -> ClusterTimer {
    place.cluster().await.timer(name, place.period()).unwrap()
}

async fn turn(timer: &ClusterTimer) -> Lease {
    let turn = timeout(PATIENCE, timer.turn()).await;
    turn.expect("its turn comes")
}

#[test]
fn timers_of_one_name_tick_once_a_period_and_never_two_at_once() {
    with_each(async |place| {
        let period = place.period();
        let ticks = RefCell::new(Vec::new());
        let running = Rc::new(Cell::new(0));
        let run = async |timer: ClusterTimer| {
            loop {
                let lease = timer.turn().await;
                ticks.borrow_mut().push(Instant::now());
                let tick = async {
                    let _running = RunningTick::begin(&running).await;
                    sleep(period / 4).await;
                };
                // Lost where the machine stood still for as long as it lasts.
                if lease.hold(tick).await.is_ok() {
                    lease.release(ReleaseKind::Ticked).await;
                }
            }
        };
        let (one, other) = (timer(&place, "one").await, timer(&place, "one").await);
        let begun = Instant::now();
        let four = async {
            while ticks.borrow().len() < 4 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let all = async {
            tokio::select! {
                never = run(one) => never,
                never = run(other) => never,
                () = four => {}
            }
        };
        timeout(PATIENCE, all).await.expect("four ticks come");
        // Each a period after the one before, the first one too. Not from one to the next, for an answer may be late.
        for (number, tick) in (1..).zip(ticks.take()) {
            let after = tick - begun;
            assert!(after >= period * number * 9 / 10, "{number}: {after:?}");
        }
    });
}

#[test]
fn tick_that_does_not_end_is_taken_over_when_its_lease_ends() {
    with_each(async |place| {
        let period = place.period();
        let (one, other) = (timer(&place, "over").await, timer(&place, "over").await);
        let begun = Instant::now();
        let first = turn(&one).await;
        // It is not renewed, as of one that has died.
        let second = turn(&other).await;
        let after = begun.elapsed();
        // The first one came after a period, and its lease is half of one.
        assert!(after >= period * 5 / 4, "{after:?}");
        assert!(first.is_lost() && second.token() > first.token());
        second.release(ReleaseKind::Ticked).await;
        // The next one is due a period after the second began.
        let third = turn(&one).await;
        let after = begun.elapsed();
        assert!(after >= period * 9 / 4, "{after:?}");
        third.release(ReleaseKind::Ticked).await;
    });
}

#[test]
fn timer_goes_on_where_it_was_for_a_process_that_has_just_started() {
    with_each(async |place| {
        let period = place.period();
        let begun = Instant::now();
        let tick = turn(&timer(&place, "on").await).await;
        tick.release(ReleaseKind::Ticked).await;
        // Nobody waits for the next one, as when all processes are started again.
        sleep(period / 2).await;
        let next = turn(&timer(&place, "on").await).await;
        let after = begun.elapsed();
        // Each a period after the one before, the first one too.
        assert!(after >= period * 9 / 5, "{after:?}");
        next.release(ReleaseKind::Ticked).await;
        // Longer than that, and it is due at once: not a period later, as where it begins. A machine that stands still shows that at the next try.
        let mut waited = Duration::MAX;
        any_length_of([period + place.late(); 5], async |pause| {
            sleep(pause).await;
            let started = timer(&place, "on").await;
            let begun = Instant::now();
            let next = turn(&started).await;
            waited = begun.elapsed();
            next.release(ReleaseKind::Ticked).await;
            waited < period / 2
        })
        .await;
        assert!(waited < period / 2, "{waited:?}");
    });
}
