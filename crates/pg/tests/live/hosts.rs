//! Several hosts: which is taken, which errors are reported; the kinds of server.

use std::collections::BTreeSet;
use std::time::Duration;

use tsumugi_pg::config::Host;
use tsumugi_pg::{Config, Connector};
use tsumugi_testkit::postgres::{Pooler, Server};

use crate::{connect, environment, random, text};

/// A port nobody listens on.
fn closed() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn port(host: &Host) -> u16 {
    match host {
        Host::Tcp { port, .. } | Host::Unix { port, .. } => *port,
    }
}

#[tokio::test]
async fn host_that_is_down_is_skipped() {
    let server = Server::shared();
    let (up, down) = (server.port(), closed());
    for hosts in [
        format!("localhost:{down},127.0.0.1:{up}"),
        format!("no.such.name.invalid:{up},localhost:{up}"),
    ] {
        let connected = connect(&format!("postgres://postgres@{hosts}"))
            .await
            .unwrap();
        assert_eq!(port(&connected.host), up, "{hosts}");
    }
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let deaf = silent.local_addr().unwrap().port();
    let url = format!("postgres://postgres@127.0.0.1:{deaf},127.0.0.1:{up}?connect_timeout=3");
    assert_eq!(port(&connect(&url).await.unwrap().host), up);
}

#[tokio::test]
async fn host_that_did_not_answer_is_asked_after_the_others() {
    let up = Server::shared().port();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let deaf = silent.local_addr().unwrap().port();
    let url = format!("postgres://postgres@127.0.0.1:{deaf},127.0.0.1:{up}?connect_timeout=2");
    let connector = Connector::new(Config::parse(&url, &environment()).unwrap());
    for _ in 0..3 {
        let connected = connector.connect(&mut random).await.unwrap();
        assert_eq!(port(&connected.host), up);
    }
    silent.accept().await.unwrap();
    let again = tokio::time::timeout(Duration::from_millis(100), silent.accept());
    assert!(again.await.is_err(), "it was asked once more");
    // Where no other will do it is asked nevertheless, and waited for as long as for one that is silent.
    let url = format!("{url}&target_session_attrs=standby");
    let connector = Connector::new(Config::parse(&url, &environment()).unwrap());
    for limit in ["(2 s)", "(1 s)"] {
        let error = text(connector.connect(&mut random).await);
        assert!(error.contains(limit), "{error}");
        assert!(error.contains("it is no standby"), "{error}");
    }
}

#[tokio::test]
async fn error_of_all_hosts_names_the_reason_of_each() {
    let (one, two) = (closed(), closed());
    let error = text(
        connect(&format!(
            "postgres://postgres:wrong%20secret@127.0.0.1:{one},127.0.0.1:{two}"
        ))
        .await,
    );
    let refused = |port| {
        format!(
            "cannot connect to 127.0.0.1:{port} (connecting): Connection refused (os error 111); is the server running there?"
        )
    };
    assert_eq!(
        error,
        format!(
            "no host accepted the connection: {}; {}",
            refused(one),
            refused(two)
        )
    );
    let error = text(connect(&format!("postgres://postgres@127.0.0.1:{one}")).await);
    assert_eq!(error, refused(one));
}

#[tokio::test]
async fn refused_user_ends_the_search() {
    let server = Server::shared();
    let up = server.port();
    let url = format!(
        "postgres://digest:wrong%20secret@127.0.0.1:{up},127.0.0.1:{}",
        closed()
    );
    let error = text(connect(&url).await);
    assert!(
        error.starts_with(&format!(
            "cannot connect to 127.0.0.1:{up} (authentication): password"
        )),
        "{error}"
    );
}

#[tokio::test]
async fn hosts_are_taken_in_a_random_order_on_request() {
    let (one, two) = (Server::start(), Server::start());
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}",
        one.port(),
        two.port()
    );
    let mut seen = BTreeSet::new();
    for _ in 0..8 {
        seen.insert(port(&connect(&url).await.unwrap().host));
    }
    assert_eq!(seen, BTreeSet::from([one.port()]));
    // By chance one is missing once in 2^39.
    for _ in 0..40 {
        seen.insert(port(
            &connect(&format!("{url}?load_balance_hosts=random"))
                .await
                .unwrap()
                .host,
        ));
    }
    assert_eq!(seen, BTreeSet::from([one.port(), two.port()]));
}

#[tokio::test]
async fn target_session_attrs_choose_the_server() {
    let primary = Server::start();
    let standby = primary.standby();
    let database = primary.database();
    database.psql(&format!(
        "alter database {} set default_transaction_read_only = on",
        database.name()
    ));
    standby.catch_up(&primary);
    let (p, s) = (primary.port(), standby.port());
    let name = database.name();
    let neither = "no host accepted the connection: ";
    for (database, wanted, from_primary, from_standby) in [
        ("postgres", "any", p, s),
        ("postgres", "read-write", p, p),
        ("postgres", "read-only", s, s),
        ("postgres", "primary", p, p),
        ("postgres", "standby", s, s),
        ("postgres", "prefer-standby", s, s),
        (name, "read-write", 0, 0),
        (name, "read-only", p, s),
        (name, "primary", p, p),
        (name, "standby", s, s),
    ] {
        for (hosts, expected) in [([p, s], from_primary), ([s, p], from_standby)] {
            let [first, second] = hosts;
            let url = format!(
                "postgres://postgres@127.0.0.1:{first},127.0.0.1:{second}/{database}?target_session_attrs={wanted}"
            );
            match connect(&url).await {
                Ok(connected) => assert_eq!(port(&connected.host), expected, "{url}"),
                Err(error) => {
                    let error = text(Err(error));
                    assert!(
                        expected == 0 && error.starts_with(neither),
                        "{url}: {error}"
                    );
                    assert_eq!(error.matches("(target_session_attrs): target_session_attrs does not fit: its sessions may not write").count(), 2, "{error}");
                }
            }
        }
    }
    let alone = |port: u16, wanted| {
        format!("postgres://postgres@127.0.0.1:{port}/postgres?target_session_attrs={wanted}")
    };
    for (port, wanted, what) in [
        (p, "read-only", "its sessions may write"),
        (p, "standby", "it is no standby"),
        (s, "read-write", "its sessions may not write"),
        (s, "primary", "it is a standby"),
    ] {
        assert!(text(connect(&alone(port, wanted)).await).ends_with(what));
    }
    assert_eq!(
        port(&connect(&alone(p, "prefer-standby")).await.unwrap().host),
        p
    );
}

#[tokio::test]
async fn target_session_attrs_work_through_a_pooler() {
    let primary = Server::start();
    let standby = primary.standby();
    let poolers = [Pooler::start(&primary), Pooler::start(&standby)];
    let [primary, standby] = poolers.each_ref().map(Pooler::port);
    for (wanted, expected) in [
        ("read-write", primary),
        ("read-only", standby),
        ("primary", primary),
        ("standby", standby),
        ("prefer-standby", standby),
    ] {
        for [first, second] in [[primary, standby], [standby, primary]] {
            let url = format!(
                "postgres://postgres@127.0.0.1:{first},127.0.0.1:{second}/postgres?target_session_attrs={wanted}"
            );
            let connected = connect(&url).await.unwrap();
            assert_eq!(port(&connected.host), expected, "{wanted}");
            assert!(connected.leftover.is_empty());
        }
    }
}
