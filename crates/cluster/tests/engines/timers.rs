//! Timers that tick on one of many: never two at once, one for each period, another one when a tick does not end.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tsumugi_cluster::{ClusterTimer, ReleaseKind};

use crate::{Place, with_each};

const PERIOD: Duration = Duration::from_secs(1);

async fn timer(place: &Place, name: &str) -> ClusterTimer {
    place.cluster().await.timer(name, PERIOD).unwrap()
}

#[test]
fn timers_of_one_name_tick_once_a_period_and_never_two_at_once() {
    with_each(async |place| {
        let ticks = RefCell::new(Vec::new());
        let running = Cell::new(0);
        let run = async |timer: ClusterTimer| {
            loop {
                let lease = timer.turn().await;
                ticks.borrow_mut().push(Instant::now());
                let tick = async {
                    running.set(running.get() + 1);
                    assert_eq!(running.get(), 1, "two tick at once");
                    sleep(PERIOD / 4).await;
                    running.set(running.get() - 1);
                };
                lease.hold(tick).await.unwrap();
                lease.release(ReleaseKind::Ticked).await;
            }
        };
        let (one, other) = (timer(&place, "one").await, timer(&place, "one").await);
        let begun = Instant::now();
        let both = async { tokio::join!(run(one), run(other)) };
        let _: Result<((), ()), _> = timeout(PERIOD * 4 + PERIOD / 2, both).await;
        let ticks = ticks.take();
        assert_eq!(ticks.len(), 4, "{ticks:?}");
        assert!(
            ticks[0] - begun >= PERIOD * 9 / 10,
            "the first one after a period"
        );
        let gaps: Vec<Duration> = ticks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let is_regular = |gap: &Duration| *gap >= PERIOD * 9 / 10 && *gap < PERIOD * 3 / 2;
        assert!(gaps.iter().all(is_regular), "{gaps:?}");
    });
}

#[test]
fn tick_that_does_not_end_is_taken_over_within_two_periods() {
    with_each(async |place| {
        let (one, other) = (timer(&place, "over").await, timer(&place, "over").await);
        let first = one.turn().await;
        let begun = Instant::now();
        // It is not renewed, as of one that has died.
        let second = timeout(PERIOD, other.turn()).await.unwrap();
        assert!(begun.elapsed() >= PERIOD / 4, "{:?}", begun.elapsed());
        assert!(first.is_lost() && second.token() > first.token());
        second.release(ReleaseKind::Ticked).await;
        // The next one is due a period after the second began.
        let early = timeout(PERIOD / 2, one.turn()).await;
        assert!(early.is_err(), "{early:?}");
    });
}

#[test]
fn period_and_name_of_a_timer_have_limits() {
    use tsumugi_cluster::limits::CLUSTER_PERIOD_MIN;
    assert!(ClusterTimer::check("t", CLUSTER_PERIOD_MIN).is_ok());
    let short = CLUSTER_PERIOD_MIN - Duration::from_millis(1);
    let error = ClusterTimer::check("t", short).unwrap_err().to_string();
    assert!(error.contains("CLUSTER_PERIOD_MIN"), "{error}");
    assert!(ClusterTimer::check("", PERIOD).is_err());
}
