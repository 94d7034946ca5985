//! Text forms of arrays, ranges and rows: braces, separators, quotes. Not the text of what is in them.
//! Rule: a text is quoted exactly where the server quotes it, so what is printed here is what it would print.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::BytesMut;

use super::array::{Dimension, Step, walk};
use super::encode::{Encode, Encoded};
use super::print::print;
use super::{DecodeError, EncodeError, Format, Type};
use crate::limits::{ARRAY_DIMENSIONS_MAX, VALUE_BYTES_MAX};

const INVALID: DecodeError = DecodeError::Invalid { what: "array text" };

/// What the server's text parsers take for white space.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Quotes what `out` has from `start` on, an item of an array, if it must be.
pub(crate) fn quote_item(out: &mut Vec<u8>, start: usize, delimiter: u8) {
    let text = out.get(start..).unwrap_or_default();
    let special = |byte: &u8| {
        matches!(byte, b'{' | b'}' | b'"' | b'\\') || *byte == delimiter || is_space(*byte)
    };
    if text.is_empty() || text.eq_ignore_ascii_case(b"null") || text.iter().any(special) {
        let text = out.split_off(start);
        write_quoted(out, &text, Escape::Backslash);
    }
}

/// Quotes what `out` has from `start` on, a bound of a range, if it must be.
pub(crate) fn quote_bound(out: &mut Vec<u8>, start: usize) {
    quote_doubling(out, start, b"\"\\()[],");
}

/// Quotes what `out` has from `start` on, a field of a row, if it must be.
pub(crate) fn quote_field(out: &mut Vec<u8>, start: usize) {
    quote_doubling(out, start, b"\"\\(),");
}

fn quote_doubling(out: &mut Vec<u8>, start: usize, special: &[u8]) {
    let text = out.get(start..).unwrap_or_default();
    let must = |byte: &u8| special.contains(byte) || is_space(*byte);
    if text.is_empty() || text.iter().any(must) {
        let text = out.split_off(start);
        write_quoted(out, &text, Escape::Double);
    }
}

/// How a quote or a backslash is written inside of quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    Backslash,
    Double,
}

pub(crate) fn write_quoted(out: &mut Vec<u8>, text: &[u8], escape: Escape) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(if escape == Escape::Backslash {
                b'\\'
            } else {
                *byte
            });
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// Appends the text of an array with lower bounds other than 1: what stands before the braces.
pub(crate) fn write_bounds(out: &mut Vec<u8>, dimensions: &[Dimension]) {
    if dimensions.iter().all(|dimension| dimension.lower == 1) {
        return;
    }
    let mut text = String::new();
    for Dimension { length, lower } in dimensions {
        let upper = i64::from(*lower) + i64::from(*length) - 1;
        // Writing to a String cannot fail.
        let _ = write!(text, "[{lower}:{upper}]");
    }
    out.extend_from_slice(text.as_bytes());
    out.push(b'=');
}

/// Appends the text of one part of a whole, or answers `None` for NULL.
pub(crate) fn write_part<T: Encode + ?Sized>(
    value: &T,
    ty: &Type,
    text: &mut Vec<u8>,
) -> Result<Option<()>, EncodeError> {
    let mut scratch = BytesMut::new();
    match value.encode(ty, &mut scratch)? {
        Encoded::Null => return Ok(None),
        Encoded::Value(Format::Text) => text.extend_from_slice(&scratch),
        Encoded::Value(Format::Binary) => {
            print(ty, &scratch, text).map_err(|_| EncodeError::NeedsText {
                name: ty.name().to_owned(),
            })?;
        }
    }
    Ok(Some(()))
}

/// Appends `items` as the text of an array.
pub(crate) fn array<T: Encode>(
    dimensions: &[Dimension],
    items: &[T],
    element: &Type,
    out: &mut BytesMut,
) -> Result<Encoded, EncodeError> {
    let delimiter = element.delimiter();
    let mut text = Vec::new();
    write_bounds(&mut text, dimensions);
    walk(dimensions, items.iter().map(Ok), |step| {
        match step {
            Step::Open => text.push(b'{'),
            Step::Close => text.push(b'}'),
            Step::Separator => text.push(delimiter),
            Step::Item(item) => {
                let start = text.len();
                match write_part(item, element, &mut text)? {
                    Some(()) => quote_item(&mut text, start, delimiter),
                    None => text.extend_from_slice(b"NULL"),
                }
            }
        }
        Ok(())
    })?;
    if text.len() > VALUE_BYTES_MAX {
        return Err(EncodeError::TooLong);
    }
    out.extend_from_slice(&text);
    Encoded::TEXT
}

