//! What is kept and looked after: many dead jobs, keys of old schedules, tables that are left as they are, jobs of names that look alike.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tsumugi_jobs::{CronSchedule, Error, JobFuture, JobPush, JobQueue, run_schedules};

use crate::{Diary, Place, Running, at, calm, eventually, here, kind, push, with_each};

const COLUMNS: &str =
    "name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at";

/// Writes dead jobs of a kind, in one statement.
async fn write_dead(queue: &JobQueue, name: &str, count: usize) {
    queue.prepare().await.unwrap();
    let (from, first) = match queue.database().scheme() {
        "firebird" => (" from rdb$database", "first"),
        _ => ("", ""),
    };
    let numbers = |letter: &str| {
        format!(
            "{letter} (i) as (select 1{from} union all select i + 1 from {letter} where i < 100)"
        )
    };
    let (one, two, limit) = (numbers("n"), numbers("m"), count);
    let rows = format!("'{name}', 'default', '{{}}', 3, 0, 1, 1, 0, 0, 0 from n cross join m");
    let select = match first {
        "" => format!("select {rows} limit {limit}"),
        first => format!("select {first} {limit} {rows}"),
    };
    let sql = format!("insert into tsumugi_jobs ({COLUMNS}) with recursive {one}, {two} {select}");
    queue.database().execute(sql, []).await.unwrap();
}

#[test]
fn dead_jobs_of_a_kind_are_retried_however_many_there_are() {
    with_each(async |place| {
        let queue = place.queue().await;
        assert_eq!(queue.retry_dead("many").await.unwrap(), 0);
        write_dead(&queue, "many", 2_001).await;
        write_dead(&queue, "other", 1).await;
        assert_eq!(queue.retry_dead("many").await.unwrap(), 2_001);
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.dead), (2_001, 1));
    });
}

async fn keys(queue: &JobQueue) -> Vec<String> {
    let sql = "select name from tsumugi_job_keys where name like '%user%' or name like '%gone%' order by name";
    let rows = queue.database().query(sql, []).await.unwrap();
    let texts = rows.iter().filter_map(|row| row.value(0)?.as_text());
    texts.map(str::to_owned).collect()
}

#[test]
fn keys_of_old_times_of_schedules_that_are_gone_are_dropped_and_no_others() {
    with_each(async |place| {
        let queue = place.queue().await;
        queue.prepare().await.unwrap();
        for (name, job) in [
            ("key every gone 1000000000001", "0"),
            ("key every gone two 1000000000001", "0"),
            ("key every gone 9000000000001", "0"),
            ("key every user 1000000000001", "null"),
        ] {
            let sql = format!(
                "insert into tsumugi_job_keys (name, job_id, made_at) values ('{name}', {job}, 0)"
            );
            queue.database().execute(sql, []).await.unwrap();
        }
        let line = || {
            let schedule = CronSchedule::parse("0 3 1 1 *", "UTC").unwrap();
            vec![(kind("every other"), schedule)]
        };
        let run = run_schedules(place.queue().await, line(), std::future::pending());
        let process = tokio::task::spawn_local(run);
        // As the schedule writes its own.
        let own = "select count(*) from tsumugi_job_keys where name like 'key every other %' and job_id = 0";
        let left = [
            "key every gone 9000000000001",
            "key every user 1000000000001",
        ];
        eventually("old keys are dropped", async || {
            let rows = queue.database().query(own, []).await.unwrap();
            let own = rows.first().and_then(|row| row.value(0)?.as_integer());
            own == Some(1) && keys(&queue).await == left
        })
        .await;
        process.abort();
        drop(process.await);
    });
}

#[test]
fn queue_over_existing_tables_makes_and_changes_none() {
    with_each(async |place| {
        let queue = place.queue().await;
        let database = queue.database();
        assert!(JobQueue::over_existing(database).await.unwrap().is_none());
        assert!(!here(&queue).has_table("tsumugi_jobs").await.unwrap());
        push(&queue, &JobPush::new(kind("a"), "{}")).await;
        let existing = JobQueue::over_existing(database).await.unwrap().unwrap();
        assert_eq!(existing.list(None, 0, 10).await.unwrap().len(), 1);
        let word = match place {
            Place::Firebird(_) => "drop",
            _ => "drop column",
        };
        let sql = format!("alter table tsumugi_jobs {word} losses");
        // Another connection, which has no statement of these columns.
        let other = place.queue().await;
        other.database().execute(sql, []).await.unwrap();
        let refused = JobQueue::over_existing(other.database()).await.unwrap_err();
        assert!(matches!(refused, Error::Usage(_)), "{refused}");
        let has_column = here(&other).has_column("tsumugi_jobs", "losses").await;
        assert!(!has_column.unwrap());
    });
}

/// As an older process could push it.
#[test]
fn job_whose_name_is_that_of_a_kind_for_firebird_alone_fails_and_others_are_run() {
    at(&Place::firebird(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        queue.prepare().await.unwrap();
        let alike = format!(
            "insert into tsumugi_jobs ({COLUMNS}) values ('x ', 'default', '{{}}', 1, 0, 0, 0, 0, 0, 0)"
        );
        queue.database().execute(alike, []).await.unwrap();
        push(&queue, &JobPush::new(kind("x"), "{}")).await;
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("x")], calm(), move |job| {
            own.add(job.name);
            Box::pin(async { Ok(()) })
        });
        eventually("one is dead and one has ended", async || {
            let jobs = queue.list(None, 0, 10).await.unwrap();
            jobs.len() == 1 && jobs[0].error.is_some()
        })
        .await;
        worker.end().await;
        let jobs = queue.list(None, 0, 10).await.unwrap();
        let error = jobs[0].error.as_deref().unwrap();
        assert_eq!(
            (jobs[0].state.name(), error),
            ("dead", "there is no kind named \"x \" here")
        );
        assert_eq!(diary.lines(), ["x"]);
    });
}

/// Panics where it is dropped, the first time.
struct Grenade(Rc<Cell<bool>>);

impl Drop for Grenade {
    fn drop(&mut self) {
        assert!(self.0.replace(true), "as the job of a test does");
    }
}

#[test]
fn worker_begins_again_behind_a_panic_and_gives_back_what_ran() {
    at(&Place::sqlite(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let mut short = kind("short");
        (short.retries, short.timeout) = (0, Duration::from_millis(50));
        push(&queue, &JobPush::new(short.clone(), "{}")).await;
        let (own, has_panicked) = (diary.clone(), Rc::new(Cell::new(false)));
        let worker = Running::start(&queue, &[short], calm(), move |job| -> JobFuture {
            own.add(job.attempt.to_string());
            let has_panicked = Rc::clone(&has_panicked);
            Box::pin(async move {
                if has_panicked.get() {
                    return Ok(());
                }
                // Dropped where its time is over, and nothing catches that.
                let _grenade = Grenade(has_panicked);
                std::future::pending().await
            })
        });
        eventually("it has ended", async || {
            queue.list(None, 0, 10).await.unwrap().is_empty()
        })
        .await;
        worker.end().await;
        assert_eq!(diary.lines(), ["1", "2"]);
    });
}
