//! Redis carries messages and keeps no lease, alone, behind Sentinels and as a cluster.

use std::time::Duration;

use tokio::time::timeout;
use tsumugi_cluster::{ChannelEvent, Error, LockWait, Subscription};
use tsumugi_testkit::redis::{RedisCluster, RedisSentinels, RedisServer};

use crate::{Place, at};

async fn next(subscription: &mut Subscription) -> ChannelEvent {
    let next = timeout(Duration::from_secs(60), subscription.recv());
    next.await.expect("an event comes")
}

fn message(text: &str) -> ChannelEvent {
    ChannelEvent::Message(text.into())
}

#[test]
fn locks_and_timers_over_redis_are_refused_by_name_with_what_to_use() {
    at(Place(RedisServer::shared().url()), async |place| {
        let cluster = place.cluster().await;
        let ttl = Duration::from_secs(30);
        let refusals = [
            cluster.acquire("a", ttl, LockWait::Forever).await.err(),
            cluster.timer("a", ttl).err(),
            cluster.check_leases().err(),
        ];
        for refused in refusals {
            let refused = refused.unwrap();
            assert!(matches!(refused, Error::Unsupported { .. }), "{refused:?}");
            let text = refused.to_string();
            assert!(text.contains("Redis") && text.contains("etcd"), "{text}");
        }
    });
}

#[test]
fn channels_reach_others_through_a_cluster_and_behind_sentinels() {
    let (cluster, sentinels) = (RedisCluster::start(), RedisSentinels::start());
    for url in [cluster.url(), sentinels.url()] {
        at(Place(url), async |place| {
            let (one, other) = (place.cluster().await, place.cluster().await);
            let mut received = Vec::new();
            for name in ["a", "b", "c"] {
                let channel = one.channel(name).unwrap();
                received.push((name, channel.subscribe().await.unwrap()));
            }
            for (name, received) in &mut received {
                let channel = other.channel(name).unwrap();
                for text in ["1", "2"] {
                    channel.publish(text).await.unwrap();
                }
                assert_eq!(next(received).await, message("1"));
                assert_eq!(next(received).await, message("2"));
            }
        });
    }
}

#[test]
fn subscriber_is_told_when_its_server_was_gone_and_hears_what_comes_then() {
    let server = RedisServer::start(&[]);
    at(Place(server.url()), async |place| {
        let (one, other) = (place.cluster().await, place.cluster().await);
        let channel = one.channel("gap").unwrap();
        let mut received = channel.subscribe().await.unwrap();
        let sender = other.channel("gap").unwrap();
        sender.publish("before").await.unwrap();
        assert_eq!(next(&mut received).await, message("before"));
        server.kill();
        server.start_again();
        assert_eq!(next(&mut received).await, ChannelEvent::Missed);
        sender.publish("after").await.unwrap();
        assert_eq!(next(&mut received).await, message("after"));
    });
}

#[test]
fn channel_that_all_have_left_can_be_subscribed_to_again() {
    at(Place(RedisServer::shared().url()), async |place| {
        let cluster = place.cluster().await;
        let channel = cluster.channel("again").unwrap();
        for text in ["1", "2"] {
            let mut received = channel.subscribe().await.unwrap();
            let mut beside = channel.subscribe().await.unwrap();
            channel.publish(text).await.unwrap();
            assert_eq!(next(&mut received).await, message(text));
            drop(received);
            assert_eq!(next(&mut beside).await, message(text));
        }
    });
}
