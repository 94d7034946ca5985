//! Workers: what they run, in which order, how often, and what becomes of what they leave.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tsumugi_db::values;
use tsumugi_jobs::limits::{
    JOB_GRACE_MAX, JOB_LEASE_MIN, JOB_POLL_MAX, JOB_POLL_MIN, JOBS_RUNNING_MAX,
};
use tsumugi_jobs::{CronSchedule, JobPush, JobState, JobWorker, WorkerOptions, run_schedules};
use tsumugi_testkit::any_length_of;

use crate::{Diary, LOG, Place, Running, at, eventually, kind, patient, push, quick, with_each};

#[test]
fn job_is_run_once_and_leaves_nothing() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], quick(), move |job| {
            own.add(job.arguments);
            Box::pin(async { Ok(()) })
        });
        for n in 0..20 {
            push(&queue, &JobPush::new(kind("a"), n.to_string())).await;
        }
        eventually("all end", async || {
            queue.list(None, 0, 100).await.unwrap().is_empty()
        })
        .await;
        worker.end().await;
        let mut lines = diary.lines();
        lines.sort_by_key(|line| line.parse::<u32>().unwrap());
        assert_eq!(lines, (0..20).map(|n| n.to_string()).collect::<Vec<_>>());
    });
}

#[test]
fn jobs_of_greater_priority_are_begun_first_and_others_kinds_are_left() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        for (name, priority) in [("a", 0), ("b", 5), ("c", -5), ("unknown", 9), ("b", 5)] {
            let mut kind = kind(name);
            kind.priority = priority;
            push(&queue, &JobPush::new(kind, "{}")).await;
        }
        let own = diary.clone();
        let mut options = quick();
        options.running = 1;
        let kinds = [kind("a"), kind("b"), kind("c")];
        let worker = Running::start(&queue, &kinds, options, move |job| {
            own.add(job.name);
            Box::pin(async { Ok(()) })
        });
        eventually("four end", async || {
            queue.list(None, 0, 100).await.unwrap().len() == 1
        })
        .await;
        worker.end().await;
        assert_eq!(diary.lines(), ["b", "b", "a", "c"]);
    });
}

#[test]
fn job_is_run_at_its_time_and_not_before() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let own = diary.clone();
        let now = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            i64::try_from(now.unwrap().as_millis()).unwrap()
        };
        let worker = Running::start(&queue, &[kind("a")], quick(), move |job| {
            let due: i64 = job.arguments.parse().unwrap();
            own.add(if now() < due { "early" } else { "due" });
            Box::pin(async { Ok(()) })
        });
        for after in [700, 3_600_000, -10_000] {
            let due = now() + after;
            let mut later = JobPush::new(kind("a"), due.to_string());
            later.at_ms = Some(due);
            push(&queue, &later).await;
        }
        eventually("two are run", async || diary.count() == 2).await;
        worker.end().await;
        assert_eq!(diary.lines(), ["due", "due"]);
        assert_eq!(queue.counts().await.unwrap().scheduled, 1);
    });
}

#[test]
fn job_that_fails_is_begun_again_later_and_is_dead_after_its_last_retry() {
    with_each(async |place| {
        let queue = place.queue().await;
        let mut own = kind("a");
        own.retries = 1;
        let mut unique = JobPush::new(own.clone(), "{}");
        unique.unique = Some("k".to_owned());
        let id = push(&queue, &unique).await.unwrap();
        let fail = |_| -> tsumugi_jobs::JobFuture {
            Box::pin(async { Err("no such picture".to_owned()) })
        };
        let worker = JobWorker::new(&queue, vec![own.clone()], quick(), std::rc::Rc::new(fail));
        assert_eq!(worker.unwrap().run_ready().await.unwrap(), 1);
        let job = queue.list(None, 0, 10).await.unwrap().remove(0);
        assert_eq!((job.state, job.failures), (JobState::Scheduled, 1));
        assert_eq!(job.error.as_deref(), Some("no such picture"));
        assert_eq!(queue.counts().await.unwrap().failed, 1);
        let worker = Running::start(&queue, &[own.clone()], quick(), fail);
        eventually("it is dead", async || {
            queue.counts().await.unwrap().dead == 1
        })
        .await;
        worker.end().await;
        let job = queue
            .list(Some(JobState::Dead), 0, 10)
            .await
            .unwrap()
            .remove(0);
        assert_eq!((job.id, job.attempts, job.failures), (id, 2, 2));
        // The dead keep nobody out, and may be tried again.
        assert!(push(&queue, &unique).await.is_some());
        assert!(queue.retry(id).await.unwrap());
        let worker = JobWorker::new(
            &queue,
            vec![own],
            quick(),
            std::rc::Rc::new(|_| Box::pin(async { Ok(()) })),
        );
        assert_eq!(worker.unwrap().run_ready().await.unwrap(), 2);
        assert!(queue.list(None, 0, 10).await.unwrap().is_empty());
    });
}

