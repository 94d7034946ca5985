//! Locks: one holder at a time, tokens that grow, what becomes of those that are lost or dropped.

use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tsumugi_cluster::{Cluster, Error, LeaseClaim, LockWait, ReleaseKind, TakeAnswer, TakeRequest};
use tsumugi_testkit::{any_length_of, poll};

use crate::with_each;

const NOW: LockWait = LockWait::UpTo(Duration::ZERO);
/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(600);
/// For what must come, however crowded the machine is.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENT: LockWait = LockWait::UpTo(PATIENCE);

/// Takes and gives back a lock, so that what is made at the first one does not count to a short lease.
async fn warm(cluster: &Cluster) {
    let lock = cluster.acquire("warm", LONG, PATIENT).await.unwrap();
    lock.release(ReleaseKind::Keep).await;
}

#[test]
fn lock_is_held_by_one_and_each_token_is_greater_than_the_last() {
    with_each(async |place| {
        let (one, other) = (place.cluster().await, place.cluster().await);
        let first = one.acquire("tokens", LONG, NOW).await.unwrap();
        let refused = other.acquire("tokens", LONG, NOW).await;
        // It was not waited for, which took no time either.
        let refused = refused.unwrap_err();
        let text = "another one holds the lock tokens";
        assert_eq!(refused.to_string(), text);
        // Another name is another lock.
        let beside = other.acquire("beside", LONG, NOW).await.unwrap();
        beside.release(ReleaseKind::Keep).await;
        first.release(ReleaseKind::Keep).await;
        let second = other.acquire("tokens", LONG, NOW).await.unwrap();
        assert!(second.token() > first.token());
        second.release(ReleaseKind::Keep).await;
        assert!(!second.is_lost(), "it was given back");
    });
}

#[test]
fn holder_that_does_not_renew_knows_of_its_loss_before_another_has_the_lock() {
    with_each(async |place| {
        let short = place.short();
        let (one, other) = (place.cluster().await, place.cluster().await);
        warm(&one).await;
        warm(&other).await;
        let begun = Instant::now();
        let first = one.acquire("loss", short, NOW).await.unwrap();
        let second = other.acquire("loss", LONG, LockWait::Forever);
        let second = timeout(PATIENCE, second).await;
        let second = second.expect("its time ends").unwrap();
        assert!(first.is_lost());
        assert!(first.check().unwrap_err().to_string().contains("loss"));
        assert!(second.token() > first.token());
        // From before the question for the first one.
        let waited = begun.elapsed();
        assert!(waited >= short * 9 / 10, "{waited:?}");
        // What the first one does about it afterwards is not the second one's.
        first.release(ReleaseKind::Keep).await;
        drop(first);
        sleep(Duration::from_millis(50)).await;
        let third = one.acquire("loss", short, NOW).await;
        assert!(matches!(third, Err(Error::Unavailable { .. })), "{third:?}");
        second.release(ReleaseKind::Keep).await;
    });
}

/// What became of a lock whose work runs until a contender was refused, who waits for twice its time.
async fn renewed(one: &Cluster, other: &Cluster, ttl: Duration) -> Result<i64, Error> {
    let (begun, refused) = (Notify::new(), Notify::new());
    let work = one.lock("renewal", ttl, NOW, async |token| {
        begun.notify_one();
        refused.notified().await;
        token
    });
    let contender = async {
        let has_begun = timeout(PATIENCE, begun.notified()).await;
        has_begun.expect("the lock is free");
        let wait = LockWait::UpTo(ttl * 2);
        let contended = other.acquire("renewal", LONG, wait).await;
        refused.notify_one();
        contended
    };
    let (token, contended) = tokio::join!(work, contender);
    let token = token?;
    assert!(
        matches!(contended, Err(Error::Unavailable { .. })),
        "{contended:?}"
    );
    Ok(token)
}

#[test]
fn lock_is_renewed_while_its_work_runs() {
    with_each(async |place| {
        let short = place.short();
        let (one, other) = (place.cluster().await, place.cluster().await);
        warm(&one).await;
        warm(&other).await;
        let mut token = Ok(0);
        // A machine that stands still for as long as a lease lasts loses it.
        any_length_of([short, short * 4, short * 16], async |ttl| {
            token = renewed(&one, &other, ttl).await;
            token.is_ok()
        })
        .await;
        assert!(token.unwrap() > 0);
        let next = other.acquire("renewal", LONG, PATIENT).await.unwrap();
        next.release(ReleaseKind::Keep).await;
    });
}

#[test]
fn work_that_blocks_its_thread_beyond_the_deadline_is_told_that_the_lock_was_lost() {
    with_each(async |place| {
        let short = place.short();
        let cluster = place.cluster().await;
        warm(&cluster).await;
        let outcome = cluster
            .lock("blocking", short, NOW, async |_| {
                // As a process that is stopped.
                let until = Instant::now() + short * 2;
                while Instant::now() < until {
                    tsumugi_testkit::pause();
                }
            })
            .await;
        assert!(matches!(outcome, Err(Error::Lost { .. })), "{outcome:?}");
    });
}

#[test]
fn lock_that_is_dropped_is_given_back_and_so_is_one_whose_answer_is_not_awaited() {
    with_each(async |place| {
        let (one, other) = (place.cluster().await, place.cluster().await);
        drop(one.acquire("dropped", LONG, NOW).await.unwrap());
        let held = other.acquire("dropped", LONG, PATIENT).await.unwrap();
        held.release(ReleaseKind::Keep).await;
        for times in 0..4 {
            drop(poll::pend(one.acquire("dropped", LONG, NOW), times).await);
            let held = other.acquire("dropped", LONG, PATIENT).await.unwrap();
            held.release(ReleaseKind::Keep).await;
        }
    });
}

#[test]
fn question_asked_again_is_the_same_holders_and_its_token_grows() {
    with_each(async |place| {
        let (one, other) = (place.cluster().await, place.cluster().await);
        let (one, other) = (one.engine(), other.engine());
        let request = |holder: &str| TakeRequest {
            name: "again".to_owned(),
            holder: format!("{holder} {}", std::process::id()),
            ttl: LONG,
            period: None,
        };
        let take = async |request: &TakeRequest| match one.take(request).await.unwrap() {
            TakeAnswer::Granted { token } => token,
            TakeAnswer::Busy { wait } => panic!("busy for {wait:?}"),
        };
        let mine = request("mine");
        let first = take(&mine).await;
        let second = take(&mine).await;
        assert!(second > first);
        let busy = other.take(&request("another's")).await.unwrap();
        assert!(matches!(busy, TakeAnswer::Busy { .. }), "{busy:?}");
        let claim = LeaseClaim {
            name: mine.name.clone(),
            holder: mine.holder.clone(),
            token: second,
        };
        assert!(one.renew(&claim, LONG).await.unwrap());
        let forget = ReleaseKind::Forget;
        one.release(&mine.name, &mine.holder, forget).await.unwrap();
        assert!(!one.renew(&claim, LONG).await.unwrap());
        // That there is none is no error.
        one.release(&mine.name, &mine.holder, forget).await.unwrap();
    });
}
