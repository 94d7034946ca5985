//! Tables, migrations and seeds through the public face, on every database. What SQL they become is tested where it is written.
//! Rule: each test runs on each database and expects the same.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::LazyLock;

use tsumugi_db::schema::{Migration, MigrationEvent, MigrationStatus, Migrator, State};
use tsumugi_db::{
    AbsentFile, Database, Error, Options, Result, Rows, Transaction, TransactionOptions, values,
};
use tsumugi_sql::schema::{OnDelete, Table, alter, foreign, increments, integer, string};
use tsumugi_testkit::LogBuffer;
use tsumugi_testkit::postgres::Server;

/// Runs a test on an empty database of each kind.
fn check<F: Future<Output = ()>>(test: impl Fn(Database) -> F) {
    with_url(async |url| test(open(&url).await).await);
}

fn with_url<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let server = Server::shared().database();
    let directory = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", directory.path().join("test.db").display());
    let firebird = tsumugi_testkit::firebird::Server::shared().database();
    for url in [file, server.url(), firebird.url()] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, test(url));
    }
}

async fn open(url: &str) -> Database {
    Database::connect(url, Options::default()).await.unwrap()
}

fn json(rows: &Rows) -> String {
    let mut out = Vec::new();
    rows.write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

async fn ask(db: &Database, sql: &str) -> String {
    json(&db.query(sql, []).await.unwrap())
}

fn users() -> Table {
    Table::new("users")
        .column(increments("id"))
        .column(string("name", 20))
}

#[test]
fn a_table_is_made_once_and_a_different_one_is_named() {
    check(async |db| {
        assert!(db.create(&users()).await.unwrap());
        assert!(!db.create(&users()).await.unwrap());
        let other = users().column(integer("age"));
        let refused = db.create(&other).await.unwrap_err();
        assert!(matches!(&refused, Error::TableDiffers { table, .. } if table == "users"));
        assert_eq!(
            refused.to_string(),
            "the table users exists and is different: there is no column age"
        );
        assert!(db.has_table("users").await.unwrap());
    });
}

#[test]
fn a_table_is_altered_renamed_and_dropped() {
    check(async |db| {
        db.create(&users()).await.unwrap();
        let nick = alter("users")
            .add_column(string("nick", 5).nullable())
            .change_column(string("name", 40))
            .rename_column("name", "full_name");
        db.alter(&nick).await.unwrap();
        db.execute("insert into users(full_name) values ('an')", [])
            .await
            .unwrap();
        let renamed = db.rename_table("users", "people").await;
        if db.scheme() == "firebird" {
            assert_eq!(renamed.unwrap_err().kind(), "Unsupported");
            let made = "create table people(full_name varchar(40), nick varchar(5))";
            db.execute(made, []).await.unwrap();
            db.execute("insert into people select full_name, nick from users", [])
                .await
                .unwrap();
        } else {
            renamed.unwrap();
        }
        let people = ask(&db, "select full_name, nick from people").await;
        assert_eq!(people, r#"[{"full_name":"an","nick":null}]"#);
        db.drop_table("people").await.unwrap();
        assert!(!db.has_table("people").await.unwrap());
        let gone = db.alter(&alter("people").drop_column("nick")).await;
        assert_eq!(gone.unwrap_err().to_string(), "there is no table people");
    });
}

#[test]
fn references_to_a_table_prevent_its_drop_and_survive_its_change() {
    check(async |db| {
        db.create(&users()).await.unwrap();
        let pets = Table::new("pets")
            .column(increments("id"))
            .column(foreign("user_id").on("users"));
        db.create(&pets).await.unwrap();
        db.execute_script(
            "insert into users(name) values ('an'); insert into pets(user_id) values (1)",
        )
        .await
        .unwrap();
        assert!(db.drop_table("users").await.is_err());
        let longer = alter("users").change_column(string("name", 50));
        db.alter(&longer).await.unwrap();
        assert_eq!(
            ask(&db, "select user_id from pets").await,
            r#"[{"user_id":1}]"#
        );
        let tx = db.begin(Default::default()).await.unwrap();
        let within = tx.alter(&longer).await;
        if db.scheme() == "sqlite" {
            assert!(matches!(within, Err(Error::NeedsRebuild { table }) if table == "users"));
        } else {
            within.unwrap();
        }
    });
}

#[test]
fn a_table_that_is_made_in_a_transaction_goes_with_it() {
    check(async |db| {
        let tx = db.begin(Default::default()).await.unwrap();
        assert!(tx.create(&users()).await.unwrap());
        assert!(tx.has_table("users").await.unwrap());
        tx.roll_back().await.unwrap();
        assert!(!db.has_table("users").await.unwrap());
    });
}

#[test]
fn alteration_that_fails_in_a_transaction_which_goes_on_keeps_no_step() {
    check(async |db| {
        db.create(&users()).await.unwrap();
        // Firebird commits a change of a table before the next one can see it.
        if db.scheme() == "firebird" {
            return;
        }
        let tx = db.begin(Default::default()).await.unwrap();
        let steps = alter("users")
            .add_column(string("nick", 5))
            .add_column(integer("id"));
        tx.alter(&steps).await.unwrap_err();
        tx.commit().await.unwrap();
        let found = db.describe("users").await.unwrap().unwrap();
        let expected = users().compare(&found, db.dialect());
        assert_eq!(expected, Ok(()), "{}", db.scheme());
    });
}

#[test]
fn table_that_refers_to_itself_keeps_its_rows_when_it_is_changed_in_a_transaction() {
    check(async |db| {
        let nodes = Table::new("nodes")
            .column(increments("id"))
            .column(
                foreign("parent_id")
                    .on("nodes")
                    .on_delete(OnDelete::Cascade)
                    .nullable(),
            )
            .column(string("name", 9));
        db.create(&nodes).await.unwrap();
        db.execute_script(
            "insert into nodes(name) values ('root'); insert into nodes(parent_id, name) values (1, 'leaf')",
        )
        .await
        .unwrap();
        let tx = db.begin(Default::default()).await.unwrap();
        let longer = alter("nodes").change_column(string("name", 50));
        tx.alter(&longer).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(
            ask(&db, "select name from nodes order by id").await,
            r#"[{"name":"root"},{"name":"leaf"}]"#
        );
        db.drop_table("nodes").await.unwrap();
    });
}

#[test]
fn seeds_fill_an_empty_table_only_and_whole() {
    check(async |db| {
        db.create(&users()).await.unwrap();
        let seed = async |fails: bool| {
            db.seed("users", async |tx: Rc<Transaction>| -> Result<()> {
                tx.execute("insert into users(name) values (?)", values!["an"])
                    .await?;
                match fails {
                    true => tx.query("select nonsense(", []).await.map(drop),
                    false => Ok(()),
                }
            })
            .await
        };
        assert!(seed(true).await.is_err());
        assert_eq!(ask(&db, "select name from users").await, "[]");
        assert!(seed(false).await.unwrap());
        assert!(!seed(false).await.unwrap());
        assert_eq!(
            ask(&db, "select name from users").await,
            r#"[{"name":"an"}]"#
        );
    });
}

fn create_users() -> Migration {
    Migration::new("1_create_users", "first", async |tx: Rc<Transaction>| {
        tx.create(&users()).await.map(drop)
    })
    .down(async |tx: Rc<Transaction>| tx.drop_table("users").await)
}

fn add_nick() -> Migration {
    Migration::new("02_add_nick", "second", async |tx: Rc<Transaction>| {
        tx.alter(&alter("users").add_column(string("nick", 5).default("x")))
            .await?;
        tx.execute("insert into users(name) values ('an')", [])
            .await
            .map(drop)
    })
    .down(async |tx: Rc<Transaction>| tx.alter(&alter("users").drop_column("nick")).await)
}

fn broken() -> Migration {
    Migration::new("10_broken", "third", async |tx: Rc<Transaction>| {
        tx.execute("insert into users(name) values ('lost')", [])
            .await?;
        tx.query("select * from nowhere", []).await.map(drop)
    })
}

fn shown(status: Vec<MigrationStatus>) -> String {
    let lines = status.iter().map(|one| {
        let applied = one.state != State::Pending;
        assert_eq!(one.applied_at.is_empty(), !applied, "{one:?}");
        format!("{} {}", one.name, one.state)
    });
    lines.collect::<Vec<_>>().join(", ")
}

#[test]
fn migrations_are_applied_in_the_order_of_their_numbers_and_undone_backwards() {
    check(async |db| {
        let events: Rc<RefCell<Vec<String>>> = Rc::default();
        let recorded = Rc::clone(&events);
        let migrator = Migrator::new(&db, [add_nick(), create_users()])
            .unwrap()
            .on_event(move |news| {
                if let MigrationEvent::Ended { name, direction } = news {
                    recorded.borrow_mut().push(format!("{direction} {name}"));
                }
            });
        let status = shown(migrator.status().await.unwrap());
        assert_eq!(status, "1_create_users pending, 02_add_nick pending");
        assert!(!db.has_table("tsumugi_migrations").await.unwrap());
        assert_eq!(migrator.up(Some(1)).await.unwrap(), 1);
        assert_eq!(migrator.up(None).await.unwrap(), 1);
        assert_eq!(migrator.up(None).await.unwrap(), 0);
        assert_eq!(
            ask(&db, "select name, nick from users").await,
            r#"[{"name":"an","nick":"x"}]"#
        );
        assert_eq!(migrator.redo(None).await.unwrap(), 2);
        // One that a first attempt has undone and not applied again is not taken for the one before it.
        assert_eq!(migrator.down(None).await.unwrap(), 1);
        let refused = migrator.redo(None).await.unwrap_err().to_string();
        assert!(refused.contains("02_add_nick is not applied"), "{refused}");
        assert!(db.has_table("users").await.unwrap());
        assert_eq!(migrator.up(None).await.unwrap(), 1);
        assert_eq!(migrator.down(Some(9)).await.unwrap(), 2);
        assert!(!db.has_table("users").await.unwrap());
        let expected = [
            "up 1_create_users",
            "up 02_add_nick",
            "down 02_add_nick",
            "up 02_add_nick",
            "down 02_add_nick",
            "up 02_add_nick",
            "down 02_add_nick",
            "down 1_create_users",
        ];
        assert_eq!(*events.borrow(), expected);
    });
}

#[test]
fn a_migration_that_fails_leaves_nothing_and_those_before_it_stay() {
    check(async |db| {
        let all = [create_users(), add_nick(), broken()];
        let migrator = Migrator::new(&db, all).unwrap();
        let failed = migrator.up(None).await.unwrap_err().to_string();
        assert!(
            failed.starts_with("10_broken failed (up), nothing of it was kept: "),
            "{failed}"
        );
        assert!(failed.to_lowercase().contains("nowhere"), "{failed}");
        assert_eq!(
            ask(&db, "select name from users").await,
            r#"[{"name":"an"}]"#
        );
        let status = shown(migrator.status().await.unwrap());
        assert_eq!(
            status,
            "1_create_users applied, 02_add_nick applied, 10_broken pending"
        );
    });
}

#[test]
fn migration_changed_after_it_was_applied_or_unknown_is_reported() {
    check(async |db| {
        let both = [create_users(), add_nick()];
        Migrator::new(&db, both).unwrap().up(None).await.unwrap();
        let other = Migration::new("1_create_users", "another", async |_: Rc<Transaction>| {
            Ok::<(), Error>(())
        });
        let migrator = Migrator::new(&db, [other]).unwrap();
        let status = shown(migrator.status().await.unwrap());
        assert_eq!(status, "1_create_users changed, 02_add_nick unknown");
        let changed = migrator.up(None).await.unwrap_err().to_string();
        assert!(
            changed.starts_with("1_create_users is not what was applied: put it back"),
            "{changed}"
        );
        let unknown = migrator.down(None).await.unwrap_err().to_string();
        assert!(
            unknown.starts_with("02_add_nick is applied and unknown here"),
            "{unknown}"
        );
    });
}

#[test]
fn a_table_that_others_refer_to_is_made_anew_in_a_migration() {
    check(async |db| {
        let pets = Migration::new("2_pets", "", async |tx: Rc<Transaction>| {
            let pets = Table::new("pets").column(foreign("user_id").on("users"));
            tx.create(&pets).await?;
            tx.execute("insert into users(name) values ('an')", [])
                .await?;
            tx.execute("insert into pets(user_id) values (1)", [])
                .await
                .map(drop)
        });
        let longer = Migration::new("3_longer", "", async |tx: Rc<Transaction>| {
            tx.alter(&alter("users").change_column(string("name", 99)))
                .await
        });
        let migrator = Migrator::new(&db, [create_users(), pets, longer]).unwrap();
        assert_eq!(migrator.up(None).await.unwrap(), 3);
        assert_eq!(
            ask(&db, "select user_id from pets").await,
            r#"[{"user_id":1}]"#
        );
    });
}

#[test]
fn many_at_once_apply_each_migration_once() {
    let slow = || {
        Migration::new("3_slow", "", async |tx: Rc<Transaction>| {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            tx.execute("insert into users(name) values ('slow')", [])
                .await
                .map(drop)
        })
    };
    with_url(async |url| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let url = url.clone();
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .unwrap();
                    tokio::task::LocalSet::new().block_on(&runtime, async {
                        let db = open(&url).await;
                        let all = [create_users(), add_nick(), slow()];
                        let ran = Migrator::new(&db, all).unwrap().up(None).await;
                        db.close();
                        ran.unwrap()
                    })
                })
            })
            .collect();
        let ran: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
        assert_eq!(ran, 3);
        let db = open(&url).await;
        let names = ask(&db, "select name from users order by id").await;
        assert_eq!(names, r#"[{"name":"an"},{"name":"slow"}]"#);
        db.close();
    });
}

