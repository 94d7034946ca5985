//! One transaction of a history, and what the model says of each of its steps. Rule: what a call comes to follows from the state alone: what
//! failed, what was left, whether a stream is in the way.

use tsumugi_db::{Error, RowStream, Rows, Savepoint, Transaction, values};

use super::program::{Act, End, Inner, Leave};
use super::run::{
    CallResult, Fate, History, Outcome, call, count, describe, is_refused, is_whole, judge,
    numbers, pass,
};
use super::sql;
use crate::{Kind, NUMBERS};

/// What a transaction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// PostgreSQL takes nothing more until a savepoint is gone back to.
    Failed,
    /// A call was left.
    Over,
    /// A statement was stopped. Whether it goes on is the database's; if it does, what was stopped is undone.
    Stopped,
    /// Something was stopped of which a part may be done, if it goes on.
    Unknown,
}

/// A transaction, and what the model says of it.
pub(super) struct Open<'a> {
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
    /// The stream was opened in a failed transaction: its first rows say so, also behind a savepoint that was gone back to since.
    stream_fails: bool,
    /// Rows that the stream has given.
    read: usize,
    state: State,
}

impl<'a> Open<'a> {
    pub(super) fn new(history: &'a History, tx: &'a Transaction) -> Open<'a> {
        Open {
            history,
            tx,
            ids: Vec::new(),
            undone: Vec::new(),
            marks: Vec::new(),
            outlived: Vec::new(),
            stream: None,
            stream_fails: false,
            read: 0,
            state: State::Good,
        }
    }

    pub(super) async fn step(&mut self, step: Inner) -> Outcome {
        let is_simple = matches!(step, Inner::Statement(..) | Inner::Read | Inner::Yield(_));
        match step {
            _ if self.is_doubtful() && !is_simple => Ok(()),
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

    fn is_doubtful(&self) -> bool {
        matches!(self.state, State::Stopped | State::Unknown)
    }

    /// What a call must come to that would succeed by itself. None when the caller left, or the call was stopped.
    fn expect<T>(
        &mut self,
        what: &str,
        ended: CallResult<T>,
    ) -> Result<Option<Result<T, Error>>, String> {
        let Some(outcome) = ended else {
            self.state = State::Over;
            return Ok(None);
        };
        if self.history.was_stopped(&outcome) && self.state != State::Over {
            self.stop(State::Stopped);
            return Ok(None);
        }
        if self.is_doubtful() {
            return Ok(Some(outcome));
        }
        let expected = match (self.state, &self.stream) {
            (State::Stopped | State::Unknown, _) => None,
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
            false => Err(describe(
                &format!("{what} in a transaction that is {:?}", self.state),
                &outcome,
            )),
        }
    }

    fn stop(&mut self, state: State) {
        self.stream = None;
        if self.state != State::Unknown {
            self.state = state;
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
        if self.is_doubtful() && outcome.is_ok() {
            self.undone.pop();
            self.ids.push(id);
        }
        if !takes {
            return Ok(());
        }
        let refused = is_refused(act, kind);
        if outcome.is_err() != refused {
            return Err(describe(&format!("{act:?} in a transaction"), &outcome));
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
        if ended
            .as_ref()
            .is_some_and(|ended| self.history.was_stopped(ended))
        {
            self.stop(State::Unknown);
            return Ok(());
        }
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
            Some(outcome) if takes => Err(describe("Pipeline in a transaction", &outcome)),
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
            return Err(describe("Read in a transaction", &rows));
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
        let rows = Some(self.tx.query(sql::ALTERED, []).await);
        let takes = self.takes_statements();
        match self.expect("ReadAltered", rows)? {
            Some(Err(error)) if takes => {
                let stale = error.code().as_deref() == Some("0A000");
                if !(stale && self.history.kind == Kind::Postgres) {
                    return Err(describe(
                        "ReadAltered in a transaction",
                        &Err::<(), _>(error),
                    ));
                }
                self.refused();
                Ok(())
            }
            Some(Ok(rows)) => is_whole(&rows),
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
            Some(failed) if takes => Err(describe("Savepoint", &failed)),
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
        if ended
            .as_ref()
            .is_some_and(|ended| self.history.was_stopped(ended))
        {
            self.stop(State::Unknown);
            return Ok(());
        }
        let can = match way {
            Way::Release => self.state == State::Good,
            // It is what a failed transaction takes.
            Way::RollBack => self.state != State::Over,
        };
        let can = can && self.stream.is_none();
        if let (Some(outcome), true) = (&ended, can) {
            if outcome.is_err() {
                return Err(describe(&format!("{way:?}"), outcome));
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
                (self.stream, self.stream_fails) = (Some(stream), true);
                return Ok(());
            }
            stream => self.expect("OpenStream", stream)?,
        };
        match opened {
            Some(Ok(stream)) => {
                (self.stream, self.stream_fails, self.read) = (Some(stream), false, 0);
                Ok(())
            }
            Some(Err(error)) if takes => Err(describe("OpenStream", &Err::<(), _>(error))),
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
            Some(late) if self.history.was_stopped(&late) => {
                self.stop(State::Stopped);
                Ok(())
            }
            Some(Err(error)) => {
                self.stream = None;
                match self.state {
                    State::Good if !self.stream_fails => {
                        Err(describe("NextRows", &Err::<(), _>(error)))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    pub(super) async fn end(mut self, end: End) -> Outcome {
        let ended = match end {
            End::Commit(leave) => call(leave, self.tx.commit()).await,
            End::RollBack(leave) => call(leave, self.tx.roll_back()).await,
            End::Drop => None,
        };
        let fate = match (end, ended) {
            (End::Drop | End::RollBack(_), None) => Fate::Absent,
            (End::Commit(_), None) if self.takes_statements() || self.is_doubtful() => Fate::Either,
            (End::Commit(_) | End::RollBack(_), Some(late)) if self.history.was_stopped(&late) => {
                match end {
                    End::Commit(_) => Fate::Either,
                    _ => Fate::Absent,
                }
            }
            (End::Commit(_), Some(outcome)) if self.is_doubtful() => match outcome {
                Ok(()) => Fate::Present,
                Err(_) => Fate::Absent,
            },
            (End::Commit(_), None) => Fate::Absent,
            (End::RollBack(_), Some(outcome)) => {
                let refused = self.stream.is_some() && self.state != State::Over;
                if outcome.is_err() && self.stream.is_none() || outcome.is_ok() && refused {
                    return Err(describe("RollBack", &outcome));
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
                Some(outcome) if self.takes_statements() => {
                    return Err(describe("Commit", &outcome));
                }
                _ => Fate::Absent,
            },
            (End::Drop, Some(_)) => unreachable!("nothing was called"),
        };
        let history = self.history;
        let ids = std::mem::take(&mut self.ids);
        let undone = std::mem::take(&mut self.undone);
        // What became of the transaction is certain for others once it has gone.
        let is_known = self.state != State::Unknown;
        drop(self);
        if !is_known {
            return Ok(());
        }
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
