//! The trace of a job: what has pushed it, in each of its attempts, and what its lines of the log are called.

use std::rc::Rc;

use tsumugi_db::{Executor, TransactionOptions};
use tsumugi_jobs::JobPush;
use tsumugi_trace::{Activity, ActivityKind, current, log_ids};

use crate::{Diary, Running, calm, eventually, kind, push, with_each};

#[test]
fn job_goes_on_with_the_trace_of_what_has_pushed_it_in_each_attempt() {
    with_each(async |place| {
        let (queue, diary) = (place.queue().await, Diary::default());
        queue.prepare().await.unwrap();
        let request = Activity::begin_named(ActivityKind::Request, "GET /".into(), None);
        let own = queue.clone();
        let pushed = async move {
            let transaction = own.database().begin(TransactionOptions::default()).await;
            let transaction = Rc::new(transaction.unwrap());
            let inside = Executor::Transaction(Rc::clone(&transaction));
            own.push(&JobPush::new(kind("a"), "traced"), &inside)
                .await
                .unwrap();
            drop(inside);
            transaction.commit().await.unwrap();
        };
        Activity::scope(Some(request.share()), pushed).await;
        push(&queue, &JobPush::new(kind("a"), "alone")).await;
        let (own, others) = (diary.clone(), queue.clone());
        let worker = Running::start(&queue, &[kind("a")], calm(), move |job| {
            let (own, queue) = (own.clone(), others.clone());
            Box::pin(async move {
                let activity = current().unwrap();
                let ids = log_ids().unwrap();
                assert_eq!(ids.trace_id, activity.trace_id());
                own.add(format!("{} {}", job.arguments, ids.trace_id));
                own.add(format!("id {}", ids.request_id));
                if job.arguments == "traced" && job.attempt == 1 {
                    // It need not wait for its second attempt.
                    tokio::task::spawn_local(async move {
                        eventually("it has failed", async || queue.retry(job.id).await.unwrap())
                            .await;
                    });
                    return Err("the first time".to_owned());
                }
                Ok(())
            })
        });
        eventually("all end", async || {
            queue.list(None, 0, 10).await.unwrap().is_empty()
        })
        .await;
        worker.end().await;
        let lines = diary.lines();
        let (ids, mut traces): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| line.starts_with("id "));
        let (own, pusher) = (format!("id {}", request.id()), request.trace_id());
        assert!(ids.len() == 3 && !ids.contains(&own), "{ids:?}");
        traces.sort();
        assert_eq!(
            traces[1..],
            [format!("traced {pusher}"), format!("traced {pusher}")]
        );
        assert!(traces[0].starts_with("alone ") && !traces[0].contains(&pusher.to_string()));
    });
}