#[test]
fn names_without_a_number_or_with_the_same_are_refused() {
    check(async |db| {
        let named =
            |name: &str| Migration::new(name, "", async |_: Rc<Transaction>| Ok::<(), Error>(()));
        let refused = |all: Vec<Migration>| Migrator::new(&db, all).err().unwrap().to_string();
        let long = |letters: usize| format!("1_{}", "a".repeat(letters));
        let too_long = [long(254), format!("{}.rb", long(254))];
        let [long_name, long_file] = &too_long;
        for (name, end) in [
            ("create_users", ""),
            ("1", ""),
            ("1_", ""),
            ("x1_a", ""),
            (long_name, ""),
            ("create.rb", ".rb"),
            ("1_.rb", ".rb"),
            (long_file, ".rb"),
        ] {
            assert_eq!(
                refused(vec![named(name)]),
                format!("{name} is no name of a migration: 20260131120000_what_it_does{end} is")
            );
        }
        assert!(Migrator::new(&db, [named(&long(253))]).is_ok());
        assert_eq!(
            refused(vec![named("01_a"), named("1_b")]),
            "01_a and 1_b have the same number"
        );
    });
}

#[test]
fn a_note_is_of_its_number_however_that_is_written() {
    check(async |db| {
        let first = Migrator::new(&db, [create_users()]).unwrap();
        assert_eq!(first.up(None).await.unwrap(), 1);
        let renamed = || {
            Migration::new("001_create_users", "first", async |_: Rc<Transaction>| {
                Err::<(), _>(Error::from(tsumugi_sql::Error::Limit {
                    limit: "x",
                    max: 1,
                }))
            })
            .down(async |tx: Rc<Transaction>| tx.drop_table("users").await)
        };
        let migrator = Migrator::new(&db, [renamed()]).unwrap();
        assert_eq!(migrator.up(None).await.unwrap(), 0);
        let status = shown(migrator.status().await.unwrap());
        assert_eq!(status, "001_create_users applied");
        assert_eq!(migrator.down(None).await.unwrap(), 1);
        let status = shown(migrator.status().await.unwrap());
        assert_eq!(status, "001_create_users pending");
    });
}

