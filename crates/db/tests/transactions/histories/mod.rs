//! Random histories of several callers on one connection or two, compared with a model: statements by themselves and in transactions, that
//! succeed, fail, are stopped by `statement_timeout`, or are left at any point. A few here; TSUMUGI_HISTORIES=10000 makes it a part of `make soak`, TSUMUGI_HISTORY=SEED
//! runs one again. Rule: what is acknowledged is there once, what failed is not, what was left is there wholly or not at all, a transaction
//! stands or falls as one, everybody reads what was acknowledged before, and no caller gets an error for what another did. What was stopped is
//! there wholly or not at all outside of a transaction, and in one that is committed all the same it is not.

mod open;
mod program;
mod run;
mod sql;

use tsumugi_db::{Database, Options};
use tsumugi_testkit::Dice;

use crate::{Kind, run as on_runtime};
use program::Program;
use run::History;

/// Histories in one test, unless the environment says otherwise.
const HISTORIES: u64 = 100;
/// Long runs say how far they are after so many histories.
const PROGRESS_EVERY: u64 = 500;
/// How often a shorter history is tried before it counts as one that does not fail.
const TRIES: usize = 4;
/// Shorter histories that are tried at most.
const SHORTER_MAX: usize = 150;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

fn check(kind: Kind, url: &str) {
    let seeds = match number("TSUMUGI_HISTORY") {
        Some(seed) => seed..seed + 1,
        None => 1..number("TSUMUGI_HISTORIES").unwrap_or(HISTORIES) + 1,
    };
    let count = seeds.end - seeds.start;
    on_runtime(async {
        let setup = Database::connect(url, Options::default()).await.unwrap();
        sql::set_up(&setup, kind).await;
        let mut next_id = 1;
        let mut calls = 0;
        for seed in seeds {
            let program = Program::random(&Dice::new(seed), kind);
            calls += program.calls();
            let violations = History::run(&program, kind, url, &mut next_id).await;
            if let Err(violation) = violations {
                let (shortest, violation) =
                    shorten(program, violation, kind, url, &mut next_id).await;
                panic!(
                    "{kind:?}, TSUMUGI_HISTORY={seed}: {violation}\nthe shortest history found:\n{shortest}"
                );
            }
            if seed % PROGRESS_EVERY == 0 {
                println!("{kind:?}: {seed} histories so far, {calls} calls");
            }
        }
        println!("{kind:?}: {count} histories, {calls} calls, no violation");
        setup.close();
    });
}

/// Leaves out what can be left out so that it fails all the same.
async fn shorten(
    mut program: Program,
    mut violation: String,
    kind: Kind,
    url: &str,
    next_id: &mut i64,
) -> (Program, String) {
    let mut tried = 0;
    let mut at = 0;
    while let Some(shorter) = program.without(at) {
        let mut failed = None;
        for _ in 0..TRIES {
            failed = History::run(&shorter, kind, url, next_id).await.err();
            tried += 1;
            if failed.is_some() {
                break;
            }
        }
        match failed {
            Some(failed) => (program, violation) = (shorter, failed),
            None => at += 1,
        }
        if tried >= SHORTER_MAX {
            break;
        }
    }
    (program, violation)
}

#[test]
fn on_sqlite_every_history_is_that_of_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("test.db");
    check(Kind::Sqlite, &format!("sqlite:{}", file.display()));
}

#[test]
fn on_postgresql_every_history_is_that_of_the_model() {
    let database = tsumugi_testkit::postgres::Server::shared().database();
    check(Kind::Postgres, &database.url());
}

#[test]
fn on_firebird_every_history_is_that_of_the_model() {
    let database = tsumugi_testkit::firebird::Server::shared().database();
    check(Kind::Firebird, &database.url());
}
