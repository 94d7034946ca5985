//! The pool with a link whose connections are numbers; time is paused and advances when everybody waits.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::dispatch::STALL;
use super::upkeep::PING_AFTER;
use super::*;

#[derive(Default)]
struct Fake(Rc<World>);

#[derive(Default)]
struct World {
    made: Cell<u32>,
    attempts: RefCell<Vec<Instant>>,
    dead: RefCell<HashSet<u32>>,
    dirty: RefCell<HashSet<u32>>,
    stalled: RefCell<HashSet<u32>>,
    pinged: Cell<u32>,
    refuses: Cell<Option<Retryable>>,
    dropped: Cell<u32>,
    /// Those on which an answer is awaited that nobody wants.
    unanswered: RefCell<HashSet<u32>>,
}

struct Number(u32, Rc<World>);

impl Drop for Number {
    fn drop(&mut self) {
        self.1.dropped.set(self.1.dropped.get() + 1);
    }
}

impl Link for Fake {
    type Connection = Number;

    async fn open(&self) -> Result<Number, ConnectFailure> {
        self.0.attempts.borrow_mut().push(Instant::now());
        sleep(Duration::from_millis(1)).await;
        if let Some(retryable) = self.0.refuses.get() {
            return Err(ConnectFailure {
                reason: "refused".into(),
                retryable,
            });
        }
        self.0.made.set(self.0.made.get() + 1);
        Ok(Number(self.0.made.get(), Rc::clone(&self.0)))
    }

    fn is_usable(&self, connection: &Number) -> bool {
        !self.0.dead.borrow().contains(&connection.0)
            && !self.0.dirty.borrow().contains(&connection.0)
    }

    fn is_clean(&self, connection: &Number) -> bool {
        self.is_usable(connection) && !self.0.unanswered.borrow().contains(&connection.0)
    }

    fn silent_since(&self, _: &Number) -> Option<Instant> {
        None
    }

    fn unanswered_since(&self, connection: &Number) -> Option<Instant> {
        let stalled = self.0.stalled.borrow().contains(&connection.0);
        stalled.then(|| Instant::now() - STALL)
    }

    async fn clean(&self, connection: &Number) {
        sleep(Duration::from_millis(1)).await;
        self.0.dirty.borrow_mut().remove(&connection.0);
        self.0.unanswered.borrow_mut().remove(&connection.0);
    }

    async fn ping(&self, connection: &Number) -> Result<(), ()> {
        self.0.pinged.set(self.0.pinged.get() + 1);
        let dead = self.0.dead.borrow().contains(&connection.0);
        if dead { Err(()) } else { Ok(()) }
    }

    fn end(&self, connection: &Number) {
        self.0.dead.borrow_mut().insert(connection.0);
    }
}

const SETTINGS: Settings = Settings {
    min: 0,
    max: 2,
    acquire_timeout: Duration::from_secs(2),
    waiting_max: 8,
    lifetime: Duration::from_secs(1_000),
    idle: Duration::from_secs(500),
    silence_max: Duration::from_secs(10),
};

/// Runs `test` with a pool of these settings.
fn with<F: Future<Output = ()>>(
    settings: Settings,
    test: impl FnOnce(ConnectionPool<Fake>, Rc<World>) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let fake = Fake::default();
        let world = Rc::clone(&fake.0);
        test(ConnectionPool::new(fake, None, settings), world).await;
    });
}

#[test]
fn callers_share_one_connection_while_it_answers() {
    with(SETTINGS, async |pool, world| {
        let first = pool.shared().await.unwrap();
        let second = pool.shared().await.unwrap();
        assert_eq!((first.0, second.0, world.made.get()), (1, 1, 1));
    });
}

#[test]
fn stalled_connection_gets_no_new_caller_while_another_may_be_opened() {
    with(SETTINGS, async |pool, world| {
        let slow = pool.shared().await.unwrap();
        world.stalled.borrow_mut().insert(slow.0);
        let quick = pool.shared().await.unwrap();
        assert_eq!(quick.0, 2);
        world.stalled.borrow_mut().insert(quick.0);
        let late = pool.shared().await.unwrap();
        assert!(late.0 <= 2, "there is no third connection");
    });
}

