//! What COPY data are made of: rows in binary format and in text format. Not the messages that carry them.
//! The formats are those of the manual's page on COPY, section "File Formats". Rule: an error leaves the buffer as it was.

use std::borrow::Cow;
use std::iter::Peekable;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::error::{Error, Misuse, Result, Violation};
use crate::types::{Encode, Encoded, Format, TypeRef, part};
use crate::wire::Reader;

#[cfg(doc)]
use crate::backend::DataRow;

/// How binary COPY data begin: a signature that survives no careless transfer.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The flags that a reader must understand; there is one, for rows with OIDs, which no supported server writes.
const CRITICAL_FLAGS: u32 = 0xffff_0000;
/// Most fields of a row: what 16 bits count, with a sign.
const FIELDS_MAX: usize = i16::MAX as usize;

/// Appends what binary COPY data begin with.
pub fn binary_header(out: &mut BytesMut) {
    out.put_slice(SIGNATURE);
    out.put_u32(0);
    out.put_u32(0);
}

/// Appends what binary COPY data end with.
pub fn binary_trailer(out: &mut BytesMut) {
    out.put_i16(-1);
}

/// Appends one row of binary COPY data: `types` gives each of `values` its type.
///
/// # Errors
/// [`Error::Parameter`] if a type does not take its value or would take it as text only;
/// [`Misuse::ValueCount`] if there are not as many values as types, [`Misuse::CopyFields`].
pub fn binary_row(out: &mut BytesMut, types: &[TypeRef], values: &[&dyn Encode]) -> Result<()> {
    if types.len() != values.len() {
        return Err(Misuse::ValueCount {
            expected: types.len(),
            given: values.len(),
        }
        .into());
    }
    let start = out.len();
    let written = write_binary_row(out, types, values);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn write_binary_row(out: &mut BytesMut, types: &[TypeRef], values: &[&dyn Encode]) -> Result<()> {
    let count = i16::try_from(values.len()).map_err(|_| Misuse::CopyFields {
        count: values.len(),
        max: FIELDS_MAX,
    })?;
    out.put_i16(count);
    for (at, (ty, value)) in types.iter().zip(values).enumerate() {
        let refused = |cause| Error::Parameter {
            number: at + 1,
            cause,
        };
        let encoded = part(out, |out| value.encode(ty, out)).map_err(refused)?;
        if encoded == Encoded::Value(Format::Text) {
            return Err(Misuse::CopyText { field: at + 1 }.into());
        }
    }
    Ok(())
}

/// Appends one row of text COPY data: fields between tabs, a backslash before what would end them, `\N` for NULL.
///
/// # Errors
/// [`Misuse::Nul`].
pub fn text_row<'a>(
    out: &mut BytesMut,
    fields: impl IntoIterator<Item = Option<&'a str>>,
) -> Result<(), Misuse> {
    let start = out.len();
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            out.put_u8(b'\t');
        }
        match field {
            None => out.put_slice(b"\\N"),
            Some(text) if memchr::memchr(0, text.as_bytes()).is_some() => {
                out.truncate(start);
                return Err(Misuse::Nul("COPY field"));
            }
            Some(text) => escape(out, text.as_bytes()),
        }
    }
    out.put_u8(b'\n');
    Ok(())
}

/// Appends `text` as a field of text COPY data.
fn escape(out: &mut BytesMut, mut text: &[u8]) {
    let special = |byte: &u8| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r');
    while let Some(at) = text.iter().position(special) {
        let (plain, rest) = text.split_at(at);
        out.put_slice(plain);
        if let Some((byte, rest)) = rest.split_first() {
            let letter = match byte {
                b'\t' => b't',
                b'\n' => b'n',
                b'\r' => b'r',
                other => *other,
            };
            out.put_slice(&[b'\\', letter]);
            text = rest;
        }
    }
    out.put_slice(text);
}

/// The fields of one row of text COPY data, with or without the newline at its end. `None` is NULL.
pub fn text_fields(row: &[u8]) -> impl Iterator<Item = Option<Cow<'_, [u8]>>> {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.split(|byte| *byte == b'\t')
        .map(|field| (field != b"\\N").then(|| unescape(field)))
}

/// A field of text COPY data as it was meant.
fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', field).is_none() {
        return Cow::Borrowed(field);
    }
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        let meant = match byte {
            b'\\' => match rest.next() {
                Some(b'b') => 8,
                Some(b'f') => 12,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'v') => 11,
                Some(digit @ b'0'..=b'7') => number(digit, 8, 2, &mut rest),
                Some(b'x') if rest.peek().is_some_and(u8::is_ascii_hexdigit) => {
                    number(b'0', 16, 2, &mut rest)
                }
                Some(other) => other,
                None => b'\\',
            },
            plain => plain,
        };
        text.push(meant);
    }
    Cow::Owned(text)
}

