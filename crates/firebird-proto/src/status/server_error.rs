//! An error that the server reported, owned and readable. Not what goes wrong on this side: that is [`crate::Error`].
//! Rule: nothing of the vector is lost; [`ServerError::clauses`] has all of it.

use std::fmt;

use super::explain::explain;
use super::{GdsCode, Item, Part, SqlState};

/// One error, as the chain of clauses that the server sent.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// What happened: the first code that does not merely lead to another. A conflict between rows is
    /// [`GdsCode::DEADLOCK`] whether or not the transaction waits.
    pub code: GdsCode,
    /// Its kind in the words of the SQL standard. The server sends none: it is looked up by the codes, and is `HY000` of what is not listed.
    pub sqlstate: SqlState,
    /// What happened, with the arguments in their places, in words of ours. Bytes that are no UTF-8 are replaced.
    pub message: String,
    /// Everything the server said.
    pub clauses: Vec<Clause>,
}

/// One code with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// The code.
    pub code: GdsCode,
    /// What its words are filled with.
    pub arguments: Vec<Argument>,
}

/// What a code's words are filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A number.
    Number(i32),
    /// A text, such as a name.
    Text(String),
}

impl ServerError {
    /// Whether `code` is anywhere in the chain.
    pub fn has(&self, code: GdsCode) -> bool {
        self.clauses.iter().any(|clause| clause.code == code)
    }

    /// The line and column of the SQL text it is about, each from 1.
    pub fn place(&self) -> Option<(u32, u32)> {
        let clause = self.clauses.iter().find(|clause| {
            // "the SQL ends too early", too, has a place.
            matches!(
                clause.code,
                GdsCode::AT_LINE | GdsCode::TOKEN_UNKNOWN | GdsCode(335_544_851)
            )
        })?;
        match clause.arguments.as_slice() {
            [Argument::Number(line), Argument::Number(column)] => {
                Some((u32::try_from(*line).ok()?, u32::try_from(*column).ok()?))
            }
            _ => None,
        }
    }

    /// The constraint or the unique index it names, if it names one.
    pub fn constraint(&self) -> Option<&str> {
        let clause = self.clauses.iter().find(|clause| {
            matches!(
                clause.code,
                GdsCode::UNIQUE | GdsCode::NO_DUPLICATE | GdsCode::FOREIGN_KEY | GdsCode::CHECK
            )
        })?;
        match clause.arguments.first() {
            Some(Argument::Text(name)) => Some(name),
            _ => None,
        }
    }

    pub(super) fn of<'a>(items: impl Iterator<Item = Item<'a>>, part: Part) -> Self {
        let mut clauses: Vec<Clause> = Vec::new();
        let mut sent_state = None;
        let mut inside = false;
        for item in items {
            let argument = match item {
                Item::Gds(code) | Item::Warning(code) => {
                    inside = code != 0 && matches!(item, Item::Gds(_)) == (part == Part::Errors);
                    if inside {
                        clauses.push(Clause {
                            code: GdsCode(code),
                            arguments: Vec::new(),
                        });
                    }
                    continue;
                }
                Item::SqlState(state) => {
                    sent_state = sent_state.or(SqlState::new(state).filter(|_| inside));
                    continue;
                }
                Item::Number(number) => Argument::Number(number),
                Item::Text(text) => Argument::Text(String::from_utf8_lossy(text).into_owned()),
            };
            if let Some(clause) = clauses.last_mut().filter(|_| inside) {
                clause.arguments.push(argument);
            }
        }
        Self::chained(clauses, sent_state)
    }

    fn chained(clauses: Vec<Clause>, sent_state: Option<SqlState>) -> Self {
        let first = clauses.first().map_or(GdsCode(0), |clause| clause.code);
        let code = clauses
            .iter()
            .map(|clause| clause.code)
            .find(|code| !code.is_wrapper())
            .unwrap_or(first);
        Self {
            code,
            sqlstate: sent_state.unwrap_or_else(|| state(code, &clauses)),
            message: explain(&clauses),
            clauses,
        }
    }
}

/// The state of `code`; of one that has none, the first special one of the chain.
fn state(code: GdsCode, clauses: &[Clause]) -> SqlState {
    let special = |state: &SqlState| *state != SqlState::GENERAL;
    code.sqlstate()
        .filter(special)
        .or_else(|| {
            let states = clauses.iter().filter_map(|clause| clause.code.sqlstate());
            states.into_iter().find(special)
        })
        .unwrap_or(SqlState::GENERAL)
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.message, self.sqlstate, self.code)
    }
}

impl std::error::Error for ServerError {}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
