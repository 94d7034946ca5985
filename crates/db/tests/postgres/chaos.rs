//! Backends and the whole server are killed and frozen while tasks move money and ask for what is theirs. Short here; with
//! TSUMUGI_CHAOS_ROUNDS=20 it is a part of `make soak`. Rule: every call ends, no answer is another caller's, no money is lost,
//! what a commit came to is what the caller was answered, and nothing is left over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tsumugi_db::{Database, Error, Options, TransactionOptions, ValueRef, values};
use tsumugi_testkit::Dice;
use tsumugi_testkit::postgres::{Server, User};

const POOL: usize = 5;
const ACCOUNTS: u64 = 20;
const SUM: i64 = 20_000;
/// What is acknowledged survives the death of the server.
pub(crate) const DURABLY: &str = "&options=-c%20synchronous_commit%3Don";
/// Above all limits of the pool below, and generous.
const EVERY_CALL: Duration = Duration::from_secs(30);
const RECOVERY: Duration = Duration::from_secs(60);

/// What load and destroyer tell each other.
#[derive(Default)]
struct Shared {
    /// Calls answered well.
    good: AtomicU64,
    ended: AtomicBool,
}

/// The load's own.
struct Load {
    db: Database,
    shared: Arc<Shared>,
    dice: Dice,
    errors: RefCell<BTreeMap<&'static str, u64>>,
    /// What was answered of each transfer, by its number.
    transfers: RefCell<Vec<Answer>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Committed,
    RolledBack,
    Unknown,
}

impl Load {
    fn goes_on(&self) -> bool {
        !self.shared.ended.load(Relaxed)
    }

    /// Counts how a call ended; errors must be those of a server that goes away.
    fn judge(&self, outcome: Result<(), Error>) {
        let Err(error) = outcome else {
            self.shared.good.fetch_add(1, Relaxed);
            return;
        };
        let kind = error.kind();
        let expected = [
            "CommitUnknown",
            "ConnectionLost",
            "PoolTimeout",
            "QueryCanceled",
            "SerializationFailure",
            "DeadlockDetected",
            "TransactionRolledBack",
        ];
        assert!(expected.contains(&kind), "{kind}: {error}");
        assert!(!error.to_string().is_empty());
        *self.errors.borrow_mut().entry(kind).or_default() += 1;
    }

