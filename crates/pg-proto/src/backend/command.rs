//! What a statement did, as CommandComplete says it: `INSERT 0 3`, `SELECT 5`, `CREATE TABLE`.
//! Does not judge which statements count rows. Rule: the count is the last word, if that is a number.

use crate::error::Violation;
use crate::wire::Reader;

/// The text of a CommandComplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTag<'a>(&'a str);

impl<'a> CommandTag<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Violation> {
        reader.text("command tag").map(Self)
    }

    /// All of it, such as `INSERT 0 3`.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// The words before the numbers, such as `INSERT` or `CREATE TABLE`.
    pub fn command(self) -> &'a str {
        let words = |at: usize| self.0.get(..at).unwrap_or(self.0);
        let digits = self.0.find(|first: char| first.is_ascii_digit());
        digits.map_or(self.0, words).trim_end()
    }

    /// How many rows were returned, changed or copied, if the statement counts any.
    pub fn rows(self) -> Option<u64> {
        let (_, last) = self.0.rsplit_once(' ')?;
        last.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| last.parse().ok())?
    }
}
