//! Limits of timers. What every engine does is in `../behaviour/timers.rs`.

use std::time::Duration;

use tsumugi_cluster::ClusterTimer;

#[test]
fn period_and_name_of_a_timer_have_limits() {
    use tsumugi_cluster::limits::CLUSTER_PERIOD_MIN;
    assert!(ClusterTimer::check("t", CLUSTER_PERIOD_MIN).is_ok());
    let short = CLUSTER_PERIOD_MIN - Duration::from_millis(1);
    let error = ClusterTimer::check("t", short).unwrap_err().to_string();
    assert!(error.contains("CLUSTER_PERIOD_MIN"), "{error}");
    assert!(ClusterTimer::check("", CLUSTER_PERIOD_MIN).is_err());
}
