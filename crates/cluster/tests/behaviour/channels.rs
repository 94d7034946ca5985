//! Channels: all subscribers of all processes get every message in the order of its sender.

use std::time::Duration;

use tokio::time::timeout;
use tsumugi_cluster::limits::CHANNEL_MESSAGE_BYTES_MAX;
use tsumugi_cluster::{ChannelEvent, Error, Subscription};

use crate::with_each_carrier;

async fn next(subscription: &mut Subscription) -> ChannelEvent {
    let next = timeout(Duration::from_secs(60), subscription.recv());
    next.await.expect("an event comes")
}

fn message(text: impl Into<String>) -> ChannelEvent {
    ChannelEvent::Message(text.into().into())
}

#[test]
fn subscribers_of_all_processes_get_the_messages_of_one_sender_in_order() {
    with_each_carrier(async |place| {
        // SQLite and a process alone carry messages within the process: both clusters are of this one.
        let (one, other) = (place.cluster().await, place.cluster().await);
        let mut here = one.channel("chat").unwrap().subscribe().await.unwrap();
        let there = other.channel("chat").unwrap();
        let mut there_too = there.subscribe().await.unwrap();
        let mut beside = other.channel("other").unwrap().subscribe().await.unwrap();
        for number in 0..100 {
            there.publish(&format!("紡ぎ\n{number}")).await.unwrap();
        }
        one.channel("other").unwrap().publish("").await.unwrap();
        for number in 0..100 {
            let expected = message(format!("紡ぎ\n{number}"));
            assert_eq!(next(&mut here).await, expected);
            assert_eq!(next(&mut there_too).await, expected);
        }
        assert_eq!(next(&mut beside).await, message(""));
    });
}

#[test]
fn largest_message_arrives_and_a_byte_more_is_refused_by_name() {
    with_each_carrier(async |place| {
        let cluster = place.cluster().await;
        let name = "n".repeat(tsumugi_cluster::limits::CLUSTER_NAME_BYTES_MAX);
        let channel = cluster.channel(&name).unwrap();
        assert!(cluster.channel(&format!("{name}n")).is_err());
        let mut received = channel.subscribe().await.unwrap();
        let largest = "m".repeat(CHANNEL_MESSAGE_BYTES_MAX);
        channel.publish(&largest).await.unwrap();
        assert_eq!(next(&mut received).await, message(largest.clone()));
        let refused = channel.publish(&(largest + "m")).await.unwrap_err();
        assert!(matches!(refused, Error::TooLarge { .. }), "{refused:?}");
        assert!(refused.to_string().contains("CHANNEL_MESSAGE_BYTES_MAX"));
        assert!(channel.publish("a\0b").await.is_err());
    });
}
