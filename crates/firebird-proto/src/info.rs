//! Answers to requests for information: a tag, a length of two bytes, a value, again and again, little-endian. Knows a few tags; callers
//! that need others walk [`items`]. Rule: an answer that was cut says so; what it has is still sound.

use crate::Violation;

/// What ends an answer.
const END: u8 = 1;
/// What ends an answer that did not fit.
const TRUNCATED: u8 = 2;
/// A piece of information the server does not have.
const ERROR: u8 = 3;

/// Tags of what may be asked about a blob.
pub mod blob {
    /// The length of the blob in bytes.
    pub const LENGTH: u8 = 6;
}

/// Tags of what may be asked about a database.
pub mod database {
    /// Bytes of a page.
    pub const PAGE_SIZE: u8 = 14;
    /// The SQL dialect.
    pub const SQL_DIALECT: u8 = 62;
    /// The server's version, for people: [`super::version`] reads it.
    pub const FIREBIRD_VERSION: u8 = 103;
}

/// Tags of what may be asked about a statement.
pub mod statement {
    /// How many rows the last execution affected: [`super::affected`] reads the answer.
    pub const RECORDS: u8 = 23;
    /// How the server goes about a query, for people: [`super::explained_plan`] reads the answer.
    pub const EXPLAINED_PLAN: u8 = 26;
}

/// One piece of information, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// What was asked for.
    Value {
        /// The tag by which it was asked for.
        tag: u8,
        /// The value, not decoded.
        bytes: &'a [u8],
    },
    /// The rest did not fit.
    Truncated,
}

/// The pieces of an answer, in the order they were asked for. What the server does not have is left out.
pub fn items(data: &[u8]) -> impl Iterator<Item = Result<Item<'_>, Violation>> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        loop {
            let (&tag, after) = rest.take()?.split_first()?;
            match tag {
                END => return None,
                TRUNCATED => return Some(Ok(Item::Truncated)),
                _ => {}
            }
            let Some((bytes, after)) = value(after) else {
                return Some(Err(Violation::Truncated("piece of information")));
            };
            rest = Some(after);
            if tag != ERROR {
                return Some(Ok(Item::Value { tag, bytes }));
            }
        }
    })
}

/// A value with its length before it.
pub(crate) fn value(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, after) = data.split_first_chunk()?;
    after.split_at_checked(u16::from_le_bytes(*length).into())
}

/// A number of up to eight bytes, little-endian, with its sign.
pub fn number(bytes: &[u8]) -> Option<i64> {
    let (last, _) = bytes.split_last()?;
    let mut extended = [if *last < 0x80 { 0 } else { 0xff }; 8];
    extended.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(extended))
}

/// How many rows an execution touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowCounts {
    /// Read.
    pub selected: u64,
    /// Inserted.
    pub inserted: u64,
    /// Updated.
    pub updated: u64,
    /// Deleted.
    pub deleted: u64,
}

impl RowCounts {
    /// Inserted, updated or deleted.
    pub fn changed(&self) -> u64 {
        let Self {
            inserted,
            updated,
            deleted,
            ..
        } = *self;
        inserted.saturating_add(updated).saturating_add(deleted)
    }
}

/// Reads the answer to [`statement::RECORDS`].
///
/// # Errors
/// A [`Violation`] if it is not sound.
pub fn affected(data: &[u8]) -> Result<RowCounts, Violation> {
    let mut affected = RowCounts::default();
    for item in items(data) {
        let Item::Value {
            tag: statement::RECORDS,
            bytes,
        } = item?
        else {
            continue;
        };
        for count in items(bytes) {
            let Item::Value { tag, bytes } = count? else {
                continue;
            };
            let count = number(bytes)
                .and_then(|count| u64::try_from(count).ok())
                .ok_or(Violation::Truncated("number of rows"))?;
            match tag {
                13 => affected.selected = count,
                14 => affected.inserted = count,
                15 => affected.updated = count,
                16 => affected.deleted = count,
                _ => {}
            }
        }
    }
    Ok(affected)
}

