//! Statements and transactions on servers while connections are cut, fall silent or are held up behind any byte. Not on SQLite, which has no
//! connection to lose. Rule: what the caller was answered is what the table holds: nothing committed is missing, nothing rolled back or not sent is
//! there, and what is not known is there wholly or not at all, where it was one transaction.
//!
//! TSUMUGI_LOST_ANSWERS_ROUNDS says how many rounds; it is a part of `make soak`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tsumugi_db::{
    Database, Error, Options, PipelineAtomicity, SqlText, StatementOutcome, Transaction,
    TransactionOptions, Value, values,
};
use tsumugi_testkit::{Cut, CutProxy, Dice, ServerSide};

use super::{Kind, numbers, run};

const INSERT: &str = "insert into t(n) values (?)";

/// Of the pool through the proxy. A silent server counts as lost five seconds after `statement_timeout`.
const SHORT: &str =
    "?pool=2&pool_min=0&statement_timeout_ms=500&acquire_timeout_ms=20000&idle_timeout_ms=5000";

/// Above all limits of the pool together.
const EVERY_CALL: Duration = Duration::from_secs(60);

/// What the caller was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Committed,
    RolledBack,
    NotRun,
    Unknown,
}

/// Numbers that were written together.
#[derive(Debug)]
struct Group {
    what: &'static str,
    numbers: Vec<i64>,
    answer: Answer,
    /// They are one transaction.
    is_whole: bool,
}

/// What a caller does, and what it was answered.
struct Scenario<'a> {
    kind: Kind,
    db: &'a Database,
    dice: Dice,
    next: &'a Cell<i64>,
    groups: &'a RefCell<Vec<Group>>,
}

#[track_caller]
fn answer_of<T>(outcome: &Result<T, Error>) -> Answer {
    let error = match outcome {
        Ok(_) => return Answer::Committed,
        Err(error) => error,
    };
    match error {
        Error::Lost { outcome, .. }
        | Error::Timeout { outcome, .. }
        | Error::Cancelled { outcome, .. } => match outcome {
            StatementOutcome::NotSent => Answer::NotRun,
            StatementOutcome::RolledBack => Answer::RolledBack,
            StatementOutcome::Unknown => Answer::Unknown,
        },
        Error::CommitUnknown { .. } => {
            assert!(!error.is_retryable(), "{error}");
            Answer::Unknown
        }
        Error::LostUncommitted { .. } | Error::RolledBack { .. } => Answer::RolledBack,
        Error::PoolTimeout { .. } | Error::Unreachable { .. } => Answer::NotRun,
        error => panic!("{}: {error}", error.kind()),
    }
}

