//! Channels: all subscribers of all processes get every message in the order of its sender, or are told that they may have missed some.

use std::time::Duration;

use tokio::time::timeout;
use tsumugi_cluster::limits::{CHANNEL_MESSAGE_BYTES_MAX, CHANNEL_MESSAGES_MAX};
use tsumugi_cluster::{ChannelEvent, Cluster, Error, Subscription};
use tsumugi_db::{Database, Options};

use crate::{Place, at, with_each};

async fn next(subscription: &mut Subscription) -> ChannelEvent {
    let next = timeout(Duration::from_secs(10), subscription.recv());
    next.await.expect("an event comes")
}

fn message(text: impl Into<String>) -> ChannelEvent {
    ChannelEvent::Message(text.into().into())
}

#[test]
fn subscribers_of_all_processes_get_the_messages_of_one_sender_in_order() {
    with_each(async |place| {
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
    with_each(async |place| {
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

#[test]
fn subscriber_is_told_when_the_connection_that_carries_messages_was_lost() {
    at(Place::postgres(), async |place| {
        let Place::Postgres(database) = &place else {
            unreachable!()
        };
        let cluster = place.cluster().await;
        let channel = cluster.channel("gap").unwrap();
        let mut received = channel.subscribe().await.unwrap();
        channel.publish("before").await.unwrap();
        assert_eq!(next(&mut received).await, message("before"));
        database.psql(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where datname = current_database() and query ilike 'listen%'",
        );
        assert_eq!(next(&mut received).await, ChannelEvent::Missed);
        channel.publish("after").await.unwrap();
        assert_eq!(next(&mut received).await, message("after"));
    });
}

#[test]
fn subscriber_that_does_not_read_is_told_that_it_missed_messages() {
    at(Place::postgres(), async |place| {
        let cluster = place.cluster().await;
        let channel = cluster.channel("slow").unwrap();
        let mut slow = channel.subscribe().await.unwrap();
        let mut quick = channel.subscribe().await.unwrap();
        for number in 0..=CHANNEL_MESSAGES_MAX {
            let text = number.to_string();
            channel.publish(&text).await.unwrap();
            assert_eq!(next(&mut quick).await, message(text));
        }
        assert_eq!(next(&mut slow).await, ChannelEvent::Missed);
        assert_eq!(next(&mut slow).await, message("1"));
    });
}

#[test]
fn application_that_has_gone_listens_no_more() {
    at(Place::postgres(), async |place| {
        let Place::Postgres(database) = &place else {
            unreachable!()
        };
        let listeners = || {
            database.psql(
                "select count(*) from pg_stat_activity \
                 where datname = current_database() and query ilike 'listen%'",
            )
        };
        let connected = Database::connect(&place.url(), Options::default()).await;
        let cluster = Cluster::over(&connected.unwrap()).unwrap();
        let received = cluster.channel("c").unwrap().subscribe().await.unwrap();
        assert_eq!(listeners(), "1");
        drop(cluster);
        assert_eq!(listeners(), "1", "a subscription keeps its engine");
        drop(received);
        for _ in 0..200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if listeners() == "0" {
                return;
            }
        }
        panic!("it still listens");
    });
}
