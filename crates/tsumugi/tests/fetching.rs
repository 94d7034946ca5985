//! `Kv::fetch`: of all of the process one computes while others wait, and nothing waits for itself. The Ruby face's tests of the same
//! are in `crates/ruby/tests/kv/fetching.rs`. Each test has a store of its own name, since a name is one store for the process.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use tsumugi::{Error, Kv, Result, Settings, Worker};

const TTL: Duration = Duration::from_secs(60);

/// Runs on a worker of its own, which ends with it.
fn alone<T>(store: &str, run: impl AsyncFnOnce(&Worker, Kv) -> T) -> T {
    let outcome = tsumugi::alone(Settings::default(), async |worker| {
        let kv = Kv::open(worker, &format!("memory:{store}")).await.unwrap();
        let run = run(worker, kv);
        // What waits for itself would wait for ever.
        tokio::time::timeout(Duration::from_secs(60), run)
            .await
            .expect("an end")
    });
    outcome.unwrap()
}

async fn number(kv: &Kv, key: &'static str, number: i64) -> Result<i64> {
    kv.fetch(key, TTL, async || Ok(number)).await
}

#[test]
fn blocks_may_fetch_other_keys_but_not_their_own() {
    alone("nested", async |_, kv| {
        let sum = kv.fetch("a", TTL, async || {
            Ok(number(&kv, "b", 1).await? + number(&kv, "c", 2).await?)
        });
        assert_eq!(sum.await.unwrap(), 3);
        let nested = kv.fetch("x", TTL, async || number(&kv, "x", 1).await);
        let error = nested.await.unwrap_err();
        assert!(matches!(error, Error::Kv(tsumugi_kv::Error::FetchNested)));
        assert_eq!(
            error.to_string(),
            "the block of fetch fetches the same key again: it would wait for itself"
        );
        let deeper = kv.fetch("x", TTL, async || {
            kv.fetch("y", TTL, async || number(&kv, "x", 1).await).await
        });
        assert!(deeper.await.is_err());
        let branches = kv.fetch("x", TTL, async || {
            let (one, two) = tokio::join!(number(&kv, "x", 1), number(&kv, "z", 2));
            assert_eq!(two.unwrap(), 2);
            one
        });
        assert!(branches.await.is_err());
        // What failed has left nothing.
        assert_eq!(number(&kv, "x", 7).await.unwrap(), 7);
        assert!(kv.get("y").await.unwrap().is_none());
    });
}

#[test]
fn two_fetches_that_need_each_others_keys_both_end() {
    alone("mutual", async |worker, kv| {
        let cross = |own: &'static str, other: &'static str, value: i64| {
            let (kv, worker) = (kv.clone(), worker.clone());
            async move {
                let inner = kv.clone();
                kv.fetch(own, TTL, async || {
                    worker.sleep(Duration::from_millis(20)).await;
                    number(&inner, other, value).await
                })
                .await
            }
        };
        // In one task, then in two.
        let (one, two) = tokio::join!(cross("1", "2", 7), cross("2", "1", 8));
        assert!(one.is_ok() && two.is_ok());
        let one = worker.spawn(cross("3", "4", 7));
        let two = worker.spawn(cross("4", "3", 8));
        assert!(one.await.unwrap().is_ok() && two.await.unwrap().is_ok());
    });
}

#[test]
fn two_workers_that_need_each_others_keys_both_end() {
    let both = Barrier::new(2);
    let cross = |own: &'static str, other: &'static str| {
        alone("threads", async |worker, kv| {
            kv.fetch(own, TTL, async || {
                // Each computes its own key by now.
                both.wait();
                worker.sleep(Duration::from_millis(5)).await;
                number(&kv, other, 5).await
            })
            .await
            .unwrap()
        })
    };
    thread::scope(|scope| {
        let one = scope.spawn(|| cross("one", "two"));
        let two = scope.spawn(|| cross("two", "one"));
        assert_eq!(one.join().unwrap(), 5);
        assert_eq!(two.join().unwrap(), 5);
    });
}

#[test]
fn task_that_a_block_spawns_and_awaits_ends() {
    alone("spawned", async |worker, kv| {
        let computed = kv.fetch("k", TTL, async || {
            let inner = kv.clone();
            let task = worker.spawn(async move { number(&inner, "k", 3).await });
            task.await.unwrap()
        });
        assert_eq!(computed.await.unwrap(), 3);
        // Within the task, what waits for itself for certain is an error still.
        let computed = kv.fetch("other", TTL, async || {
            let inner = kv.clone();
            let task = worker.spawn(async move {
                let nested = inner.fetch("own", TTL, async || number(&inner, "own", 3).await);
                nested.await
            });
            task.await.unwrap()
        });
        assert!(computed.await.is_err());
    });
}

