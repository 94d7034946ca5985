//! Channels over PostgreSQL: subscribers that may have missed messages are told so. What every engine does is in `../behaviour/channels.rs`.

use std::time::Duration;

use tokio::time::timeout;
use tsumugi_cluster::limits::CHANNEL_MESSAGES_MAX;
use tsumugi_cluster::{ChannelEvent, Cluster, Subscription};
use tsumugi_db::{Database, Options};

use crate::{Place, at};

async fn next(subscription: &mut Subscription) -> ChannelEvent {
    let next = timeout(Duration::from_secs(60), subscription.recv());
    next.await.expect("an event comes")
}

fn message(text: impl Into<String>) -> ChannelEvent {
    ChannelEvent::Message(text.into().into())
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
        let gone = async {
            while listeners() != "0" {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let gone = timeout(Duration::from_secs(60), gone).await;
        gone.expect("it listens no more");
    });
}
