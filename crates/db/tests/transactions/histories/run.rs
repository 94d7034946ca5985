//! One history as it really happens, and what the model says of it. The model is sequential: each caller knows what became of its own
//! calls, and all share what is certain. Rule: a violation is a sentence, so that a shorter history can be looked for.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout;
use tsumugi_db::{
    Atomicity, Database, Error, Options, RowStream, Rows, Savepoint, Transaction,
    TransactionOptions, ValueRef, values,
};

use super::program::{Act, End, Inner, Leave, Program, Step};
use super::sql;
use crate::{Kind, NUMBERS};

/// No history takes so long, unless something hangs.
const HANGS: Duration = Duration::from_secs(120);
/// Longer than all waiting for a connection.
const POOL: &str = "acquire_timeout_ms=100000&statement_timeout_ms=60000&pool_min=0";

type Outcome = Result<(), String>;

/// What the model knows of numbers that stand or fall together.
struct Group {
    ids: Vec<i64>,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Acknowledged: once in the table.
    Present,
    /// Refused or undone: not in the table.
    Absent,
    /// Left: all of them once, or none.
    Either,
}

pub(super) struct History {
    db: Database,
    kind: Kind,
    next_id: Cell<i64>,
    groups: RefCell<Vec<Group>>,
    altered: Cell<u64>,
}

/// The end of a call: none when the caller left.
type Ended<T> = Option<Result<T, Error>>;

/// Awaits a call, or leaves it.
async fn call<T>(leave: Leave, future: impl Future<Output = Result<T, Error>>) -> Ended<T> {
    match leave {
        Leave::Never => Some(future.await),
        Leave::Millis(ms) => timeout(Duration::from_millis(ms), future).await.ok(),
        Leave::Polls(polls) => {
            let mut future = pin!(future);
            let mut polled = 0;
            poll_fn(|cx| match future.as_mut().poll(cx) {
                Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
                Poll::Pending => {
                    polled += 1;
                    match polled >= polls {
                        true => Poll::Ready(None),
                        false => Poll::Pending,
                    }
                }
            })
            .await
        }
    }
}