/// Reads an array's text. `each` gets the items in order, `None` for NULL; one that held backslashes is owned.
pub(crate) fn read_array<'a>(
    element: &Type,
    bytes: &'a [u8],
    mut each: impl FnMut(Option<Cow<'a, [u8]>>) -> Result<(), DecodeError>,
) -> Result<Vec<Dimension>, DecodeError> {
    let mut parser = Parser {
        rest: bytes,
        delimiter: element.delimiter(),
    };
    let lowers = parser.bounds()?;
    let mut lengths = Vec::new();
    parser.braces(&mut lengths, 0, &mut each)?;
    if !parser.rest.is_empty() || (!lowers.is_empty() && lowers.len() != lengths.len()) {
        return Err(INVALID);
    }
    if lengths.contains(&Some(0)) {
        return if lengths.len() == 1 {
            Ok(Vec::new())
        } else {
            Err(INVALID)
        };
    }
    let lowers = lowers.into_iter().chain(std::iter::repeat(1));
    lengths
        .into_iter()
        .zip(lowers)
        .map(|(length, lower)| {
            Ok(Dimension {
                length: length.ok_or(INVALID)?,
                lower,
            })
        })
        .collect()
}

struct Parser<'a> {
    rest: &'a [u8],
    delimiter: u8,
}

impl<'a> Parser<'a> {
    fn eat(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// `[l:u][l:u]=` before the braces: the lower bounds.
    fn bounds(&mut self) -> Result<Vec<i32>, DecodeError> {
        let mut lowers = Vec::new();
        if self.rest.first() != Some(&b'[') {
            return Ok(lowers);
        }
        let equals = memchr::memchr(b'=', self.rest).ok_or(INVALID)?;
        let (head, rest) = self.rest.split_at_checked(equals).ok_or(INVALID)?;
        self.rest = rest.get(1..).unwrap_or_default();
        let head = std::str::from_utf8(head).map_err(|_| INVALID)?;
        for part in head.split_terminator(']') {
            let (lower, upper) = part
                .strip_prefix('[')
                .and_then(|part| part.split_once(':'))
                .ok_or(INVALID)?;
            let _: i32 = upper.parse().map_err(|_| INVALID)?;
            lowers.push(lower.parse().map_err(|_| INVALID)?);
        }
        if lowers.len() > ARRAY_DIMENSIONS_MAX {
            return Err(INVALID);
        }
        Ok(lowers)
    }

    /// One pair of braces; `lengths` learns or checks how many things are in it.
    fn braces(
        &mut self,
        lengths: &mut Vec<Option<i32>>,
        level: usize,
        each: &mut impl FnMut(Option<Cow<'a, [u8]>>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if level >= ARRAY_DIMENSIONS_MAX || !self.eat(b'{') {
            return Err(INVALID);
        }
        if lengths.len() == level {
            lengths.push(None);
        }
        let inner = self.rest.first() == Some(&b'{');
        // Items may stand at the deepest level only, and all braces of a level are of one kind.
        if !inner && lengths.len() > level + 1 {
            return Err(INVALID);
        }
        let mut count = 0;
        if !self.eat(b'}') {
            loop {
                if inner {
                    self.braces(lengths, level + 1, each)?;
                } else {
                    let item = self.item()?;
                    each(item)?;
                }
                count += 1;
                if self.eat(b'}') {
                    break;
                }
                if !self.eat(self.delimiter) {
                    return Err(INVALID);
                }
            }
        }
        match lengths.get_mut(level) {
            Some(length @ None) => *length = Some(count),
            Some(Some(length)) if *length == count => {}
            _ => return Err(INVALID),
        }
        Ok(())
    }

    fn item(&mut self) -> Result<Option<Cow<'a, [u8]>>, DecodeError> {
        if self.eat(b'"') {
            return self.quoted().map(Some);
        }
        let delimiter = self.delimiter;
        let end = self
            .rest
            .iter()
            .position(|byte| *byte == delimiter || matches!(byte, b'{' | b'}' | b'"' | b'\\'));
        let end = end.filter(|end| *end > 0).ok_or(INVALID)?;
        let (item, rest) = self.rest.split_at_checked(end).ok_or(INVALID)?;
        self.rest = rest;
        Ok((item != b"NULL").then_some(Cow::Borrowed(item)))
    }

    /// After the opening quote.
    fn quoted(&mut self) -> Result<Cow<'a, [u8]>, DecodeError> {
        let end = memchr::memchr2(b'"', b'\\', self.rest).ok_or(INVALID)?;
        if self.rest.get(end) == Some(&b'"') {
            let (item, rest) = self.rest.split_at_checked(end).ok_or(INVALID)?;
            self.rest = rest.get(1..).unwrap_or_default();
            return Ok(Cow::Borrowed(item));
        }
        let mut text = Vec::new();
        loop {
            match self.rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Ok(Cow::Owned(text));
                }
                [b'\\', byte, rest @ ..] | [byte, rest @ ..] => {
                    text.push(*byte);
                    self.rest = rest;
                }
                [] => return Err(INVALID),
            }
        }
    }
}
