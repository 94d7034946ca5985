//! Commits whose caller leaves before they are answered, and backends that wait for a standby that is gone. Rule: what has become of a commit is in the
//! log, and a pool leaves no more backends waiting than it has connections, and none for longer than a silent server is waited for.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tsumugi_db::Error;
use tsumugi_testkit::postgres::Server;
use tsumugi_testkit::{Cut, LogBuffer, ServerSide};
use tsumugi_trace::{Activity, ActivityKind};

use crate::chaos::{DURABLY, becomes};
use crate::doubt::{Place, WAITING, on, without_its_standby, write, write_synchronously};

/// A silent server is waited for five seconds longer than a statement.
const QUICKLY: &str = "&statement_timeout_ms=1500&acquire_timeout_ms=30000";

#[test]
fn commit_that_waits_for_a_standby_too_long_is_stopped_and_unknown() {
    on(&without_its_standby(), QUICKLY, async |place| {
        let tx = place.begin().await;
        write_synchronously(&tx, 1).await;
        let error = tx.commit().await.unwrap_err();
        assert_eq!(error.kind(), "CommitUnknown", "{error}");
        assert!(error.xid().is_some(), "{error}");
        let text = error.to_string();
        assert!(text.contains("stopped waiting"), "{text}");
        // The change is there, and its backend is free.
        assert!(place.has(1));
        assert_eq!(place.server.psql(WAITING), "0");
        let tx = place.begin().await;
        write(&tx, "a statement", 2).await;
        tx.commit().await.unwrap();
    });
}

#[test]
fn commits_that_are_given_up_leave_no_more_backends_waiting_than_the_pool_has_connections() {
    on(&without_its_standby(), QUICKLY, async |place| {
        for n in 1..=3 {
            // The one before ends first, as the pool has one connection.
            let tx = place.begin().await;
            write_synchronously(&tx, n).await;
            tokio::select! {
                outcome = tx.commit() => panic!("it has no standby: {outcome:?}"),
                () = becomes(place.server, WAITING, "1") => {}
            }
        }
        becomes(place.server, WAITING, "0").await;
        assert!(place.has(1) && place.has(2) && place.has(3));
    });
}

#[test]
fn statement_that_waits_for_a_standby_leaves_no_backend_behind() {
    let options = format!("{QUICKLY}{DURABLY}");
    on(&without_its_standby(), &options, async |place| {
        let insert = place.db.execute("insert into t values (1)", []).await;
        let error = insert.unwrap_err();
        assert_eq!(error.kind(), "ConnectionLost", "{error}");
        let text = error.to_string();
        assert!(text.ends_with("may or may not have run"), "{text}");
        becomes(place.server, WAITING, "0").await;
        assert!(place.has(1));
    });
}

/// Polls a future as the handler of a route is polled.
async fn for_route<T>(route: &Arc<str>, future: impl Future<Output = T>) -> T {
    let activity = Activity::begin_named(ActivityKind::Request, Arc::clone(route), None);
    activity.set_route(route);
    Activity::scope(Some(activity.share()), future).await
}

/// Runs a test with a log of its thread, on which the pool is.
fn logged(test: impl FnOnce(&LogBuffer)) {
    LogBuffer::of_thread(tracing::Level::WARN, test);
}

/// Waits for a line of the log with these words, and gives all that came until then.
async fn line_comes(log: &LogBuffer, words: &str) -> String {
    let mut seen = String::new();
    let comes = async {
        loop {
            seen.push_str(&log.take());
            if let Some(line) = seen.lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let line = timeout(Duration::from_secs(60), comes).await;
    line.unwrap_or_else(|_| panic!("no line says {words:?}"))
}

async fn give_up_on_a_silent_server(place: &Place<'_>, route: &Arc<str>) {
    let tx = place.begin().await;
    write(&tx, "a statement", 1).await;
    place
        .cut_once(Cut::ToClient(0), ServerSide::FallsSilent)
        .await;
    place.proxy.ignore();
    let commit = for_route(route, tx.commit());
    let given_up = timeout(Duration::from_millis(300), commit).await;
    assert!(given_up.is_err(), "{given_up:?}");
}

#[test]
fn commit_given_up_on_a_silent_server_is_followed_in_the_log_to_its_end() {
    logged(|log| {
        let options = "&statement_timeout_ms=1500&acquire_timeout_ms=3000";
        on(&Server::start(), options, async |place| {
            give_up_on_a_silent_server(&place, &"/transfer/:id".into()).await;
            let named = |line: &str| {
                let xid = place.server.psql("select xmin from t where n = 1");
                assert!(line.contains("route=\"/transfer/:id\""), "{line}");
                assert!(line.contains(&format!("xid={xid}")), "{xid}: {line}");
            };
            named(&line_comes(log, "given up by its caller before it was answered").await);
            // The server is given up, and no other one is primary.
            named(&line_comes(log, "a commit that was given up: it is not known").await);
            assert_eq!(place.db.snapshot().commits_unknown, 1);
            place.proxy.accept();
            let line = line_comes(log, "of which it was not known").await;
            named(&line);
            assert!(line.contains("it was committed"), "{line}");
        });
    });
}

#[test]
fn commit_given_up_when_its_worker_ends_takes_a_line() {
    logged(|log| {
        on(&Server::start(), QUICKLY, async |place| {
            give_up_on_a_silent_server(&place, &"/transfer".into()).await;
        });
        let text = log.take();
        assert!(
            text.contains("its worker ends before it is known"),
            "{text}"
        );
        assert!(text.contains("route=\"/transfer\" xid="), "{text}");
    });
}

#[test]
fn commit_given_up_and_answered_soon_takes_no_line() {
    logged(|log| {
        on(&Server::start(), "", async |place| {
            let tx = place.begin().await;
            write(&tx, "a statement", 1).await;
            let waits = ServerSide::Waits(Duration::from_millis(100));
            place.cut_once(Cut::ToClient(0), waits).await;
            let given_up = timeout(Duration::from_millis(10), tx.commit()).await;
            assert!(given_up.is_err(), "{given_up:?}");
            let later = tx.query("select 1", []).await.unwrap_err();
            assert!(matches!(later, Error::Closed { .. }), "{later}");
            becomes(place.server, "select count(*) from t", "1").await;
            sleep(Duration::from_millis(1_500)).await;
            assert_eq!(log.take(), "");
        });
    });
}
