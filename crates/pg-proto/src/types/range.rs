//! Ranges: two bounds of one type, or nothing at all. Multiranges are lists of them.
//! Not a set: nothing is compared or normalised. Rule: which bound is inside is kept as the server said it.

use std::fmt;
use std::ops::Bound;

use bytes::{BufMut as _, BytesMut};

use super::decode;
use super::encode::{self, Encode, Encoded};
use super::kind::Shape;
use super::literal;
use super::read::Reader;
use super::{Decode, DecodeError, EncodeError, Format, Type};

const EMPTY: u8 = 0x01;
const LOWER_INCLUDED: u8 = 0x02;
const UPPER_INCLUDED: u8 = 0x04;
const LOWER_UNBOUNDED: u8 = 0x08;
const UPPER_UNBOUNDED: u8 = 0x10;
const INVALID: DecodeError = DecodeError::Invalid { what: "range" };

/// A range of `T`. The server may answer another form of the same range: `int4range(1,3,'[]')` comes back as `[1,4)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Range<T> {
    /// No value is in it.
    Empty,
    /// What is between a lower and an upper bound.
    Between(Bound<T>, Bound<T>),
}

/// A range where it lies in a message, its bounds as bytes.
pub(crate) type RangeRef<'a> = Range<&'a [u8]>;

impl<'a> RangeRef<'a> {
    pub(crate) fn scan(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let flags = reader.u8()?;
        if flags & !(EMPTY | LOWER_INCLUDED | UPPER_INCLUDED | LOWER_UNBOUNDED | UPPER_UNBOUNDED)
            != 0
        {
            return Err(INVALID);
        }
        if flags & EMPTY != 0 {
            reader.end()?;
            return Ok(Self::Empty);
        }
        let lower = bound(&mut reader, flags, LOWER_UNBOUNDED, LOWER_INCLUDED)?;
        let upper = bound(&mut reader, flags, UPPER_UNBOUNDED, UPPER_INCLUDED)?;
        reader.end()?;
        Ok(Self::Between(lower, upper))
    }
}

fn bound<'a>(
    reader: &mut Reader<'a>,
    flags: u8,
    unbounded: u8,
    included: u8,
) -> Result<Bound<&'a [u8]>, DecodeError> {
    if flags & unbounded != 0 {
        return Ok(Bound::Unbounded);
    }
    let value = reader.field()?.ok_or(INVALID)?;
    Ok(if flags & included != 0 {
        Bound::Included(value)
    } else {
        Bound::Excluded(value)
    })
}

/// What stands beside a bound: `included` if it is inside.
pub(crate) fn bracket<T>(bound: &Bound<T>, included: u8, excluded: u8) -> u8 {
    match bound {
        Bound::Included(_) => included,
        Bound::Excluded(_) | Bound::Unbounded => excluded,
    }
}

impl<T> Range<T> {
    pub(crate) fn try_map<U, E>(
        self,
        mut map: impl FnMut(T) -> Result<U, E>,
    ) -> Result<Range<U>, E> {
        let mut map = |bound| {
            Ok(match bound {
                Bound::Unbounded => Bound::Unbounded,
                Bound::Included(value) => Bound::Included(map(value)?),
                Bound::Excluded(value) => Bound::Excluded(map(value)?),
            })
        };
        Ok(match self {
            Self::Empty => Range::Empty,
            Self::Between(lower, upper) => Range::Between(map(lower)?, map(upper)?),
        })
    }
}

impl<T: fmt::Display> fmt::Display for Range<T> {
    /// For types whose text needs no quotes, such as numbers and dates.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Between(lower, upper) = self else {
            return f.write_str("empty");
        };
        match lower {
            Bound::Included(value) => write!(f, "[{value},")?,
            Bound::Excluded(value) => write!(f, "({value},")?,
            Bound::Unbounded => f.write_str("(,")?,
        }
        match upper {
            Bound::Included(value) => write!(f, "{value}]"),
            Bound::Excluded(value) => write!(f, "{value})"),
            Bound::Unbounded => f.write_str(")"),
        }
    }
}

impl<T: Encode> Encode for Range<T> {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Range(bound) if T::accepts(bound))
    }

    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        let Shape::Range(bound) = ty.shape() else {
            return encode::mismatch(ty, "Range");
        };
        let Self::Between(lower, upper) = self else {
            out.put_u8(EMPTY);
            return Encoded::BINARY;
        };
        encode::binary_or_text(
            out,
            |out| write_binary(lower, upper, bound, out),
            |out| write_text(lower, upper, bound, out),
        )
    }
}

