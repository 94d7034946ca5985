//! A place among the records of a database, as Tkrzw's iterators have one: a key, whether or not there is a record with it now.
//! Writes nothing. Rule: a record that comes or goes moves no cursor, so a loop over all records meets each that stays exactly once.

use bytes::Bytes;

use crate::database::Database;
use crate::engine::Pair;
use crate::error::Result;
use crate::range::{Seek, Sought};

/// Where a cursor is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// To a key, with or without a record.
    Jump(Bytes),
    /// To the record that is found so; nowhere when there is none.
    To(Seek),
    /// To the next greater record.
    Next,
    /// To the next lesser record.
    Previous,
}

/// What became of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The cursor is where it was to go. Beyond the last record that is nowhere.
    Done,
    /// It was nowhere, and nothing is beside that.
    Missing,
    /// So many expired records lay before the place that the step ended. Ask for the same move again.
    Farther,
}

/// The record at a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Present {
    /// The one at the cursor's key, or else the next greater one, where the cursor is from now on.
    Record(Pair),
    /// There is none; the cursor is nowhere.
    Missing,
    /// As [`Moved::Farther`].
    Farther,
}

/// A cursor. Each step looks at no more than [`SEEK_LOOKS_MAX`](crate::limits::SEEK_LOOKS_MAX) records.
#[derive(Clone, Debug)]
pub struct Cursor {
    database: Database,
    /// `None` is nowhere.
    key: Option<Bytes>,
    /// Where a step that is not done is to go on.
    farther: Option<Seek>,
}

impl Cursor {
    /// One that is nowhere.
    #[must_use]
    pub fn new(database: Database) -> Cursor {
        Cursor {
            database,
            key: None,
            farther: None,
        }
    }

    /// The database it is of.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Moves.
    pub fn go(&mut self, to: &Move) -> Result<Moved> {
        let seek = match (to, &self.key) {
            (Move::Jump(key), _) => {
                self.key = Some(key.clone());
                return Ok(Moved::Done);
            }
            (Move::To(seek), _) => seek.clone(),
            (Move::Next | Move::Previous, None) => return Ok(Moved::Missing),
            (Move::Next, Some(key)) => Seek::After(key.clone()),
            (Move::Previous, Some(key)) => Seek::Before(key.clone()),
        };
        Ok(match self.seek(seek)? {
            Present::Farther => Moved::Farther,
            Present::Record(_) | Present::Missing => Moved::Done,
        })
    }

    /// The record where it is.
    pub fn record(&mut self) -> Result<Present> {
        match &self.key {
            Some(key) => self.seek(Seek::AtOrAfter(key.clone())),
            None => Ok(Present::Missing),
        }
    }

    /// Looks for a record, from where the last step ended, and goes there.
    fn seek(&mut self, seek: Seek) -> Result<Present> {
        let seek = self.farther.take().unwrap_or(seek);
        match self.database.seek_step(&seek)? {
            Sought::Found(pair) => {
                self.key = Some(pair.0.clone());
                Ok(Present::Record(pair))
            }
            Sought::Nothing => {
                self.key = None;
                Ok(Present::Missing)
            }
            Sought::Farther(seek) => {
                self.farther = Some(seek);
                Ok(Present::Farther)
            }
        }
    }
}
