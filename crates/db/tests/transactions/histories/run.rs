//! One history as it really happens, and what the model says of it. The model is sequential: each caller knows what became of its own
//! calls, and all share what is certain. Rule: a violation is a sentence, so that a shorter history can be looked for.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::timeout;
use tsumugi_db::{
    Database, Error, Options, PipelineAtomicity, Rows, StatementOutcome, TransactionOptions,
    ValueRef, values,
};
use tsumugi_testkit::poll::pend;

use super::open::Open;
use super::program::{Act, End, Inner, Leave, Program, Step};
use super::sql::{self, Altered};
use crate::Kind;

/// No history takes so long, unless something hangs.
const HANGS: Duration = Duration::from_secs(120);
/// Longer than all waiting for a connection.
const POOL: &str = "acquire_timeout_ms=100000&pool_min=0";
/// Longer than any statement takes.
const LONG: &str = "&statement_timeout_ms=60000";
/// Shorter than some.
const SHORT: &str = "&statement_timeout_ms=250";

pub(super) type Outcome = Result<(), String>;

/// What the model knows of numbers that stand or fall together.
struct Group {
    ids: Vec<i64>,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Acknowledged: once in the table.
    Present,
    /// Refused or undone: not in the table.
    Absent,
    /// Left: all of them once, or none.
    Either,
}

pub(super) struct History {
    db: Database,
    pub(super) kind: Kind,
    stops: bool,
    next_id: Cell<i64>,
    groups: RefCell<Vec<Group>>,
    /// How the table is that is altered again and again.
    altered: Cell<Altered>,
}

/// The end of a call: none when the caller left.
pub(super) type CallResult<T> = Option<Result<T, Error>>;

/// Awaits a call, or leaves it.
pub(super) async fn call<T>(
    leave: Leave,
    future: impl Future<Output = Result<T, Error>>,
) -> CallResult<T> {
    match leave {
        Leave::Never => Some(future.await),
        Leave::Millis(ms) => timeout(Duration::from_millis(ms), future).await.ok(),
        Leave::Polls(polls) => pend(future, polls - 1).await,
    }
}

pub(super) async fn pass(turns: u64) {
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}

fn integer(rows: &Rows) -> i64 {
    match rows.first().and_then(|row| row.value(0)) {
        Some(ValueRef::Integer(number)) => number,
        other => panic!("{other:?}"),
    }
}

pub(super) fn describe<T>(what: &str, outcome: &Result<T, Error>) -> String {
    match outcome {
        Ok(_) => format!("{what}: acknowledged"),
        Err(error) => format!(
            "{what}: {} {error} {}",
            error.kind(),
            error.detail().unwrap_or_default()
        ),
    }
}

/// On Firebird a statement that nobody waits for and that does not stop is ended with its connection; of those that share that, and were not
/// sent, it says so.
fn is_unsent<T>(outcome: &Result<T, Error>, kind: Kind) -> bool {
    let not_sent = StatementOutcome::NotSent;
    kind == Kind::Firebird
        && matches!(outcome, Err(Error::Lost { outcome, .. }) if *outcome == not_sent)
}

/// Whether it was stopped by `statement_timeout`.
fn is_late<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Timeout { .. }))
}

/// What a statement by itself must come to.
pub(super) fn is_refused(act: Act, kind: Kind) -> bool {
    match act {
        Act::Duplicate | Act::Raise | Act::RaiseLate => true,
        Act::CommitAndRaise => kind == Kind::Postgres,
        _ => false,
    }
}

impl History {
    pub(super) async fn run(
        program: &Program,
        kind: Kind,
        url: &str,
        next_id: &mut i64,
    ) -> Outcome {
        let Program {
            connections,
            options,
            stops,
            ..
        } = program;
        let patience = if *stops { SHORT } else { LONG };
        let long = format!("{url}?{POOL}{LONG}&pool={connections}{options}");
        let url = format!("{url}?{POOL}{patience}&pool={connections}{options}");
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let looker = match stops {
            true => Database::connect(&long, Options::default()).await.unwrap(),
            false => db.clone(),
        };
        let rows = looker.query(sql::ALTERED, []).await.unwrap();
        let altered = match rows.columns().names().any(|name| name == sql::RENAMED) {
            true => Altered::Yes,
            false => Altered::No,
        };
        let history = Rc::new(History {
            db: db.clone(),
            kind,
            stops: *stops,
            next_id: Cell::new(*next_id),
            groups: RefCell::default(),
            altered: Cell::new(altered),
        });
        let first = *next_id;
        let callers = program.callers.iter().cloned().map(|steps| {
            let history = Rc::clone(&history);
            tokio::task::spawn_local(async move {
                for step in steps {
                    history.step(step).await?;
                }
                Ok::<(), String>(())
            })
        });
        let callers: Vec<_> = callers.collect();
        let mut outcome = Ok(());
        for caller in callers {
            let handle = caller.abort_handle();
            match timeout(HANGS, caller).await {
                Ok(ended) => outcome = outcome.and(ended.expect("no caller panics")),
                Err(_) => {
                    handle.abort();
                    outcome = Err("a caller hangs".to_owned());
                }
            }
        }
        *next_id = history.next_id.get();
        let outcome = match outcome {
            Ok(()) => history.look_at_all(&looker, first).await,
            failed => failed,
        };
        db.close();
        looker.close();
        outcome
    }

