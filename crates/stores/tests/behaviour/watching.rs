//! Watches: changes of a prefix as they happen.

use std::time::Duration;

use tsumugi_kv::{ChangeEvent, SetMode, Write};
use tsumugi_stores::Capability;

use crate::engines::{Engine, each_able};

fn put(key: &'static str) -> ChangeEvent {
    ChangeEvent::Put(key.into())
}

fn removed(key: &'static str) -> ChangeEvent {
    ChangeEvent::Removed(key.into())
}

#[test]
fn watch_reports_changes_of_its_prefix_in_their_order() {
    each_able("watched", Capability::Watch, async |store, _| {
        store.write(Write::set("a:0", "before")).await.unwrap();
        let mut watch = store.watch("a:").await.unwrap();
        let mut all = store.watch("").await.unwrap();
        store.write(Write::set("a:1", "1")).await.unwrap();
        store.write(Write::set("b:1", "1")).await.unwrap();
        store.write(Write::set("a:1", "2")).await.unwrap();
        store.write(Write::remove("a:0")).await.unwrap();
        for expected in [put("a:1"), put("a:1"), removed("a:0")] {
            assert_eq!(watch.next().await.unwrap(), expected);
        }
        for expected in [put("a:1"), put("b:1"), put("a:1"), removed("a:0")] {
            assert_eq!(all.next().await.unwrap(), expected);
        }
        // What is given up while it waits loses nothing.
        let none = tokio::time::timeout(Duration::from_millis(50), watch.next()).await;
        assert!(none.is_err());
        store.write(Write::set("a:2", "1")).await.unwrap();
        assert_eq!(watch.next().await.unwrap(), put("a:2"));
    });
}

#[test]
fn watch_reports_what_expires() {
    each_able(
        "watched-expiry",
        Capability::Watch,
        async |store, engine| {
            let mut watch = store.watch("").await.unwrap();
            let write = Write::Set {
                key: "a".into(),
                value: "1".into(),
                mode: SetMode::Overwrite,
                ttl: Some(Duration::from_secs(1)),
            };
            store.write(write).await.unwrap();
            assert_eq!(watch.next().await.unwrap(), put("a"));
            let expected = match engine {
                // It does not say why a record is gone.
                Engine::Etcd => removed("a"),
                _ => ChangeEvent::Expired("a".into()),
            };
            assert_eq!(watch.next().await.unwrap(), expected);
        },
    );
}
