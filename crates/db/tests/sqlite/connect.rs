//! Opening: what is shared, what is created, and what errors say.

use std::fs;

use tsumugi_db::{Database, Error, Options, TransactionOptions};

use crate::{count, open, query_json, run};

async fn check_error(url: &str, parts: &[&str]) {
    let error = Database::connect(url, Options::default())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{url}: {error:?}");
    for part in parts {
        assert!(error.to_string().contains(part), "{url}: {error}");
    }
}

#[test]
fn errors_name_the_path_and_what_would_help() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().display();
        check_error(
            &format!("sqlite:{path}/none/a.db"),
            &["none/a.db", "directory", "create it first"],
        )
        .await;
        assert!(!directory.path().join("none").exists());
        check_error(&format!("sqlite:{path}"), &["it is a directory"]).await;
        check_error(
            &format!("sqlite:{path}/a.db?mode=rw"),
            &["a.db", "no such file", "mode=rwc"],
        )
        .await;
        assert!(!directory.path().join("a.db").exists());
        fs::write(
            directory.path().join("garbage"),
            "this is not a database, it is a long line of text".repeat(99),
        )
        .unwrap();
        check_error(
            &format!("sqlite:{path}/garbage"),
            &["garbage", "not a database"],
        )
        .await;
    });
}

#[test]
fn wrong_urls_are_refused_with_what_is_accepted() {
    run(async {
        let error = Database::connect("oracle:x", Options::default())
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Usage { .. }));
        assert!(error.to_string().contains("sqlite:PATH"));
    });
}

#[test]
fn connects_to_one_file_share_their_connections_by_whatever_path() {
    run(async {
        let f = open("pool=2").await;
        let link = f.directory.path().join("link.db");
        std::os::unix::fs::symlink(f.directory.path().join("test.db"), &link).unwrap();
        let roundabout = f
            .directory
            .path()
            .join("../")
            .join(f.directory.path().file_name().unwrap())
            .join("test.db");
        for url in [
            f.url.clone(),
            format!("sqlite:{}", link.display()),
            format!("sqlite://{}", roundabout.display()),
        ] {
            let other = Database::connect(&url, Options::default()).await.unwrap();
            assert!(other.shares_connections_with(&f.db), "{url}");
            assert_eq!(other.snapshot().connections, 3);
        }
        let another = open("").await;
        assert!(!another.db.shares_connections_with(&f.db));
    });
}

#[test]
fn workers_that_connect_at_the_same_time_share_one_engine() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("new.db").display());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let url = url.clone();
            // A `Database` stays on its thread; the engine of SQLite is for all of them.
            std::thread::spawn(move || {
                match run(Database::connect(&url, Options::default())).unwrap() {
                    Database::Sqlite(pool) => pool,
                    other => unreachable!("{other:?} is no SQLite database"),
                }
            })
        })
        .collect();
    let databases: Vec<Database> = threads
        .into_iter()
        .map(|thread| Database::Sqlite(thread.join().unwrap()))
        .collect();
    assert!(
        databases
            .iter()
            .all(|db| db.shares_connections_with(&databases[0]))
    );
}

#[test]
fn a_database_opens_again_after_its_last_handle_is_gone() {
    run(async {
        let f = open("pool=1").await;
        f.db.execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        drop(f.db);
        let db = Database::connect(
            &f.url.replace("pool=1", "pool=3&mode=rw"),
            Options::default(),
        )
        .await
        .unwrap();
        assert_eq!((count(&db).await, db.snapshot().connections), (1, 4));
    });
}

#[test]
fn memory_is_shared_by_name_and_gone_with_the_last_handle() {
    run(async {
        let connect = async |url: &str| Database::connect(url, Options::default()).await.unwrap();
        let first = connect("sqlite::memory:?name=shared").await;
        let second = connect("sqlite::memory:?name=shared").await;
        let other = connect("sqlite::memory:?name=other").await;
        first
            .execute("create table t(id integer primary key, n)", [])
            .await
            .unwrap();
        second
            .execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        assert_eq!(count(&first).await, 1);
        assert_eq!(first.snapshot().connections, 1);
        assert_eq!(
            other.query("select * from t", []).await.unwrap_err().kind(),
            "UndefinedTable"
        );
        drop((first, second));
        let again = connect("sqlite::memory:?name=shared").await;
        assert_eq!(
            again.query("select * from t", []).await.unwrap_err().kind(),
            "UndefinedTable"
        );
    });
}

#[test]
fn connections_have_the_promised_settings() {
    run(async {
        let f = open("").await;
        assert_eq!(
            query_json(&f.db, "pragma journal_mode").await,
            r#"[{"journal_mode":"wal"}]"#
        );
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        for (pragma, value) in [("foreign_keys", 1), ("synchronous", 1), ("query_only", 0)] {
            let rows = tx.query(format!("pragma {pragma}"), []).await.unwrap();
            assert_eq!(crate::json(&rows), format!(r#"[{{"{pragma}":{value}}}]"#));
        }
    });
}
