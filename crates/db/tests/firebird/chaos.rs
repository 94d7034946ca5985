//! The server is killed while tasks move money and ask for what is theirs. Short here; with TSUMUGI_CHAOS_ROUNDS=20 it is a part of
//! `make soak`. Rule: every call ends, errors are those of a server that goes away, no answer is another caller's, no money is lost, and
//! the same pool goes on by itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tsumugi_db::{
    Database, Error, Isolation, Options, Row, Transaction, TransactionOptions, ValueRef, values,
};
use tsumugi_testkit::Dice;
use tsumugi_testkit::firebird::{Options as FirebirdOptions, Server};

use super::run;

const POOL: usize = 5;
const ACCOUNTS: i64 = 10;
const SUM: i64 = 10_000;
/// Above all limits of the pool below, and generous.
const EVERY_CALL: Duration = Duration::from_secs(30);
const RECOVERY: Duration = Duration::from_secs(60);
/// Answers between two deaths.
const ANSWERS: u64 = 50;
/// What a caller may hear of a server that goes away, or of others who change the same rows.
const EXPECTED: [&str; 7] = [
    "CommitUnknown",
    "ConnectionLost",
    "PoolTimeout",
    "QueryCanceled",
    "SerializationFailure",
    "DeadlockDetected",
    "TransactionRolledBack",
];

/// What load and destroyer tell each other.
#[derive(Default)]
struct Shared {
    /// Calls answered well.
    good: AtomicU64,
    ended: AtomicBool,
}

struct Load<'a> {
    db: Database,
    shared: &'a Shared,
    dice: Dice,
    errors: RefCell<BTreeMap<&'static str, u64>>,
}

impl Load<'_> {
    fn below(&self, end: i64) -> i64 {
        i64::try_from(self.dice.below(end.unsigned_abs())).unwrap()
    }

    async fn run(&self, mut call: impl AsyncFnMut(&Self) -> Result<(), Error>) {
        while !self.shared.ended.load(Relaxed) {
            let outcome = timeout(EVERY_CALL, call(self)).await;
            match outcome.expect("a call ends within its own limits") {
                Ok(()) => {
                    self.shared.good.fetch_add(1, Relaxed);
                }
                Err(error) => {
                    let kind = error.kind();
                    assert!(EXPECTED.contains(&kind), "{kind}: {error}");
                    assert!(!error.to_string().is_empty());
                    *self.errors.borrow_mut().entry(kind).or_default() += 1;
                    sleep(Duration::from_millis(5)).await;
                }
            }
        }
    }
}

/// An answer that belongs to nobody else.
async fn ask(load: &Load<'_>) -> Result<(), Error> {
    let key = load.below(1 << 30);
    let sql = "select cast(? as bigint) a, 'k' || cast(? as bigint) b from rdb$database";
    let rows = load.db.query(sql, values![key, key]).await?;
    let row = rows.first().unwrap();
    assert_eq!(row.value(0), Some(ValueRef::Integer(key)));
    assert_eq!(row.value(1), Some(ValueRef::Text(&format!("k{key}"))));
    Ok(())
}

async fn move_money(load: &Load<'_>) -> Result<(), Error> {
    let (from, to) = (load.below(ACCOUNTS), load.below(ACCOUNTS));
    let amount = load.below(50);
    let transaction = load.db.begin(TransactionOptions::default()).await?;
    let change = "update account set balance = balance + ? where id = ?";
    transaction.execute(change, values![-amount, from]).await?;
    if load.below(10) == 0 {
        return Ok(()); // dropped half-way
    }
    transaction.execute(change, values![amount, to]).await?;
    transaction.commit().await
}

/// What is on every account.
async fn balances(transaction: &Transaction) -> Result<Vec<i64>, Error> {
    let sql = "select balance from account order by id";
    let rows = transaction.query(sql, []).await?;
    let balance = |row: Row<'_>| match row.value(0) {
        Some(ValueRef::Integer(balance)) => balance,
        other => panic!("{other:?} is no balance"),
    };
    Ok(rows.iter().map(balance).collect())
}