    async fn run(self: Rc<Self>, mut call: impl AsyncFnMut(&Load) -> Result<(), Error>) {
        while self.goes_on() {
            let outcome = timeout(EVERY_CALL, call(&self)).await;
            let outcome = outcome.expect("a call ends within its own limits");
            let failed = outcome.is_err();
            self.judge(outcome);
            if failed {
                sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

/// An answer that belongs to nobody else.
async fn ask(load: &Load) -> Result<(), Error> {
    let key = i64::try_from(load.dice.below(1 << 30)).unwrap();
    let rows = load
        .db
        .query(
            "select ?::int8 as a, 'k' || ?::int8 as b",
            values![key, key],
        )
        .await?;
    let row = rows.first().unwrap();
    assert_eq!(row.value(0), Some(ValueRef::Integer(key)));
    assert_eq!(row.value(1), Some(ValueRef::Text(&format!("k{key}"))));
    Ok(())
}

async fn read_a_row(load: &Load) -> Result<(), Error> {
    let id = i64::try_from(load.dice.below(1_000)).unwrap();
    let rows = load
        .db
        .query("select name from item where id = ?", values![id])
        .await?;
    let name = format!("item {id}");
    assert_eq!(rows.first().unwrap().value(0), Some(ValueRef::Text(&name)));
    Ok(())
}

async fn move_money(load: &Load) -> Result<(), Error> {
    let number = load.transfers.borrow().len();
    load.transfers.borrow_mut().push(Answer::Unknown);
    let moved = transfer(load, i64::try_from(number).unwrap()).await;
    let answer = match &moved {
        Ok(answer) => *answer,
        Err(Error::CommitUnknown { .. }) => Answer::Unknown,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains("may or may not have run"), "{text}");
            Answer::RolledBack
        }
    };
    load.transfers.borrow_mut()[number] = answer;
    moved.map(drop)
}

async fn transfer(load: &Load, number: i64) -> Result<Answer, Error> {
    let from = i64::try_from(load.dice.below(ACCOUNTS)).unwrap();
    let to = i64::try_from(load.dice.below(ACCOUNTS)).unwrap();
    let amount = i64::try_from(load.dice.below(50)).unwrap();
    let transaction = load.db.begin(TransactionOptions::default()).await?;
    let change = "update account set balance = balance + ? where id = ?";
    transaction.execute(change, values![-amount, from]).await?;
    let note = "insert into transfer values (?)";
    transaction.execute(note, values![number]).await?;
    if load.dice.below(10) == 0 {
        return Ok(Answer::RolledBack); // dropped half-way
    }
    transaction.execute(change, values![amount, to]).await?;
    transaction.commit().await?;
    Ok(Answer::Committed)
}

/// What was answered of transfers, against the table: none acknowledged is missing, none that was rolled back is there.
async fn check_transfers(db: &Database, answers: &[Answer]) {
    let rows = db.query("select number from transfer", []).await.unwrap();
    let mut kept = vec![0; answers.len()];
    for row in rows.iter() {
        match row.value(0) {
            Some(ValueRef::Integer(number)) => kept[usize::try_from(number).unwrap()] += 1,
            other => panic!("{other:?}"),
        }
    }
    for (number, (answer, kept)) in answers.iter().zip(kept).enumerate() {
        let expected = match answer {
            Answer::Committed => 1,
            Answer::RolledBack => 0,
            Answer::Unknown => kept,
        };
        assert_eq!(kept, expected, "transfer {number} was {answer:?}");
    }
    let count = |wanted: Answer| answers.iter().filter(|answer| **answer == wanted).count();
    println!(
        "soak     pool     transfers: {} committed, {} rolled back, {} unknown",
        count(Answer::Committed),
        count(Answer::RolledBack),
        count(Answer::Unknown)
    );
}

async fn sum(db: &Database) -> Result<i64, Error> {
    let rows = db
        .query("select sum(balance)::int8 from account", [])
        .await?;
    match rows.first().unwrap().value(0) {
        Some(ValueRef::Integer(sum)) => Ok(sum),
        other => panic!("{other:?}"),
    }
}

async fn check_the_sum(load: &Load) -> Result<(), Error> {
    assert_eq!(sum(&load.db).await?, SUM);
    sleep(Duration::from_millis(2)).await;
    Ok(())
}

/// Gives up at some point of a statement or a stream.
async fn give_up(load: &Load) -> Result<(), Error> {
    let patience = Duration::from_micros(load.dice.below(15_000));
    let given_up = async {
        if load.dice.below(2) == 0 {
            load.db.query("select pg_sleep(0.02)", []).await.map(drop)
        } else {
            let mut stream = load
                .db
                .stream("select generate_series(1, 20000)", [])
                .await?;
            while stream.next().await?.is_some() {}
            Ok(())
        }
    };
    timeout(patience, given_up).await.unwrap_or(Ok(()))
}

/// What breaks the server, one round after the other. After each the load must get answers again by itself.
fn destroy(server: &Server, shared: &Shared, rounds: u64) {
    for round in 0..rounds {
        recovers(shared);
        let backends =
            server.psql("select pid from pg_stat_activity where application_name = 'tsumugi'");
        let backends: Vec<i32> = backends.lines().map(|line| line.parse().unwrap()).collect();
        let at =
            |number: u64| backends.get(usize::try_from(number).unwrap() % backends.len().max(1));
        match (round % 4, at(round)) {
            (0, _) => {
                server.kill_9();
                pause(200);
                server.start_again();
            }
            (1, Some(&victim)) => {
                for backend in &backends {
                    if *backend != victim {
                        server.kill_backend(*backend);
                    }
                }
            }
            (2, Some(&victim)) => server.crash_backend(victim),
            (_, Some(&victim)) => {
                server.freeze_backend(victim);
                pause(300);
                server.thaw_backend(victim);
            }
            (_, None) => {}
        }
    }
    recovers(shared);
    shared.ended.store(true, Relaxed);
}

fn recovers(shared: &Shared) {
    let until = Instant::now() + RECOVERY;
    let before = shared.good.load(Relaxed);
    while shared.good.load(Relaxed) < before + 100 {
        assert!(Instant::now() < until, "no answers after RECOVERY");
        pause(10);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the thread of the destroyer serves nobody"
)]
pub(crate) fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// A number from the environment, for the long form of a test.
pub(crate) fn setting(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text}")),
        Err(_) => usual,
    }
}

/// Waits until a question to the server has this answer.
pub(crate) async fn becomes(server: &Server, sql: &str, expected: &str) {
    let until = Instant::now() + RECOVERY;
    loop {
        let answer = server.psql(sql);
        if answer == expected {
            return;
        }
        assert!(Instant::now() < until, "{sql}: {answer}, not {expected}");
        sleep(Duration::from_millis(50)).await;
    }
}

