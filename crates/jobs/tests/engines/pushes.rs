//! What is pushed, when it is there, what is refused, and effects that happen once.

use std::rc::Rc;
use std::time::Duration;

use tsumugi_db::{Executor, Isolation, TransactionOptions};
use tsumugi_jobs::limits::{
    JOB_ARGUMENTS_BYTES_MAX, JOB_DELAY_MAX, JOB_KEY_BYTES_MAX, JOB_NAME_BYTES_MAX,
    JOB_PRIORITY_MAX, JOBS_LISTED_MAX,
};
use tsumugi_jobs::{ClaimedJob, Error, JobFuture, JobKind, JobPush, JobQueue, JobState, JobWorker};

use crate::{Place, at, calm, here, kind, push, with_each};

#[test]
fn job_pushed_in_a_transaction_is_there_when_it_commits() {
    with_each(async |place| {
        let queue = place.queue().await;
        queue.prepare().await.unwrap();
        for commits in [false, true] {
            let transaction = queue
                .database()
                .begin(TransactionOptions::default())
                .await
                .unwrap();
            let inside = Executor::Transaction(Rc::new(transaction));
            let id = queue
                .push(&JobPush::new(kind("a"), "{}"), &inside)
                .await
                .unwrap();
            assert!(id.is_some());
            let Executor::Transaction(transaction) = inside else {
                unreachable!()
            };
            match commits {
                true => transaction.commit().await.unwrap(),
                false => transaction.roll_back().await.unwrap(),
            }
            let jobs = queue.list(None, 0, JOBS_LISTED_MAX).await.unwrap();
            assert_eq!(jobs.len(), usize::from(commits));
        }
    });
}

#[test]
fn table_that_is_made_in_the_first_transaction_is_undone_with_it() {
    with_each(async |place| {
        let queue = place.queue().await;
        let transaction = queue
            .database()
            .begin(TransactionOptions::default())
            .await
            .unwrap();
        let inside = Executor::Transaction(Rc::new(transaction));
        queue
            .push(&JobPush::new(kind("a"), "{}"), &inside)
            .await
            .unwrap();
        drop(inside);
        assert!(push(&queue, &JobPush::new(kind("a"), "{}")).await.is_some());
        assert_eq!(queue.counts().await.unwrap().ready, 1);
    });
}

#[test]
fn unique_key_holds_while_its_job_waits_and_for_its_kind_alone() {
    with_each(async |place| {
        let queue = place.queue().await;
        let mut first = JobPush::new(kind("a"), "{}");
        first.unique = Some("7".to_owned());
        let id = push(&queue, &first).await.unwrap();
        assert_eq!(push(&queue, &first).await, None);
        let mut other = JobPush::new(kind("b"), "{}");
        other.unique = Some("7".to_owned());
        assert!(push(&queue, &other).await.is_some());
        assert!(queue.drop(id).await.unwrap());
        assert!(push(&queue, &first).await.is_some());
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.scheduled, counts.dead), (2, 0, 0));
    });
}

