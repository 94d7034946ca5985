//! Named queues by the client, over every store that can be behind a service.

use std::time::Duration;

use tsumugi_kv::SetMode;
use tsumugi_kv::limits::QUEUE_NAME_BYTES_MAX;

use crate::rig::{Need, each};

const OVER: SetMode = SetMode::Overwrite;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn named_queues_are_apart_and_waited_for() {
    each(&[Need::Queue], async |kv| {
        kv.set("a", "a record", OVER).await.unwrap();
        let first = kv.push("mail", "1").await.unwrap();
        assert!(first.starts_with(b"queue:4:mail:"), "{first:?}");
        assert!(kv.push("mail", "2").await.unwrap() > first);
        assert_eq!(kv.pop("other", Duration::ZERO).await.unwrap(), None);
        let popped = kv.pop("mail", Duration::ZERO).await.unwrap();
        assert_eq!(popped, Some((first, "1".into())));
        assert_eq!(kv.pop("mail", seconds(60)).await.unwrap().unwrap().1, "2");
        assert_eq!(
            kv.pop("mail", Duration::from_millis(20)).await.unwrap(),
            None
        );
        let waiting = kv.clone();
        let waiting =
            tokio::task::spawn_local(async move { waiting.pop("mail", seconds(3_600)).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        kv.push("other", "x").await.unwrap();
        kv.push("mail", "3").await.unwrap();
        let woken = tokio::time::timeout(seconds(4), waiting).await;
        assert_eq!(woken.unwrap().unwrap().unwrap().unwrap().1, "3");
        // Without a name the first record of all is taken, whoever stored it.
        let (key, value) = kv.pop_first(Duration::ZERO).await.unwrap().unwrap();
        assert_eq!((key, value), ("a".into(), "a record".into()));
        assert_eq!(kv.pop_first(Duration::ZERO).await.unwrap().unwrap().1, "x");
        assert_eq!(kv.count().await.unwrap(), 0);
    });
}

#[test]
fn longest_name_of_a_queue_is_taken_and_a_byte_more_is_refused() {
    each(&[Need::Queue], async |kv| {
        let name = vec![b'q'; QUEUE_NAME_BYTES_MAX];
        let more = [&name[..], b"q"].concat();
        kv.push(name.clone(), "v").await.unwrap();
        let errors = [
            kv.push(more.clone(), "v").await.unwrap_err(),
            kv.pop(more, Duration::ZERO).await.unwrap_err(),
        ];
        for error in errors {
            assert!(
                error.to_string().contains("QUEUE_NAME_BYTES_MAX"),
                "{error}"
            );
        }
        assert!(kv.pop(name, Duration::ZERO).await.unwrap().is_some());
    });
}