#[test]
fn fetch_of_one_key_on_all_workers_computes_once() {
    const WORKERS: usize = 4;
    let begun = Barrier::new(WORKERS);
    let ended = Barrier::new(WORKERS);
    let runs = AtomicUsize::new(0);
    let work = || {
        alone("stampede", async |worker, kv| {
            begun.wait();
            let calls = (0..16).map(|_| {
                let kv = kv.clone();
                let runs = &runs;
                async move {
                    let computed = kv.fetch("k", TTL, async || {
                        runs.fetch_add(1, SeqCst);
                        worker.sleep(Duration::from_millis(200)).await;
                        Ok("value".to_owned())
                    });
                    assert_eq!(computed.await.unwrap(), "value");
                }
            });
            join_all(calls).await;
            ended.wait();
        });
    };
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
    });
    assert_eq!(runs.load(SeqCst), 1);
}

/// Polls all of them in turn until all have ended.
async fn join_all(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut running: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        running.retain_mut(|future| future.as_mut().poll(context).is_pending());
        match running.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

/// The first caller's block ends as `first` does; the second's then computes.
fn second_computes(store: &str, first: impl AsyncFnOnce(&Worker, Kv)) {
    alone(store, async |worker, kv| {
        let waiting = {
            let kv = kv.clone();
            let worker2 = worker.clone();
            worker.spawn(async move {
                worker2.sleep(Duration::from_millis(5)).await;
                number(&kv, "k", 2).await
            })
        };
        first(worker, kv.clone()).await;
        assert_eq!(waiting.await.unwrap().unwrap(), 2);
        assert_eq!(number(&kv, "k", 3).await.unwrap(), 2);
    });
}

#[test]
fn failed_panicked_or_dropped_block_passes_the_computation_on() {
    let pause = Duration::from_millis(30);
    second_computes("failing", async |worker, kv| {
        let failed = kv.fetch("k", TTL, async || {
            worker.sleep(pause).await;
            Err::<i64, _>(Error::conflict("no"))
        });
        assert_eq!(failed.await.unwrap_err().to_string(), "no");
    });
    second_computes("panicking", async |worker, kv| {
        let inner = worker.clone();
        let task = worker.spawn(async move {
            let sleeper = inner.clone();
            kv.fetch("k", TTL, async || {
                sleeper.sleep(pause).await;
                match Cell::new(0).get() {
                    0 => panic!("as a bug would"),
                    number => Ok(number),
                }
            })
            .await
        });
        assert!(AssertUnwindSafe(task).0.await.unwrap_err().is_panic());
    });
    second_computes("dropped", async |worker, kv| {
        let computed = kv.fetch("k", TTL, async || {
            worker.sleep(Duration::from_secs(3_600)).await;
            Ok(1)
        });
        let cancelled = tokio::time::timeout(pause, computed);
        assert!(cancelled.await.is_err());
    });
}

#[test]
fn value_is_computed_again_once_it_has_expired() {
    alone("expiring", async |worker, kv| {
        let runs = Cell::new(0);
        for _ in 0..2 {
            let computed = kv.fetch("k", Duration::from_millis(30), async || {
                runs.set(runs.get() + 1);
                Ok(runs.get())
            });
            assert_eq!(computed.await.unwrap(), runs.get());
            worker.sleep(Duration::from_millis(60)).await;
        }
        assert_eq!(runs.get(), 2);
    });
}

#[test]
fn stores_of_two_names_share_no_computation() {
    alone("apart", async |worker, one| {
        let two = Kv::open(worker, "memory:apart-too#capacity=64m").await;
        let two = two.unwrap();
        let computed = one.fetch("k", TTL, async || number(&two, "k", 5).await);
        assert_eq!(computed.await.unwrap(), 5);
    });
}

#[test]
fn store_without_a_name_is_refused_because_workers_would_not_share_it() {
    tsumugi::alone(Settings::default(), async |worker| {
        for place in ["", "#capacity=64m"] {
            let refused = Kv::open(worker, place).await.expect_err(place).to_string();
            assert!(
                refused.contains("a store has a place"),
                "{place}: {refused}"
            );
        }
    })
    .unwrap();
}

#[test]
fn scheme_that_no_store_has_is_refused() {
    tsumugi::alone(Settings::default(), async |worker| {
        for (place, expected) in [
            ("mysql://a", "no store has the scheme `mysql`"),
            ("etcd://", "a host is missing"),
            ("tkrzw://", "write tkrzw://host:port"),
        ] {
            let refused = Kv::open(worker, place).await.expect_err(place);
            assert!(matches!(refused, Error::Store(_)), "{place}");
            let text = refused.to_string();
            assert!(text.contains(expected), "{place}: {text}");
        }
    })
    .unwrap();
}

#[test]
fn caller_that_computes_gets_the_value_as_a_hit_does() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Page {
        title: String,
        #[serde(skip)]
        renderings: u32,
    }
    alone("read back", async |_, kv| {
        let page = async || {
            kv.fetch("page", TTL, async || {
                let title = "花".to_owned();
                Ok(Page {
                    title,
                    renderings: 1,
                })
            })
            .await
        };
        let (computed, hit) = (page().await.unwrap(), page().await.unwrap());
        assert_eq!((&computed, computed.renderings), (&hit, 0));
        // Infinity has no JSON: what cannot be read back is not stored.
        let infinite = kv.fetch("infinite", TTL, async || Ok(f64::INFINITY));
        assert!(infinite.await.is_err());
        assert_eq!(kv.bytes("infinite").await.unwrap(), None);
    });
}
