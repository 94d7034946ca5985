//! Queues: order, waiting, and that a record is given once.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{Write, WriteResult};
use tsumugi_stores::{Capability, Store};

use crate::engines::each_able;

const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(30);

async fn push(store: &Store, queue: &'static str, value: String) -> Bytes {
    let write = Write::Push {
        queue: queue.into(),
        value: value.into(),
    };
    match store.write(write).await.unwrap() {
        WriteResult::Pushed { key } => key,
        other => panic!("{other:?}"),
    }
}

async fn pop(store: &Store, queue: &'static str, wait: Duration) -> Option<Bytes> {
    match store.pop(Some(queue.into()), wait).await.unwrap() {
        WriteResult::Popped { value, .. } => Some(value),
        WriteResult::Missing => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn queue_gives_back_in_the_order_of_pushes_and_apart_from_others() {
    each_able("queues", Capability::Queue, async |store, _| {
        let mut keys = Vec::new();
        for at in 0..20 {
            keys.push(push(store, "jobs", at.to_string()).await);
            push(store, "jobs:2", format!("other {at}")).await;
        }
        assert!(keys.is_sorted() && keys[0].starts_with(b"queue:4:jobs:"));
        for at in 0..20 {
            let popped = pop(store, "jobs", Duration::ZERO).await;
            assert_eq!(popped, Some(at.to_string().into()));
        }
        assert_eq!(pop(store, "jobs", Duration::ZERO).await, None);
        let again = push(store, "jobs", "last".to_owned()).await;
        assert!(again > keys[19]);
        assert_eq!(store.count().await.unwrap(), 21);
    });
}

#[test]
fn waiting_pop_gets_what_is_pushed_meanwhile() {
    each_able("waiting", Capability::Queue, async |store, _| {
        assert_eq!(pop(store, "jobs", SOON).await, None);
        let pushing = async {
            tokio::time::sleep(SOON).await;
            push(store, "other", "x".to_owned()).await;
            push(store, "jobs", "1".to_owned()).await;
        };
        let (popped, ()) = tokio::join!(pop(store, "jobs", LATE), pushing);
        assert_eq!(popped, Some("1".into()));
    });
}

#[test]
fn record_of_a_queue_is_given_to_one_of_many() {
    each_able("shared-queue", Capability::Queue, async |store, _| {
        for at in 0..30 {
            push(store, "jobs", at.to_string()).await;
        }
        let take = async || {
            let mut taken = Vec::new();
            while let Some(value) = pop(store, "jobs", Duration::ZERO).await {
                taken.push(value);
            }
            taken
        };
        let (one, two, three) = tokio::join!(take(), take(), take());
        let mut all: Vec<Bytes> = [one, two, three].concat();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 30);
    });
}

#[test]
fn nameless_pop_takes_the_least_key_of_all() {
    each_able("nameless", Capability::Queue, async |store, _| {
        let push = |value: &'static str| Write::PushLast {
            value: value.into(),
            at: None,
        };
        store.write(push("1")).await.unwrap();
        store.write(push("2")).await.unwrap();
        for expected in ["1", "2"] {
            let popped = store.pop(None, Duration::ZERO).await.unwrap();
            assert!(matches!(popped, WriteResult::Popped { value, .. } if value == expected));
        }
        let popped = store.write(Write::PopFirst).await.unwrap();
        assert!(matches!(popped, WriteResult::Missing));
    });
}