/// Every account is there and no money is lost. When not, the panic shows the accounts, in the same picture twice.
async fn check_the_sum(db: &Database) -> Result<(), Error> {
    // One picture: otherwise a row may be read before a commit and another after it.
    let mut options = TransactionOptions::read_only();
    options.isolation = Isolation::RepeatableRead;
    let transaction = db.begin(options).await?;
    let first = balances(&transaction).await?;
    if (first.len() as i64, first.iter().sum()) != (ACCOUNTS, SUM) {
        let again = balances(&transaction).await;
        panic!("{first:?} is not {SUM} on {ACCOUNTS} accounts; looked at once more: {again:?}");
    }
    transaction.roll_back().await
}

async fn keep_checking(load: &Load<'_>) -> Result<(), Error> {
    check_the_sum(&load.db).await?;
    sleep(Duration::from_millis(2)).await;
    Ok(())
}

/// Kills the server, one round after the other. After each the load must get answers again by itself.
fn destroy(server: &Server, shared: &Shared, rounds: u64) {
    for _ in 0..rounds {
        recovers(shared);
        server.kill_9();
        server.start_again();
    }
    recovers(shared);
}

fn recovers(shared: &Shared) {
    let until = Instant::now() + RECOVERY;
    let before = shared.good.load(Relaxed);
    while shared.good.load(Relaxed) < before + ANSWERS && !shared.ended.load(Relaxed) {
        assert!(Instant::now() < until, "no answers after RECOVERY");
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the thread of the destroyer serves nobody"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Rounds of this test; `make soak` asks for more.
fn rounds() -> u64 {
    let name = "TSUMUGI_CHAOS_ROUNDS";
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}")),
        Err(_) => 2,
    }
}

async fn under_load(db: &Database, shared: &Shared) {
    let load = Load {
        db: db.clone(),
        shared,
        dice: Dice::new(1),
        errors: RefCell::default(),
    };
    let pairs = (0..3).map(async |_| {
        tokio::join!(load.run(ask), load.run(ask), load.run(move_money));
    });
    tokio::join!(
        futures_util::future::join_all(pairs),
        load.run(keep_checking)
    );
    println!(
        "soak     firebird {} calls answered, errors: {:?}",
        shared.good.load(Relaxed),
        load.errors.borrow()
    );
}

/// Bytes of the database's pages, to see what a kill does to larger ones than the throwaway server's.
fn page_bytes() -> Option<u32> {
    let name = "TSUMUGI_CHAOS_PAGE_BYTES";
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

#[test]
fn killed_servers_lose_no_money_and_mix_no_answers() {
    let server = match page_bytes() {
        Some(bytes) => FirebirdOptions::default().page_bytes(bytes).start(),
        None => Server::start(),
    };
    let database = server.database();
    let accounts: String = (0..ACCOUNTS)
        .map(|id| format!("insert into account values ({id}, {});\n", SUM / ACCOUNTS))
        .collect();
    database.isql(&format!(
        "create table account (id int not null primary key, balance bigint not null);\ncommit;\n{accounts}commit;\n"
    ));
    let url = database.url()
        + &format!(
            "?pool={POOL}&acquire_timeout_ms=4000&statement_timeout_ms=5000&busy_timeout_ms=1000"
        );
    // Whose fault it is that money is missing, the file tells.
    let outcome = catch_unwind(AssertUnwindSafe(|| destroyed_under_load(&server, &url)));
    if let Err(cause) = outcome {
        eprintln!("{}", database.examine());
        resume_unwind(cause);
    }
}

fn destroyed_under_load(server: &Server, url: &str) {
    let shared = Shared::default();
    std::thread::scope(|scope| {
        let destroyer = scope.spawn(|| {
            let ended = catch_unwind(AssertUnwindSafe(|| destroy(server, &shared, rounds())));
            // However it ended, the load does too.
            shared.ended.store(true, Relaxed);
            ended.unwrap_or_else(|cause| resume_unwind(cause));
        });
        run(async {
            let ended = End(&shared);
            let db = Database::connect(url, Options::default()).await.unwrap();
            under_load(&db, &shared).await;
            check_the_sum(&db).await.unwrap();
            assert!(db.snapshot().connections <= POOL);
            db.close();
            drop(ended);
        });
        destroyer.join().unwrap();
    });
}

/// The destroyer stops when the load has failed.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ended.store(true, Relaxed);
    }
}
