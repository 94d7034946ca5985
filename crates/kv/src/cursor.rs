//! A place among the records of a database, as Tkrzw's iterators have one: a key, whether or not there is a record with it now.
//! Writes nothing. Rule: a record that comes or goes moves no cursor, so a loop over all records meets each that stays exactly once.

use bytes::Bytes;

use crate::database::KvDatabase;
use crate::error::Result;
use crate::range::{Pair, Seek, SeekOutcome};

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

/// The outcome of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
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
    /// As [`MoveOutcome::Farther`].
    Farther,
}

/// A cursor. Each step looks at no more than [`SEEK_LOOKS_MAX`](crate::limits::SEEK_LOOKS_MAX) records.
#[derive(Clone, Debug)]
pub struct Cursor {
    database: KvDatabase,
    /// `None` is nowhere.
    key: Option<Bytes>,
    /// Where a step that is not done is to go on.
    farther: Option<Seek>,
}

impl Cursor {
    /// One that is nowhere.
    #[must_use]
    pub fn new(database: KvDatabase) -> Cursor {
        Cursor {
            database,
            key: None,
            farther: None,
        }
    }

    /// The database it is of.
    #[must_use]
    pub fn database(&self) -> &KvDatabase {
        &self.database
    }

    /// Moves.
    pub fn go(&mut self, to: &Move) -> Result<MoveOutcome> {
        let seek = match (to, &self.key) {
            (Move::Jump(key), _) => {
                self.key = Some(key.clone());
                return Ok(MoveOutcome::Done);
            }
            (Move::To(seek), _) => seek.clone(),
            (Move::Next | Move::Previous, None) => return Ok(MoveOutcome::Missing),
            (Move::Next, Some(key)) => Seek::After(key.clone()),
            (Move::Previous, Some(key)) => Seek::Before(key.clone()),
        };
        Ok(match self.seek(seek)? {
            Present::Farther => MoveOutcome::Farther,
            Present::Record(_) | Present::Missing => MoveOutcome::Done,
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
            SeekOutcome::Found(pair) => {
                self.key = Some(pair.0.clone());
                Ok(Present::Record(pair))
            }
            SeekOutcome::Nothing => {
                self.key = None;
                Ok(Present::Missing)
            }
            SeekOutcome::Farther(seek) => {
                self.farther = Some(seek);
                Ok(Present::Farther)
            }
        }
    }
}
