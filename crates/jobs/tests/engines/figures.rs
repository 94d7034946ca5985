//! What operators see of jobs: figures of each queue and kind, lists with their limits, dead jobs that are begun again. And what no log shows.

use tsumugi_db::values;
use tsumugi_jobs::limits::{JOB_CLAIMS_MAX, JOBS_COUNTED_MAX, JOBS_LISTED_MAX};
use tsumugi_jobs::{JobPush, JobQueue, JobState};

use crate::{Diary, Place, Running, at, eventually, kind, push, quick, with_each};

/// Pushes so many jobs in one statement, of which the database makes the rows.
async fn push_many(queue: &JobQueue, count: usize) {
    queue.prepare().await.unwrap();
    let insert = "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at)";
    let columns = "'many', 'default', '{}', 1, 0, 0, 0, 0, 0, 0";
    let sql = match queue.database().scheme() {
        "firebird" => format!(
            "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
             with recursive n (i) as (select 1 from rdb$database union all select i + 1 from n where i < 1000), \
             m (j) as (select 1 from rdb$database union all select j + 1 from m where j < 1000) \
             select first {count} {columns} from n cross join m"
        ),
        _ => format!(
            "{insert} with recursive n (i) as (select 1 union all select i + 1 from n where i < {count}) select {columns} from n"
        ),
    };
    queue.database().execute(sql, []).await.unwrap();
}

#[test]
fn figures_are_of_each_queue_kind_and_state_and_dead_jobs_are_begun_again() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        assert_eq!(queue.figures().await.unwrap().figures, []);
        let mut mail = kind("mail");
        mail.queue = "outside".to_owned();
        mail.retries = 0;
        push(&queue, &JobPush::new(mail.clone(), "{}")).await;
        push(&queue, &JobPush::new(mail.clone(), "{}")).await;
        for at_ms in [None, Some(4_000_000_000_000)] {
            let mut later = JobPush::new(kind("report"), "{}");
            later.at_ms = at_ms;
            push(&queue, &later).await;
        }
        let seen = async || {
            let figures = queue.figures().await.unwrap();
            assert!(!figures.is_cut);
            let line = |one: &tsumugi_jobs::JobFigure| {
                format!(
                    "{} {} {} {}",
                    one.queue,
                    one.kind,
                    one.state.name(),
                    one.count
                )
            };
            figures.figures.iter().map(line).collect::<Vec<_>>()
        };
        assert_eq!(
            seen().await,
            [
                "default report scheduled 1",
                "default report ready 1",
                "outside mail ready 2"
            ]
        );
        let own = diary.clone();
        let worker = Running::start(&queue, &[mail], quick(), move |job| {
            own.add(job.name);
            Box::pin(async { Err("it failed".to_owned()) })
        });
        let dead = async || queue.list(Some(JobState::Dead), 0, 10).await.unwrap();
        eventually("both are dead", async || dead().await.len() == 2).await;
        worker.end().await;
        assert_eq!(seen().await.last().unwrap(), "outside mail dead 2");
        assert_eq!(queue.retry_dead("report").await.unwrap(), 0);
        assert_eq!(queue.retry_dead("mail").await.unwrap(), 2);
        assert_eq!(seen().await.last().unwrap(), "outside mail ready 2");
    });
}

#[test]
fn jobs_beyond_the_limit_are_not_counted_and_said_to_be_more() {
    at(&Place::sqlite(), async |place| {
        let queue = place.queue().await;
        push_many(&queue, JOBS_COUNTED_MAX).await;
        let full = queue.figures().await.unwrap();
        assert_eq!(
            (full.figures[0].count, full.is_cut),
            (JOBS_COUNTED_MAX as u64, false)
        );
        push(&queue, &JobPush::new(kind("many"), "{}")).await;
        push(&queue, &JobPush::new(kind("many"), "{}")).await;
        let more = queue.figures().await.unwrap();
        assert_eq!(
            (more.figures[0].count, more.is_cut),
            (JOBS_COUNTED_MAX as u64 + 1, true)
        );
        // Of the index of states, not of the table.
        let plan = "explain query plan select queue, name, count(*) from (select queue, name from tsumugi_jobs where state = ? order by due_at limit ?) as counted group by queue, name";
        let rows = queue.database().query(plan, values![1, 5]).await.unwrap();
        let first = rows.iter().any(|row| {
            let text = row
                .value(3)
                .and_then(|value| value.as_text().map(str::to_owned));
            text.is_some_and(|text| text.contains("tsumugi_jobs_due"))
        });
        assert!(first);
    });
}

#[test]
fn list_is_cut_at_its_limit_whatever_is_asked_for() {
    with_each(async |place| {
        let queue = place.queue().await;
        push_many(&queue, JOBS_LISTED_MAX + 1).await;
        let listed = queue.list(None, 0, usize::MAX).await.unwrap();
        assert_eq!(listed.len(), JOBS_LISTED_MAX);
        let last = listed[JOBS_LISTED_MAX - 1].id;
        assert_eq!(queue.list(None, last, usize::MAX).await.unwrap().len(), 1);
    });
}

#[test]
fn one_statement_claims_no_more_than_its_limit_and_all_are_run() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push_many(&queue, JOB_CLAIMS_MAX + 1).await;
        let mut options = quick();
        options.lease = std::time::Duration::from_secs(600);
        options.running = JOB_CLAIMS_MAX * 2;
        let claimed = || queue.list(Some(JobState::Running), 0, 1_000);
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("many")], options, move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        eventually("all are begun", async || {
            diary.count() == JOB_CLAIMS_MAX + 1
        })
        .await;
        assert_eq!(claimed().await.unwrap().len(), JOB_CLAIMS_MAX + 1);
        worker.end().await;
    });
}

#[test]
fn debug_of_a_job_shows_no_arguments() {
    at(&Place::sqlite(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let pushed = JobPush::new(kind("a"), r#"{"password":"hunter2"}"#);
        assert!(!format!("{pushed:?}").contains("hunter2"));
        push(&queue, &pushed).await;
        let listed = queue.list(None, 0, 1).await.unwrap();
        assert!(!format!("{listed:?}").contains("hunter2"));
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], quick(), move |job| {
            own.add(format!("{job:?}"));
            Box::pin(async { Ok(()) })
        });
        eventually("it is begun", async || diary.count() == 1).await;
        worker.end().await;
        assert!(!diary.lines()[0].contains("hunter2"));
    });
}
