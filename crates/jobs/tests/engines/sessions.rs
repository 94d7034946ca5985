//! What becomes of jobs whose process dies, as PostgreSQL knows at once; and what a worker asks PostgreSQL for.

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::sleep;
use tsumugi_db::values;
use tsumugi_jobs::{JobPush, JobQueue};

use crate::{Diary, Place, Running, at, calm, eventually, here, kind, patient, push};

/// The text of the worker that runs the only job.
async fn claimed_by(queue: &JobQueue) -> Option<String> {
    let jobs = queue.list(None, 0, 10).await.unwrap();
    jobs.first().and_then(|job| job.claimed_by.clone())
}

/// Waits until the worker holds its lock.
async fn locked(queue: &JobQueue) -> String {
    eventually("its session holds a lock", async || {
        claimed_by(queue)
            .await
            .is_some_and(|text| text.contains('+'))
    })
    .await;
    claimed_by(queue).await.unwrap()
}

#[test]
fn job_of_a_dead_process_is_begun_again_long_before_its_claim_runs_out() {
    at(&Place::postgres(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let own = diary.clone();
        let dies = Running::start(&queue, &[kind("a")], patient(), move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        locked(&queue).await;
        // One that is there already, and sees that a job runs elsewhere.
        let own = diary.clone();
        let stays = Running::start(&place.queue().await, &[kind("a")], patient(), move |job| {
            own.add(format!(
                "attempt {}, failures {}",
                job.attempt, job.failures
            ));
            Box::pin(async { Ok(()) })
        });
        dies.kill().await;
        eventually("it ends", async || {
            queue.list(None, 0, 10).await.unwrap().is_empty()
        })
        .await;
        stays.end().await;
        assert_eq!(diary.lines(), ["begun", "attempt 2, failures 0"]);
    });
}

#[test]
fn worker_whose_session_is_lost_marks_its_claims_anew_and_keeps_them() {
    at(&Place::postgres(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let own = diary.clone();
        let worker = Running::start(&place.queue().await, &[kind("a")], patient(), move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        let before = locked(&queue).await;
        let end = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objsubid = 1 and database = \
                   (select oid from pg_database where datname = current_database())";
        queue.database().query(end, []).await.unwrap();
        eventually("it has another lock", async || {
            let now = claimed_by(&queue).await;
            now.is_some_and(|now| now.contains('+') && now != before)
        })
        .await;
        worker.end().await;
        assert_eq!(diary.lines(), ["begun"]);
    });
}

#[test]
fn jobs_that_end_together_are_written_together() {
    const JOBS: usize = 50;
    at(&Place::postgres(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        queue.prepare().await.unwrap();
        for sql in [
            "create table deletes (id integer generated always as identity)",
            "create function note() returns trigger language plpgsql as $$ begin insert into deletes default values; return null; end $$",
            "create trigger note after delete on tsumugi_jobs for each statement execute function note()",
        ] {
            queue.database().execute(sql, []).await.unwrap();
        }
        for n in 0..JOBS {
            push(&queue, &JobPush::new(kind("a"), n.to_string())).await;
        }
        let mut options = patient();
        options.running = JOBS;
        let (own, gate) = (diary.clone(), Rc::new(Semaphore::new(0)));
        let closed = Rc::clone(&gate);
        let worker = Running::start(&queue, &[kind("a")], options, move |_| {
            own.add("begun");
            let closed = Rc::clone(&closed);
            Box::pin(async move {
                closed
                    .acquire()
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            })
        });
        eventually("all are begun", async || diary.count() == JOBS).await;
        gate.add_permits(JOBS);
        eventually("all end", async || {
            queue.list(None, 0, 10).await.unwrap().is_empty()
        })
        .await;
        worker.end().await;
        let rows = here(&queue).query("select count(*) from deletes", []).await;
        let count = rows
            .unwrap()
            .first()
            .and_then(|row| row.value(0)?.as_integer());
        assert!(
            count.is_some_and(|count| (1..=10).contains(&count)),
            "{count:?}"
        );
    });
}

/// Rows and index entries that PostgreSQL has read of the table of jobs, and how often it looked.
async fn reads(queue: &JobQueue) -> (i64, i64, i64) {
    let sql = "select (select seq_tup_read from pg_stat_user_tables where relname = 'tsumugi_jobs'), \
               sum(idx_tup_read)::bigint, sum(idx_scan)::bigint from pg_stat_user_indexes where relname = 'tsumugi_jobs'";
    let rows = here(queue).query(sql, []).await.unwrap();
    let row = rows.first().unwrap();
    let number = |index| row.value(index).and_then(|value| value.as_integer());
    let number = |index| number(index).unwrap_or_default();
    (number(0), number(1), number(2))
}

#[test]
fn worker_that_has_nothing_to_do_reads_a_few_entries_of_an_index_at_each_look() {
    at(&Place::postgres(), async |place| {
        let queue = place.queue().await;
        queue.prepare().await.unwrap();
        let insert = "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
                      select 'a', 'default', '{}', 0, 0, 0, 0, 5, ?::bigint + n, 0 from generate_series(1, 100000) as g(n)";
        let insert = queue
            .database()
            .execute(insert, values![4_000_000_000_000_i64]);
        insert.await.unwrap();
        queue
            .database()
            .execute("analyze tsumugi_jobs", [])
            .await
            .unwrap();
        let mut options = calm();
        options.poll = Some(Duration::from_millis(10));
        let worker = Running::start(&place.queue().await, &[kind("a")], options, |_| {
            Box::pin(async { Ok(()) })
        });
        // A server tells what it has read after a while.
        let before = reads(&queue).await;
        eventually("it has looked", async || {
            reads(&queue).await.2 - before.2 >= 40
        })
        .await;
        let after = reads(&queue).await;
        worker.end().await;
        let (rows, entries, looks) = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
        assert_eq!(rows, 0, "of the table itself");
        assert!(entries <= looks * 5, "{entries} entries in {looks} scans");
    });
}

#[test]
fn claims_of_a_long_queue_read_little_of_it_whatever_statistics_say() {
    const BEGUN: i64 = 200;
    at(&Place::postgres(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        queue.prepare().await.unwrap();
        // What is ready is not in the statistics.
        for (state, count) in [(0, 5_000), (1, 20_000)] {
            let insert = format!(
                "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
                 select 'a', 'default', '{{}}', {state}, 0, 0, 0, 0, 4000000000000, 0 from generate_series(1, {count})"
            );
            queue.database().execute(insert, []).await.unwrap();
            if state == 0 {
                queue
                    .database()
                    .execute("analyze tsumugi_jobs", [])
                    .await
                    .unwrap();
            }
        }
        let own = diary.clone();
        let theirs = place.queue().await;
        let mut options = patient();
        options.running = 10;
        let worker = Running::start(&theirs, &[kind("a")], options, move |_| {
            own.add("begun");
            Box::pin(async { Ok(()) })
        });
        let before = reads(&queue).await;
        let enough = usize::try_from(BEGUN).unwrap();
        eventually("some are run", async || diary.count() >= enough).await;
        worker.end().await;
        // What it has read is told when its connections are closed, or after a while.
        theirs.database().close();
        drop(theirs);
        let deleted = "select n_tup_del from pg_stat_user_tables where relname = 'tsumugi_jobs'";
        eventually("it is told", async || {
            let rows = here(&queue).query(deleted, []).await.unwrap();
            let count = rows.first().and_then(|row| row.value(0)?.as_integer());
            count.unwrap_or_default() >= BEGUN
        })
        .await;
        let (after, begun) = (reads(&queue).await, i64::try_from(diary.count()).unwrap());
        let read = after.0 - before.0 + after.1 - before.1;
        // Each claim by itself would read all of them, of which there are twenty at least.
        assert!(read < 20_000 + 100 * begun, "{read} for {begun} jobs");
    });
}

#[test]
fn gaps_that_come_of_too_many_notices_leave_two_locks_at_most() {
    at(&Place::postgres(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let own = diary.clone();
        let worker = Running::start(&place.queue().await, &[kind("a")], patient(), move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        locked(&queue).await;
        for _ in 0..4 {
            let before = claimed_by(&queue).await;
            eventually("there is a gap", async || {
                // Others of the same text would be one.
                let notify = "select pg_notify('tsumugi_jobs', n::text) from generate_series(1, 6000) as g(n)";
                queue.database().query(notify, []).await.unwrap();
                // All of them come while nothing here runs.
                let begun = std::time::Instant::now();
                while begun.elapsed() < Duration::from_millis(100) {
                    tsumugi_testkit::pause();
                }
                sleep(Duration::from_millis(300)).await;
                claimed_by(&queue).await != before
            })
            .await;
        }
        let locks = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 1 and database = \
                     (select oid from pg_database where datname = current_database())";
        eventually("two locks are left", async || {
            let rows = here(&queue).query(locks, []).await.unwrap();
            let count = rows.first().and_then(|row| row.value(0)?.as_integer());
            count == Some(2)
        })
        .await;
        worker.end().await;
        assert_eq!(diary.lines(), ["begun"]);
    });
}