async fn pass(turns: u64) {
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

fn told<T>(what: &str, outcome: &Result<T, Error>) -> String {
    match outcome {
        Ok(_) => format!("{what}: acknowledged"),
        Err(error) => format!(
            "{what}: {} {error} {}",
            error.kind(),
            error.detail().unwrap_or_default()
        ),
    }
}

/// What a statement by itself must come to.
fn is_refused(act: Act, kind: Kind) -> bool {
    match act {
        Act::Duplicate | Act::Raise => true,
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
        let url = format!("{url}?{POOL}&pool={}", program.connections);
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let history = Rc::new(History {
            db: db.clone(),
            kind,
            next_id: Cell::new(*next_id),
            groups: RefCell::default(),
            altered: Cell::new(u64::try_from(*next_id).unwrap()),
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
            Ok(()) => history.look_at_all(first).await,
            failed => failed,
        };
        db.close();
        outcome
    }

    fn new_id(&self) -> i64 {
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        id
    }

    fn note(&self, ids: Vec<i64>, fate: Fate) {
        self.groups.borrow_mut().push(Group { ids, fate });
    }

    /// What is certain of all numbers so far.
    fn certain(&self) -> Vec<(i64, Fate)> {
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
                self.altered.set(self.altered.get() + 1);
                let sql = format!("alter table p add c{} int", self.altered.get());
                let altered = self.db.execute(sql, []).await;
                altered
                    .as_ref()
                    .map(drop)
                    .map_err(|_| told("Alter", &altered))
            }
            Step::ReadAltered => {
                let rows = self.db.query("select * from p", []).await;
                match &rows {
                    Ok(found) if found.len() == 1 => Ok(()),
                    Ok(found) => Err(format!("{} rows in a table of one", found.len())),
                    Err(_) => Err(told("ReadAltered", &rows)),
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
            None if stays => Fate::Either,
            Some(outcome) if outcome.is_err() != refused => {
                return Err(told(&format!("{act:?}"), outcome));
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
            Atomicity::All
        } else {
            Atomicity::Each
        };
        let ended = call(leave, self.db.pipeline(statements.collect(), atomicity)).await;
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
        let Ok(outcomes) = &outcomes else {
            return Err(told("Pipeline", &outcomes));
        };
        for ((outcome, id), act) in outcomes.iter().zip(ids).zip(acts) {
            let fails = act == Act::Duplicate || (atomic && refused.is_some());
            if outcome.is_err() != fails {
                return Err(told(&format!("{act:?} in a pipeline"), outcome));
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
        let Ok(rows) = &rows else {
            return Err(told("Read", &rows));
        };
        judge(id, fate, integer(rows))
    }

    /// A stream sees all that was certain when it was begun.
    async fn stream(&self, batches: u64) -> Outcome {
        let certain = self.certain();
        let first = certain.iter().map(|(id, _)| *id).min().unwrap_or(0);
        let sql = "select id from w where id >= ?";
        let stream = self.db.stream(sql, values![first]).await;
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
                Err(error) => return Err(format!("Stream: {} {error}", error.kind())),
            }
        }
        Ok(())
    }

    async fn transaction(&self, inner: Vec<Inner>, end: End) -> Outcome {
        let begun = self.db.begin(TransactionOptions::default()).await;
        let tx = begun.map_err(|error| format!("begin: {} {error}", error.kind()))?;
        let mut open = Open {
            history: self,
            tx: &tx,
            ids: Vec::new(),
            undone: Vec::new(),
            marks: Vec::new(),
            outlived: Vec::new(),
            stream: None,
            read: 0,
            state: State::Good,
        };
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
    async fn look_at_all(&self, first: i64) -> Outcome {
        let sql = "select id from w where id >= ?";
        let rows = self.db.query(sql, values![first]).await;
        let Ok(rows) = &rows else {
            return Err(told("at the end", &rows));
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

fn numbers(rows: &Rows) -> impl Iterator<Item = i64> {
    rows.iter().map(|row| match row.value(0) {
        Some(ValueRef::Integer(id)) => id,
        other => panic!("{other:?}"),
    })
}

fn count(found: &[i64], id: i64) -> i64 {
    i64::try_from(found.iter().filter(|other| **other == id).count()).unwrap()
}

fn judge(id: i64, fate: Fate, count: i64) -> Outcome {
    let expected = i64::from(fate == Fate::Present);
    match fate == Fate::Either || count == expected {
        true => Ok(()),
        false => Err(format!("{id} is {fate:?} and there {count} times")),
    }
}

/// What a transaction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// PostgreSQL takes nothing more until a savepoint is gone back to.
    Failed,
    /// A call was left.
    Over,
}

/// A transaction, and what the model says of it.
struct Open<'a> {
    history: &'a History,
    tx: &'a Transaction,
    /// The numbers that are in it.
    ids: Vec<i64>,
    undone: Vec<i64>,
    /// Its savepoints, and how many numbers were in it when each was made.
    marks: Vec<(Savepoint, usize)>,
    /// Those whose outer ones have ended.
    outlived: Vec<Savepoint>,
    stream: Option<RowStream>,
    /// Rows that the stream has given.
    read: usize,
    state: State,
}

impl Open<'_> {
    async fn step(&mut self, step: Inner) -> Outcome {
        match step {
            Inner::Statement(act, leave) => self.statement(act, leave).await,
            Inner::Pipeline(leave) => self.pipeline(leave).await,
            Inner::Read => self.read().await,
            Inner::ReadAltered => self.read_altered().await,
            Inner::Savepoint(leave) => self.savepoint(leave).await,
            Inner::Release(which, leave) => self.end_savepoint(which, leave, Way::Release).await,
            Inner::RollBackTo(which, leave) => {
                self.end_savepoint(which, leave, Way::RollBack).await
            }
            Inner::DropSavepoint(which) => self.drop_savepoint(which),
            Inner::OpenStream => self.open_stream().await,
            Inner::NextRows(leave) => self.next_rows(leave).await,
            Inner::DropStream => {
                self.stream = None;
                Ok(())
            }
            Inner::Yield(turns) => {
                pass(turns).await;
                Ok(())
            }
        }
    }

    /// What a call must come to that would succeed by itself. None when the caller left.
    fn expect<T>(
        &mut self,
        what: &str,
        ended: Ended<T>,
    ) -> Result<Option<Result<T, Error>>, String> {
        let Some(outcome) = ended else {
            self.state = State::Over;
            return Ok(None);
        };
        let expected = match (self.state, &self.stream) {
            (State::Over, _) => Some("TransactionRolledBack"),
            (_, Some(_)) => Some("UsageError"),
            (State::Failed, None) => Some("Error"),
            (State::Good, None) => None,
        };
        // What is over says so, or that a stream is in the way.
        let agrees = match (&outcome, expected) {
            (Ok(_), None) => true,
            (Err(error), Some(expected)) => {
                let usage = self.state == State::Over && self.stream.is_some();
                error.kind() == expected || (usage && error.kind() == "UsageError")
            }
            // The act itself may be refused: who called says whether.
            (Err(_), None) => true,
            (Ok(_), Some(_)) => false,
        };
        match agrees {
            true => Ok(Some(outcome)),
            false => Err(told(
                &format!("{what} in a transaction that is {:?}", self.state),
                &outcome,
            )),
        }
    }

    fn takes_statements(&self) -> bool {
        self.state == State::Good && self.stream.is_none()
    }

    async fn statement(&mut self, act: Act, leave: Leave) -> Outcome {
        let id = self.history.new_id();
        let kind = self.history.kind;
        let sql = sql::of(act, kind);
        let ended = match id % 2 {
            0 => call(leave, self.tx.query(sql, values![id]))
                .await
                .map(|outcome| outcome.map(drop)),
            _ => call(leave, self.tx.execute(sql, values![id]))
                .await
                .map(|outcome| outcome.map(drop)),
        };
        self.undone.push(id);
        let takes = self.takes_statements();
        let Some(outcome) = self.expect(&format!("{act:?}"), ended)? else {
            return Ok(());
        };
        if !takes {
            return Ok(());
        }
        let refused = is_refused(act, kind);
        if outcome.is_err() != refused {
            return Err(told(&format!("{act:?} in a transaction"), &outcome));
        }
        match refused {
            true => self.refused(),
            false => {
                self.undone.pop();
                self.ids.push(id);
            }
        }
        Ok(())
    }

    fn refused(&mut self) {
        if self.history.kind == Kind::Postgres {
            self.state = State::Failed;
        }
    }

    async fn pipeline(&mut self, leave: Leave) -> Outcome {
        let ids: Vec<i64> = (0..2).map(|_| self.history.new_id()).collect();
        let sql = sql::of(Act::Insert, self.history.kind);
        let statements = ids.iter().map(|id| (sql.into(), values![*id])).collect();
        self.undone.extend(&ids);
        let ended = call(leave, self.tx.pipeline(statements)).await;
        // Of several statements each has its own error, unless none could be asked.
        let ended = ended.map(|outcomes| {
            outcomes.and_then(|outcomes| outcomes.into_iter().collect::<Result<Vec<Rows>, _>>())
        });
        let takes = self.takes_statements();
        let outcome = match (ended, self.state) {
            (Some(Err(Error::RolledBack { .. })), State::Failed) => return Ok(()),
            (ended, _) => self.expect("Pipeline", ended)?,
        };
        match outcome {
            Some(Ok(_)) => {
                self.undone.truncate(self.undone.len() - ids.len());
                self.ids.extend(ids);
                Ok(())
            }
            Some(outcome) if takes => Err(told("Pipeline in a transaction", &outcome)),
            _ => Ok(()),
        }
    }

    async fn read(&mut self) -> Outcome {
        let sql = "select id from w where id > 0";
        let certain = self.history.certain();
        let rows = Some(self.tx.query(sql, []).await);
        let takes = self.takes_statements();
        let Some(rows) = self.expect("Read", rows)?.filter(|_| takes) else {
            return Ok(());
        };
        let Ok(rows) = &rows else {
            return Err(told("Read in a transaction", &rows));
        };
        let found: Vec<i64> = numbers(rows).collect();
        for (id, fate) in certain {
            judge(id, fate, count(&found, id))
                .map_err(|said| format!("in a transaction {said}"))?;
        }
        for id in &self.ids {
            judge(*id, Fate::Present, count(&found, *id))
                .map_err(|said| format!("of its own {said}"))?;
        }
        for id in &self.undone {
            judge(*id, Fate::Absent, count(&found, *id))
                .map_err(|said| format!("of its own {said}"))?;
        }
        Ok(())
    }

    /// On PostgreSQL the first such statement after a change of the table may fail, as the documentation says.
    async fn read_altered(&mut self) -> Outcome {
        let rows = Some(self.tx.query("select * from p", []).await);
        let takes = self.takes_statements();
        match self.expect("ReadAltered", rows)? {
            Some(Err(error)) if takes => {
                let stale = error.code().as_deref() == Some("0A000");
                if !(stale && self.history.kind == Kind::Postgres) {
                    return Err(told("ReadAltered in a transaction", &Err::<(), _>(error)));
                }
                self.refused();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn savepoint(&mut self, leave: Leave) -> Outcome {
        let ended = call(leave, self.tx.savepoint()).await;
        let takes = self.takes_statements();
        match self.expect("Savepoint", ended)? {
            Some(Ok(savepoint)) => {
                self.marks.push((savepoint, self.ids.len()));
                Ok(())
            }
            Some(failed) if takes => Err(told("Savepoint", &failed)),
            _ => Ok(()),
        }
    }

    /// Takes a savepoint out, and lets those within it outlive it.
    fn take_mark(&mut self, which: u64) -> Option<(Savepoint, usize)> {
        let at = usize::try_from(which)
            .unwrap()
            .checked_rem(self.marks.len())?;
        let mut marks = self.marks.drain(at..);
        let mark = marks.next();
        self.outlived.extend(marks.map(|(savepoint, _)| savepoint));
        mark
    }

    fn go_back_to(&mut self, length: usize) {
        self.undone.extend(self.ids.drain(length..));
        if self.state == State::Failed {
            self.state = State::Good;
        }
    }

    async fn end_savepoint(&mut self, which: u64, leave: Leave, way: Way) -> Outcome {
        let Some((savepoint, length)) = self.take_mark(which) else {
            return Ok(());
        };
        let ended = match way {
            Way::Release => call(leave, savepoint.release()).await,
            Way::RollBack => call(leave, savepoint.roll_back()).await,
        };
        let can = match way {
            Way::Release => self.state == State::Good,
            // It is what a failed transaction takes.
            Way::RollBack => self.state != State::Over,
        };
        let can = can && self.stream.is_none();
        if let (Some(outcome), true) = (&ended, can) {
            if outcome.is_err() {
                return Err(told(&format!("{way:?}"), outcome));
            }
            if way == Way::RollBack {
                self.go_back_to(length);
            }
            return Ok(());
        }
        // What could not be ended was dropped, by which it is undone.
        if self.expect(&format!("{way:?}"), ended)?.is_some() && self.state != State::Over {
            self.go_back_to(length);
        }
        Ok(())
    }

    fn drop_savepoint(&mut self, which: u64) -> Outcome {
        if which == 0 {
            self.outlived.pop();
        }
        if let Some((savepoint, length)) = self.take_mark(which) {
            drop(savepoint);
            if self.state != State::Over {
                self.go_back_to(length);
            }
        }
        Ok(())
    }

    async fn open_stream(&mut self) -> Outcome {
        let stream = Some(self.tx.stream(self.history.kind.numbers(), []).await);
        let takes = self.takes_statements();
        let failed = self.state == State::Failed && self.stream.is_none();
        let opened = match stream {
            // On PostgreSQL what the statement itself comes to comes with its rows.
            Some(Ok(stream)) if failed => {
                self.stream = Some(stream);
                return Ok(());
            }
            stream => self.expect("OpenStream", stream)?,
        };
        match opened {
            Some(Ok(stream)) => {
                (self.stream, self.read) = (Some(stream), 0);
                Ok(())
            }
            Some(Err(error)) if takes => Err(told("OpenStream", &Err::<(), _>(error))),
            _ => Ok(()),
        }
    }

    async fn next_rows(&mut self, leave: Leave) -> Outcome {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let ended = call(leave, stream.next()).await;
        match ended {
            None => Ok(()),
            Some(Ok(Some(rows))) => {
                self.read += rows.len();
                // After its last rows it may be in the way or not.
                if self.read == NUMBERS {
                    self.stream = None;
                }
                Ok(())
            }
            Some(Ok(None)) => Err(format!("a stream ended after {} rows", self.read)),
            Some(Err(error)) => {
                self.stream = None;
                match self.state {
                    State::Good => Err(told("NextRows", &Err::<(), _>(error))),
                    State::Failed | State::Over => Ok(()),
                }
            }
        }
    }

    async fn end(mut self, end: End) -> Outcome {
        let ended = match end {
            End::Commit(leave) => call(leave, self.tx.commit()).await,
            End::RollBack(leave) => call(leave, self.tx.roll_back()).await,
            End::Drop => None,
        };
        let fate = match (end, ended) {
            (End::Drop | End::RollBack(_), None) => Fate::Absent,
            (End::Commit(_), None) if self.takes_statements() => Fate::Either,
            (End::Commit(_), None) => Fate::Absent,
            (End::RollBack(_), Some(outcome)) => {
                let refused = self.stream.is_some() && self.state != State::Over;
                if outcome.is_err() && !self.stream.is_some() || outcome.is_ok() && refused {
                    return Err(told("RollBack", &outcome));
                }
                Fate::Absent
            }
            (End::Commit(_), Some(Err(Error::RolledBack { .. })))
                if self.state == State::Failed =>
            {
                Fate::Absent
            }
            (End::Commit(_), ended) => match self.expect("Commit", ended)? {
                Some(Ok(())) => Fate::Present,
                Some(outcome) if self.takes_statements() => return Err(told("Commit", &outcome)),
                _ => Fate::Absent,
            },
            (End::Drop, Some(_)) => unreachable!("nothing was called"),
        };
        let history = self.history;
        let ids = std::mem::take(&mut self.ids);
        let undone = std::mem::take(&mut self.undone);
        // What became of the transaction is certain for others once it has gone.
        drop(self);
        history.note(ids, fate);
        history.note(undone, Fate::Absent);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Release,
    RollBack,
}