#[test]
fn migration_noted_with_the_name_of_its_file_is_the_one_without_the_ending() {
    check(async |db| {
        let first = Migrator::new(&db, [create_users()]).unwrap();
        assert_eq!(first.up(None).await.unwrap(), 1);
        let names = "select name from tsumugi_migrations";
        assert_eq!(ask(&db, names).await, r#"[{"name":"1_create_users"}]"#);
        // As it was noted by earlier versions.
        let with_end = "update tsumugi_migrations set name = '1_create_users.rb'";
        db.execute(with_end, []).await.unwrap();
        assert_eq!(first.up(None).await.unwrap(), 0);
        let status = shown(first.status().await.unwrap());
        assert_eq!(status, "1_create_users applied");
        let none = Migrator::new(&db, []).unwrap();
        let status = shown(none.status().await.unwrap());
        assert_eq!(status, "1_create_users unknown");
        assert_eq!(first.redo(None).await.unwrap(), 2);
        assert_eq!(ask(&db, names).await, r#"[{"name":"1_create_users"}]"#);
    });
}

/// Runs a test with the path of a SQLite file that is not there yet, alone in its folder, and with its URL.
fn in_new_folder(test: impl AsyncFnOnce(&Path, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.db");
    let url = format!("sqlite:{}", file.display());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test(&file, &url));
}

#[test]
fn absent_file_within_what_creates_none_is_empty_or_refused() {
    in_new_folder(async |file, url| {
        let refused = AbsentFile::Refused.within(Database::connect(url, Options::default()));
        let refused = refused.await.unwrap_err().to_string();
        assert!(
            refused.contains("yet: apply the migrations first, by `tsumugi migrate up`"),
            "{refused}"
        );
        let empty = AbsentFile::Empty.within(open(url)).await;
        assert!(!empty.has_table("users").await.unwrap());
        empty.close();
        assert!(!file.exists());
        let there = open(url).await;
        there.create(&users()).await.unwrap();
        for absent in [AbsentFile::Refused, AbsentFile::Empty] {
            let found = absent.within(open(url)).await;
            assert!(found.has_table("users").await.unwrap());
        }
    });
}

#[test]
fn provisional_file_stays_only_if_something_was_kept_in_it() {
    in_new_folder(async |file, url| {
        let up = async |migrations: Vec<Migration>, handle: Option<&mut Option<Database>>| {
            let work = async {
                let db = open(url).await;
                let outcome = Migrator::new(&db, migrations).unwrap().up(None).await;
                if let Some(handle) = handle {
                    *handle = Some(db);
                }
                outcome
            };
            AbsentFile::Provisional.within(work).await
        };
        let left = || file.parent().unwrap().read_dir().unwrap().count();
        let mut handle = None;
        assert!(up(vec![broken()], Some(&mut handle)).await.is_err());
        assert_eq!(left(), 0, "also where its database is still open");
        let closed = handle.unwrap().query("select 1", []).await;
        assert!(matches!(closed, Err(Error::Closed { .. })), "{closed:?}");
        assert_eq!(up(Vec::new(), None).await.unwrap(), 0);
        assert_eq!(left(), 0, "nothing was to be applied");
        assert!(up(vec![create_users(), broken()], None).await.is_err());
        assert!(file.exists(), "the first was applied");
        let db = open(url).await;
        assert!(db.has_table("users").await.unwrap());
        drop(db);
        assert!(up(vec![create_users(), broken()], None).await.is_err());
        assert!(file.exists(), "it was there before");
    });
}

#[test]
fn provisional_file_that_is_open_elsewhere_stays() {
    in_new_folder(async |file, url| {
        let other = AbsentFile::Provisional.within(async {
            drop(open(url).await);
            let other = rusqlite::Connection::open(file).unwrap();
            let tables = "select count(*) from sqlite_schema";
            other.query_row(tables, [], |_| Ok(())).unwrap();
            other
        });
        let other = other.await;
        other.execute_batch("create table t(a)").unwrap();
        assert!(open(url).await.has_table("t").await.unwrap());
    });
}

#[test]
fn file_that_is_removed_while_it_is_opened_is_created_again() {
    in_new_folder(async |file, url| {
        let other = rusqlite::Connection::open(file).unwrap();
        other.execute_batch("begin exclusive").unwrap();
        let remove = async {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            std::fs::remove_file(file).unwrap();
            drop(other);
        };
        let (db, ()) = tokio::join!(open(url), remove);
        db.create(&users()).await.unwrap();
        assert!(file.exists());
    });
}

#[test]
fn failed_migration_has_the_database_error_as_source() {
    check(async |db| {
        let all = [create_users(), add_nick(), broken()];
        let failed = Migrator::new(&db, all).unwrap().up(None).await;
        let Err(Error::MigrationFailed { source, .. }) = failed else {
            panic!("{failed:?}");
        };
        assert!(matches!(
            source.as_deref(),
            Some(Error::UndefinedTable { .. })
        ));
    });
}

#[test]
fn a_database_that_is_closed_is_no_failure_of_a_migration() {
    check(async |db| {
        if db.scheme() == "sqlite" {
            return; // Its engine ends with its last clone only.
        }
        let none = Migrator::new(&db, []).unwrap();
        none.up(None).await.unwrap();
        let other = db.clone();
        let migrator = Migrator::new(&db, [create_users()]).unwrap();
        let closed = migrator.on_event(move |_| other.close()).up(None).await;
        assert!(matches!(closed, Err(Error::Closed { .. })), "{closed:?}");
    });
}

#[test]
fn migration_whose_commit_was_lost_is_as_the_server_says_afterwards() {
    check(async |db| {
        if db.scheme() != "postgres" {
            return;
        }
        let ends = Migration::new("1_ends", "", async |tx: Rc<Transaction>| {
            let all = [
                "create table t (a int)",
                "create function gone() returns trigger language plpgsql as \
                 'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'",
                "create constraint trigger gone after insert on t deferrable initially deferred \
                 for each row execute function gone()",
                "insert into t values (1)",
            ];
            for sql in all {
                tx.execute(sql, []).await?;
            }
            Ok::<(), Error>(())
        });
        let lost = Migrator::new(&db, [ends]).unwrap().up(None).await;
        let lost = lost.unwrap_err();
        assert!(matches!(lost, Error::MigrationFailed { .. }), "{lost:?}");
        let message = lost.to_string();
        let expected = "1_ends failed (up), nothing of it was kept: ";
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains("was lost"), "{message}");
        let tables = "select count(*) as n from pg_class where relname = 't'";
        let rows = db.query(tables, []).await.unwrap();
        assert_eq!(
            rows.first().unwrap().value(0),
            Some(tsumugi_db::ValueRef::Integer(0))
        );
    });
}

#[test]
fn change_that_waits_for_its_own_transaction_fails_soon() {
    with_url(async |url| {
        let mut options = Options::default();
        options.schema_wait = std::time::Duration::from_secs(2);
        options.acquire_timeout = std::time::Duration::from_secs(30); // a busy machine connects slowly
        let db = Database::connect(&url, options).await.unwrap();
        let tx = db.begin(Default::default()).await.unwrap();
        assert!(tx.create(&users()).await.unwrap());
        let pets = Table::new("pets").column(increments("id"));
        let bounded = std::time::Duration::from_secs(60);
        let waited = tokio::time::timeout(bounded, db.create(&pets)).await;
        let waited = waited.expect("schema_wait ends it").unwrap_err();
        assert!(
            matches!(
                waited,
                Error::PoolTimeout {
                    limit: "schema_wait",
                    ..
                }
            ),
            "{waited:?}"
        );
        tx.roll_back().await.unwrap();
        db.close();
    });
}

#[test]
fn change_that_would_wait_for_its_own_transaction_is_refused_at_once() {
    with_url(async |url| {
        let (db, again) = (open(&url).await, open(&url).await);
        let refused = |outcome: Result<()>| {
            let error = outcome.unwrap_err();
            assert!(matches!(error, Error::Usage { .. }), "{error:?}");
            let message = error.to_string();
            assert!(message.contains("would wait for the one"), "{message}");
        };
        let tx = db.begin(Default::default()).await.unwrap();
        assert!(tx.create(&users()).await.unwrap());
        db.inside(async {
            for db in [&db, &again] {
                refused(db.create(&users()).await.map(drop));
                let migrator = Migrator::new(db, [create_users()]).unwrap();
                refused(migrator.up(None).await.map(drop));
                let seed = async |_: Rc<Transaction>| Ok::<(), Error>(());
                refused(db.seed("users", seed).await.map(drop));
            }
        })
        .await;
        tx.roll_back().await.unwrap();
        // So it is in a migration, whose transaction is the migrator's.
        let inner = db.clone();
        let nested = Migration::new("1_nested", "", async move |_: Rc<Transaction>| {
            inner.create(&users()).await.map(drop)
        });
        let failed = Migrator::new(&db, [nested]).unwrap().up(None).await;
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("would wait for the one"), "{message}");
        assert!(db.create(&users()).await.unwrap());
        again.close();
        db.close();
    });
}

