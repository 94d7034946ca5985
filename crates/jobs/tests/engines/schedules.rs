//! Lines of cron whose names look alike. What times they stand for is tested where lines are read.

use std::time::Duration;

use tokio::time::sleep;
use tsumugi_jobs::{CronSchedule, run_schedules};

use crate::{eventually, kind, with_each};

#[test]
fn lines_whose_names_begin_alike_are_each_pushed_once_by_any_number_of_starts() {
    const NAMES: [&str; 4] = ["every a", "every a b", "every a 2x", "every a 1"];
    with_each(async |place| {
        let queue = place.queue().await;
        for _ in 0..3 {
            let line = |name| {
                let schedule = CronSchedule::parse("0 3 1 1 *", "UTC").unwrap();
                (kind(name), schedule)
            };
            // The last one of them drops what waits of others, if it does.
            for names in [&NAMES[1..], &NAMES[..1]] {
                let lines = names.iter().copied().map(line).collect();
                let run = run_schedules(place.queue().await, lines, std::future::pending());
                let process = tokio::task::spawn_local(run);
                eventually("they are scheduled", async || {
                    let jobs = queue.list(None, 0, 10).await.unwrap();
                    names
                        .iter()
                        .all(|name| jobs.iter().any(|job| job.name == *name))
                })
                .await;
                sleep(Duration::from_millis(300)).await;
                process.abort();
                drop(process.await);
            }
        }
        let jobs = queue.list(None, 0, 20).await.unwrap();
        let mut names: Vec<_> = jobs.iter().map(|job| &*job.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["every a", "every a 1", "every a 2x", "every a b"]);
    });
}