impl Scenario<'_> {
    fn number(&self) -> i64 {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }

    fn two(&self) -> [i64; 2] {
        [self.number(), self.number()]
    }

    fn note(&self, what: &'static str, numbers: &[i64], answer: Answer, is_whole: bool) {
        let numbers = numbers.to_vec();
        self.groups.borrow_mut().push(Group {
            what,
            numbers,
            answer,
            is_whole,
        });
    }

    async fn act(&self) {
        match (self.dice.below(12), self.kind) {
            (0, _) => self.statement().await,
            (1, _) => self.pipeline(PipelineAtomicity::Each).await,
            (2, _) => self.pipeline(PipelineAtomicity::All).await,
            (3, _) => self.script().await,
            (4, Kind::Postgres) => self.script_of_parts().await,
            (5, Kind::Postgres) => self.stream().await,
            (6, Kind::Postgres) => self.copy().await,
            (7, Kind::Postgres) => self.procedure().await,
            _ => self.transaction().await,
        }
    }

    async fn statement(&self) {
        let n = self.number();
        let outcome = self.db.execute(INSERT, values![n]).await;
        self.note("a statement", &[n], answer_of(&outcome), true);
    }

    async fn pipeline(&self, atomicity: PipelineAtomicity) {
        let both = self.two();
        let statements = both.map(|n| -> (SqlText, Vec<Value>) { (INSERT.into(), values![n]) });
        let outcomes = match self.db.pipeline(statements.into(), atomicity).await {
            Ok(outcomes) => outcomes,
            Err(error) => {
                let is_whole = atomicity == PipelineAtomicity::All;
                return self.note(
                    "a pipeline",
                    &both,
                    answer_of(&Err::<(), _>(error)),
                    is_whole,
                );
            }
        };
        if atomicity == PipelineAtomicity::Each {
            for (n, outcome) in both.iter().zip(&outcomes) {
                self.note("one of a pipeline", &[*n], answer_of(outcome), true);
            }
            return;
        }
        let failed = outcomes.iter().find(|outcome| outcome.is_err());
        let all = failed.map_or(Answer::Committed, answer_of);
        self.note("an atomic pipeline", &both, all, true);
    }

    /// On PostgreSQL it is one transaction.
    async fn script(&self) {
        let [a, b] = self.two();
        let script = format!("insert into t(n) values ({a}); insert into t(n) values ({b})");
        let outcome = self.db.execute_script(script).await;
        let is_whole = self.kind == Kind::Postgres;
        self.note("a script", &[a, b], answer_of(&outcome), is_whole);
    }

    async fn script_of_parts(&self) {
        let [a, b] = self.two();
        let script =
            format!("begin; insert into t values ({a}); commit; insert into t values ({b})");
        let outcome = self.db.execute_script(script).await;
        self.note("a script of parts", &[a, b], answer_of(&outcome), false);
    }

    async fn stream(&self) {
        let n = self.number();
        let all = async {
            let sql = "insert into t values (?) returning n";
            let mut stream = self.db.stream(sql, values![n]).await?;
            while stream.next().await?.is_some() {}
            Ok(())
        };
        self.note("a stream", &[n], answer_of(&all.await), true);
    }

    async fn copy(&self) {
        let both = self.two();
        let all = async {
            let mut copy = self.db.copy_in("copy t from stdin").await?;
            for n in both {
                copy.send(format!("{n}\n").as_bytes()).await?;
            }
            copy.finish().await
        };
        self.note("a copy", &both, answer_of(&all.await), true);
    }

    async fn procedure(&self) {
        let [a, b] = self.two();
        let outcome = self.db.execute("call put_two(?, ?)", values![a, b]).await;
        self.note("a procedure", &[a, b], answer_of(&outcome), false);
    }

    async fn transaction(&self) {
        let tx = match self.db.begin(TransactionOptions::default()).await {
            Ok(tx) => tx,
            Err(error) => {
                assert_ne!(answer_of(&Err::<(), _>(error)), Answer::Unknown);
                return;
            }
        };
        let (mut kept, mut undone) = (Vec::new(), Vec::new());
        let steps = self.steps(&tx, &mut kept, &mut undone).await;
        self.note(
            "what a savepoint has undone",
            &undone,
            Answer::RolledBack,
            true,
        );
        let end = match (steps, self.dice.below(6)) {
            (Err(error), _) => {
                let context = error.to_string();
                assert_eq!(
                    answer_of(&Err::<(), _>(error)),
                    Answer::RolledBack,
                    "{context}"
                );
                drop(tx);
                Answer::RolledBack
            }
            (Ok(()), 0) => {
                let _ = tx.roll_back().await;
                Answer::RolledBack
            }
            (Ok(()), 1) => {
                drop(tx);
                Answer::RolledBack
            }
            (Ok(()), 2) => {
                let patience = Duration::from_micros(self.dice.below(2_000));
                let given_up = timeout(patience, tx.commit()).await;
                given_up.map_or(Answer::Unknown, |outcome| answer_of(&outcome))
            }
            (Ok(()), _) => answer_of(&tx.commit().await),
        };
        self.note("a transaction", &kept, end, true);
    }

    async fn steps(
        &self,
        tx: &Transaction,
        kept: &mut Vec<i64>,
        undone: &mut Vec<i64>,
    ) -> Result<(), Error> {
        for _ in 0..=self.dice.below(3) {
            let n = self.number();
            kept.push(n);
            match self.dice.below(4) {
                0 => {
                    let savepoint = tx.savepoint().await?;
                    tx.execute(INSERT, values![n]).await?;
                    match self.dice.below(3) {
                        0 => savepoint.release().await?,
                        1 => {
                            savepoint.roll_back().await?;
                            undone.extend(kept.pop());
                        }
                        _ => {
                            drop(savepoint);
                            undone.extend(kept.pop());
                        }
                    }
                }
                1 => {
                    let script = format!("insert into t(n) values ({n})");
                    tx.execute_script(script).await?;
                }
                2 => {
                    let insert: (SqlText, Vec<Value>) = (INSERT.into(), values![n]);
                    for outcome in tx.pipeline(vec![insert]).await? {
                        outcome?;
                    }
                }
                _ => {
                    tx.execute(INSERT, values![n]).await?;
                }
            }
        }
        Ok(())
    }
}

