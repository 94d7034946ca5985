//! Values of SQLite whose column says more than SQLite's own types do: exact numbers, dates, times, JSON, truth. They come out as
//! PostgreSQL's do. Rule: what the text does not bear out stays the text that it is.

use std::fmt;
use std::io::Write as _;

use tsumugi_sql::schema::KindName;
use tsumugi_values::decimal::Digits;
use tsumugi_values::{Date, Timestamp, TimestampTz};

use super::packed::Cell;
use crate::error::Result;
use crate::value::{TypedValueRef, ValueKind, ValueRef};

/// How the text of an exact number ends that no column holds, but a sum: white space to SQLite and to [`Digits`], and such as
/// nobody writes behind a number.
pub(crate) const EXACT: &str = "\u{c}\t\u{c}\r\u{c}\u{c}\t\r\u{c}\r\r\t\u{c}\t\u{c}\u{c}";

/// The text without the marks of sums that SQL made parts of it. None if there are none, or only that of a sum.
pub(crate) fn unmarked(text: &[u8]) -> Option<String> {
    if !text.contains(&b'\x0c') {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let is_sum = |sum: &str| Digits::of(sum).is_some();
    if text.strip_suffix(EXACT).is_some_and(is_sum) || !text.contains(EXACT) {
        return None;
    }
    Some(text.replace(EXACT, ""))
}

/// What a column holds, as far as its type is not SQLite's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclaredType {
    /// What SQLite says.
    Plain,
    /// An expression: what SQLite says, or an exact number.
    Expression,
    Boolean,
    /// With so many digits after the point.
    Decimal(u16),
    Date,
    DateTime,
    Timestamp,
    Json,
}

impl DeclaredType {
    /// What a column of this declared type holds; none is declared for an expression.
    pub(crate) fn of(declared: Option<&str>) -> DeclaredType {
        let Some(declared) = declared else {
            return DeclaredType::Expression;
        };
        let (name, size) = declared.split_once('(').unwrap_or((declared, ""));
        let Some(kind) = KindName::declared(name.trim_ascii()) else {
            return DeclaredType::Plain;
        };
        match kind {
            KindName::Boolean => DeclaredType::Boolean,
            KindName::Decimal => {
                let scale = size.trim_end_matches(')').split(',').nth(1);
                let scale = scale.and_then(|scale| scale.trim().parse().ok());
                DeclaredType::Decimal(scale.unwrap_or(0))
            }
            KindName::Date => DeclaredType::Date,
            KindName::DateTime => DeclaredType::DateTime,
            KindName::Timestamp => DeclaredType::Timestamp,
            KindName::Json => DeclaredType::Json,
            KindName::Increments
            | KindName::SmallInteger
            | KindName::MediumInteger
            | KindName::Integer
            | KindName::BigInteger
            | KindName::Double
            | KindName::Float
            | KindName::Uuid
            | KindName::Char
            | KindName::String
            | KindName::Text
            | KindName::Time
            | KindName::Binary
            | KindName::Enum => DeclaredType::Plain,
        }
    }

    /// The value of a cell.
    pub(crate) fn value(self, cell: Cell<'_>) -> ValueRef<'_> {
        let plain = cell.value();
        let text = match (self, plain) {
            (DeclaredType::Plain, _) => return plain,
            (DeclaredType::Boolean, ValueRef::Integer(truth @ (0 | 1))) => {
                return ValueRef::Boolean(truth == 1);
            }
            (_, ValueRef::Text(text)) => text,
            _ => return plain,
        };
        match Typed::read(self, text) {
            Some(typed) => ValueRef::Typed(TypedValueRef::typed(typed)),
            None => plain,
        }
    }
}

/// A value whose text has been classified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Typed<'a> {
    Decimal(Digits<'a>, u16),
    Date(Date),
    DateTime(Timestamp),
    Timestamp(TimestampTz),
    Json(&'a str),
}

impl<'a> Typed<'a> {
    fn read(declared: DeclaredType, text: &'a str) -> Option<Typed<'a>> {
        match declared {
            DeclaredType::Expression => {
                let digits = Digits::of(text.strip_suffix(EXACT)?)?;
                Some(Typed::Decimal(digits, digits.scale()))
            }
            DeclaredType::Decimal(scale) => Some(Typed::Decimal(Digits::of(text)?, scale)),
            DeclaredType::Date => text.parse().ok().map(Typed::Date),
            DeclaredType::DateTime => {
                let local = text.strip_suffix('Z').unwrap_or(text);
                local.parse().ok().map(Typed::DateTime)
            }
            DeclaredType::Timestamp => text.parse().ok().map(Typed::Timestamp),
            DeclaredType::Json => {
                let read = serde_json::from_str::<serde::de::IgnoredAny>(text);
                read.is_ok().then_some(Typed::Json(text))
            }
            DeclaredType::Plain | DeclaredType::Boolean => None,
        }
    }

    pub(crate) fn kind(self) -> ValueKind {
        match self {
            Typed::Decimal(..) => ValueKind::Decimal,
            Typed::Date(_) => ValueKind::Date,
            Typed::DateTime(_) => ValueKind::Timestamp,
            Typed::Timestamp(_) => ValueKind::TimestampTz,
            Typed::Json(_) => ValueKind::Structure,
        }
    }

    pub(crate) fn unix_micros(self) -> Option<i64> {
        match self {
            Typed::DateTime(time) => time.unix_micros(),
            Typed::Timestamp(time) => time.unix_micros(),
            Typed::Decimal(..) | Typed::Date(_) | Typed::Json(_) => None,
        }
    }

    /// Appends it as PostgreSQL prints it. Always `Ok`; drivers, whose fields may be malformed, answer the same type.
    pub(crate) fn write_text(self, out: &mut Vec<u8>) -> Result<()> {
        // A vector takes all that is written.
        match self {
            Typed::Decimal(digits, scale) => digits.write(usize::from(scale), out),
            Typed::Json(text) => out.extend_from_slice(text.as_bytes()),
            Typed::Date(date) => drop(write!(out, "{date}")),
            Typed::DateTime(time) => drop(write!(out, "{time}")),
            Typed::Timestamp(time) => drop(write!(out, "{time}")),
        }
        Ok(())
    }

    /// Appends it as JSON, as what PostgreSQL sends is written.
    pub(crate) fn write_json(self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            // A line break can only stand between its parts, and would be one between rows.
            Typed::Json(text) => {
                for line in text.split(['\n', '\r']) {
                    out.extend_from_slice(line.trim_ascii_start().as_bytes());
                }
            }
            Typed::Decimal(digits, scale) => {
                out.push(b'"');
                digits.write(usize::from(scale), out);
                out.push(b'"');
            }
            Typed::Date(date) => quoted(out, |text| date.write_iso(text)),
            Typed::DateTime(time) => quoted(out, |text| time.write_iso(text)),
            Typed::Timestamp(time) => quoted(out, |text| time.write_iso(text)),
        }
        Ok(())
    }
}

/// Characters that need no escapes, as a string of JSON.
fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Text<'_>) -> fmt::Result) {
    out.push(b'"');
    // A vector takes all that is written.
    let _ = write(&mut Text(out));
    out.push(b'"');
}

/// Bytes as a place for text.
struct Text<'a>(&'a mut Vec<u8>);

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
