//! What the callers of a history do, chosen at random and written down before anything runs. Runs nothing.
//! Rule: the same seed is the same program, and any part of one can be left out.

use std::fmt;

use tsumugi_testkit::Dice;

use crate::Kind;

/// When a caller leaves a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leave {
    /// It waits for the answer.
    Never,
    /// After so many polls that gave nothing, at least one.
    Polls(usize),
    /// After so many milliseconds.
    Millis(u64),
}

/// What a statement does with the number that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Inserts it.
    Insert,
    /// Inserts it and gives it back.
    Returning,
    /// Is a SELECT, and inserts it.
    Selecting,
    /// Is a SELECT, inserts it, and says nothing if that is refused.
    Hiding,
    /// Inserts it in a procedure, where there are such.
    Procedure,
    /// Inserts it and takes its time.
    Slow,
    /// Inserts it and takes longer than `statement_timeout`, where that is short.
    Late,
    /// Inserts it and another row that is refused.
    Duplicate,
    /// Inserts it in code that raises an error afterwards.
    Raise,
    /// The same after it has given a row. Not in a transaction, where Firebird keeps what was done until that row was fetched.
    RaiseLate,
    /// Inserts it, commits, and raises an error as of a statement that must be prepared anew.
    CommitAndRaise,
}

/// A step of a caller.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// One statement by itself.
    Statement(Act, Leave),
    /// Several in one write, of which one may be refused.
    Pipeline {
        atomic: bool,
        refused: Option<u64>,
        leave: Leave,
    },
    /// Looks for what was acknowledged or refused before.
    Read,
    /// Reads some batches of all rows.
    Stream(u64),
    /// Changes a table whose statements are prepared.
    Alter,
    /// Reads that table.
    ReadAltered,
    Transaction(Vec<Inner>, End),
    /// Lets the others go on.
    Yield(u64),
}

/// A step in a transaction. Numbers choose among the savepoints that there are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inner {
    Statement(Act, Leave),
    Pipeline(Leave),
    Read,
    ReadAltered,
    Savepoint(Leave),
    Release(u64, Leave),
    RollBackTo(u64, Leave),
    DropSavepoint(u64),
    OpenStream,
    NextRows(Leave),
    DropStream,
    Yield(u64),
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Commit(Leave),
    RollBack(Leave),
    Drop,
}

/// What all callers do.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) connections: u64,
    /// Statements are stopped before some of them end. Then any may be, if the machine is busy.
    pub(super) stops: bool,
    /// What else the URL says.
    pub(super) options: &'static str,
    pub(super) callers: Vec<Vec<Step>>,
}

impl Program {
    pub(super) fn random(dice: &Dice, kind: Kind) -> Program {
        let callers = 2 + dice.below(7);
        let stops = dice.one_in(8);
        let steps = |dice: &Dice| {
            (0..2 + dice.below(6))
                .map(|_| step(dice, kind, stops))
                .collect()
        };
        Program {
            connections: 1 + dice.below(2),
            stops,
            options: match kind == Kind::Postgres && dice.one_in(4) {
                // As behind a pooler: each execution is prepared anew.
                true => "&statement_cache=0",
                false => "",
            },
            callers: (0..callers).map(|_| steps(dice)).collect(),
        }
    }

    /// How many steps there are.
    pub(super) fn calls(&self) -> usize {
        let calls = self.callers.iter().flatten().map(|step| match step {
            Step::Transaction(inner, _) => 2 + inner.len(),
            _ => 1,
        });
        calls.sum()
    }

    /// The same without one of its parts: callers first, then steps, then those within transactions. None when there are no more.
    pub(super) fn without(&self, part: usize) -> Option<Program> {
        let mut shorter = self.clone();
        let mut at = part;
        if at < self.callers.len() {
            shorter.callers.remove(at);
            return Some(shorter);
        }
        at -= self.callers.len();
        for caller in &mut shorter.callers {
            if at < caller.len() {
                caller.remove(at);
                return Some(shorter);
            }
            at -= caller.len();
        }
        for step in shorter.callers.iter_mut().flatten() {
            let Step::Transaction(inner, _) = step else {
                continue;
            };
            if at < inner.len() {
                inner.remove(at);
                return Some(shorter);
            }
            at -= inner.len();
        }
        None
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program {
            connections,
            options,
            stops,
            ..
        } = self;
        writeln!(f, "on {connections} connections{options}, stops: {stops}")?;
        for (number, caller) in self.callers.iter().enumerate() {
            writeln!(f, "caller {number}:")?;
            for step in caller {
                match step {
                    Step::Transaction(inner, end) => {
                        writeln!(f, "  Transaction")?;
                        for step in inner {
                            writeln!(f, "    {step:?}")?;
                        }
                        writeln!(f, "    {end:?}")?;
                    }
                    step => writeln!(f, "  {step:?}")?,
                }
            }
        }
        Ok(())
    }
}

