//! Channels that keep their messages: a follower gets each one once and in order from wherever it was, or is told that some are gone.

use std::time::Duration;

use tokio::time::timeout;
use tsumugi_cluster::limits::{CHANNEL_KEEP_MAX, CHANNEL_MESSAGE_BYTES_MAX, FOLLOW_BATCH_MAX};
use tsumugi_cluster::{Error, FollowEvent, Follower, KeptChannel, event_position};

use crate::{Place, at, with_each};

async fn next(follower: &mut Follower) -> FollowEvent {
    let next = timeout(Duration::from_secs(60), follower.next());
    next.await.expect("an event comes")
}

/// Asserts that the next messages are these, and answers the number of the last one.
async fn check(follower: &mut Follower, texts: impl IntoIterator<Item = String>) -> i64 {
    for expected in texts {
        let before = follower.position();
        match next(follower).await {
            FollowEvent::Message { id, text } => {
                assert_eq!((id, &*text), (before + 1, &*expected));
            }
            event => panic!("{event:?}, not {expected}"),
        }
    }
    follower.position()
}

async fn kept(place: &Place, name: &str, keep: i64) -> KeptChannel {
    let channel = place.cluster().await.channel(name).unwrap();
    channel.keeping(keep).unwrap()
}

fn texts(numbers: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    numbers.map(|number| format!("紡ぎ\n{number}"))
}

#[test]
fn follower_that_comes_back_gets_what_it_missed_and_then_what_comes() {
    with_each(async |place| {
        let (one, other) = (
            kept(&place, "back", 10_000).await,
            kept(&place, "back", 10_000).await,
        );
        let mut first = one.follow(None).await.unwrap();
        let begin = first.position();
        for text in texts(0..3) {
            other.publish(&text).await.unwrap();
        }
        let last = check(&mut first, texts(0..3)).await;
        drop(first);
        // More than are read at once.
        let many = 3..3 + 2 * FOLLOW_BATCH_MAX;
        for text in texts(many.clone()) {
            one.publish(&text).await.unwrap();
        }
        let mut second = other.follow(Some(last)).await.unwrap();
        other.publish("紡ぎ\nafter").await.unwrap();
        check(&mut second, texts(many.clone())).await;
        let end = check(&mut second, ["紡ぎ\nafter".to_owned()]).await;
        assert_eq!(one.last().await.unwrap(), end);
        let mut all = one.follow(Some(begin)).await.unwrap();
        check(&mut all, texts(0..many.end)).await;
        let quiet = timeout(Duration::from_millis(50), second.next()).await;
        assert!(quiet.is_err(), "{quiet:?}");
    });
}

#[test]
fn messages_of_many_publishers_have_one_order_for_all_followers() {
    with_each(async |place| {
        let mut followers = Vec::new();
        for _ in 0..2 {
            let channel = kept(&place, "many", 1_000).await;
            followers.push((channel.follow(None).await.unwrap(), Vec::new()));
        }
        let mut publishers = Vec::new();
        for publisher in 0..4 {
            let channel = kept(&place, "many", 1_000).await;
            publishers.push(tokio::task::spawn_local(async move {
                for number in 0..25 {
                    let text = format!("{publisher} {number}");
                    channel.publish(&text).await.unwrap();
                }
            }));
        }
        for (follower, seen) in &mut followers {
            for _ in 0..100 {
                match next(follower).await {
                    FollowEvent::Message { text, .. } => seen.push(text.to_string()),
                    event => panic!("{event:?}"),
                }
            }
        }
        assert_eq!(followers[0].1, followers[1].1);
        for publisher in 0..4 {
            let own = followers[0].1.iter();
            let own: Vec<&String> = own
                .filter(|text| text.starts_with(&format!("{publisher} ")))
                .collect();
            let sent: Vec<String> = (0..25).map(|n| format!("{publisher} {n}")).collect();
            assert_eq!(own, sent.iter().collect::<Vec<_>>());
        }
        for publisher in publishers {
            publisher.await.unwrap();
        }
    });
}