/// What has been logged of databases whose options ask for it. The threads of SQLite's engine write it, so it is the process's.
static LOG: LazyLock<LogBuffer> = LazyLock::new(|| LogBuffer::of_process(tracing::Level::TRACE));

#[test]
fn statements_that_no_author_has_written_are_logged_at_trace() {
    with_url(async |url| {
        let mut options = Options::default();
        options.log = tsumugi_db::StatementLog::Statements;
        LOG.take();
        let db = Database::connect(&url, options).await.unwrap();
        let migrator = Migrator::new(&db, [create_users(), add_nick()]).unwrap();
        migrator.up(None).await.unwrap();
        migrator.up(None).await.unwrap();
        db.create(&users().column(string("nick", 5).default("x")))
            .await
            .unwrap();
        let lines = LOG.take();
        let loud: Vec<&str> = lines
            .lines()
            .filter(|line| line.contains("DEBUG tsumugi_db: sql="))
            .collect();
        let expected = ["create table", "alter table", "insert into users"];
        for (line, start) in loud.iter().zip(expected) {
            assert!(line.contains(start), "{start}: {line}");
        }
        assert_eq!(loud.len(), expected.len(), "{loud:#?}");
        for part in ["tsumugi_migrations", "COMMIT"] {
            let is_traced = |line: &str| line.contains("TRACE tsumugi_db") && line.contains(part);
            assert!(lines.lines().any(is_traced), "{part}: {lines}");
        }
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let savepoints = async {
            tx.savepoint().await.unwrap().release().await.unwrap();
            tx.savepoint().await.unwrap().roll_back().await.unwrap();
        };
        LOG.take();
        tsumugi_db::bookkeeping(savepoints).await;
        let lines = LOG.take().to_uppercase();
        let savepoints: Vec<&str> = lines
            .lines()
            .filter(|line| line.contains("SAVEPOINT"))
            .collect();
        assert!(savepoints.len() >= 2, "{lines}");
        let is_traced = |line: &&str| line.contains("TRACE");
        assert!(savepoints.iter().all(is_traced), "{savepoints:#?}");
        tx.roll_back().await.unwrap();
        db.close();
    });
}