#[test]
fn job_is_listed_with_all_that_was_said_of_it() {
    with_each(async |place| {
        let queue = place.queue().await;
        let mut thumbnail = kind("thumbnail");
        thumbnail.queue = "images".to_owned();
        thumbnail.priority = 3;
        thumbnail.retries = 9;
        let mut later = JobPush::new(thumbnail, r#"{"name":"紡ぎ"}"#);
        later.at_ms = Some(4_000_000_000_000);
        let id = push(&queue, &later).await.unwrap();
        let listed = queue.list(Some(JobState::Scheduled), 0, 10).await.unwrap();
        let job = &listed[0];
        assert_eq!(
            (job.id, &*job.name, &*job.queue),
            (id, "thumbnail", "images")
        );
        assert_eq!((job.priority, job.retries, job.attempts), (3, 9, 0));
        assert_eq!(
            (job.due_ms, &*job.arguments),
            (4_000_000_000_000, r#"{"name":"紡ぎ"}"#)
        );
        assert!(
            queue
                .list(Some(JobState::Ready), 0, 10)
                .await
                .unwrap()
                .is_empty()
        );
        assert!(queue.list(None, id, 10).await.unwrap().is_empty());
        assert!(queue.retry(id).await.unwrap());
        assert_eq!(
            queue
                .list(Some(JobState::Ready), 0, 10)
                .await
                .unwrap()
                .len(),
            1
        );
        assert!(!queue.drop(id + 1).await.unwrap());
    });
}

#[test]
fn push_has_a_priority_and_a_delay_of_its_own() {
    with_each(async |place| {
        let queue = place.queue().await;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = i64::try_from(now.unwrap().as_millis()).unwrap();
        let mut later = JobPush::new(kind("a"), "{}");
        later.priority = Some(7);
        later.after = Some(Duration::from_secs(86_400));
        push(&queue, &later).await.unwrap();
        later.after = Some(Duration::ZERO);
        push(&queue, &later).await.unwrap();
        let jobs = queue.list(None, 0, 10).await.unwrap();
        assert_eq!((jobs[0].state, jobs[0].priority), (JobState::Scheduled, 7));
        // Its clock is the server's, and the test may have been slow.
        let late = jobs[0].due_ms - now - 86_400_000;
        assert!((-1_000..600_000).contains(&late), "{late}");
        assert_eq!((jobs[1].state, jobs[1].priority), (JobState::Ready, 7));
    });
}

#[test]
fn push_past_a_limit_is_refused_and_pushes_nothing() {
    with_each(async |place| {
        let queue = place.queue().await;
        let refused = async |push: JobPush| {
            let error = queue.push(&push, &here(&queue)).await.unwrap_err();
            error.to_string()
        };
        let largest = format!("\"{}\"", "x".repeat(JOB_ARGUMENTS_BYTES_MAX - 2));
        let id = push(&queue, &JobPush::new(kind("a"), largest.clone()))
            .await
            .unwrap();
        let kept = queue.list(None, 0, 10).await.unwrap();
        assert_eq!((kept[0].id, &kept[0].arguments), (id, &largest));
        let message = refused(JobPush::new(kind("a"), largest + " ")).await;
        assert!(
            message.contains("JOB_ARGUMENTS_BYTES_MAX is 65536"),
            "{message}"
        );
        let mut keyed = JobPush::new(kind(&"n".repeat(JOB_NAME_BYTES_MAX)), "{}");
        keyed.unique = Some("k".repeat(JOB_KEY_BYTES_MAX));
        assert!(push(&queue, &keyed).await.is_some());
        keyed.unique = Some("k".repeat(JOB_KEY_BYTES_MAX + 1));
        let message = refused(keyed).await;
        assert!(message.contains("JOB_KEY_BYTES_MAX is 128"), "{message}");
        let mut never = JobPush::new(kind("a"), "{}");
        never.at_ms = Some(i64::MAX);
        let message = refused(never).await;
        assert!(message.contains("JOB_DELAY_MAX"), "{message}");
        let mut never = JobPush::new(kind("a"), "{}");
        never.after = Some(JOB_DELAY_MAX + Duration::from_millis(1));
        let message = refused(never.clone()).await;
        assert!(message.contains("JOB_DELAY_MAX"), "{message}");
        (never.after, never.at_ms) = (Some(Duration::ZERO), Some(1));
        let message = refused(never).await;
        assert!(message.contains("not both"), "{message}");
        let mut high = JobPush::new(kind("a"), "{}");
        high.priority = Some(JOB_PRIORITY_MAX + 1);
        let message = refused(high).await;
        assert!(message.contains("JOB_PRIORITY_MAX"), "{message}");
        assert_eq!(queue.list(None, 0, 10).await.unwrap().len(), 2);
    });
}

#[test]
fn kind_past_a_limit_is_refused() {
    let said = |kind: Result<JobKind, Error>| kind.unwrap_err().to_string();
    let message = said(JobKind::new("n".repeat(JOB_NAME_BYTES_MAX + 1)));
    assert!(message.contains("JOB_NAME_BYTES_MAX is 64"), "{message}");
    let changed = |change: fn(&mut JobKind)| {
        let mut kind = kind("a");
        change(&mut kind);
        said(kind.checked())
    };
    assert!(changed(|kind| kind.queue = "q".repeat(65)).contains("JOB_NAME_BYTES_MAX"));
    assert!(changed(|kind| kind.retries = 1_001).contains("JOB_RETRIES_MAX"));
    assert!(changed(|kind| kind.priority = 1_001).contains("JOB_PRIORITY_MAX"));
    assert!(changed(|kind| kind.priority = -1_001).contains("JOB_PRIORITY_MAX"));
    assert!(
        changed(|kind| kind.timeout = std::time::Duration::from_secs(86_401))
            .contains("JOB_TIMEOUT_MAX")
    );
    assert!(changed(|kind| kind.timeout = std::time::Duration::ZERO).contains("JOB_TIMEOUT_MAX"));
    assert!(said(JobKind::new("")).contains("not empty"));
    assert!(said(JobKind::new("a ")).contains("does not end with a space"));
}

#[test]
fn effect_with_a_key_happens_once_and_not_at_all_when_it_is_undone() {
    with_each(async |place| {
        let queue = place.queue().await;
        queue.prepare().await.unwrap();
        let begin = async || {
            let transaction = queue
                .database()
                .begin(TransactionOptions::default())
                .await
                .unwrap();
            Rc::new(transaction)
        };
        let mut found = Vec::new();
        for commits in [false, true, true] {
            let transaction = begin().await;
            let inside = Executor::Transaction(Rc::clone(&transaction));
            found.push(
                queue
                    .begin_once(&inside, Some("invoice 7"), None)
                    .await
                    .unwrap(),
            );
            if commits {
                transaction.commit().await.unwrap();
            }
        }
        assert_eq!(found, [true, true, false]);
        let inside = Executor::Transaction(begin().await);
        let error = queue
            .begin_once(&inside, None, Some((1, 1)))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Lost { id: 1 }), "{error}");
        drop(inside);
        let error = queue
            .begin_once(&here(&queue), Some("k"), None)
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Usage(_)), "{error}");
        let inside = Executor::Transaction(begin().await);
        let error = queue
            .begin_once(&inside, Some(&"k".repeat(129)), None)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("JOB_KEY_BYTES_MAX"), "{error}");
    });
}