#[test]
fn job_that_takes_too_long_or_panics_has_failed() {
    at(&Place::sqlite(), async |place| {
        let queue = place.queue().await;
        let mut slow = kind("slow");
        (slow.retries, slow.timeout) = (0, Duration::from_millis(100));
        let mut wild = kind("wild");
        wild.retries = 0;
        push(&queue, &JobPush::new(slow.clone(), "{}")).await;
        push(&queue, &JobPush::new(wild.clone(), "{}")).await;
        let worker = Running::start(&queue, &[slow, wild], quick(), |job| {
            Box::pin(async move {
                if job.name == "slow" {
                    std::future::pending().await
                }
                panic!("of this test")
            })
        });
        eventually("both are dead", async || {
            queue.counts().await.unwrap().dead == 2
        })
        .await;
        worker.end().await;
        let dead = queue.list(Some(JobState::Dead), 0, 10).await.unwrap();
        let errors: Vec<_> = dead.into_iter().filter_map(|job| job.error).collect();
        assert_eq!(
            errors,
            ["it took longer than its timeout, 0.1 s", "it panicked"]
        );
    });
}

#[test]
fn worker_that_ends_gives_back_what_has_not_ended() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let id = push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], quick(), move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        eventually("it is begun", async || diary.count() == 1).await;
        worker.end().await;
        let job = queue.list(None, 0, 10).await.unwrap().remove(0);
        assert_eq!((job.id, job.state, job.failures), (id, JobState::Ready, 0));
        assert_eq!(job.claimed_by, None);
    });
}

#[test]
fn job_of_a_killed_worker_is_begun_again_by_another_when_its_claim_runs_out() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let id = push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        let own = diary.clone();
        let mut options = quick();
        options.lease = Duration::from_secs(2);
        let killed = Running::start(&queue, &[kind("a")], options, move |_| {
            own.add("begun");
            Box::pin(std::future::pending())
        });
        eventually("it is begun", async || diary.count() == 1).await;
        killed.kill().await;
        let (other, own) = (place.queue().await, diary.clone());
        let worker = Running::start(&other, &[kind("a")], quick(), move |job| {
            own.add(format!("attempt {}", job.attempt));
            Box::pin(async { Ok(()) })
        });
        eventually("it ends", async || {
            queue.list(None, 0, 10).await.unwrap().is_empty()
        })
        .await;
        worker.end().await;
        assert_eq!(diary.lines(), ["begun", "attempt 2"], "{id}");
    });
}

#[test]
fn job_that_runs_for_longer_than_a_claim_keeps_it() {
    with_each(async |place| {
        // A machine that stands still for as long as a claim lasts loses it, and does not so for each of these.
        let leases = [2, 6, 20].map(Duration::from_secs);
        let keeps = async |lease| begun_until_renewed(place, lease).await == ["begun"];
        assert!(any_length_of(leases, keeps).await, "{}", place.name());
    });
}