fn leave(dice: &Dice) -> Leave {
    match dice.below(8) {
        0 => Leave::Polls(1 + dice.place(4)),
        1 => Leave::Millis(dice.below(12)),
        _ => Leave::Never,
    }
}

/// In a transaction, which a call that is left ends, callers leave less often.
fn rarely(dice: &Dice) -> Leave {
    match dice.one_in(4) {
        true => leave(dice),
        false => Leave::Never,
    }
}

fn act(dice: &Dice, kind: Kind, stops: bool) -> Act {
    if stops && dice.one_in(5) {
        return Act::Late;
    }
    let common = [
        Act::Insert,
        Act::Insert,
        Act::Returning,
        Act::Selecting,
        Act::Selecting,
        Act::Hiding,
        Act::Procedure,
        Act::Slow,
        Act::Duplicate,
        Act::Raise,
    ];
    if kind == Kind::Postgres && dice.one_in(12) {
        return Act::CommitAndRaise;
    }
    dice.pick(&common)
}

fn step(dice: &Dice, kind: Kind, stops: bool) -> Step {
    match dice.below(20) {
        0 if dice.one_in(4) => Step::Statement(Act::RaiseLate, leave(dice)),
        0..=6 => Step::Statement(act(dice, kind, stops), leave(dice)),
        7 => Step::Pipeline {
            atomic: dice.one_in(2),
            refused: dice.one_in(3).then(|| dice.below(3)),
            leave: leave(dice),
        },
        8..=10 => Step::Read,
        11 => Step::Stream(dice.below(4)),
        // A table that somebody uses cannot be changed on Firebird.
        12 if kind != Kind::Firebird && !stops => Step::Alter,
        13 | 14 => Step::ReadAltered,
        15 => Step::Yield(1 + dice.below(3)),
        _ => {
            let mut steps = Vec::new();
            for _ in 0..dice.below(9) {
                match dice.one_in(10) {
                    true => steps.extend(savepoint_under_stream(dice)),
                    false => steps.push(inner(dice, kind, stops)),
                }
            }
            let end = match dice.below(6) {
                0 => End::RollBack(rarely(dice)),
                1 => End::Drop,
                _ => End::Commit(leave(dice)),
            };
            Step::Transaction(steps, end)
        }
    }
}

/// A savepoint that ends while a stream is open, which chance alone would rarely make.
fn savepoint_under_stream(dice: &Dice) -> [Inner; 6] {
    let never = Leave::Never;
    let which = dice.below(3);
    [
        Inner::Savepoint(never),
        Inner::Statement(Act::Insert, never),
        Inner::OpenStream,
        dice.pick(&[
            Inner::DropSavepoint(which),
            Inner::Release(which, never),
            Inner::RollBackTo(which, never),
        ]),
        dice.pick(&[Inner::Yield(1), Inner::NextRows(never)]),
        Inner::DropStream,
    ]
}

fn inner(dice: &Dice, kind: Kind, stops: bool) -> Inner {
    let which = dice.below(3);
    match dice.below(24) {
        0..=7 => Inner::Statement(act(dice, kind, stops), rarely(dice)),
        8 => Inner::Pipeline(rarely(dice)),
        9 | 10 => Inner::Read,
        11 => Inner::ReadAltered,
        12..=14 => Inner::Savepoint(rarely(dice)),
        15 => Inner::Release(which, rarely(dice)),
        16 => Inner::RollBackTo(which, rarely(dice)),
        17 | 18 => Inner::DropSavepoint(which),
        19 => Inner::OpenStream,
        20 => Inner::NextRows(leave(dice)),
        21 | 22 => Inner::DropStream,
        _ => Inner::Yield(1 + dice.below(2)),
    }
}
