//! Databases of tests on PostgreSQL: what they have of the one that is named, and what becomes of a run whose connection is ended. What `tsumugi test` does with
//! them is tested there. Rule: each test has a database of its own to name.

use tsumugi_db::TestDatabases;
use tsumugi_testkit::pause;
use tsumugi_testkit::postgres::Server;

use crate::doubt::run;

/// The locks of runs in the database that is named; 1953723764 is their class.
const LOCKS: &str = "from pg_locks l join pg_database d on d.oid = l.database \
     where l.locktype = 'advisory' and l.classid = 1953723764 and d.datname = current_database()";

#[test]
fn run_whose_connection_is_ended_goes_on_with_its_lock() {
    let server = Server::shared();
    let named = server.database();
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let url = named.url();
        let open = TestDatabases::open(Some(&url), folder.path()).await;
        let mut databases = open.unwrap();
        databases.template().await.unwrap();
        let first = databases.create(folder.path()).await.unwrap();
        for _ in 0..2 {
            named.psql(&format!("select pg_terminate_backend(l.pid) {LOCKS}"));
            while named.psql(&format!("select count(*) {LOCKS}")) != "0" {
                pause();
            }
            databases.create(folder.path()).await.unwrap();
            assert_eq!(named.psql(&format!("select count(*) {LOCKS}")), "1");
        }
        // Another run leaves them alone.
        let other = TestDatabases::open(Some(&url), folder.path())
            .await
            .unwrap();
        other.end().await.unwrap();
        named.psql(&format!("select pg_terminate_backend(l.pid) {LOCKS}"));
        databases.remove(first).await.unwrap();
        databases.end().await.unwrap();
        let left = "select count(*) from pg_database where datname like 'tsumugi_test_' || \
             (select oid from pg_database where datname = current_database()) || '_%'";
        assert_eq!(named.psql(left), "0");
    });
}

#[test]
fn database_of_a_test_sorts_as_the_one_that_is_named() {
    let server = Server::shared();
    let named = server.database();
    let name = format!("{}_icu", named.name());
    server.psql(&format!(
        "create database \"{name}\" template template0 locale_provider icu icu_locale 'sv-u-co-standard'"
    ));
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let url = named.url().replace(named.name(), &name);
        let open = TestDatabases::open(Some(&url), folder.path()).await;
        let mut databases = open.unwrap();
        databases.create(folder.path()).await.unwrap();
        let like_it = format!(
            "select count(*) from pg_database t, pg_database n where n.datname = '{name}' \
             and t.datname like 'tsumugi_test_' || n.oid || '_%' and t.datlocprovider = n.datlocprovider \
             and to_jsonb(t)->>'datlocale' is not distinct from to_jsonb(n)->>'datlocale' \
             and to_jsonb(t)->>'daticulocale' is not distinct from to_jsonb(n)->>'daticulocale' \
             and t.datcollate = n.datcollate and t.encoding = n.encoding"
        );
        assert_eq!(server.psql(&like_it), "1");
        databases.end().await.unwrap();
    });
    server.psql(&format!("drop database \"{name}\" with (force)"));
}