/// What two workers note of a job that runs until its claim has been renewed four times, which is for longer than it was taken for.
async fn begun_until_renewed(place: &Place, lease: Duration) -> Vec<String> {
    let (queue, diary) = (place.queue().await, Diary::default());
    push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
    let gate = Rc::new(Semaphore::new(0));
    let start = |own: Diary, queue| {
        let mut options = quick();
        options.lease = lease;
        let closed = Rc::clone(&gate);
        Running::start(queue, &[kind("a")], options, move |_| {
            own.add("begun");
            let closed = Rc::clone(&closed);
            Box::pin(async move {
                // Until it is closed for good.
                drop(closed.acquire().await);
                Ok(())
            })
        })
    };
    let first = start(diary.clone(), &queue);
    let second = start(diary.clone(), &place.queue().await);
    let mut claimed_until = BTreeSet::new();
    eventually("it is renewed four times", async || {
        let running = queue.list(Some(JobState::Running), 0, 1).await.unwrap();
        claimed_until.extend(running.first().map(|job| job.due_ms));
        claimed_until.len() == 5
    })
    .await;
    gate.close();
    eventually("it ends", async || {
        queue.list(None, 0, 10).await.unwrap().is_empty()
    })
    .await;
    first.end().await;
    second.end().await;
    diary.lines()
}

#[test]
fn job_whose_claim_is_taken_away_is_cut_short_and_changes_nothing() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        push(&queue, &JobPush::new(kind("a"), "{}")).await.unwrap();
        struct Dropped(Diary);
        impl Drop for Dropped {
            fn drop(&mut self) {
                self.0.add("dropped");
            }
        }
        let own = diary.clone();
        let mut options = quick();
        options.lease = Duration::from_secs(2);
        options.running = 1;
        let worker = Running::start(&queue, &[kind("a")], options, move |_| {
            own.add("begun");
            let dropped = Dropped(own.clone());
            Box::pin(async move {
                let _dropped = dropped;
                std::future::pending().await
            })
        });
        eventually("it is begun", async || diary.count() == 1).await;
        let sql = "update tsumugi_jobs set attempt = attempt + 1, claimed_by = ?";
        queue
            .database()
            .execute(sql, values!["another"])
            .await
            .unwrap();
        eventually("it is cut", async || {
            diary.lines().contains(&"dropped".to_owned())
        })
        .await;
        worker.kill().await;
        let job = queue.list(None, 0, 10).await.unwrap().remove(0);
        assert_eq!((job.attempts, job.failures), (2, 0));
        assert_eq!(job.claimed_by.as_deref(), Some("another"));
    });
}

#[test]
fn queue_with_a_limit_of_its_own_leaves_room_to_others() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let mut image = kind("image");
        image.queue = "images".to_owned();
        for _ in 0..5 {
            push(&queue, &JobPush::new(image.clone(), "{}")).await;
        }
        push(&queue, &JobPush::new(kind("mail"), "{}")).await;
        let mut options = quick();
        options.running = 4;
        options.queues = BTreeMap::from([("images".to_owned(), 2)]);
        let own = diary.clone();
        let worker = Running::start(&queue, &[image, kind("mail")], options, move |job| {
            own.add(job.name);
            Box::pin(std::future::pending())
        });
        eventually("three are begun", async || diary.count() == 3).await;
        sleep(Duration::from_millis(300)).await;
        let mut lines = diary.lines();
        lines.sort();
        assert_eq!(lines, ["image", "image", "mail"]);
        worker.end().await;
    });
}

#[test]
fn queue_with_a_limit_of_its_own_goes_on_as_soon_as_one_of_its_jobs_ends() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        let mut image = kind("image");
        image.queue = "images".to_owned();
        for _ in 0..7 {
            push(&queue, &JobPush::new(image.clone(), "{}")).await;
        }
        let mut options = patient();
        options.queues = BTreeMap::from([("images".to_owned(), 2)]);
        let own = diary.clone();
        let kinds = [image, kind("mail")];
        let worker = Running::start(&queue, &kinds, options, move |_| {
            own.add("begun");
            Box::pin(async {
                sleep(Duration::from_millis(5)).await;
                Ok(())
            })
        });
        eventually("all end", async || diary.count() == 7).await;
        worker.end().await;
    });
}