async fn under_load(db: &Database, shared: &Arc<Shared>) -> Vec<Answer> {
    let load = Rc::new(Load {
        db: db.clone(),
        shared: Arc::clone(shared),
        dice: Dice::new(1),
        errors: RefCell::default(),
        transfers: RefCell::default(),
    });
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(spawn_local(Rc::clone(&load).run(ask)));
        tasks.push(spawn_local(Rc::clone(&load).run(read_a_row)));
        tasks.push(spawn_local(Rc::clone(&load).run(move_money)));
        tasks.push(spawn_local(Rc::clone(&load).run(give_up)));
    }
    tasks.push(spawn_local(Rc::clone(&load).run(check_the_sum)));
    for task in tasks {
        task.await.unwrap();
    }
    println!(
        "soak     pool     {} calls answered, errors: {:?}",
        shared.good.load(Relaxed),
        load.errors.borrow()
    );
    load.transfers.take()
}

/// What the load reads and writes.
fn tables() -> String {
    format!(
        "create table account (id int primary key, balance int8 not null); \
         insert into account select n, {SUM} / {ACCOUNTS} from generate_series(0, {ACCOUNTS} - 1) n; \
         create table transfer (number int); \
         create table item (id int primary key, name text); \
         insert into item select n, 'item ' || n from generate_series(0, 999) n"
    )
}

/// Loads a database while `destroy` breaks its server. `survivor` is the one that runs at the end.
fn survives(url: &str, survivor: &Server, destroy: impl FnOnce(&Shared) + Send) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    let shared = Arc::new(Shared::default());
    std::thread::scope(|scope| {
        let destroyer = scope.spawn({
            let shared = &*shared;
            move || {
                let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    destroy(shared);
                }));
                shared.ended.store(true, Relaxed);
                ended.unwrap();
            }
        });
        runtime.block_on(async {
            let db = Database::connect(url, Options::default()).await.unwrap();
            let answers = under_load(&db, &shared).await;
            destroyer.join().unwrap();
            assert_eq!(sum(&db).await.unwrap(), SUM);
            check_transfers(&db, &answers).await;
            nothing_is_left(survivor, db).await;
        });
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    });
}

#[test]
fn killed_backends_and_servers_lose_no_money_and_mix_no_answers() {
    let rounds = setting("TSUMUGI_CHAOS_ROUNDS", 4);
    let server = Server::start();
    let url = server.url(User::ADMIN)
        + &format!("?pool={POOL}&acquire_timeout_ms=4000&statement_timeout_ms=3000{DURABLY}");
    server.psql(&tables());
    survives(&url, &server, |shared| destroy(&server, shared, rounds));
}

#[test]
fn failover_to_a_synchronous_standby_loses_no_acknowledged_transfer() {
    for _ in 0..setting("TSUMUGI_CHAOS_ROUNDS", 4).div_ceil(4) {
        let primary = Server::start();
        primary.psql(&tables());
        let standby = primary.standby();
        primary.psql("alter system set synchronous_standby_names = '*'");
        primary.psql("select pg_reload_conf()");
        let is_synchronous = "select sync_state from pg_stat_replication";
        while primary.psql(is_synchronous) != "sync" {
            pause(50);
        }
        let url = format!(
            "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=primary&pool={POOL}&acquire_timeout_ms=15000&statement_timeout_ms=3000{DURABLY}",
            primary.port(),
            standby.port()
        );
        survives(&url, &standby, |shared| {
            recovers(shared);
            primary.kill_9();
            standby.psql("select pg_promote()");
            recovers(shared);
            shared.ended.store(true, Relaxed);
        });
    }
}

async fn nothing_is_left(server: &Server, db: Database) {
    let ours = "from pg_stat_activity where application_name = 'tsumugi'";
    becomes(server, &format!("select count(*) <= {POOL} {ours}"), "t").await;
    becomes(
        server,
        &format!("select count(*) {ours} and (state <> 'idle' or xact_start is not null)"),
        "0",
    )
    .await;
    // The server has answered; what it said may not have been read yet.
    let until = Instant::now() + RECOVERY;
    while db.snapshot().connections_busy > 0 && Instant::now() < until {
        sleep(Duration::from_millis(10)).await;
    }
    let figures = db.snapshot();
    assert_eq!((figures.connections_busy, figures.waiting), (0, 0));
    assert!(figures.connections <= POOL);
    drop(db);
    becomes(server, &format!("select count(*) {ours}"), "0").await;
    // The pool's upkeep looks once a second.
    sleep(Duration::from_millis(1_500)).await;
}
