//! Claims that are lost, seem to be, or are given back; and what a worker looks at in time.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::oneshot;
use tsumugi_db::{Executor, values};
use tsumugi_jobs::limits::{JOB_GRACE_MAX, JOB_LOSSES_MAX, JOBS_PROMOTED_MAX};
use tsumugi_jobs::{JobPush, JobQueue, JobState, JobWorker, WorkerOptions};

use crate::{Diary, Place, Running, at, eventually, kind, patient, push, quick, with_each};

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap().as_millis()).unwrap()
}

/// Inserts a job that a worker has claimed.
async fn insert_claimed(queue: &JobQueue, retries: u32, losses: u32, due_ms: i64, worker: &str) {
    let sql = format!(
        "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, losses, due_at, pushed_at, claimed_by) \
         values ('a', 'default', 'left {retries} {losses}', 2, 0, 1, 0, {retries}, {losses}, {due_ms}, 0, '{worker}')"
    );
    queue.database().execute(sql, []).await.unwrap();
}

#[test]
fn job_that_is_lost_is_begun_again_whatever_its_retries_and_not_for_ever() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        queue.prepare().await.unwrap();
        let many = JOB_LOSSES_MAX + 1;
        for (retries, losses) in [(0, 0), (0, JOB_LOSSES_MAX), (many, JOB_LOSSES_MAX)] {
            insert_claimed(&queue, retries, losses, now() - 1_000, "1-dead").await;
        }
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], quick(), move |job| {
            own.add(format!("{}, failures {}", job.arguments, job.failures));
            Box::pin(async { Ok(()) })
        });
        eventually("two end, one is dead", async || {
            let jobs = queue.list(None, 0, 10).await.unwrap();
            jobs.len() == 1 && jobs[0].state == JobState::Dead
        })
        .await;
        worker.end().await;
        let mut lines = diary.lines();
        lines.sort();
        let again = format!("left {many} {JOB_LOSSES_MAX}, failures 0");
        assert_eq!(lines, ["left 0 0, failures 0".to_owned(), again]);
        let dead = queue.list(None, 0, 10).await.unwrap().remove(0);
        assert_eq!((dead.losses, dead.failures), (i64::from(many), 0));
        assert!(dead.error.unwrap().contains("JOB_LOSSES_MAX"));
        assert!(queue.retry(dead.id).await.unwrap());
        assert_eq!(queue.list(None, 0, 10).await.unwrap()[0].losses, 0);
    });
}

#[test]
fn claim_of_which_no_job_runs_runs_out_while_those_of_jobs_that_run_are_renewed() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "runs")).await;
        let own = diary.clone();
        let mut options = quick();
        options.lease = Duration::from_secs(2);
        let worker = Running::start(&queue, &[kind("a")], options, move |job| {
            own.add(job.arguments);
            Box::pin(std::future::pending())
        });
        eventually("one runs", async || diary.count() == 1).await;
        // As if the answer to the claim had been lost.
        let name = queue.list(None, 0, 10).await.unwrap().remove(0).claimed_by;
        insert_claimed(&queue, 0, 0, now() + 2_000, &name.unwrap()).await;
        eventually("it is begun", async || {
            diary.lines().contains(&"left 0 0".to_owned())
        })
        .await;
        worker.end().await;
    });
}

#[test]
fn claims_that_seem_to_have_run_out_are_renewed_by_the_process_that_runs_their_jobs() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "{}")).await;
        let start = |own: Diary, queue| {
            Running::start(queue, &[kind("a")], quick(), move |job| {
                own.add(format!("attempt {}", job.attempt));
                Box::pin(std::future::pending())
            })
        };
        let worker = start(diary.clone(), &queue);
        // Another worker of the process.
        let second = start(diary.clone(), &place.queue().await);
        eventually("it is begun", async || diary.count() == 1).await;
        for _ in 0..3 {
            // As a clock sees it that was set forward.
            let set = "update tsumugi_jobs set due_at = ? where state = 2";
            let set = queue.database().execute(set, values![now() - 3_600_000]);
            // On Firebird a renewal may be in the way.
            if set.await.is_err() {
                continue;
            }
            eventually("it is renewed", async || {
                queue.list(None, 0, 10).await.unwrap()[0].due_ms > now()
            })
            .await;
        }
        assert_eq!(diary.lines(), ["attempt 1"]);
        worker.end().await;
        second.end().await;
    });
}

