//! Channels: who gets a message, and how a subscriber learns that it may have missed some.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;
use tsumugi_stores::limits::REDIS_MESSAGES_MAX;
use tsumugi_stores::{ChannelMessage, Store, StoreSubscription};
use tsumugi_testkit::any_length_of;
use tsumugi_testkit::redis::{RedisCluster, RedisSentinels, RedisServer};

use crate::{memory, open, run};

/// For what must come, however crowded the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

async fn next(subscription: &mut StoreSubscription) -> ChannelMessage {
    let next = timeout(PATIENCE, subscription.next()).await;
    next.expect("a message")
}

fn message(text: impl Into<Bytes>) -> ChannelMessage {
    ChannelMessage::Message(text.into())
}

async fn none_comes(subscription: &mut StoreSubscription) {
    let next = timeout(Duration::from_millis(200), subscription.next()).await;
    assert!(next.is_err(), "{next:?}");
}

/// All subscribers of a name get what is published, in order, and nobody else does.
async fn check_delivery(store: &Store, other: &Store) {
    let mut one = store.subscribe("chat").await.unwrap();
    let mut two = other.subscribe("chat").await.unwrap();
    let mut else_where = other.subscribe("other").await.unwrap();
    for number in 0..100 {
        store.publish("chat", number.to_string()).await.unwrap();
    }
    for subscription in [&mut one, &mut two] {
        for number in 0..100 {
            assert_eq!(next(subscription).await, message(number.to_string()));
        }
    }
    none_comes(&mut else_where).await;
    drop(one);
    let mut late = store.subscribe("chat").await.unwrap();
    other.publish("chat", "\0\r\n\u{ff}").await.unwrap();
    assert_eq!(next(&mut late).await, message("\0\r\n\u{ff}"));
    assert_eq!(next(&mut two).await, message("\0\r\n\u{ff}"));
}

#[test]
fn message_reaches_all_subscribers_of_its_channel_in_order() {
    let server = RedisServer::start(&[]);
    run(async {
        check_delivery(&open(&server.url()).await, &open(&server.url()).await).await;
    });
}

#[test]
fn message_reaches_all_subscribers_in_a_cluster() {
    let cluster = RedisCluster::start();
    run(async {
        check_delivery(&open(&cluster.url()).await, &open(&cluster.url()).await).await;
    });
}

#[test]
fn subscriber_whose_connection_breaks_learns_that_it_may_have_missed_messages() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let mut chat = store.subscribe("chat").await.unwrap();
        let mut quiet = store.subscribe("quiet").await.unwrap();
        store.publish("chat", "before").await.unwrap();
        assert_eq!(next(&mut chat).await, message("before"));
        for _ in 0..3 {
            assert_eq!(server.ask("CLIENT KILL TYPE pubsub"), ":1");
            assert_eq!(next(&mut chat).await, ChannelMessage::Missed);
            assert_eq!(next(&mut quiet).await, ChannelMessage::Missed);
            // It comes once messages come again: this one is not lost.
            store.publish("chat", "after").await.unwrap();
            assert_eq!(next(&mut chat).await, message("after"));
        }
        none_comes(&mut quiet).await;
    });
}

#[test]
fn subscriber_learns_of_a_server_that_was_started_again() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let mut chat = store.subscribe("chat").await.unwrap();
        server.kill();
        server.start_again();
        assert_eq!(next(&mut chat).await, ChannelMessage::Missed);
        store.publish("chat", "after").await.unwrap();
        assert_eq!(next(&mut chat).await, message("after"));
    });
}

#[test]
fn subscriber_learns_of_a_server_that_hangs() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&format!("{}?timeout=1", server.url())).await;
        let mut chat = store.subscribe("chat").await.unwrap();
        // It is seen within 7 s, and told once messages come again. On a crowded machine that takes longer.
        let lengths = [8, 20, 60].map(Duration::from_secs);
        let is_missed = any_length_of(lengths, async |silence| {
            server.freeze();
            tokio::time::sleep(silence).await;
            server.thaw();
            let next = timeout(Duration::from_secs(10), chat.next()).await;
            next.is_ok_and(|next| {
                assert_eq!(next, ChannelMessage::Missed);
                true
            })
        });
        assert!(is_missed.await);
    });
}

#[test]
fn subscriber_follows_the_new_master_of_a_failover() {
    let servers = RedisSentinels::start();
    run(async {
        let store = open(&format!("{}?timeout=30", servers.url())).await;
        let mut chat = store.subscribe("chat").await.unwrap();
        servers.master().kill();
        assert_eq!(next(&mut chat).await, ChannelMessage::Missed);
        servers.wait_for_master(servers.replica());
        store.publish("chat", "after").await.unwrap();
        loop {
            match next(&mut chat).await {
                ChannelMessage::Missed => {}
                other => break assert_eq!(other, message("after")),
            }
        }
    });
}

#[test]
fn subscriber_learns_that_the_slot_of_its_channel_has_moved() {
    let cluster = RedisCluster::start();
    run(async {
        let store = open(&cluster.url()).await;
        // Its slot is the second master's.
        let mut chat = store.subscribe("k").await.unwrap();
        cluster.begin_move(7_629, 1, 2);
        cluster.end_move(7_629, 2);
        assert_eq!(next(&mut chat).await, ChannelMessage::Missed);
        store.publish("k", "after").await.unwrap();
        loop {
            match next(&mut chat).await {
                ChannelMessage::Missed => {}
                other => break assert_eq!(other, message("after")),
            }
        }
    });
}

#[test]
fn subscriber_that_does_not_read_learns_where_it_missed_messages() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let mut slow = store.subscribe("chat").await.unwrap();
        let mut end = store.subscribe("end").await.unwrap();
        for number in 0..REDIS_MESSAGES_MAX + 10 {
            store.publish("chat", number.to_string()).await.unwrap();
        }
        store.publish("end", "end").await.unwrap();
        assert_eq!(next(&mut end).await, message("end"));
        for number in 0..REDIS_MESSAGES_MAX {
            assert_eq!(next(&mut slow).await, message(number.to_string()));
        }
        assert_eq!(next(&mut slow).await, ChannelMessage::Missed);
        none_comes(&mut slow).await;
    });
}

#[test]
fn channel_without_subscribers_is_left_and_its_connection_closed() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let chat = store.subscribe("chat").await.unwrap();
        let other = store.subscribe("other").await.unwrap();
        drop(chat);
        let wait = async |command: &str, expected: &str| {
            let comes = async {
                while !server.ask(command).contains(expected) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            let comes = timeout(PATIENCE, comes).await;
            assert!(comes.is_ok(), "{command}: {}", server.ask(command));
        };
        wait("PUBSUB CHANNELS", "*1").await;
        drop(other);
        wait("PUBSUB CHANNELS", "*0").await;
        // Ours for calls, and the one that asks.
        wait("INFO clients", "connected_clients:2").await;
    });
}

#[test]
fn server_that_is_gone_is_an_error_of_the_subscriber() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        server.kill();
        let error = store.subscribe("chat").await.unwrap_err();
        assert!(error.to_string().contains("is not reached"), "{error}");
        server.start_again();
        let mut chat = store.subscribe("chat").await.unwrap();
        store.publish("chat", "x").await.unwrap();
        assert_eq!(next(&mut chat).await, message("x"));
    });
}

#[test]
fn store_without_channels_refuses_them_by_name() {
    run(async {
        let error = memory().subscribe("chat").await.unwrap_err().to_string();
        assert!(error.contains("has no channels"), "{error}");
    });
}
