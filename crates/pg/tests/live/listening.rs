//! LISTEN and NOTIFY: idle, busy, to oneself, after the connection was lost, too fast.

use std::time::Duration;

use tsumugi_pg::limits::NOTIFICATIONS_MAX;
use tsumugi_pg::{Config, Connector, Error, Listener, ListenerEvent};
use tsumugi_testkit::postgres::{Server, User};

use crate::{environment, open, run};

async fn listener(url: &str) -> Listener {
    let config = Config::parse(url, &environment()).unwrap();
    Listener::connect(Connector::new(config)).await.unwrap()
}

fn url() -> String {
    Server::shared().url(User::TRUST)
}

/// The next notification as `channel=payload`, or the name of what else was heard.
async fn next(listener: &mut Listener) -> String {
    match listener.recv().await.unwrap() {
        ListenerEvent::Notification {
            channel, payload, ..
        } => format!("{channel}={payload}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn several_channels_are_received_until_unlistened() {
    run(async {
        let mut listener = listener(&url()).await;
        let other = open("").await;
        for channel in ["several_a", "Several B", "several \"c\""] {
            listener.listen(channel).await.unwrap();
            other.notify(channel, "1").await.unwrap();
            assert_eq!(next(&mut listener).await, format!("{channel}=1"));
        }
        listener.unlisten("several_a").await.unwrap();
        assert_eq!(
            listener.channels().collect::<Vec<_>>(),
            ["Several B", "several \"c\""]
        );
        other.notify("several_a", "2").await.unwrap();
        other.notify("Several B", "").await.unwrap();
        assert_eq!(next(&mut listener).await, "Several B=");
        assert!(matches!(
            listener.listen("nu\0l").await,
            Err(Error::Usage(_))
        ));
    });
}

#[test]
fn own_notification_is_received_also_while_busy() {
    run(async {
        let mut listener = listener(&url()).await;
        listener.listen("busy").await.unwrap();
        listener.connection().notify("busy", "mine").await.unwrap();
        assert_eq!(next(&mut listener).await, "busy=mine");
        let other = open("").await;
        let (slept, sent) = tokio::join!(
            listener.connection().query("select pg_sleep(0.3)", &()),
            other.notify("busy", "theirs")
        );
        slept.unwrap();
        sent.unwrap();
        assert_eq!(next(&mut listener).await, "busy=theirs");
        // Dropped again and again, it loses nothing.
        let notified = async {
            for number in 0..20 {
                other.notify("busy", &number.to_string()).await.unwrap();
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
        };
        let heard = async {
            let mut heard = Vec::new();
            while heard.len() < 20 {
                let next = next(&mut listener);
                if let Ok(one) = tokio::time::timeout(Duration::from_millis(2), next).await {
                    heard.push(one);
                }
            }
            heard
        };
        let ((), heard) = tokio::join!(notified, heard);
        let expected: Vec<_> = (0..20).map(|number| format!("busy={number}")).collect();
        assert_eq!(heard, expected);
    });
}

#[test]
fn lost_connection_is_a_gap_and_its_channels_are_restored() {
    run(async {
        let mut listener = listener(&url()).await;
        for channel in ["lost_a", "lost_b"] {
            listener.listen(channel).await.unwrap();
        }
        let other = open("").await;
        for round in 0..3 {
            let before = listener.connection().clone();
            let pid = before.query("select pg_backend_pid()", &()).await.unwrap();
            Server::shared().kill_backend(crate::int(&pid));
            assert_eq!(next(&mut listener).await, "Gap");
            for channel in ["lost_a", "lost_b"] {
                other.notify(channel, "x").await.unwrap();
                assert_eq!(next(&mut listener).await, format!("{channel}=x"), "{round}");
            }
        }
    });
}

#[test]
fn restarted_server_is_listened_to_again() {
    run(async {
        let server = Server::start();
        let mut listener = listener(&server.url(User::TRUST)).await;
        listener.listen("news").await.unwrap();
        server.stop();
        // Nobody is there; whoever asks only now and then gets on all the same.
        let gone = tokio::time::timeout(Duration::from_millis(200), listener.recv()).await;
        assert!(gone.is_err());
        listener.listen("late news").await.unwrap();
        server.start_again();
        let heard = loop {
            let next = next(&mut listener);
            if let Ok(heard) = tokio::time::timeout(Duration::from_millis(100), next).await {
                break heard;
            }
        };
        assert_eq!(heard, "Gap");
        server.psql("notify news, '1'; notify \"late news\", '2'");
        assert_eq!(next(&mut listener).await, "news=1");
        assert_eq!(next(&mut listener).await, "late news=2");
    });
}

#[test]
fn notifications_beyond_the_limit_are_counted() {
    run(async {
        let mut listener = listener(&url()).await;
        listener.listen("flood").await.unwrap();
        let more = NOTIFICATIONS_MAX + 7;
        let flood = format!("select pg_notify('flood', n::text) from generate_series(1, {more}) n");
        listener.connection().query(&flood, &()).await.unwrap();
        listener.connection().notify("flood", "last").await.unwrap();
        for number in 1..=NOTIFICATIONS_MAX {
            assert_eq!(next(&mut listener).await, format!("flood={number}"));
        }
        assert_eq!(next(&mut listener).await, "Dropped(8)");
        listener
            .connection()
            .notify("flood", "again")
            .await
            .unwrap();
        assert_eq!(next(&mut listener).await, "flood=again");
    });
}

#[test]
fn listening_behind_a_transaction_pooler_is_refused() {
    run(async {
        let config = Config::parse(&(url() + "?pooler=transaction"), &environment()).unwrap();
        let error = Listener::connect(Connector::new(config)).await.err();
        assert_eq!(
            error.unwrap().to_string(),
            "pooler: LISTEN needs a session of its own: connect past the pooler"
        );
    });
}