#[test]
fn keys_of_kinds_with_colons_are_their_own() {
    with_each(async |place| {
        let queue = place.queue().await;
        let keyed = async |name: &str, key: &str| {
            let mut new = JobPush::new(kind(name), "{}");
            new.unique = Some(key.to_owned());
            push(&queue, &new).await.is_some()
        };
        for (name, key) in [("a", "b:c"), ("a:b", "c"), ("3", ":a:b:c"), (":a", "b:c")] {
            assert!(keyed(name, key).await, "{name} {key}");
            assert!(!keyed(name, key).await, "{name} {key}");
        }
        let longest = "k".repeat(JOB_KEY_BYTES_MAX);
        assert!(keyed(&":".repeat(JOB_NAME_BYTES_MAX), &longest).await);
    });
}

#[test]
fn second_effect_of_an_attempt_without_a_key_is_refused_and_one_that_was_undone_may_be_tried_again()
{
    with_each(async |place| {
        let queue = place.queue().await;
        let id = push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let claim = "update tsumugi_jobs set state = 2, attempt = 1, claimed_by = 'test'";
        queue.database().execute(claim, []).await.unwrap();
        let mut found = Vec::new();
        for (attempt, commits) in [(1, false), (1, true), (1, true), (2, true), (2, true)] {
            let claim = format!("update tsumugi_jobs set attempt = {attempt}");
            queue.database().execute(claim, []).await.unwrap();
            let options = TransactionOptions::default();
            let transaction = Rc::new(queue.database().begin(options).await.unwrap());
            let inside = Executor::Transaction(Rc::clone(&transaction));
            let asked = queue.begin_once(&inside, None, Some((id, attempt))).await;
            found.push(asked.map_err(|error| error.to_string()));
            drop(inside);
            match commits {
                true => transaction.commit().await.unwrap(),
                false => transaction.roll_back().await.unwrap(),
            }
        }
        let refused = |found: &Result<bool, String>| {
            found
                .as_ref()
                .is_err_and(|error| error.contains("keys of their own"))
        };
        assert_eq!(found[..2], [Ok(true), Ok(true)]);
        assert!(refused(&found[2]), "{found:?}");
        assert_eq!(found[3], Ok(false));
        assert!(refused(&found[4]), "{found:?}");
    });
}

