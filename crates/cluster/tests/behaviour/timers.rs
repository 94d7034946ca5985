//! Timers that tick on one of many: never two at once, one for each period, another one when a tick does not end.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tsumugi_cluster::{ClusterTimer, ReleaseKind};

use crate::{Place, with_each};

async fn timer(place: &Place, name: &str) -> ClusterTimer {
    place.cluster().await.timer(name, place.period()).unwrap()
}

#[test]
fn timers_of_one_name_tick_once_a_period_and_never_two_at_once() {
    with_each(async |place| {
        let period = place.period();
        let ticks = RefCell::new(Vec::new());
        let running = Cell::new(0);
        let run = async |timer: ClusterTimer| {
            loop {
                let lease = timer.turn().await;
                ticks.borrow_mut().push(Instant::now());
                let tick = async {
                    running.set(running.get() + 1);
                    assert_eq!(running.get(), 1, "two tick at once");
                    sleep(period / 4).await;
                    running.set(running.get() - 1);
                };
                lease.hold(tick).await.unwrap();
                lease.release(ReleaseKind::Ticked).await;
            }
        };
        let (one, other) = (timer(&place, "one").await, timer(&place, "one").await);
        let begun = Instant::now();
        let both = async { tokio::join!(run(one), run(other)) };
        let _: Result<((), ()), _> = timeout(period * 4 + period / 2, both).await;
        let ticks = ticks.take();
        assert_eq!(ticks.len(), 4, "{ticks:?}");
        assert!(
            ticks[0] - begun >= period * 9 / 10,
            "the first one after a period"
        );
        let gaps: Vec<Duration> = ticks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let is_regular = |gap: &Duration| *gap >= period * 9 / 10 && *gap < period * 3 / 2;
        assert!(gaps.iter().all(is_regular), "{gaps:?}");
    });
}

#[test]
fn tick_that_does_not_end_is_taken_over_within_two_periods() {
    with_each(async |place| {
        let period = place.period();
        let (one, other) = (timer(&place, "over").await, timer(&place, "over").await);
        let first = one.turn().await;
        let begun = Instant::now();
        // It is not renewed, as of one that has died.
        let second = timeout(period, other.turn()).await.unwrap();
        assert!(begun.elapsed() >= period / 4, "{:?}", begun.elapsed());
        assert!(first.is_lost() && second.token() > first.token());
        second.release(ReleaseKind::Ticked).await;
        // The next one is due a period after the second began.
        let early = timeout(period / 2, one.turn()).await;
        assert!(early.is_err(), "{early:?}");
    });
}

#[test]
fn timer_goes_on_where_it_was_for_a_process_that_has_just_started() {
    with_each(async |place| {
        let period = place.period();
        let tick = timer(&place, "on").await.turn().await;
        let begun = Instant::now();
        tick.release(ReleaseKind::Ticked).await;
        // Nobody waits for the next one, as when all processes are started again.
        sleep(period / 2).await;
        let next = timeout(period * 2, timer(&place, "on").await.turn()).await;
        let waited = begun.elapsed();
        assert!(waited >= period * 9 / 10, "{waited:?}");
        next.unwrap().release(ReleaseKind::Ticked).await;
        // Longer than that, and it is due at once.
        sleep(period + place.late()).await;
        let begun = Instant::now();
        let next = timeout(period, timer(&place, "on").await.turn()).await;
        let waited = begun.elapsed();
        assert!(waited < period / 2, "{waited:?}");
        next.unwrap().release(ReleaseKind::Ticked).await;
    });
}
