//! The writer: text and binds grow side by side, so that binds are in the order of their placeholders. Names, values, raw SQL and
//! lists here; expressions, reading, changing beside it. Rule: a name is quoted or plain, a value is bound; nothing else of a
//! caller reaches the text but what was given as raw SQL.

mod change;
mod expr;
mod pattern;
mod read;

use std::borrow::Cow;

use crate::dialect::{Dialect, Limit, Names, Placeholder, Support};
use crate::error::{Error, Result, exceeded, usage};
use crate::limits::{BINDS_BYTES_MAX, SQL_BYTES_MAX};
use crate::name::Name;
use crate::scan::{self, Kind, SentPiece};
use crate::statement::Statement;
use crate::value::Value;

/// A statement in the making.
pub(crate) struct Writer<'d> {
    sql: String,
    binds: Vec<Value>,
    /// Bytes of texts and blobs in `binds`.
    binds_bytes: usize,
    /// How long they may become.
    room: Room,
    pub(crate) dialect: &'d Dialect,
    /// What columns without a table belong to, where two rows are in sight: the one that is there and the one to be inserted.
    owner: Option<Name>,
    /// How many queries the one that is written is in.
    nested: u16,
    /// Names that sub-selects gave to aggregates of what may be exact numbers in text.
    numbers: Vec<String>,
}

/// Digits of the number of a placeholder.
const PLACEHOLDER_DIGITS_MAX: usize = 5;

/// How long a statement may become.
#[derive(Clone, Copy)]
struct Room {
    sql_bytes: usize,
    binds: usize,
    binds_bytes: usize,
}

impl Room {
    fn of(dialect: &Dialect) -> Self {
        Self {
            sql_bytes: SQL_BYTES_MAX,
            binds: dialect.binds_max,
            binds_bytes: BINDS_BYTES_MAX,
        }
    }

    /// What is left beside another part of the statement, the placeholders of which may have more digits there.
    fn beside(self, other: &Writer<'_>) -> Self {
        let sql_bytes = other.sql.len() + other.binds.len() * PLACEHOLDER_DIGITS_MAX;
        Self {
            sql_bytes: self.sql_bytes.saturating_sub(sql_bytes),
            binds: self.binds.saturating_sub(other.binds.len()),
            binds_bytes: self.binds_bytes.saturating_sub(other.binds_bytes),
        }
    }
}

impl<'d> Writer<'d> {
    pub(crate) fn new(dialect: &'d Dialect) -> Self {
        Self {
            // Longer than most statements, shorter than a page.
            sql: String::with_capacity(160),
            binds: Vec::new(),
            binds_bytes: 0,
            room: Room::of(dialect),
            dialect,
            owner: None,
            nested: 0,
            numbers: Vec::new(),
        }
    }

    pub(crate) fn finish(self) -> Result<Statement> {
        self.fits()?;
        let (sql, binds) = (self.sql, self.binds);
        Ok(Statement { sql, binds })
    }

    /// The same of SQL that its author wrote, of whatever length.
    pub(crate) fn finish_raw(mut self) -> Result<Statement> {
        self.room.sql_bytes = usize::MAX;
        self.finish()
    }

    /// Refuses a statement that has become too long: also while it is written, for what it shares takes no room before.
    fn fits(&self) -> Result<()> {
        if self.binds.len() > self.room.binds {
            return exceeded("binds_max", self.dialect.binds_max);
        }
        if self.binds_bytes > self.room.binds_bytes {
            return usage(format!(
                "the values have more than {BINDS_BYTES_MAX} bytes (binds_bytes_max): send them in several statements"
            ));
        }
        if self.sql.len() > self.room.sql_bytes {
            return exceeded("SQL_BYTES_MAX", SQL_BYTES_MAX);
        }
        Ok(())
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.sql.push_str(text);
    }

    pub(crate) fn unsupported<T>(&self, what: &'static str) -> Result<T> {
        let database = self.dialect.name;
        Err(Error::Unsupported { database, what })
    }

    /// Each of them, with `, ` between.
    pub(crate) fn list<T>(
        &mut self,
        of: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        for (index, item) in of.into_iter().enumerate() {
            if index > 0 {
                self.text(", ");
            }
            each(self, item)?;
        }
        Ok(())
    }

    /// What `write` writes, in parentheses.
    pub(crate) fn enclosed(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.text("(");
        write(self)?;
        self.text(")");
        Ok(())
    }