#[test]
fn jobs_that_are_due_one_behind_the_other_are_each_begun_at_their_time() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        for after in [400, 700, 1_000, 1_300] {
            let mut later = JobPush::new(kind("a"), "{}");
            later.after = Some(Duration::from_millis(after));
            push(&queue, &later).await;
        }
        let listed = queue.list(None, 0, 10).await.unwrap();
        let due: HashMap<i64, i64> = listed.iter().map(|job| (job.id, job.due_ms)).collect();
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], patient(), move |job| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            // Both clocks are this machine's, and may be steered a little.
            let early = due[&job.id] - i64::try_from(now.as_millis()).unwrap();
            own.add(if early > 50 { "early" } else { "due" });
            Box::pin(async { Ok(()) })
        });
        eventually("all are begun", async || diary.count() == 4).await;
        worker.end().await;
        assert_eq!(diary.lines(), ["due"; 4]);
    });
}

#[test]
fn jobs_of_dead_processes_come_back_however_many_and_whenever_their_claims_run_out() {
    // More than one statement reads, and some later than others.
    const LEFT: i64 = 150;
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        queue.prepare().await.unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = i64::try_from(now.unwrap().as_millis()).unwrap();
        let transaction = queue.database().begin(Default::default()).await.unwrap();
        for n in 0..LEFT {
            let due = if n % 3 == 0 { now + n * 8 } else { now - 1_000 };
            let sql = format!(
                "insert into tsumugi_jobs (name, queue, arguments, state, sort_order, attempt, failures, retries, due_at, pushed_at, claimed_by) \
                 values ('a', 'default', '{n}', 2, 0, 1, 0, 5, {due}, 0, '1-dead')"
            );
            transaction.execute(sql, []).await.unwrap();
        }
        transaction.commit().await.unwrap();
        let own = diary.clone();
        let worker = Running::start(&queue, &[kind("a")], patient(), move |job| {
            own.add(job.arguments);
            Box::pin(async { Ok(()) })
        });
        eventually("all end", async || {
            queue.list(None, 0, 10).await.unwrap().is_empty()
        })
        .await;
        worker.end().await;
        let mut lines = diary.lines();
        lines.sort_by_key(|line| line.parse::<i64>().unwrap());
        assert_eq!(lines, (0..LEFT).map(|n| n.to_string()).collect::<Vec<_>>());
    });
}

#[test]
fn worker_past_a_limit_is_refused() {
    at(&Place::sqlite(), async |place| {
        let queue = place.queue().await;
        let refused = |options: WorkerOptions, names: usize| {
            let kinds = (0..names).map(|n| kind(&format!("k{n}"))).collect();
            let worker = JobWorker::new(
                &queue,
                kinds,
                options,
                std::rc::Rc::new(|_| Box::pin(async { Ok(()) })),
            );
            worker.unwrap_err().to_string()
        };
        let options = || WorkerOptions::default();
        assert!(refused(options(), 501).contains("JOB_KINDS_MAX"));
        let many = WorkerOptions {
            running: JOBS_RUNNING_MAX + 1,
            ..options()
        };
        assert!(refused(many, 1).contains("JOBS_RUNNING_MAX"));
        let long = WorkerOptions {
            lease: Duration::from_secs(3_601),
            ..options()
        };
        assert!(refused(long, 1).contains("JOB_LEASE_MAX"));
        let short = WorkerOptions {
            lease: JOB_LEASE_MIN - Duration::from_millis(1),
            ..options()
        };
        assert!(refused(short, 1).contains("JOB_LEASE_MIN"));
        let patient = WorkerOptions {
            grace: JOB_GRACE_MAX + Duration::from_millis(1),
            ..options()
        };
        assert!(refused(patient, 1).contains("JOB_GRACE_MAX"));
        for poll in [JOB_POLL_MIN / 2, JOB_POLL_MAX * 2] {
            let rare = WorkerOptions {
                poll: Some(poll),
                ..options()
            };
            assert!(refused(rare, 1).contains("JOB_POLL_MAX"));
        }
    });
}