#[test]
fn keys_that_differ_by_a_space_at_their_end_are_two() {
    with_each(async |place| {
        let queue = place.queue().await;
        for key in ["k", "k ", "k  "] {
            let mut new = JobPush::new(kind("a"), "{}");
            new.unique = Some(key.to_owned());
            assert!(push(&queue, &new).await.is_some(), "{key:?}");
            assert!(push(&queue, &new).await.is_none(), "{key:?}");
            for expected in [true, false] {
                let options = TransactionOptions::default();
                let transaction = Rc::new(queue.database().begin(options).await.unwrap());
                let inside = Executor::Transaction(Rc::clone(&transaction));
                let is_new = queue.begin_once(&inside, Some(key), None).await;
                assert_eq!(is_new.unwrap(), expected, "{key:?}");
                transaction.commit().await.unwrap();
            }
        }
    });
}

/// How many keys of effects are kept.
async fn kept_keys(queue: &JobQueue) -> Option<i64> {
    let count = "select count(*) from tsumugi_job_keys";
    let rows = here(queue).query(count, []).await.unwrap();
    rows.first()?.value(0)?.as_integer()
}

/// Does the job's own effect, by a queue.
async fn do_once(queue: &JobQueue, id: i64, attempt: i64) {
    let options = TransactionOptions::default();
    let transaction = Rc::new(queue.database().begin(options).await.unwrap());
    let inside = Executor::Transaction(Rc::clone(&transaction));
    let begun = queue.begin_once(&inside, None, Some((id, attempt))).await;
    assert!(begun.unwrap());
    transaction.commit().await.unwrap();
}

#[test]
fn job_that_is_dropped_leaves_no_key() {
    with_each(async |place| {
        let queue = place.queue().await;
        let id = push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let set = async |sql: &str| queue.database().execute(sql, []).await.unwrap();
        set("update tsumugi_jobs set state = 2, attempt = 1, claimed_by = 'test'").await;
        do_once(&queue, id, 1).await;
        assert_eq!(kept_keys(&queue).await, Some(1));
        assert!(!queue.drop(id).await.unwrap(), "it runs");
        assert_eq!(kept_keys(&queue).await, Some(1));
        set("update tsumugi_jobs set state = 3").await;
        assert!(queue.drop(id).await.unwrap());
        assert_eq!(kept_keys(&queue).await, Some(0), "{}", place.name());
    });
}

#[test]
fn job_that_asks_by_another_queue_than_its_worker_leaves_no_key() {
    with_each(async |place| {
        let queue = place.queue().await;
        let other = JobQueue::over(queue.database());
        push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let perform = Rc::new(move |job: ClaimedJob| -> JobFuture {
            let other = other.clone();
            Box::pin(async move {
                do_once(&other, job.id, job.attempt).await;
                Ok(())
            })
        });
        let worker = JobWorker::new(&queue, vec![kind("a")], calm(), perform).unwrap();
        assert_eq!(worker.run_ready().await.unwrap(), 1);
        assert_eq!(kept_keys(&queue).await, Some(0), "{}", place.name());
    });
}

#[test]
fn effect_of_a_job_that_was_begun_anew_since_its_transaction_began_does_not_happen() {
    for place in [Place::postgres(), Place::firebird()] {
        at(&place, async |place| {
            let queue = place.queue().await;
            let id = push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
            let set = async |sql: &str| queue.database().execute(sql, []).await.unwrap();
            set("update tsumugi_jobs set state = 2, attempt = 1, claimed_by = 'test'").await;
            let mut options = TransactionOptions::default();
            options.isolation = Isolation::RepeatableRead;
            let transaction = queue.database().begin(options).await.unwrap();
            let inside = Executor::Transaction(Rc::new(transaction));
            // PostgreSQL's begins to see with its first statement.
            let seen = inside.query("select attempt from tsumugi_jobs", []).await;
            assert_eq!(seen.unwrap().len(), 1);
            set("update tsumugi_jobs set attempt = 2").await;
            let begun = queue.begin_once(&inside, None, Some((id, 1))).await;
            let error = begun.unwrap_err();
            let is_conflict = matches!(
                error,
                Error::Database(tsumugi_db::Error::SerializationFailure { .. })
            );
            assert!(
                is_conflict || matches!(error, Error::Lost { .. }),
                "{error}"
            );
        });
    }
}