#[test]
fn failure_whose_text_has_a_zero_byte_is_kept() {
    with_each(async |place| {
        let queue = place.queue().await;
        let mut own = kind("a");
        own.retries = 0;
        push(&queue, &JobPush::new(own.clone(), "{}")).await;
        let worker = Running::start(&queue, &[own], quick(), |_| {
            Box::pin(async { Err("bad input a\0b".to_owned()) })
        });
        eventually("it is dead", async || {
            queue.counts().await.unwrap().dead == 1
        })
        .await;
        worker.end().await;
        let error = queue.list(None, 0, 10).await.unwrap().remove(0).error;
        let error = error.unwrap();
        assert!(
            error.starts_with("bad input a") && error.ends_with('b'),
            "{error}"
        );
    });
}

#[test]
fn queue_with_a_limit_does_not_keep_the_others_waiting() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let queued = |name: &str| {
            let mut kind = kind(name);
            kind.queue = name.to_owned();
            kind
        };
        let kinds = [queued("images"), queued("videos"), kind("mail")];
        for (kind, count) in kinds.iter().zip([20, 1, 1]) {
            for _ in 0..count {
                push(&queue, &JobPush::new(kind.clone(), "{}")).await;
            }
        }
        let mut options = quick();
        options.running = 1;
        let limits = ["images", "videos"].map(|name| (name.to_owned(), 1));
        options.queues = BTreeMap::from(limits);
        let own = diary.clone();
        let worker = Running::start(&queue, &kinds, options, move |job| {
            own.add(job.name);
            Box::pin(async { Ok(()) })
        });
        eventually("all are run", async || diary.count() == 22).await;
        worker.end().await;
        let lines = diary.lines();
        let place = |name: &str| lines.iter().position(|line| line == name).unwrap();
        assert!(place("videos") < 3 && place("mail") < 3, "{lines:?}");
    });
}

#[test]
fn job_is_begun_at_its_time_and_again_after_a_failure_however_rarely_its_worker_looks() {
    for place in [Place::sqlite(), Place::postgres()] {
        at(&place, async |place| {
            let (queue, diary) = (place.queue().await, Diary::default());
            let own = diary.clone();
            let worker = Running::start(&queue, &[kind("a")], patient(), move |job| {
                own.add(format!("{} {}", job.arguments, job.attempt));
                let fails = job.arguments == "fails" && job.attempt == 1;
                Box::pin(async move {
                    match fails {
                        true => Err("the first time".to_owned()),
                        false => Ok(()),
                    }
                })
            });
            push(&queue, &JobPush::new(kind("a"), "fails")).await;
            eventually("it is begun again", async || diary.count() == 2).await;
            let mut later = JobPush::new(kind("a"), "later");
            later.after = Some(Duration::from_millis(5_500));
            match place {
                // Nothing in this process wakes its worker.
                Place::Postgres(_) => {
                    let transaction = queue.database().begin(Default::default()).await;
                    let transaction = Rc::new(transaction.unwrap());
                    let inside = Executor::Transaction(Rc::clone(&transaction));
                    queue.push(&later, &inside).await.unwrap();
                    drop(inside);
                    transaction.commit().await.unwrap();
                }
                _ => drop(push(&queue, &later).await),
            }
            eventually("it is begun", async || diary.count() == 3).await;
            worker.end().await;
            assert_eq!(diary.lines(), ["fails 1", "fails 2", "later 1"]);
        });
    }
}