#[test]
fn push_wakes_a_worker_of_another_process_long_before_it_would_look() {
    at(&Place::postgres(), async |place| {
        let (queue, other, diary) = (place.queue().await, place.queue().await, Diary::default());
        let own = diary.clone();
        let mut options = quick();
        options.poll = Some(Duration::from_secs(300));
        let worker = Running::start(&other, &[kind("a")], options, move |_| {
            own.add("begun");
            Box::pin(async { Ok(()) })
        });
        push(&queue, &JobPush::new(kind("a"), "{}")).await;
        eventually("it listens", async || diary.count() == 1).await;
        // In a transaction, so that nothing in this process wakes it.
        for n in 2..12 {
            let begun = Instant::now();
            let transaction = queue.database().begin(Default::default()).await.unwrap();
            let transaction = std::rc::Rc::new(transaction);
            let inside = tsumugi_db::Executor::Transaction(std::rc::Rc::clone(&transaction));
            queue
                .push(&JobPush::new(kind("a"), "{}"), &inside)
                .await
                .unwrap();
            transaction.commit().await.unwrap();
            while diary.count() < n {
                sleep(Duration::from_millis(1)).await;
                assert!(begun.elapsed() < Duration::from_secs(30), "it is woken");
            }
            println!("begun {:?} after the push", begun.elapsed());
        }
        worker.end().await;
    });
}

#[test]
fn job_of_a_schedule_is_pushed_once_by_any_number_of_processes() {
    with_each(async |place| {
        let queue = place.queue().await;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = i64::try_from(now.unwrap().as_millis()).unwrap();
        for line in ["0 3 1 1 *", "0 3 1 1 *", "0 3 1 2 *"] {
            let schedule = CronSchedule::parse(line, "Asia/Tokyo").unwrap();
            let due = schedule.next_after(now).unwrap();
            let schedules = vec![(kind("every report"), schedule)];
            let run = run_schedules(place.queue().await, schedules, std::future::pending());
            let process = tokio::task::spawn_local(run);
            // Of the line that has changed nothing is left.
            eventually("it is scheduled", async || {
                let jobs = queue.list(None, 0, 10).await.unwrap();
                jobs.len() == 1 && jobs[0].due_ms == due
            })
            .await;
            // It has ended before the next one begins, whatever it has done: an older one that begins later would drop what a newer one has pushed.
            sleep(Duration::from_millis(500)).await;
            process.abort();
            drop(process.await);
            assert_eq!(queue.counts().await.unwrap().scheduled, 1, "{line}");
        }
    });
}

#[test]
fn statements_of_a_worker_are_logged_at_trace_and_pushes_at_debug() {
    with_each(async |place| {
        LOG.take();
        let mut options = tsumugi_db::Options::default();
        options.log = tsumugi_db::StatementLog::Statements;
        let database = tsumugi_db::Database::connect(&place.url(), options).await;
        let queue = tsumugi_jobs::JobQueue::over(&database.unwrap());
        let worker = Running::start(&queue, &[kind("a")], quick(), |_| {
            Box::pin(async { Ok(()) })
        });
        push(&queue, &JobPush::new(kind("a"), "{}")).await;
        eventually("it ends", async || {
            let jobs = tsumugi_db::bookkeeping(queue.list(None, 0, 100)).await;
            jobs.unwrap().is_empty()
        })
        .await;
        worker.end().await;
        let lines = LOG.take();
        let loud: Vec<&str> = lines
            .lines()
            .filter(|line| line.contains("DEBUG tsumugi_db: sql="))
            .collect();
        assert_eq!(loud.len(), 1, "{}: {loud:#?}", place.name());
        assert!(loud[0].contains("insert into tsumugi_jobs"), "{}", loud[0]);
        assert!(lines.contains("TRACE tsumugi_db"), "{lines}");
    });
}