/// A byte written as digits: `first` and up to `more` others.
fn number(first: u8, base: u32, more: usize, rest: &mut Peekable<impl Iterator<Item = u8>>) -> u8 {
    let value = |digit: u8| char::from(digit).to_digit(base);
    let mut sum = value(first).unwrap_or_default();
    for _ in 0..more {
        let Some(digit) = rest.peek().copied().and_then(value) else {
            break;
        };
        rest.next();
        sum = sum * base + digit;
    }
    // The server, too, keeps the lower eight bits of \777.
    u8::try_from(sum & 0xff).unwrap_or_default()
}

/// Reads binary COPY data, whose pieces need not end where rows end.
#[derive(Debug)]
pub struct BinaryReader {
    input: BytesMut,
    /// Bytes of the input that are known to be whole fields of the current row.
    at: usize,
    /// Fields of the current row that are still to come; `None` before its count.
    left: Option<u16>,
    state: State,
    row_bytes_max: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Rows,
    Ended,
}

impl BinaryReader {
    /// A reader of data whose rows have at most `row_bytes_max` bytes.
    pub fn new(row_bytes_max: usize) -> Self {
        Self {
            input: BytesMut::new(),
            at: 0,
            left: None,
            state: State::Header,
            row_bytes_max,
        }
    }

    /// Takes the next piece.
    pub fn feed(&mut self, data: &[u8]) {
        self.input.extend_from_slice(data);
    }

    /// The next whole row, which [`DataRow::new`] reads; `None` when more is needed or the data have ended.
    ///
    /// # Errors
    /// A [`Violation`] if this is not what COPY writes, or a row exceeds the limit.
    pub fn row(&mut self) -> Result<Option<Bytes>, Violation> {
        if self.state == State::Header && !self.header()? {
            return Ok(None);
        }
        if self.state == State::Ended {
            return if self.input.is_empty() {
                Ok(None)
            } else {
                Err(Violation::Trailing("COPY trailer"))
            };
        }
        loop {
            let rest = self.input.get(self.at..).unwrap_or_default();
            let taken = match self.left {
                Some(0) => break,
                Some(_) => field_length(rest)?,
                None => match Reader::new(rest).u16("count") {
                    Ok(u16::MAX) => {
                        self.input.advance(2);
                        self.state = State::Ended;
                        return self.row();
                    }
                    Ok(count) if usize::from(count) > FIELDS_MAX => {
                        return Err(Violation::value(
                            "the number of fields of a COPY row",
                            count,
                        ));
                    }
                    Ok(count) => {
                        self.left = Some(count + 1);
                        Some(2)
                    }
                    Err(_) => None,
                },
            };
            let Some(taken) = taken else {
                return Ok(None);
            };
            if self.at + taken > self.row_bytes_max {
                return Err(Violation::too_many(
                    "bytes of one COPY row",
                    self.row_bytes_max,
                ));
            }
            if rest.len() < taken {
                return Ok(None);
            }
            self.at += taken;
            self.left = self.left.map(|left| left - 1);
        }
        self.left = None;
        Ok(Some(
            self.input.split_to(std::mem::take(&mut self.at)).freeze(),
        ))
    }

    /// Whether the trailer has come.
    pub fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Takes the header, if it is all there.
    fn header(&mut self) -> Result<bool, Violation> {
        let mut reader = Reader::new(&self.input);
        let known = self.input.len().min(SIGNATURE.len());
        if self.input.get(..known) != SIGNATURE.get(..known) {
            return Err(Violation::value("the signature of COPY data", 0_u32));
        }
        let taken = reader.bytes(SIGNATURE.len(), "signature");
        let (Ok(_), Ok(flags), Ok(extension)) =
            (taken, reader.u32("flags"), reader.u32("extension"))
        else {
            return Ok(false);
        };
        if flags & CRITICAL_FLAGS != 0 {
            return Err(Violation::value("the flags of COPY data", flags));
        }
        let header = SIGNATURE.len() + 8;
        let extension = usize::try_from(extension).unwrap_or(usize::MAX);
        if extension > self.row_bytes_max {
            return Err(Violation::too_many(
                "bytes of a COPY header",
                self.row_bytes_max,
            ));
        }
        if self.input.len() < header + extension {
            return Ok(false);
        }
        self.input.advance(header + extension);
        self.state = State::Rows;
        Ok(true)
    }
}

/// Bytes of the field that `rest` begins with, its length included; `None` if the length is not all there.
fn field_length(rest: &[u8]) -> Result<Option<usize>, Violation> {
    let Ok(length) = Reader::new(rest).i32("length") else {
        return Ok(None);
    };
    match usize::try_from(length) {
        Ok(length) => Ok(Some(length + 4)),
        Err(_) if length == -1 => Ok(Some(4)),
        Err(_) => Err(Violation::FieldLength(length)),
    }
}

#[cfg(test)]
mod tests;