#[test]
fn a_stalled_connection_is_used_when_no_other_can_be_opened() {
    with(SETTINGS, async |pool, world| {
        let slow = pool.shared().await.unwrap();
        world.stalled.borrow_mut().insert(slow.0);
        world.refuses.set(Some(Retryable::Transient));
        let late = timeout(Duration::from_millis(100), pool.shared()).await;
        assert_eq!(late.unwrap().unwrap().0, 1);
    });
}

#[test]
fn exclusive_connection_is_shared_with_no_caller() {
    with(SETTINGS, async |pool, _| {
        let alone = pool.exclusive().await.unwrap();
        let shared = pool.shared().await.unwrap();
        assert_ne!(alone.0, shared.0);
    });
}

#[test]
fn never_more_than_max_and_first_come_first_served() {
    with(SETTINGS, async |pool, world| {
        let order = Rc::new(RefCell::new(Vec::new()));
        let tasks: Vec<_> = (0..6)
            .map(|number| {
                let (pool, order) = (pool.clone(), Rc::clone(&order));
                tokio::task::spawn_local(async move {
                    let _lease = pool.exclusive().await.unwrap();
                    order.borrow_mut().push(number);
                    sleep(Duration::from_millis(10)).await;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.borrow(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(world.made.get(), 2);
    });
}

#[test]
fn exclusive_caller_gets_a_shared_connection() {
    let settings = Settings { max: 1, ..SETTINGS };
    with(settings, async |pool, _| {
        let first = pool.shared().await.unwrap();
        let alone = tokio::task::spawn_local({
            let pool = pool.clone();
            async move { pool.exclusive().await.map(drop) }
        });
        sleep(Duration::from_millis(1)).await;
        let late = tokio::task::spawn_local({
            let pool = pool.clone();
            async move { pool.shared().await.map(drop) }
        });
        sleep(Duration::from_millis(1)).await;
        assert!(!late.is_finished(), "the connection is reserved");
        drop(first);
        alone.await.unwrap().unwrap();
        late.await.unwrap().unwrap();
    });
}

#[test]
fn exclusive_caller_that_stops_waiting_frees_it_for_sharing() {
    let settings = Settings { max: 1, ..SETTINGS };
    with(settings, async |pool, _| {
        let _first = pool.shared().await.unwrap();
        assert!(
            timeout(Duration::from_millis(5), pool.exclusive())
                .await
                .is_err()
        );
        let second = timeout(Duration::from_millis(5), pool.shared()).await;
        assert_eq!(second.unwrap().unwrap().0, 1);
    });
}

#[test]
fn a_wait_ends_after_acquire_timeout() {
    let settings = Settings { max: 1, ..SETTINGS };
    with(settings, async |pool, _| {
        let _first = pool.exclusive().await.unwrap();
        let missed = pool.exclusive().await.err().unwrap();
        assert!(
            matches!(missed, AcquireError::Timeout { waited, reason: None } if waited == SETTINGS.acquire_timeout)
        );
        assert_eq!(pool.figures().timeouts, 1);
        assert_eq!(pool.figures().waiting, 0);
    });
}

#[test]
fn caller_beyond_waiting_max_is_refused_at_once() {
    let settings = Settings {
        max: 1,
        waiting_max: 2,
        ..SETTINGS
    };
    with(settings, async |pool, _| {
        let _first = pool.exclusive().await.unwrap();
        for _ in 0..2 {
            let pool = pool.clone();
            tokio::task::spawn_local(async move { pool.exclusive().await.map(drop) });
        }
        sleep(Duration::from_millis(1)).await;
        assert!(matches!(
            pool.exclusive().await,
            Err(AcquireError::QueueFull)
        ));
    });
}

#[test]
fn caller_served_and_gone_hands_its_connection_to_the_next() {
    let settings = Settings { max: 1, ..SETTINGS };
    with(settings, async |pool, _| {
        let first = pool.exclusive().await.unwrap();
        let mut leaving = Box::pin(pool.exclusive());
        assert!(timeout(Duration::ZERO, &mut leaving).await.is_err());
        drop(first);
        drop(leaving);
        assert_eq!(pool.exclusive().await.unwrap().0, 1);
    });
}

#[test]
fn a_dead_connection_is_never_handed_out() {
    with(SETTINGS, async |pool, world| {
        drop(pool.exclusive().await.unwrap());
        world.dead.borrow_mut().insert(1);
        assert_eq!(pool.exclusive().await.unwrap().0, 2);
        assert_eq!(pool.figures().open, 1);
        let shared = pool.shared().await.unwrap();
        world.dead.borrow_mut().insert(shared.0);
        assert_ne!(pool.shared().await.unwrap().0, shared.0);
    });
}

#[test]
fn exclusive_connection_is_cleaned_before_its_next_caller() {
    let settings = Settings { max: 1, ..SETTINGS };
    with(settings, async |pool, world| {
        let first = pool.exclusive().await.unwrap();
        world.dirty.borrow_mut().insert(first.0);
        drop(first);
        assert_eq!(pool.exclusive().await.unwrap().0, 1);
        assert!(world.dirty.borrow().is_empty());
    });
}

#[test]
fn attempts_back_off_up_to_a_second_and_a_success_resets_that() {
    let settings = Settings {
        acquire_timeout: Duration::from_secs(20),
        ..SETTINGS
    };
    with(settings, async |pool, world| {
        world.refuses.set(Some(Retryable::Transient));
        let missed = pool.exclusive().await.err().unwrap();
        assert!(
            matches!(missed, AcquireError::Timeout { reason: Some(reason), .. } if &*reason == "refused")
        );
        let attempts = world.attempts.take();
        let gaps: Vec<_> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.windows(2).all(|pair| pair[1] >= pair[0]));
        assert!(*gaps.last().unwrap() <= opening::BACKOFF_MAX + Duration::from_millis(1));
        assert!(gaps.len() >= 18, "{gaps:?}");
        world.refuses.set(None);
        drop(pool.exclusive().await.unwrap());
        assert!(!pool.0.opening.is_failing());
    });
}

#[test]
fn permanent_refusal_is_reported_at_once() {
    with(SETTINGS, async |pool, world| {
        world.refuses.set(Some(Retryable::Permanent));
        let begun = Instant::now();
        assert!(matches!(pool.shared().await, Err(AcquireError::Refused(_))));
        assert!(begun.elapsed() < Duration::from_millis(100));
    });
}

#[test]
fn an_old_connection_is_replaced_also_when_it_is_always_shared() {
    let settings = Settings { max: 1, ..SETTINGS };
    with(settings, async |pool, world| {
        let first = pool.shared().await.unwrap();
        sleep(settings.lifetime + Duration::from_secs(2)).await;
        let late = tokio::task::spawn_local({
            let pool = pool.clone();
            async move { pool.shared().await.map(|lease| lease.0) }
        });
        sleep(Duration::from_millis(1)).await;
        drop(first);
        assert_eq!(late.await.unwrap().unwrap(), 2);
        assert_eq!(world.dropped.get(), 1);
    });
}

#[test]
fn unneeded_connections_are_closed_down_to_min() {
    let settings = Settings { min: 1, ..SETTINGS };
    with(settings, async |pool, _| {
        let pair = (
            pool.exclusive().await.unwrap(),
            pool.exclusive().await.unwrap(),
        );
        drop(pair);
        assert_eq!(pool.figures().open, 2);
        sleep(settings.idle + Duration::from_secs(40)).await;
        assert_eq!(pool.figures().open, 1);
    });
}

#[test]
fn an_idle_connection_is_asked_and_dropped_when_it_does_not_answer() {
    with(SETTINGS, async |pool, world| {
        drop(pool.exclusive().await.unwrap());
        sleep(PING_AFTER + Duration::from_secs(2)).await;
        assert_eq!((world.pinged.get(), pool.figures().open), (1, 1));
        world.dead.borrow_mut().insert(1);
        sleep(PING_AFTER + Duration::from_secs(2)).await;
        assert_eq!(pool.figures().open, 0);
    });
}

#[test]
fn a_closed_pool_refuses_and_lets_connections_go() {
    with(SETTINGS, async |pool, world| {
        let kept = pool.exclusive().await.unwrap();
        drop(pool.exclusive().await.unwrap());
        pool.close();
        assert_eq!(world.dropped.get(), 1);
        drop(kept);
        assert_eq!(world.dropped.get(), 2);
        assert!(matches!(pool.shared().await, Err(AcquireError::Closed)));
    });
}

#[test]
fn pool_without_a_handle_ends() {
    with(SETTINGS, async |pool, world| {
        drop(pool.shared().await.unwrap());
        drop(pool);
        sleep(Duration::from_secs(2)).await;
        assert_eq!(world.dropped.get(), 1);
    });
}
