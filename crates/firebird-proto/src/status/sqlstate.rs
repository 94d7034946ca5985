//! SQLSTATEs. Not the table that gives one to a code: that is `code.rs`.
//! Rule: always five characters of ASCII.

use std::fmt;

/// What kind of error happened, in the words of the SQL standard: five digits or capital letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// Of an error that has no state of its own (`HY000`).
    pub const GENERAL: Self = Self(*b"HY000");

    /// A state as written, such as `23000`; `None` if it is none.
    pub const fn new(text: &[u8]) -> Option<Self> {
        let Some((state, [])) = text.split_first_chunk() else {
            return None;
        };
        let mut rest = text;
        while let [first, others @ ..] = rest {
            if !first.is_ascii_digit() && !first.is_ascii_uppercase() {
                return None;
            }
            rest = others;
        }
        Some(Self(*state))
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("HY000")
    }

    /// Its first two characters: `23` is every violation of a constraint.
    pub fn class(&self) -> &str {
        self.as_str().get(..2).unwrap_or_default()
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
