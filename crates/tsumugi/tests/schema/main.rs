//! Tables, migrations, seeds and keys of an application in Rust, on SQLite in memory. What they do on each database is tested below, in db.
//! Rule: a migration here is a module, as in applications.

use std::cell::Cell;

use serde::Serialize;
use tsumugi::{Db, Error, Migration, Plugin, Result, Router, Tx, Worker, trial};
use tsumugi_db::TransactionOptions;
use tsumugi_db::schema::State;
use tsumugi_sql::col;
use tsumugi_sql::schema::{Table, increments, integer, string, text};

mod history;
#[path = "../memory/mod.rs"]
mod memory;

tsumugi::migrations![m1_create_users, m2_add_nick];

struct App {
    db: Db,
}

impl Plugin for App {
    async fn start(_: &Worker) -> Result<App> {
        let db = memory::connect().await?;
        Ok(App { db })
    }
}

fn with_db(test: impl AsyncFn(&Db)) {
    trial::run(Router::<App>::new, async |client| {
        test(&client.state().db).await;
    });
}

#[derive(Serialize)]
struct Named {
    name: &'static str,
}

const AN: Named = Named { name: "an" };

#[test]
fn modules_are_migrations_that_are_applied_once() {
    with_db(async |db| {
        assert_eq!(db.migrate(migrations()).await.unwrap(), 2);
        assert_eq!(db.migrate(migrations()).await.unwrap(), 0);
        let nick: Option<String> = db.table("users").select("nick").first().await.unwrap();
        assert_eq!(nick.as_deref(), Some("bobby"));
        let migrator = db.migrator(migrations()).unwrap();
        let status = migrator.status().await.unwrap();
        let names: Vec<&str> = status.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["1_create_users", "2_add_nick"]);
        assert!(status.iter().all(|one| one.state == State::Applied));
        assert_eq!(migrator.down(Some(2)).await.unwrap(), 2);
        assert!(!db.has_table("users").await.unwrap());
    });
}

#[test]
fn insert_gives_the_key_that_the_table_has() {
    with_db(async |db| {
        let numbered = Table::new("numbered")
            .column(increments("number"))
            .column(string("name", 9));
        let named = Table::new("named")
            .column(string("name", 9).primary())
            .column(text("more").nullable());
        let paired = Table::new("paired")
            .column(string("name", 9))
            .column(integer("n").default(7))
            .primary(["name", "n"]);
        let bare = Table::new("bare").column(string("name", 9));
        for table in [&numbered, &named, &paired, &bare] {
            assert!(db.create(table).await.unwrap());
        }
        assert_eq!(db.table("numbered").insert(AN).await.unwrap(), 1);
        let again = db.table("numbered").insert_key::<i64>(AN).await.unwrap();
        assert_eq!(again, Some(2));
        let name: Option<String> = db.table("named").insert_key(AN).await.unwrap();
        assert_eq!(name.as_deref(), Some("an"));
        let pair: Option<(String, i64)> = db.table("paired").insert_key(AN).await.unwrap();
        assert_eq!(pair, Some(("an".to_owned(), 7)));
        assert_eq!(db.table("bare").insert_key::<i64>(AN).await.unwrap(), None);
        assert_eq!(db.table("bare").count().await.unwrap(), 1);
    });
}

#[test]
fn insert_whose_key_is_no_number_is_refused_before_it_is_one() {
    with_db(async |db| {
        for (name, key) in [("named", true), ("bare", false)] {
            let column = string("name", 9);
            let column = if key { column.primary() } else { column };
            db.create(&Table::new(name).column(column)).await.unwrap();
            let refused = db.table(name).insert(AN).await.unwrap_err().to_string();
            assert!(refused.contains("insert_key gives any key"), "{refused}");
            assert_eq!(db.table(name).count().await.unwrap(), 0);
        }
        let returning = db.table("bare").returning("name").insert(AN).await;
        assert!(
            returning
                .unwrap_err()
                .to_string()
                .contains("say insert_returning")
        );
    });
}

#[test]
fn key_of_a_recreated_table_is_the_new_one() {
    with_db(async |db| {
        let name = string("name", 9).nullable();
        let first = Table::new("t")
            .column(increments("id"))
            .column(name.clone());
        db.create(&first).await.unwrap();
        db.table("t").insert(AN).await.unwrap();
        db.drop_table("t").await.unwrap();
        let second = Table::new("t").column(increments("number")).column(name);
        db.create(&second).await.unwrap();
        assert_eq!(db.table("t").insert(AN).await.unwrap(), 1);
        // Made by others, it is known after the first time that it is not understood.
        db.execute_script("drop table t; create table t(other integer primary key, name text)")
            .await
            .unwrap();
        assert!(db.table("t").insert(AN).await.is_err());
        assert_eq!(db.table("t").insert(AN).await.unwrap(), 1);
    });
}

#[test]
fn seeds_fill_an_empty_table_and_an_error_of_theirs_is_given_as_it_is() {
    with_db(async |db| {
        db.migrate(migrations()).await.unwrap();
        db.table("users").all_rows().delete().await.unwrap();
        let refused = db
            .seed("users", async |tx: &Tx| {
                tx.table("users").insert(AN).await?;
                Err(Error::conflict("no more"))
            })
            .await;
        assert_eq!(refused.unwrap_err().to_string(), "no more");
        let seed = async || {
            let seed = async |tx: &Tx| tx.table("users").insert(AN).await.map(drop);
            db.seed("users", seed).await.unwrap()
        };
        assert!(seed().await);
        assert!(!seed().await);
        let an = db.table("users").filter(col("name").eq("an"));
        assert_eq!(an.count().await.unwrap(), 1);
    });
}

