//! Migrations of both faces on one database: each sees what the other has applied, and both report the same of it.

use std::path::Path;

use tsumugi::{Error, Migration, Result, Tx, trial};

use crate::application::App;
use crate::{Engine, on_each};

const ONE: &str = "up { db.create(:one) { increments :id } }\n";
const TWO: &str = "up { db.create(:two) { increments :id } }\n";
const BROKEN: &str = "up { db.create(:three) { increments :id }; raise 'no luck' }\n";

/// What `db.migrate` of Ruby answers with the files of a folder.
async fn in_ruby(client: &trial::Client<App>, folder: &Path) -> String {
    let folder = folder.display().to_string();
    let reply = client.post("/ruby/migrate").json(&folder).await;
    reply
        .text()
        .replace("DB::MigrationFailed: ", "")
        .replace(".rb", "")
}

/// What Rust's answers with migrations of the same names and texts; only the broken one does anything.
async fn in_rust(client: &trial::Client<App>, files: &[(&str, &str)]) -> String {
    let migration = |(name, text): &(&str, &str)| {
        let is_broken = *text == BROKEN;
        Migration::new(name, text, async move |_: &Tx| -> Result<()> {
            match is_broken {
                true => Err(Error::unauthorized("no luck")),
                false => Ok(()),
            }
        })
    };
    let applied = client.state().db.migrate(files.iter().map(migration)).await;
    applied.map_or_else(|error| error.to_string(), |count| count.to_string())
}

#[test]
fn migration_that_one_face_has_applied_is_applied_to_the_other_and_each_reports_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    on_each(
        |_| "create table numbers (id bigint not null primary key);".to_owned(),
        async |engine, client| {
            let write = |files: &[(&str, &str)]| {
                for entry in folder.read_dir().unwrap() {
                    std::fs::remove_file(entry.unwrap().path()).unwrap();
                }
                for (name, text) in files {
                    std::fs::write(folder.join(format!("{name}.rb")), text).unwrap();
                }
            };
            let same = async |files: &[(&str, &str)], expected: &str| {
                write(files);
                for (face, answer) in [
                    ("ruby", in_ruby(client, folder).await),
                    ("rust", in_rust(client, files).await),
                ] {
                    // The class of an exception is Ruby's own.
                    let answer = answer.replace("RuntimeError: ", "");
                    assert!(answer.starts_with(expected), "{engine:?}, {face}: {answer}");
                }
            };
            let (one, two) = (("1_one", ONE), ("2_two", TWO));
            write(&[one]);
            assert_eq!(in_ruby(client, folder).await, "1");
            assert_eq!(in_rust(client, &[one, two]).await, "1");
            same(&[one, two], "0").await;
            let changed = "1_one is not what was applied: put it back, or write a new migration; ";
            same(&[("1_one", TWO), two], changed).await;
            let broken = "3_broken failed (up), nothing of it was kept: no luck";
            same(&[one, two, ("3_broken", BROKEN)], broken).await;
            let unnamed = "three is no name of a migration: 20260131120000_what_it_does is";
            same(&[one, ("three", TWO)], unnamed).await;
            let twice = "01_other and 1_one have the same number";
            same(&[("01_other", TWO), one], twice).await;
            let mut status = client
                .state()
                .db
                .migrator([])
                .unwrap()
                .status()
                .await
                .unwrap();
            let names = status
                .drain(..)
                .map(|one| format!("{} {}", one.name, one.state));
            let names: Vec<String> = names.collect();
            assert_eq!(names, ["1_one unknown", "2_two unknown"], "{engine:?}");
        },
    );
}

/// Ends their own connection at the commit.
const ENDS: [&str; 4] = [
    "create table t (a int)",
    "create function gone() returns trigger language plpgsql as \
     'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'",
    "create constraint trigger gone after insert on t deferrable initially deferred for each row execute function gone()",
    "insert into t values (1)",
];

#[test]
fn migration_whose_commit_is_lost_is_as_the_server_says_in_both_faces() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    on_each(
        |_| "create table numbers (id bigint not null primary key);".to_owned(),
        async |engine, client| {
            if engine != Engine::Postgres {
                return;
            }
            let statements = ENDS.map(|sql| format!("  db.execute {sql:?}\n")).concat();
            let file = folder.join("1_ends.rb");
            std::fs::write(file, format!("up do\n{statements}end\n")).unwrap();
            let in_ruby = in_ruby(client, folder).await;
            let ends = Migration::new("1_ends", "", async |tx: &Tx| {
                for sql in ENDS {
                    tx.execute(sql, []).await?;
                }
                Ok(())
            });
            let in_rust = client.state().db.migrate([ends]).await.unwrap_err();
            for answer in [in_ruby, in_rust.to_string()] {
                let expected = "1_ends failed (up), nothing of it was kept: ";
                assert!(answer.starts_with(expected), "{answer}");
                assert!(answer.contains("was lost"), "{answer}");
            }
        },
    );
}
