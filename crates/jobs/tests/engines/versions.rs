//! Tables that an older version has made, under jobs that wait in them.

use std::rc::Rc;

use tsumugi_db::{Executor, TransactionOptions};
use tsumugi_jobs::{JobPush, JobQueue, JobTablesWish, prepare_job_tables};

use crate::{Diary, Place, Running, calm, eventually, here, kind, push, with_each};

/// Makes the tables as they were before jobs kept the trace of what has pushed them, with a job.
async fn make_old(place: &Place) {
    let queue = place.queue().await;
    queue.prepare().await.unwrap();
    let drop_column = match place {
        Place::Firebird(_) => "alter table tsumugi_jobs drop",
        _ => "alter table tsumugi_jobs drop column",
    };
    for column in ["trace", "losses"] {
        let sql = format!("{drop_column} {column}");
        queue.database().execute(sql, []).await.unwrap();
    }
    if let Place::Postgres(_) = place {
        for sql in [
            "drop index tsumugi_jobs_next",
            "create index tsumugi_jobs_ready on tsumugi_jobs (sort_order, id) where state = 1",
        ] {
            queue.database().execute(sql, []).await.unwrap();
        }
    }
    push_old(&queue, "old").await;
}

/// Pushes as an older process does it.
async fn push_old(queue: &JobQueue, arguments: &str) {
    let sql = format!(
        "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
         values ('a', 'default', '{arguments}', 1, 0, 0, 0, 5, 0, 0)"
    );
    queue.database().execute(sql, []).await.unwrap();
}

/// Whether anything was missing.
async fn prepare(queue: &JobQueue, wish: JobTablesWish) -> bool {
    prepare_job_tables(&here(queue), wish).await.unwrap()
}

async fn check_run(queue: &JobQueue, expected: &[&str]) {
    let diary = Diary::default();
    let own = diary.clone();
    let worker = Running::start(queue, &[kind("a")], calm(), move |job| {
        own.add(job.arguments);
        Box::pin(async { Ok(()) })
    });
    eventually("all end", async || {
        queue.list(None, 0, 10).await.unwrap().is_empty()
    })
    .await;
    worker.end().await;
    let mut lines = diary.lines();
    lines.sort();
    assert_eq!(lines, expected);
}

#[test]
fn table_of_an_older_version_gets_what_it_lacks_at_the_first_use_and_its_jobs_are_run() {
    with_each(async |place| {
        make_old(place).await;
        let queue = place.queue().await;
        push(&queue, &JobPush::new(kind("a"), "new")).await;
        push_old(&queue, "older").await;
        check_run(&queue, &["new", "old", "older"]).await;
        assert!(!prepare(&queue, JobTablesWish::Make).await);
        if let Place::Postgres(_) = place {
            let index = async |name| here(&queue).has_index(name).await.unwrap();
            assert!(index("tsumugi_jobs_next").await && !index("tsumugi_jobs_ready").await);
        }
    });
}

#[test]
fn key_of_a_kind_with_a_colon_that_an_older_version_has_pushed_keeps_others_out() {
    with_each(async |place| {
        make_old(place).await;
        let queue = place.queue().await;
        let sql = "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at, unique_key) \
                   values ('a:b', 'default', '{}', 1, 0, 0, 0, 5, 0, 0, 'a:b:c')";
        queue.database().execute(sql, []).await.unwrap();
        let keyed = async |name, key: &str| {
            let mut new = JobPush::new(kind(name), "{}");
            new.unique = Some(key.to_owned());
            push(&queue, &new).await.is_some()
        };
        assert!(!keyed("a:b", "c").await, "{}", place.name());
        assert!(keyed("a", "b:c").await);
    });
}

#[test]
fn table_of_an_older_version_is_brought_up_to_date_by_a_command_and_none_is_made() {
    with_each(async |place| {
        let queue = place.queue().await;
        assert!(!prepare(&queue, JobTablesWish::Upgrade).await);
        assert!(!here(&queue).has_table("tsumugi_jobs").await.unwrap());
        make_old(place).await;
        assert!(prepare(&queue, JobTablesWish::Upgrade).await);
        assert!(!prepare(&queue, JobTablesWish::Upgrade).await);
        check_run(&queue, &["old"]).await;
    });
}

#[test]
fn table_of_an_older_version_that_is_first_used_in_a_transaction_is_changed_with_it() {
    with_each(async |place| {
        make_old(place).await;
        let queue = place.queue().await;
        for commits in [false, true] {
            let transaction = queue.database().begin(TransactionOptions::default()).await;
            let transaction = Rc::new(transaction.unwrap());
            let inside = Executor::Transaction(Rc::clone(&transaction));
            let new = JobPush::new(kind("a"), "new");
            queue.push(&new, &inside).await.unwrap();
            drop(inside);
            match commits {
                true => transaction.commit().await.unwrap(),
                false => transaction.roll_back().await.unwrap(),
            }
        }
        check_run(&queue, &["new", "old"]).await;
    });
}