#[test]
fn migrations_of_a_file_that_is_no_root_are_in_its_folder() {
    with_db(async |db| {
        assert_eq!(db.migrate(history::migrations()).await.unwrap(), 1);
        let pet: Option<String> = db.table("pets").select("name").first().await.unwrap();
        assert_eq!(pet.as_deref(), Some("rex"));
    });
}

#[test]
fn key_of_a_rolled_back_table_is_dropped() {
    with_db(async |db| {
        let named = string("name", 9).nullable();
        let with = |key: &str| {
            let table = Table::new("t").column(increments(key));
            table.column(named.clone())
        };
        db.create(&with("id")).await.unwrap();
        let undone = db
            .tx(async |tx: &Tx| {
                tx.drop_table("t").await?;
                tx.create(&with("number")).await?;
                assert_eq!(tx.table("t").insert(AN).await?, 1);
                Err::<(), _>(Error::conflict("undone"))
            })
            .await;
        assert!(undone.is_err());
        assert_eq!(db.table("t").insert(AN).await.unwrap(), 1);
        db.tx(async |tx: &Tx| {
            tx.drop_table("t").await?;
            tx.create(&with("number")).await.map(drop)
        })
        .await
        .unwrap();
        assert_eq!(db.table("t").insert(AN).await.unwrap(), 1);
    });
}

#[test]
fn transaction_is_run_again_after_an_error_that_is_retryable_and_no_other() {
    with_db(async |db| {
        let tries = Cell::new(0);
        let run = async |retries: u32, error: fn() -> tsumugi_db::Error| {
            tries.set(0);
            let work = async |_: &Tx| {
                tries.set(tries.get() + 1);
                match tries.get() {
                    3 => Ok(()),
                    _ => Err(Error::from(error())),
                }
            };
            let options = TransactionOptions::default();
            let outcome = db.tx_with_retries(retries, options, work).await;
            (outcome.is_ok(), tries.get())
        };
        let lost = || tsumugi_db::Error::LostUncommitted {
            reason: "gone".to_owned(),
        };
        let unknown = || tsumugi_db::Error::CommitUnknown {
            xid: Some(7),
            reason: "gone".to_owned(),
        };
        assert_eq!(run(1, lost).await, (false, 2));
        assert_eq!(run(2, lost).await, (true, 3));
        assert_eq!(run(2, unknown).await, (false, 1));
    });
}

#[test]
fn key_of_a_table_made_by_sql_ends_with_the_transaction() {
    with_db(async |db| {
        db.execute_script("create table t(name text)")
            .await
            .unwrap();
        let undone = db
            .tx(async |tx: &Tx| {
                tx.execute_script("drop table t; create table t(name text primary key)")
                    .await?;
                let key: Option<String> = tx.table("t").insert_key(AN).await?;
                assert_eq!(key.as_deref(), Some("an"));
                Err::<(), _>(Error::conflict("undone"))
            })
            .await;
        assert!(undone.is_err());
        let key: Option<String> = db.table("t").insert_key(AN).await.unwrap();
        assert_eq!(key, None);
    });
}

#[test]
fn schema_change_beside_its_own_transaction_is_refused() {
    with_db(async |db| {
        let refused = db
            .tx(async |tx: &Tx| {
                let table = Table::new("t").column(increments("id"));
                tx.create(&table).await?;
                let seeded = db.seed("t", async |_: &Tx| Ok::<(), Error>(())).await;
                let outcomes = [
                    db.migrate(migrations()).await.map(drop),
                    seeded.map(drop),
                    db.create(&table).await.map(drop),
                    db.drop_table("t").await,
                ];
                Ok::<_, Error>(outcomes.map(|outcome| outcome.unwrap_err().to_string()))
            })
            .await
            .unwrap();
        for refused in refused {
            assert!(refused.contains("would wait for the one"), "{refused}");
        }
        assert_eq!(db.migrate(migrations()).await.unwrap(), 2);
    });
}

#[test]
fn keys_are_forgotten_as_a_migrator_applies_and_undoes() {
    with_db(async |db| {
        let with = |key: &'static str| {
            Table::new("t")
                .column(increments(key))
                .column(string("name", 9))
        };
        db.create(&with("id")).await.unwrap();
        assert_eq!(db.table("t").insert(AN).await.unwrap(), 1);
        let again = Migration::new("1_again", "", async move |tx: &Tx| {
            tx.drop_table("t").await?;
            tx.create(&with("number")).await.map(drop)
        });
        let migrator = db.migrator([again]).unwrap();
        assert_eq!(migrator.up(None).await.unwrap(), 1);
        assert_eq!(db.table("t").insert(AN).await.unwrap(), 1);
    });
}

#[test]
fn insert_into_a_table_that_is_not_there_says_so() {
    with_db(async |db| {
        let missing = db.table("taks").insert(AN).await.unwrap_err().to_string();
        assert!(missing.contains("no such table: taks"), "{missing}");
        db.execute_script(
            "create table t(id integer primary key, name text); create view v as select * from t",
        )
        .await
        .unwrap();
        let view = db.table("v").insert(AN).await.unwrap_err().to_string();
        assert!(
            view.contains("no primary key, as no view has one"),
            "{view}"
        );
    });
}

#[test]
fn every_kind_of_whole_number_of_sqlite_is_a_key_of_one() {
    with_db(async |db| {
        for kind in ["int8", "integer(11)", "bigint unsigned", "INTEGER"] {
            let table = format!("create table t(id {kind} primary key, name text)");
            db.execute_script(table).await.unwrap();
            let row = serde_json::json!({ "id": 7, "name": "an" });
            assert_eq!(db.table("t").insert(row).await.unwrap(), 7, "{kind}");
            db.drop_table("t").await.unwrap();
        }
    });
}
