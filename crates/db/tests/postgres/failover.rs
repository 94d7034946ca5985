//! Commits whose primary dies, and standbys that are promoted in its place, asynchronous ones and synchronous ones. Rule: what the caller is
//! answered is what the table on the server says that lives on, and what a synchronous standby has not got is not called committed.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::sleep;
use tsumugi_db::{Database, Options};
use tsumugi_testkit::postgres::{Pooler, Server};
use tsumugi_testkit::{Cut, CutProxy, ServerSide};

use crate::chaos::{DURABLY, becomes};
use crate::doubt::{
    Durability, Place, TABLE, WAITING, check, commit_through, has, on, on_port, run, write,
    write_synchronously,
};

/// The bytes of COMMIT on their way to the server.
const COMMIT_BYTES: usize = 12;

/// Runs a test with a primary and its standby, which are both in the URL: the primary behind a proxy.
fn with_standby(test: impl AsyncFnOnce(Place<'_>, &Server)) {
    let primary = Server::start();
    primary.psql(TABLE);
    let standby = primary.standby();
    let proxy = CutProxy::start(primary.port());
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=primary&pool=1&pool_min=0&acquire_timeout_ms=120000",
        proxy.port(),
        standby.port()
    );
    run(async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let place = Place {
            server: &primary,
            proxy: &proxy,
            db: db.clone(),
        };
        test(place, &standby).await;
        db.close();
    });
}

/// Has the commits of a server wait for standbys of these names from now on.
async fn wait_for_standbys(server: &Server, names: &str) {
    server.psql(&format!(
        "alter system set synchronous_standby_names = '{names}'"
    ));
    server.psql("select pg_reload_conf()");
    becomes(server, "show synchronous_standby_names", names).await;
    if names == "*" {
        let synchronous = "select count(*) from pg_stat_replication where sync_state = 'sync'";
        becomes(server, synchronous, "1").await;
    }
}

/// Has a standby receive nothing more.
async fn stop_receiving(standby: &Server, primary: &Server) {
    standby.psql("alter system set primary_conninfo = ''");
    standby.psql("select pg_reload_conf()");
    becomes(primary, "select count(*) from pg_stat_replication", "0").await;
}

#[test]
fn commit_that_a_standby_had_received_is_found_there_when_it_is_promoted() {
    with_standby(async |place, standby| {
        let fail_over = async || {
            standby.catch_up(place.server);
            place.server.kill_9();
            standby.psql("select pg_promote()");
        };
        let outcome = commit_through(&place, Durability::Asynchronous, fail_over).await;
        assert!(check(&outcome, standby, 1, "on the standby"));
    });
}

#[test]
fn commit_that_the_promoted_standby_had_not_received_is_rolled_back() {
    with_standby(async |place, standby| {
        stop_receiving(standby, place.server).await;
        let fail_over = async || {
            place.server.kill_9();
            standby.psql("select pg_promote()");
        };
        let outcome = commit_through(&place, Durability::Synchronous, fail_over).await;
        let is_committed = check(&outcome, standby, 1, "on the standby");
        assert!(!is_committed);
    });
}

#[test]
fn commit_that_a_synchronous_standby_has_confirmed_is_found_there_when_its_primary_dies() {
    with_standby(async |place, standby| {
        wait_for_standbys(place.server, "*").await;
        let fail_over = async || {
            place.server.kill_9();
            standby.psql("select pg_promote()");
        };
        let outcome = commit_through(&place, Durability::Synchronous, fail_over).await;
        assert!(check(&outcome, standby, 1, "on the standby"));
    });
}

#[test]
fn commit_whose_primary_dies_while_it_waits_for_its_standby_is_what_the_standby_has() {
    with_standby(async |place, standby| {
        wait_for_standbys(place.server, "*").await;
        let tx = place.begin().await;
        write_synchronously(&tx, 1).await;
        stop_receiving(standby, place.server).await;
        let fail_over = async {
            becomes(place.server, WAITING, "1").await;
            place.server.kill_9();
            standby.psql("select pg_promote()");
        };
        let (outcome, ()) = tokio::join!(tx.commit(), fail_over);
        assert!(!check(&outcome, standby, 1, "on the standby"));
        // The pool goes on there.
        let tx = place.begin().await;
        write(&tx, "a statement", 2).await;
        tx.commit().await.unwrap();
        assert!(has(standby, 2));
    });
}

#[test]
fn commit_that_is_cut_while_it_waits_for_its_standby_is_committed_when_that_has_it() {
    on(
        &Server::start(),
        "&acquire_timeout_ms=120000",
        async |place| {
            wait_for_standbys(place.server, "nobody").await;
            let tx = place.begin().await;
            write_synchronously(&tx, 1).await;
            place
                .cut_once(Cut::ToServer(COMMIT_BYTES), ServerSide::Closes)
                .await;
            let goes_on = AtomicBool::new(false);
            let confirm = async {
                place.is_cut().await;
                becomes(place.server, WAITING, "1").await;
                // It is asked some times meanwhile.
                sleep(Duration::from_millis(500)).await;
                goes_on.store(true, Relaxed);
                wait_for_standbys(place.server, "").await;
            };
            let (outcome, ()) = tokio::join!(tx.commit(), confirm);
            assert!(goes_on.load(Relaxed), "it was answered before");
            assert!(check(&outcome, place.server, 1, "behind the wait"));
        },
    );
}

#[test]
fn commit_that_only_a_recovered_primary_has_is_unknown_until_its_standby_confirms_it() {
    for has_standby in [false, true] {
        // Where it is confirmed, a crowded machine may take its time; where it is not, all of it is waited for.
        let patience_ms = if has_standby { 120_000 } else { 15_000 };
        let options = format!("&acquire_timeout_ms={patience_ms}") + DURABLY;
        on(&Server::start(), &options, async |place| {
            wait_for_standbys(place.server, "nobody").await;
            let tx = place.begin().await;
            write_synchronously(&tx, 1).await;
            let crash = async {
                becomes(place.server, WAITING, "1").await;
                place.server.kill_9();
                place.server.start_again();
                assert!(place.has(1), "a recovery shows what it finds");
                if has_standby {
                    wait_for_standbys(place.server, "").await;
                }
            };
            let (outcome, ()) = tokio::join!(tx.commit(), crash);
            if has_standby {
                assert!(check(&outcome, place.server, 1, "after the crash"));
            } else {
                let error = outcome.unwrap_err();
                assert_eq!(error.kind(), "CommitUnknown", "{error}");
                let text = error.to_string();
                assert!(text.contains("no synchronous standby"), "{text}");
            }
        });
    }
}

#[test]
fn commit_through_a_pooler_is_asked_for_through_it() {
    let server = Server::start();
    server.psql(TABLE);
    let pooler = Pooler::start(&server);
    let options = "&pooler=transaction&acquire_timeout_ms=30000";
    on_port(&server, pooler.port(), options, async |place| {
        for (n, cut) in [(1, Cut::ToClient(0)), (2, Cut::ToServer(3))] {
            let tx = place.begin().await;
            write(&tx, "a statement", n).await;
            place.cut_once(cut, ServerSide::Closes).await;
            let outcome = tx.commit().await;
            let is_committed = check(&outcome, place.server, n, "through the pooler");
            assert_eq!(is_committed, n == 1);
        }
    });
}