/// Answers `Text`, with half a range in `out`, when it meets a bound that goes as text.
fn write_binary<T: Encode>(
    lower: &Bound<T>,
    upper: &Bound<T>,
    ty: &Type,
    out: &mut BytesMut,
) -> Result<Format, EncodeError> {
    let flags = |bound: &Bound<T>, included, unbounded| match bound {
        Bound::Included(_) => included,
        Bound::Excluded(_) => 0,
        Bound::Unbounded => unbounded,
    };
    let lower_flags = flags(lower, LOWER_INCLUDED, LOWER_UNBOUNDED);
    out.put_u8(lower_flags | flags(upper, UPPER_INCLUDED, UPPER_UNBOUNDED));
    for bound in [lower, upper] {
        let (Bound::Included(value) | Bound::Excluded(value)) = bound else {
            continue;
        };
        match encode::part(out, |out| value.encode(ty, out))? {
            Encoded::Value(Format::Binary) => {}
            Encoded::Value(Format::Text) => return Ok(Format::Text),
            // A bound is never NULL.
            Encoded::Null => return Err(encode::out_of_range(ty)),
        }
    }
    Ok(Format::Binary)
}

fn write_text<T: Encode>(
    lower: &Bound<T>,
    upper: &Bound<T>,
    ty: &Type,
    out: &mut BytesMut,
) -> Result<Encoded, EncodeError> {
    let mut text = vec![bracket(lower, b'[', b'(')];
    write_bound(lower, ty, &mut text)?;
    text.push(b',');
    write_bound(upper, ty, &mut text)?;
    text.push(bracket(upper, b']', b')'));
    out.extend_from_slice(&text);
    Encoded::TEXT
}

fn write_bound<T: Encode>(
    bound: &Bound<T>,
    ty: &Type,
    text: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let (Bound::Included(value) | Bound::Excluded(value)) = bound else {
        return Ok(());
    };
    let start = text.len();
    literal::write_part(value, ty, text)?.ok_or_else(|| encode::out_of_range(ty))?;
    literal::quote_bound(text, start);
    Ok(())
}

impl<'a, T: Decode<'a>> Decode<'a> for Range<T> {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Range(bound) if T::accepts(bound))
    }

    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Shape::Range(bound) = ty.shape() else {
            return decode::mismatch(ty, "Range");
        };
        RangeRef::scan(bytes)?.try_map(|value| T::from_binary(bound, value))
    }

    /// Bounds with backslashes or quotes inside of quotes are not read; ask for binary format.
    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Shape::Range(bound) = ty.shape() else {
            return decode::mismatch(ty, "Range");
        };
        split_text(bytes)
            .ok_or(INVALID)?
            .try_map(|value| T::from_text(bound, value))
    }
}

/// Takes a range's text apart, if its bounds need no unescaping.
fn split_text(text: &[u8]) -> Option<RangeRef<'_>> {
    if text == b"empty" {
        return Some(Range::Empty);
    }
    let (open, rest) = text.split_first()?;
    let (close, inner) = rest.split_last()?;
    let (lower, rest) = text_bound(inner)?;
    let (upper, rest) = text_bound(rest.strip_prefix(b",")?)?;
    rest.is_empty().then_some(())?;
    let bound = |value, included| match value {
        None => Bound::Unbounded,
        Some(value) if included => Bound::Included(value),
        Some(value) => Bound::Excluded(value),
    };
    let lower = match open {
        b'[' => bound(lower, true),
        b'(' => bound(lower, false),
        _ => return None,
    };
    let upper = match close {
        b']' => bound(upper, true),
        b')' => bound(upper, false),
        _ => return None,
    };
    Some(Range::Between(lower, upper))
}

/// A bound, `None` if there is none, and what follows it.
fn text_bound(text: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    if let Some(rest) = text.strip_prefix(b"\"") {
        let end = memchr::memchr2(b'"', b'\\', rest)?;
        let (value, rest) = rest.split_at_checked(end)?;
        let rest = rest.strip_prefix(b"\"")?;
        return (!rest.starts_with(b"\"")).then_some((Some(value), rest));
    }
    let end = memchr::memchr(b',', text).unwrap_or(text.len());
    let (value, rest) = text.split_at_checked(end)?;
    Some(((!value.is_empty()).then_some(value), rest))
}
