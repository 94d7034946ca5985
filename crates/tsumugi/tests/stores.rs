//! Stores of handlers in Rust wherever the records are: in memory and in etcd, with the same calls. What the engines do is tested in
//! `crates/stores`, and the Ruby face's tests of the same are in `crates/ruby/tests/kv/cluster.rs`.

use std::time::Duration;

use tsumugi::kv::{ChangeEvent, KeyRange, Lifetime};
use tsumugi::stores::{Capability, StoreSettings};
use tsumugi::trial;
use tsumugi::{Error, Kv, Result, Router, Session, Sessions, Settings, Worker, get};
use tsumugi_testkit::etcd::EtcdCluster;
use tsumugi_testkit::redis::RedisServer;

const TTL: Duration = Duration::from_secs(60);

/// Runs on a worker with a store in memory, and with one in etcd.
fn each(name: &str, run: impl AsyncFn(&Worker, Kv)) {
    for place in [
        format!("memory:{name}"),
        EtcdCluster::shared().place(&format!("rust-{name}")),
    ] {
        let outcome = tsumugi::alone(Settings::default(), async |worker| {
            let settings = match place.starts_with("etcd") {
                true => StoreSettings::default().with("timeout", "30"),
                false => StoreSettings::default(),
            };
            let kv = Kv::open_with(worker, &place, &settings).await.unwrap();
            run(worker, kv).await;
        });
        outcome.unwrap();
    }
}

#[test]
fn handlers_use_a_store_in_memory_and_in_etcd_alike() {
    each("alike", async |_, kv| {
        kv.set("a", "1", Some(TTL)).await.unwrap();
        assert_eq!(kv.get("a").await.unwrap().as_deref(), Some("1"));
        assert!(matches!(
            kv.ttl("a").await.unwrap(),
            Some(Lifetime::Left(_))
        ));
        assert!(kv.touch("a", None).await.unwrap());
        assert_eq!(kv.ttl("a").await.unwrap(), Some(Lifetime::Unlimited));
        assert_eq!(kv.increment("n", 2).await.unwrap(), 2);
        assert_eq!(kv.increment("n", 3).await.unwrap(), 5);
        assert!(kv.increment("a", 1).await.is_err());
        let computed = kv.fetch("f", TTL, async || Ok(7)).await;
        assert_eq!(computed.unwrap(), 7);
        let again = kv
            .fetch("f", TTL, async || Err::<i32, _>(Error::conflict("no")))
            .await;
        assert_eq!(again.unwrap(), 7);
        let mut watch = kv.watch("w").await.unwrap();
        kv.set("w", "1", None).await.unwrap();
        let change = watch.next().await.unwrap();
        assert_eq!(change, ChangeEvent::Put("w".into()));
        kv.push("jobs", "1").await.unwrap();
        let popped = kv.pop("jobs", Duration::ZERO).await.unwrap();
        assert_eq!(popped, Some("1".into()));
        assert!(kv.remove("w").await.unwrap());
        let page = kv.page(&KeyRange::all(), 10).await.unwrap();
        assert_eq!(page.len(), 3);
        assert_eq!(kv.count().await.unwrap(), 3);
    });
}

#[test]
fn call_that_an_engine_refuses_is_an_error_of_the_store() {
    each("refused", async |_, kv| {
        let table = kv.capabilities();
        let searched = kv.search("contain", "x", 1).await;
        match table.check(Capability::Search) {
            Ok(()) => assert!(searched.unwrap().is_empty()),
            Err(_) => {
                let refused = Error::from(searched.unwrap_err());
                assert!(matches!(refused, Error::Store(_)));
            }
        }
    });
}

#[test]
fn certificates_of_the_settings_verify_the_servers_of_stores() {
    let (server, files) = RedisServer::start_tls();
    let place = format!("rediss://127.0.0.1:{}/0", server.port());
    for (certificates, is_trusted) in [(Some(files.authority), true), (None, false)] {
        let settings = Settings {
            certificates,
            ..Settings::default()
        };
        let opened = tsumugi::alone(settings, async |worker| {
            let opened = Kv::open(worker, &place).await;
            opened.map(drop).map_err(|error| error.to_string())
        });
        let opened = opened.unwrap();
        assert_eq!(opened.is_ok(), is_trusted, "{opened:?}");
    }
}

async fn count(session: Session) -> Result<String> {
    let count = session.get::<u64>("count")?.unwrap_or(0) + 1;
    session.set("count", count).await?;
    Ok(count.to_string())
}

#[test]
fn session_in_etcd_is_there_for_every_process() {
    let routes = || -> Router<()> {
        let place = EtcdCluster::shared().place("rust-sessions");
        let sessions = Sessions::in_store(place);
        Router::new().sessions(sessions).route("/count", get(count))
    };
    let cookie = std::cell::RefCell::new(String::new());
    for expected in ["1", "2", "3"] {
        trial::run(routes, async |client| {
            let sent = cookie.borrow().clone();
            let reply = client.get("/count").header("cookie", &sent).await;
            assert_eq!(reply.text(), expected);
            let set = reply.header("set-cookie").unwrap();
            *cookie.borrow_mut() = set.split(';').next().unwrap().to_owned();
        });
    }
}