    /// Names of columns, in parentheses.
    pub(crate) fn columns<'n>(&mut self, names: impl IntoIterator<Item = &'n Name>) -> Result<()> {
        self.enclosed(|writer| writer.list(names, |writer, name| writer.bare_name(name)))
    }

    /// A name with all its parts.
    pub(crate) fn name(&mut self, name: &Name) -> Result<()> {
        for (index, part) in name.parts().enumerate() {
            if index > 0 {
                self.text(".");
            }
            self.part(part)?;
        }
        Ok(())
    }

    /// The name of a table, which may be in a schema.
    pub(crate) fn table(&mut self, name: &Name) -> Result<()> {
        if self.dialect.schemas == Support::Unsupported && name.parts().nth(1).is_some() {
            return self.unsupported("schemas");
        }
        self.name(name)
    }

    /// A name that must have one part: of a column that is set or inserted.
    pub(crate) fn bare_name(&mut self, name: &Name) -> Result<()> {
        if name.parts().nth(1).is_some() {
            let (name, last) = (name.as_str(), name.last());
            return usage(format!(
                "write {last} instead of {name}: here a column belongs to the one table"
            ));
        }
        self.name(name)
    }

    /// A column, of which the last part may be `*`.
    fn column(&mut self, name: &Name) -> Result<()> {
        let single = name.parts().nth(1).is_none();
        if let (true, Some(owner)) = (single, &self.owner) {
            let owner = owner.clone();
            self.part(owner.last())?;
            self.text(".");
        }
        let mut parts = name.parts().peekable();
        while let Some(part) = parts.next() {
            match parts.peek() {
                None if name.is_every_column() => self.text("*"),
                None => self.part(part)?,
                Some(_) => {
                    self.part(part)?;
                    self.text(".");
                }
            }
        }
        Ok(())
    }

    /// One part of a name, quoted as the dialect wants it.
    pub(crate) fn part(&mut self, part: &str) -> Result<()> {
        if part.is_empty() || part.contains('\0') {
            return usage(format!(
                "{part:?} is no name: a name has at least one character and no NUL"
            ));
        }
        if part.len() > self.dialect.name_bytes_max {
            return exceeded("name_bytes_max", self.dialect.name_bytes_max);
        }
        match self.dialect.names {
            Names::Quoted(quote) => self.quoted(part, quote),
            Names::Folded(words) if is_plain(part) => match words.binary_search(&part) {
                Ok(_) => self.quoted(&stored(part), '"'),
                Err(_) => self.text(part),
            },
            Names::Folded(_) => self.quoted(part, '"'),
        }
        Ok(())
    }

    /// Text in quotes, which are doubled within it.
    fn quoted(&mut self, text: &str, quote: char) {
        self.sql.push(quote);
        for piece in text.split_inclusive(quote) {
            self.sql.push_str(piece);
            if piece.ends_with(quote) {
                self.sql.push(quote);
            }
        }
        self.sql.push(quote);
    }

    /// A placeholder for this value.
    pub(crate) fn bind(&mut self, value: Value) {
        self.binds_bytes = self.binds_bytes.saturating_add(value.bytes());
        self.binds.push(value);
        match self.dialect.placeholder {
            Placeholder::Question => self.sql.push('?'),
            Placeholder::Numbered => {
                // In raw SQL a `?` may stand right after a word, which would swallow `$1`, or after a `$`.
                if scan::swallows_number(&self.sql) {
                    self.sql.push(' ');
                }
                self.sql.push('$');
                let mut digits = itoa::Buffer::new();
                self.sql.push_str(digits.format(self.binds.len()));
            }
        }
    }

    /// At most so many rows. One is a constant, which planners know more about. To SQLite every limit is: it would prepare the statement
    /// anew for each execution, because what is bound to a limit is part of its plan.
    fn at_most(&mut self, rows: u64) -> Result<()> {
        if rows > 1 && self.dialect.limit != Limit::Negative {
            return self.bind_rows(rows);
        }
        let mut digits = itoa::Buffer::new();
        self.text(digits.format(row_count(rows)?));
        Ok(())
    }

    /// A number of rows.
    fn bind_rows(&mut self, rows: u64) -> Result<()> {
        self.bind(Value::Integer(row_count(rows)?));
        Ok(())
    }

    /// SQL as it stands, with the dialect's placeholders for its own.
    pub(crate) fn raw_text(&mut self, sql: &str, values: &[Value]) -> Result<()> {
        self.sound(sql)?;
        let (mut placeholders, mut questions) = (0, 0);
        scan::translate(sql, self.dialect.lexicon, |sent, _| match sent {
            SentPiece::Same(text) => self.sql.push_str(text),
            SentPiece::Question => {
                questions += 1;
                self.sql.push('?');
            }
            SentPiece::Placeholder(number) => {
                placeholders = number;
                if let Some(value) = values.get(number - 1) {
                    self.bind(value.clone());
                }
            }
        });
        if placeholders != values.len() {
            let values = values.len();
            return usage(format!(
                "{placeholders} placeholders and {values} values in raw SQL: each ? takes one"
            ));
        }
        if questions > 0 && self.dialect.placeholder == Placeholder::Question {
            return self.unsupported("operator ?, which ?? stands for");
        }
        Ok(())
    }

    /// Refuses raw SQL that would reach out of its place: open at its end, or with placeholders that have numbers.
    fn sound(&self, sql: &str) -> Result<()> {
        let mut before = None;
        for piece in scan::pieces(sql, self.dialect.lexicon) {
            if !piece.closed {
                return usage(
                    "raw SQL ends within a literal, a quoted name or a comment: close it (a comment of -- ends with a line break)",
                );
            }
            let code = piece.kind == Kind::Code;
            let is_number = code && piece.text.starts_with(|c: char| c.is_ascii_digit());
            if is_number && matches!(before, Some('?' | '$')) {
                return usage(
                    "raw SQL of the builder has no numbered placeholders: write ? for each value",
                );
            }
            before = piece.text.chars().next_back().filter(|_| code);
        }
        Ok(())
    }
}

/// One statement without values.
pub(crate) fn one(
    dialect: &Dialect,
    write: impl FnOnce(&mut Writer<'_>) -> Result<()>,
) -> Result<String> {
    let mut writer = Writer::new(dialect);
    write(&mut writer)?;
    Ok(writer.finish()?.sql)
}

/// A name as a database keeps it that folds to upper case.
pub(crate) fn stored(part: &str) -> Cow<'_, str> {
    if is_plain(part) {
        Cow::Owned(part.to_ascii_uppercase())
    } else {
        Cow::Borrowed(part)
    }
}

fn row_count(rows: u64) -> Result<i64> {
    let message = "a limit or an offset is at most 9223372036854775807 rows";
    i64::try_from(rows).or_else(|_| usage(message))
}

/// Whether a name is one that a database that folds to upper case can have without quotes.
fn is_plain(part: &str) -> bool {
    let mut bytes = part.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
    first
        && bytes.all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'$'
        })
}