#[test]
fn follower_learns_that_what_it_comes_back_for_is_not_kept_any_more() {
    with_each(async |place| {
        let channel = kept(&place, "short", 5).await;
        let begin = channel.last().await.unwrap();
        for text in texts(0..6) {
            channel.publish(&text).await.unwrap();
        }
        // The oldest one that is kept is the next one: nothing is missing.
        let mut follower = channel.follow(Some(begin + 1)).await.unwrap();
        check(&mut follower, texts(1..6)).await;
        for after in [begin, begin - 1, -1] {
            let mut late = channel.follow(Some(after)).await.unwrap();
            assert_eq!(next(&mut late).await, FollowEvent::Missed, "{after}");
            check(&mut late, texts(1..6)).await;
        }
        // Numbers that were never given: what comes is what can be said.
        for after in [begin + 7, event_position("no number"), event_position("")] {
            let mut other = channel.follow(Some(after)).await.unwrap();
            assert_eq!(next(&mut other).await, FollowEvent::Missed, "{after}");
            assert_eq!(other.position(), begin + 6);
        }
    });
}

#[test]
fn follower_that_does_not_read_finds_what_was_kept_meanwhile_or_learns_what_was_not() {
    with_each(async |place| {
        let channel = kept(&place, "slow", 1_300).await;
        let mut slow = channel.follow(None).await.unwrap();
        for text in texts(0..1_200) {
            channel.publish(&text).await.unwrap();
        }
        check(&mut slow, texts(0..1_200)).await;
        for text in texts(0..1_301) {
            channel.publish(&text).await.unwrap();
        }
        assert_eq!(next(&mut slow).await, FollowEvent::Missed);
        // It goes on with the oldest one.
        let FollowEvent::Message { text, .. } = next(&mut slow).await else {
            panic!("it stops");
        };
        assert_eq!(&*text, "紡ぎ\n1");
        check(&mut slow, texts(2..1_301)).await;
    });
}

#[test]
fn connection_that_carries_messages_is_lost_and_a_follower_loses_nothing() {
    at(Place::postgres(), async |place| {
        let Place::Postgres(database) = &place else {
            unreachable!()
        };
        let channel = kept(&place, "lost", 1_000).await;
        let mut follower = channel.follow(None).await.unwrap();
        for number in 0..60 {
            if number % 20 == 10 {
                database.psql(
                    "select pg_terminate_backend(pid) from pg_stat_activity \
                     where datname = current_database() and query ilike 'listen%'",
                );
            }
            channel.publish(&number.to_string()).await.unwrap();
        }
        check(&mut follower, (0..60).map(|number| number.to_string())).await;
    });
}

#[test]
fn kept_messages_and_those_that_are_not_do_not_mix() {
    with_each(async |place| {
        let cluster = place.cluster().await;
        let plain = cluster.channel("mixed").unwrap();
        let channel = plain.keeping(10).unwrap();
        let mut subscribed = plain.subscribe().await.unwrap();
        let mut follower = channel.follow(None).await.unwrap();
        channel.publish("kept").await.unwrap();
        plain.publish("not kept").await.unwrap();
        let message = subscribed.recv().await;
        assert_eq!(
            message,
            tsumugi_cluster::ChannelEvent::Message("not kept".into())
        );
        check(&mut follower, ["kept".to_owned()]).await;
    });
}

#[test]
fn largest_kept_message_arrives_and_one_limit_more_is_refused_by_name() {
    with_each(async |place| {
        let name = "n".repeat(tsumugi_cluster::limits::CLUSTER_NAME_BYTES_MAX);
        let channel = kept(&place, &name, 2).await;
        let mut follower = channel.follow(None).await.unwrap();
        let largest = "m".repeat(CHANNEL_MESSAGE_BYTES_MAX);
        channel.publish(&largest).await.unwrap();
        check(&mut follower, [largest.clone()]).await;
        let refused = channel.publish(&(largest + "m")).await.unwrap_err();
        assert!(refused.to_string().contains("CHANNEL_MESSAGE_BYTES_MAX"));
        assert!(channel.publish("a\0b").await.is_err());
        let plain = place.cluster().await.channel("limits").unwrap();
        plain.keeping(CHANNEL_KEEP_MAX).unwrap();
        for keep in [0, -1, CHANNEL_KEEP_MAX + 1] {
            let refused = plain.keeping(keep).unwrap_err();
            assert!(matches!(refused, Error::Usage(_)), "{refused:?}");
            assert!(refused.to_string().contains("CHANNEL_KEEP_MAX"));
        }
    });
}
