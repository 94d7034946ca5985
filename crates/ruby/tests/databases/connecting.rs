//! `DB.connect`: its options, and what it says when there is nothing to connect to.

use tsumugi_testkit::postgres::{Server, User};

use crate::rig::Rig;
use crate::{BOTH, Served};

#[track_caller]
fn check(url: &str, options: &str, parts: &[&str]) {
    let said = Rig::refused(&format!("DB.connect({url}{options})"), |_| {});
    for part in parts {
        assert!(said.contains(part), "{url}{options}: {said}");
    }
}

#[test]
fn options_are_known_or_listed() {
    let url = format!("'{}'", Server::shared().url(User::TRUST));
    for url in [url.as_str(), "'sqlite::memory:'"] {
        check(
            url,
            ", colour: 1",
            &["no option colour", "pool, min, lifetime, acquire, timeout"],
        );
        check(url, ", pool: 0", &["pool must be 1 to 64"]);
        check(
            url,
            ", pool: 2, min: 3",
            &["pool_min must be 0 to 2 (pool)"],
        );
        check(
            url,
            ", pool: 'x'",
            &["pool: has a value that makes no sense"],
        );
    }
    let url = Server::shared().url(User::TRUST);
    check(
        &format!("'{url}?colour=1'"),
        "",
        &[
            "unknown database option colour",
            "sslmode",
            "statement_timeout_ms",
        ],
    );
    for engine in BOTH {
        let served = Served::new(
            engine,
            "pool: 2, min: 0, lifetime: 60, acquire: 1, timeout: 2.5, statements: 10, log: false",
            "get('/') { db.query('select 1 as n').first[:n].to_s }",
        );
        served.check("/", "1");
    }
}

#[test]
fn password_may_have_what_means_something_in_a_url() {
    let url = Server::shared().url(User::CLEARTEXT);
    assert!(url.contains("%40") && url.contains("%3A"), "{url}");
    let app = format!(
        "plugin(:db) {{ DB.connect '{url}' }}
        get('/') {{ db.query('select current_user as name').first[:name] }}"
    );
    assert_eq!(Rig::serve(&app).get("/").text(), "cleartext");
}

#[test]
fn missing_url_asks_for_it() {
    check("nil", "", &["DATABASE_URL"]);
    check(
        "'mysql://x'",
        "",
        &["unknown database scheme", "postgres://"],
    );
    check("''", "", &["the database URL is empty", "postgres://"]);
    check(
        "'shop'",
        "",
        &["the database URL has no scheme", "postgres://"],
    );
}

#[test]
fn server_that_is_not_there_or_refuses_says_what_to_do() {
    check(
        "'postgres://postgres@127.0.0.1:1/x'",
        ", acquire: 0.5",
        &["127.0.0.1", "is the server running there?"],
    );
    let server = Server::shared();
    let url = server.url(User::TRUST);
    let (server_part, _) = url.rsplit_once('/').unwrap();
    check(
        &format!("'{server_part}/nowhere_to_be_found'"),
        "",
        &["nowhere_to_be_found", "createdb nowhere_to_be_found"],
    );
    let url = server.url(User {
        password: Some("hunter2-is-wrong"),
        ..User::SCRAM
    });
    let said = Rig::refused(&format!("DB.connect('{url}')"), |_| {});
    assert!(said.contains("password authentication failed"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn connection_of_postgresql_keeps_as_many_statements_as_it_may() {
    let served = Served::new(
        crate::Engine::Postgres,
        "pool: 1, statements: 10",
        "get('/') {
           40.times { |n| db.query(\"select #{n} as n\") }
           db.query('select count(*) <= 10 as bounded from pg_prepared_statements').first
         }",
    );
    served.check("/", r#"{"bounded":true}"#);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own thread")]
fn pool_keeps_its_minimum_and_replaces_old_connections() {
    let served = Served::new(
        crate::Engine::Postgres,
        "pool: 4, min: 3, lifetime: 1",
        "get('/') { 'up' }",
    );
    served.check("/", "up");
    let now = || {
        let ours = "select pid from pg_stat_activity where datname = current_database() and application_name = 'tsumugi'";
        let pids = served.psql(ours);
        pids.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let come = |what: &str, is: &dyn Fn(&[String]) -> bool| {
        for _ in 0..1_000 {
            let pids = now();
            if is(&pids) {
                return pids;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("{what}: {:?}", now());
    };
    let first = come("three", &|pids| pids.len() == 3);
    come("others", &|pids| {
        pids.len() == 3 && pids.iter().all(|pid| !first.contains(pid))
    });
}