/// Reads the answer to [`statement::EXPLAINED_PLAN`]: the text, if there is one and it is whole.
///
/// # Errors
/// A [`Violation`] if it is not sound.
pub fn explained_plan(data: &[u8]) -> Result<Option<&[u8]>, Violation> {
    match items(data).next().transpose()? {
        Some(Item::Value {
            tag: statement::EXPLAINED_PLAN,
            bytes,
        }) if !bytes.is_empty() => Ok(Some(bytes)),
        _ => Ok(None),
    }
}

/// Whether rows of a procedure are read by such a plan. A table whose name says so counts as one too.
pub fn names_procedure(plan: &[u8]) -> bool {
    const PROCEDURE: &[u8] = b"Procedure ";
    plan.windows(PROCEDURE.len()).any(|text| text == PROCEDURE)
}

/// The server's version, such as `LI-V3.0.11.33703 Firebird 3.0`, out of the value of [`database::FIREBIRD_VERSION`].
pub fn version(bytes: &[u8]) -> Option<String> {
    let (_lines, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let line = rest.get(..usize::from(*length))?;
    Some(String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(data: &[u8], expected: &[Result<Item<'_>, Violation>]) {
        assert_eq!(items(data).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn pieces_come_in_order_up_to_the_end() {
        let value = |tag, bytes| Ok(Item::Value { tag, bytes });
        check(
            b"\x04\x01\0a\x05\0\0\x01ignored",
            &[value(4, b"a"), value(5, b"")],
        );
        check(b"\x03\x01\0x\x04\x01\0a", &[value(4, b"a")]);
        check(b"", &[]);
    }

    #[test]
    fn reply_that_was_cut_is_marked() {
        check(b"\x02", &[Ok(Item::Truncated)]);
        check(
            b"\x04\x02\0a",
            &[Err(Violation::Truncated("piece of information"))],
        );
        check(
            b"\x04\x02",
            &[Err(Violation::Truncated("piece of information"))],
        );
    }

    #[test]
    fn numbers_keep_their_sign_whatever_their_length() {
        for (bytes, expected) in [
            (&b"\x01\0\0\0"[..], Some(1)),
            (b"\xfe\xff\xff\xff", Some(-2)),
            (b"\xff\xff\0", Some(65_535)),
            (b"\x80", Some(-128)),
            (b"\xff\xff\xff\xff\xff\xff\xff\x7f", Some(i64::MAX)),
            (b"", None),
            (b"123456789", None),
        ] {
            assert_eq!(number(bytes), expected);
        }
    }

    #[test]
    fn affected_rows_are_counted_by_what_happened_to_them() {
        let data = b"\x17\x1d\0\x0f\x04\0\x02\0\0\0\x10\x04\0\0\0\0\0\x0d\x04\0\x05\0\0\0\x0e\x04\0\x01\0\0\0\x01\x01";
        let affected = affected(data).unwrap();
        assert_eq!((affected.selected, affected.changed()), (5, 3));
    }

    #[test]
    fn plan_says_whether_a_procedure_is_read_from() {
        let table = b"\x1a\x20\0\nSelect\n -> Table \"T\" Full Scan   \x01";
        let plan = explained_plan(table).unwrap().unwrap();
        assert!(!names_procedure(plan));
        let procedure = b"\x1a\x20\0\nSelect\n  -> Procedure \"P\" as X\x01";
        let plan = explained_plan(procedure).unwrap().unwrap();
        assert!(names_procedure(plan));
        for none in [&b"\x01"[..], b"", b"\x02", b"\x1a\0\0\x01"] {
            assert_eq!(explained_plan(none), Ok(None));
        }
        assert!(explained_plan(b"\x1a\x20\0cut").is_err());
    }

    #[test]
    fn version_is_the_first_line() {
        assert_eq!(version(b"\x02\x03abc\x01d").as_deref(), Some("abc"));
        assert_eq!(version(b"\x01\x03ab"), None);
    }
}