/// What becomes of the connection on which something moves next. Seldom that it falls silent, which takes seconds to be noticed.
fn arm(proxy: &CutProxy, dice: &Dice, round: u64) {
    let bytes = dice.place(700);
    let cut = match dice.below(2) {
        0 => Cut::ToServer(bytes),
        _ => Cut::ToClient(bytes),
    };
    let effect = match dice.below(8) {
        _ if round % 50 == 11 => ServerSide::FallsSilent,
        0 | 1 => ServerSide::StaysOpen,
        2 => ServerSide::Waits(Duration::from_millis(dice.below(1_000))),
        _ => ServerSide::Closes,
    };
    proxy.cut_once(cut, effect);
}

async fn check_table(db: &Database, groups: &[Group], context: &str) {
    let text = numbers(db).await;
    let there: BTreeSet<i64> = text
        .split_whitespace()
        .map(|n| n.parse().unwrap())
        .collect();
    for group in groups {
        let found = group.numbers.iter().filter(|n| there.contains(*n)).count();
        let all = group.numbers.len();
        let is_right = match group.answer {
            Answer::Committed => found == all,
            Answer::RolledBack | Answer::NotRun => found == 0,
            Answer::Unknown => !group.is_whole || found == 0 || found == all,
        };
        let what = group.what;
        assert!(
            is_right,
            "{context}: {what}: {found} of {all} are there: {group:?}"
        );
    }
}

fn rounds(usual: u64) -> u64 {
    let rounds = std::env::var("TSUMUGI_LOST_ANSWERS_ROUNDS");
    rounds.map_or(usual, |rounds| rounds.parse().unwrap())
}

async fn run_scenarios(kind: Kind, url: &str, server: u16, table: &str, usual: u64) {
    let proxy = CutProxy::start(server);
    let through = url.replace(&format!(":{server}/"), &format!(":{}/", proxy.port()));
    assert_ne!(through, url);
    let looker = Database::connect(url, Options::default()).await.unwrap();
    looker.execute_script(table).await.unwrap();
    let db = Database::connect(&(through + SHORT), Options::default())
        .await
        .unwrap();
    let (next, groups) = (Cell::new(0), RefCell::default());
    for round in 0..rounds(usual) {
        let context = format!("{kind:?}, round {round}");
        let scenario = Scenario {
            kind,
            db: &db,
            dice: Dice::new(round),
            next: &next,
            groups: &groups,
        };
        for _ in 0..3 {
            if scenario.dice.below(3) > 0 {
                arm(&proxy, &scenario.dice, round);
            }
            let acted = timeout(EVERY_CALL, scenario.act()).await;
            acted.unwrap_or_else(|_| panic!("{context}: a call does not end within its limits"));
        }
        proxy.disarm();
        let so_far = groups.take();
        check_table(&looker, &so_far, &context).await;
        groups.replace(so_far);
    }
    // What was held up or given up has arrived by then.
    sleep(Duration::from_secs(3)).await;
    let groups = groups.take();
    check_table(&looker, &groups, &format!("{kind:?}, at the end")).await;
    let count = |answer: Answer| groups.iter().filter(|group| group.answer == answer).count();
    println!(
        "soak     lost answers {kind:?}: {} committed, {} rolled back, {} not run, {} unknown",
        count(Answer::Committed),
        count(Answer::RolledBack),
        count(Answer::NotRun),
        count(Answer::Unknown)
    );
    for certain in [Answer::Committed, Answer::RolledBack, Answer::Unknown] {
        assert!(count(certain) > 0, "{kind:?}: never {certain:?}");
    }
    db.close();
    looker.close();
}

#[test]
fn answers_of_postgresql_through_lost_connections_are_what_the_table_holds() {
    let server = tsumugi_testkit::postgres::Server::shared();
    let database = server.database();
    let table = "create table t(n int primary key); create procedure put_two(a int, b int) language plpgsql as \
         $$ begin insert into t values (a); commit; insert into t values (b); end $$";
    run(run_scenarios(
        Kind::Postgres,
        &database.url(),
        server.port(),
        table,
        100,
    ));
}

#[test]
fn answers_of_firebird_through_lost_connections_are_what_the_table_holds() {
    let server = tsumugi_testkit::firebird::Server::shared();
    let database = server.database();
    let table = "create table t(n integer not null primary key)";
    run(run_scenarios(
        Kind::Firebird,
        &database.url(),
        server.port(),
        table,
        40,
    ));
}