#[test]
fn however_many_jobs_are_due_in_one_moment_all_are_made_ready() {
    with_each(async |place| {
        let queue = place.queue().await;
        queue.prepare().await.unwrap();
        let transaction = queue.database().begin(Default::default()).await.unwrap();
        for n in 0..=JOBS_PROMOTED_MAX {
            let insert = "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at) \
                          values ('a', 'default', '{}', 0, 0, 0, 0, 0, ?, 0)";
            let due = i64::try_from(n).unwrap();
            transaction.execute(insert, values![due]).await.unwrap();
        }
        transaction.commit().await.unwrap();
        let none = Rc::new(|_| -> tsumugi_jobs::JobFuture { Box::pin(async { Ok(()) }) });
        let worker = JobWorker::new(&queue, vec![kind("b")], quick(), none).unwrap();
        assert_eq!(worker.run_ready().await.unwrap(), 0);
        let counts = queue.counts().await.unwrap();
        assert_eq!(
            (counts.scheduled, counts.ready),
            (0, JOBS_PROMOTED_MAX as u64 + 1)
        );
    });
}

#[test]
fn jobs_are_given_back_at_the_last_moment_however_long_their_grace_is() {
    at(&Place::sqlite(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "{}")).await;
        let own = diary.clone();
        let perform = Rc::new(move |_| -> tsumugi_jobs::JobFuture {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        let options = WorkerOptions {
            grace: JOB_GRACE_MAX,
            ..quick()
        };
        let worker = JobWorker::new(&queue, vec![kind("a")], options, perform).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (last, is_last) = oneshot::channel::<()>();
        let run = worker.run_until(async { drop(stopped.await) }, async { drop(is_last.await) });
        let run = tokio::task::spawn_local(run);
        eventually("it is begun", async || diary.count() == 1).await;
        stop.send(()).unwrap();
        last.send(()).unwrap();
        run.await.unwrap();
        let job = queue.list(None, 0, 10).await.unwrap().remove(0);
        assert_eq!(
            (job.state, job.failures, job.losses),
            (JobState::Ready, 0, 0)
        );
    });
}

#[test]
fn claim_that_another_transaction_has_keeps_none_of_the_others_from_being_renewed() {
    let test = async |place: &Place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let new = JobPush::new(kind("a"), "{}");
        let (free, taken) = (push(&queue, &new).await, push(&queue, &new).await);
        let own = diary.clone();
        let mut options = quick();
        options.lease = Duration::from_secs(12);
        let worker = Running::start(&queue, &[kind("a")], options, move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        eventually("both are begun", async || diary.count() == 2).await;
        let claimed_until = async || {
            let jobs = queue.list(None, 0, 10).await.unwrap();
            let job = jobs.into_iter().find(|job| Some(job.id) == free);
            job.unwrap().due_ms
        };
        let before = claimed_until().await;
        let other = place.queue().await;
        let transaction = other.database().begin(Default::default()).await.unwrap();
        let take = "update tsumugi_jobs set error = 'taken' where id = ?";
        let taken = transaction.execute(take, values![taken.unwrap()]).await;
        assert_eq!(taken.unwrap().affected, 1);
        eventually("the other one is renewed", async || {
            claimed_until().await > before
        })
        .await;
        transaction.roll_back().await.unwrap();
        worker.end().await;
        assert_eq!(diary.lines(), ["begun", "begun"]);
    };
    at(&Place::firebird(), test);
    at(&Place::postgres(), test);
}

#[test]
fn process_that_stands_still_in_a_transaction_keeps_no_worker_from_other_jobs() {
    at(&Place::postgres(), async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        queue.prepare().await.unwrap();
        insert_claimed(&queue, 0, JOB_LOSSES_MAX, now() - 1_000, "1-stopped").await;
        let stopped = place.queue().await;
        let transaction = stopped.database().begin(Default::default()).await.unwrap();
        let hold = "select id from tsumugi_jobs for key share";
        assert_eq!(transaction.query(hold, []).await.unwrap().len(), 1);
        push(&queue, &JobPush::new(kind("a"), "other")).await;
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], quick(), move |job| {
            own.add(job.arguments);
            Box::pin(async { Ok(()) })
        });
        eventually("the other one is run", async || diary.count() == 1).await;
        assert_eq!(diary.lines(), ["other"]);
        transaction.roll_back().await.unwrap();
        eventually("the first one is dead", async || {
            queue.counts().await.unwrap().dead == 1
        })
        .await;
        worker.end().await;
    });
}
