//! Many workers at once: each job is begun by one of them. And what waits costs nothing.

use std::time::Duration;

use tokio::time::sleep;
use tsumugi_db::{TransactionOptions, values};
use tsumugi_jobs::{JobPush, JobQueue};

use crate::{Diary, Place, Running, at, eventually, kind, push, quick, with_each};

#[test]
fn workers_that_compete_begin_each_job_once() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        for n in 0..60 {
            push(&queue, &JobPush::new(kind("a"), n.to_string())).await;
        }
        let mut workers = Vec::new();
        for _ in 0..3 {
            let own = diary.clone();
            let mut options = quick();
            options.lease = Duration::from_secs(60);
            options.running = 5;
            workers.push(Running::start(
                &place.queue().await,
                &[kind("a")],
                options,
                move |job| {
                    own.add(job.arguments);
                    Box::pin(async {
                        sleep(Duration::from_millis(5)).await;
                        Ok(())
                    })
                },
            ));
        }
        eventually("all end", async || {
            queue.list(None, 0, 100).await.unwrap().is_empty()
        })
        .await;
        for worker in workers {
            worker.end().await;
        }
        let mut lines = diary.lines();
        lines.sort_by_key(|line| line.parse::<u32>().unwrap());
        assert_eq!(lines, (0..60).map(|n| n.to_string()).collect::<Vec<_>>());
    });
}

#[test]
fn job_that_waits_holds_no_write_lock() {
    at(&Place::sqlite(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "{}")).await;
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], quick(), move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        eventually("it is begun", async || diary.count() == 1).await;
        let other = place.queue().await;
        let transaction = other
            .database()
            .begin(TransactionOptions::default())
            .await
            .unwrap();
        transaction
            .execute("create table t(n integer)", [])
            .await
            .unwrap();
        transaction.commit().await.unwrap();
        worker.end().await;
    });
}

/// The lines of a plan.
async fn plan(queue: &JobQueue, explain: String) -> String {
    let rows = queue.database().query(explain, []).await.unwrap();
    let texts = rows.iter().flat_map(|row| {
        row.values()
            .filter_map(|value| value.as_text().map(str::to_owned))
            .collect::<Vec<_>>()
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The plans by which each database finds what is due, of jobs of which nearly all wait for their time.
#[test]
fn jobs_that_wait_for_their_time_are_not_read() {
    for place in [Place::sqlite(), Place::postgres()] {
        at(&place, async |place| {
            let queue = place.queue().await;
            queue.prepare().await.unwrap();
            let numbers = match place {
                Place::Postgres(_) => "select n from generate_series(1, 100000) as g(n)",
                _ => {
                    "with recursive g(n) as (select 1 union all select n + 1 from g where n < 100000) select n from g"
                }
            };
            let insert = format!(
                "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
                 select 'a', 'default', '{{}}', 0, 0, 0, 0, 5, cast(? as bigint) + n, 0 from ({numbers}) as numbers"
            );
            queue
                .database()
                .execute(insert, values![4_000_000_000_000_i64])
                .await
                .unwrap();
            queue.database().execute("analyze", []).await.unwrap();
            let explain = match place {
                Place::Postgres(_) => "explain ",
                _ => "explain query plan ",
            };
            // The claims themselves are looked at where they are made.
            for sql in [
                "select min(due_at) from tsumugi_jobs where state = 0",
                "select id from tsumugi_jobs where state = 0 and due_at <= 5 order by due_at limit 1000",
            ] {
                let plan = plan(&queue, format!("{explain}{sql}")).await;
                assert!(
                    !plan.contains("Seq Scan") && !plan.contains("SCAN tsumugi_jobs\n"),
                    "{sql}: {plan}"
                );
                assert!(plan.contains("tsumugi_jobs_due"), "{sql}: {plan}");
            }
            let diary = Diary::default();
            let own = diary.clone();
            let worker = Running::start(&queue, &[kind("a")], quick(), move |_| {
                own.add("begun");
                Box::pin(async { Ok(()) })
            });
            push(&queue, &JobPush::new(kind("a"), "{}")).await;
            eventually("the one that is due is run", async || diary.count() == 1).await;
            worker.end().await;
            assert_eq!(queue.counts().await.unwrap().scheduled, 100_000);
        });
    }
}