    /// Whether it was stopped, where statements are.
    pub(super) fn was_stopped<T>(&self, outcome: &Result<T, Error>) -> bool {
        self.stops && is_late(outcome)
    }

    pub(super) fn new_id(&self) -> i64 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        id
    }

    pub(super) fn note(&self, ids: Vec<i64>, fate: Fate) {
        self.groups.borrow_mut().push(Group { ids, fate });
    }

    /// What is certain of all numbers so far.
    pub(super) fn certain(&self) -> Vec<(i64, Fate)> {
        let groups = self.groups.borrow();
        let certain = groups.iter().filter(|group| group.fate != Fate::Either);
        let each = certain.flat_map(|group| group.ids.iter().map(|id| (*id, group.fate)));
        each.collect()
    }

    async fn step(&self, step: Step) -> Outcome {
        match step {
            Step::Statement(act, leave) => self.statement(act, leave).await,
            Step::Pipeline {
                atomic,
                refused,
                leave,
            } => self.pipeline(atomic, refused, leave).await,
            Step::Read => self.read().await,
            Step::Stream(batches) => self.stream(batches).await,
            Step::Alter => {
                let from = self.altered.get();
                self.altered.set(match from {
                    Altered::No => Altered::Yes,
                    Altered::Yes => Altered::No,
                });
                let sql = sql::alteration(self.kind, from);
                let altered = self.db.execute(sql, []).await;
                altered
                    .as_ref()
                    .map(drop)
                    .map_err(|_| describe("Alter", &altered))
            }
            Step::ReadAltered => {
                let rows = self.db.query(sql::ALTERED, []).await;
                match &rows {
                    Ok(found) => is_whole(found),
                    late if self.was_stopped(late) => Ok(()),
                    unsent if is_unsent(unsent, self.kind) => Ok(()),
                    Err(_) => Err(describe("ReadAltered", &rows)),
                }
            }
            Step::Transaction(inner, end) => self.transaction(inner, end).await,
            Step::Yield(turns) => {
                pass(turns).await;
                Ok(())
            }
        }
    }

    async fn statement(&self, act: Act, leave: Leave) -> Outcome {
        let id = self.new_id();
        let sql = sql::of(act, self.kind);
        let ended = match id % 2 {
            0 => call(leave, self.db.query(sql, values![id]))
                .await
                .map(|outcome| outcome.map(drop)),
            _ => call(leave, self.db.execute(sql, values![id]))
                .await
                .map(|outcome| outcome.map(drop)),
        };
        let refused = is_refused(act, self.kind);
        let stays = !refused || (act == Act::CommitAndRaise && self.kind == Kind::Postgres);
        let fate = match &ended {
            Some(outcome) if is_unsent(outcome, self.kind) => Fate::Absent,
            None if stays => Fate::Either,
            Some(outcome) if stays && self.was_stopped(outcome) => Fate::Either,
            Some(outcome) if outcome.is_err() != refused => {
                return Err(describe(&format!("{act:?}"), outcome));
            }
            Some(_) if stays => Fate::Present,
            _ => Fate::Absent,
        };
        self.note(vec![id], fate);
        Ok(())
    }

    async fn pipeline(&self, atomic: bool, refused: Option<u64>, leave: Leave) -> Outcome {
        let ids: Vec<i64> = (0..3).map(|_| self.new_id()).collect();
        let acts: Vec<Act> = (0..3)
            .map(|at| match Some(at) == refused {
                true => Act::Duplicate,
                false => Act::Insert,
            })
            .collect();
        let statements = ids.iter().zip(&acts);
        let statements =
            statements.map(|(id, act)| (sql::of(*act, self.kind).into(), values![*id]));
        let atomicity = if atomic {
            PipelineAtomicity::All
        } else {
            PipelineAtomicity::Each
        };
        let ended = call(leave, self.db.pipeline(statements.collect(), atomicity)).await;
        let ended = ended.filter(|outcomes| match outcomes {
            Ok(each) => !atomic || !each.iter().any(|one| self.was_stopped(one)),
            Err(_) => !self.was_stopped(outcomes),
        });
        let Some(outcomes) = ended else {
            // Of a refused one alone it is certain.
            if atomic {
                let fate = if refused.is_some() {
                    Fate::Absent
                } else {
                    Fate::Either
                };
                self.note(ids, fate);
            } else {
                for (id, act) in ids.into_iter().zip(acts) {
                    let fate = if act == Act::Duplicate {
                        Fate::Absent
                    } else {
                        Fate::Either
                    };
                    self.note(vec![id], fate);
                }
            }
            return Ok(());
        };
        if is_unsent(&outcomes, self.kind) {
            self.note(ids, Fate::Absent);
            return Ok(());
        }
        let Ok(outcomes) = &outcomes else {
            return Err(describe("Pipeline", &outcomes));
        };
        for ((outcome, id), act) in outcomes.iter().zip(ids).zip(acts) {
            if self.was_stopped(outcome) && act != Act::Duplicate {
                self.note(vec![id], Fate::Either);
                continue;
            }
            let fails = act == Act::Duplicate
                || (atomic && refused.is_some())
                || is_unsent(outcome, self.kind);
            if outcome.is_err() != fails {
                return Err(describe(&format!("{act:?} in a pipeline"), outcome));
            }
            self.note(vec![id], if fails { Fate::Absent } else { Fate::Present });
        }
        Ok(())
    }

    async fn read(&self) -> Outcome {
        let certain = self.certain();
        let Some((id, fate)) = certain.last().copied() else {
            return Ok(());
        };
        let sql = "select count(*) from w where id = ?";
        let rows = self.db.query(sql, values![id]).await;
        if is_unsent(&rows, self.kind) || self.was_stopped(&rows) {
            return Ok(());
        }
        let Ok(rows) = &rows else {
            return Err(describe("Read", &rows));
        };
        judge(id, fate, integer(rows))
    }

    /// A stream sees all that was certain when it was begun.
    async fn stream(&self, batches: u64) -> Outcome {
        let certain = self.certain();
        let first = certain.iter().map(|(id, _)| *id).min().unwrap_or(0);
        let sql = "select id from w where id >= ?";
        let stream = self.db.stream(sql, values![first]).await;
        if self.was_stopped(&stream) {
            return Ok(());
        }
        let mut stream = stream.map_err(|error| format!("Stream: {} {error}", error.kind()))?;
        let mut found = Vec::new();
        for _ in 0..batches {
            let next = stream.next().await;
            match next {
                Ok(Some(rows)) => found.extend(numbers(&rows)),
                Ok(None) => {
                    return certain
                        .iter()
                        .try_for_each(|(id, fate)| judge(*id, *fate, count(&found, *id)));
                }
                late if self.was_stopped(&late) => return Ok(()),
                Err(error) => return Err(format!("Stream: {} {error}", error.kind())),
            }
        }
        Ok(())
    }

    async fn transaction(&self, inner: Vec<Inner>, end: End) -> Outcome {
        let begun = self.db.begin(TransactionOptions::default()).await;
        if self.was_stopped(&begun) {
            return Ok(());
        }
        let tx = begun.map_err(|error| format!("begin: {} {error}", error.kind()))?;
        let mut open = Open::new(self, &tx);
        let mut outcome = Ok(());
        for step in inner {
            outcome = open.step(step).await;
            if outcome.is_err() {
                break;
            }
        }
        if outcome.is_ok() {
            outcome = open.end(end).await;
        }
        outcome
    }

    /// At the end all that is certain, and that what was left is whole.
    async fn look_at_all(&self, db: &Database, first: i64) -> Outcome {
        let sql = "select id from w where id >= ?";
        let rows = db.query(sql, values![first]).await;
        let Ok(rows) = &rows else {
            return Err(describe("at the end", &rows));
        };
        let found: Vec<i64> = numbers(rows).collect();
        for group in &*self.groups.borrow() {
            let counts: Vec<i64> = group.ids.iter().map(|id| count(&found, *id)).collect();
            match group.fate {
                Fate::Either => {
                    let whole = counts.iter().all(|count| *count == 1);
                    if !whole && counts.iter().any(|count| *count != 0) {
                        return Err(format!(
                            "at the end: {:?} are there {counts:?} times",
                            group.ids
                        ));
                    }
                }
                fate => {
                    for (id, count) in group.ids.iter().zip(counts) {
                        judge(*id, fate, count).map_err(|said| format!("at the end: {said}"))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The table that is altered has one row, whatever its columns are.
pub(super) fn is_whole(rows: &Rows) -> Outcome {
    let row = rows.first().filter(|_| rows.len() == 1);
    let values: Option<Vec<_>> = row.map(|row| row.values().collect());
    match values.as_deref() {
        Some([ValueRef::Integer(1), ValueRef::Integer(7)]) => Ok(()),
        other => Err(format!("the altered table was read as {other:?}")),
    }
}

pub(super) fn numbers(rows: &Rows) -> impl Iterator<Item = i64> {
    rows.iter().map(|row| match row.value(0) {
        Some(ValueRef::Integer(id)) => id,
        other => panic!("{other:?}"),
    })
}

pub(super) fn count(found: &[i64], id: i64) -> i64 {
    i64::try_from(found.iter().filter(|other| **other == id).count()).unwrap()
}

pub(super) fn judge(id: i64, fate: Fate, count: i64) -> Outcome {
    let expected = i64::from(fate == Fate::Present);
    match fate == Fate::Either || count == expected {
        true => Ok(()),
        false => Err(format!("{id} is {fate:?} and there {count} times")),
    }
}
