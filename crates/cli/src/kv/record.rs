//! Records in a file: lines of escaped TSV, or flat, as tkrzw_dbm_util writes them. Knows readers and buffers, not where they lead.
//! What a file claims takes memory only as it comes; a malformed record is reported with its number.
//!
//! Flat is keys and values in turn, each with 0xFF, a length and its bytes; what begins with 0xFE is about the file and skipped.
//! A length is in groups of seven bits, the highest first, all but the last with the eighth bit set.

use std::io::{self, BufRead, Read as _};

use bytes::Bytes;

use super::escape::{self, EscapeError};
use crate::limits::LINE_BYTES_MAX;

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RecordFormat {
    /// KEY, a tab, VALUE, escaped
    Tsv,
    /// Lengths and bytes, as tkrzw_dbm_util writes
    Flat,
}

const RECORD: u8 = 0xff;
const ABOUT: u8 = 0xfe;

/// Why records cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line is no record.
    #[error(transparent)]
    Escape(#[from] EscapeError),
    /// A line has a key alone.
    #[error("the line has no tab between key and value")]
    Tab,
    /// It is too long to be a record.
    #[error("it has more than {LINE_BYTES_MAX} bytes, and no database takes such a record")]
    Long,
    /// Something else is where a record should begin.
    #[error("it begins with byte {0:#04x} instead of 0xff; is the file in another format")]
    Start(u8),
    /// The file ends within a record.
    #[error("the file ends within it")]
    End,
}

/// Appends a record.
pub fn put(format: RecordFormat, key: &[u8], value: &[u8], bytes: &mut Vec<u8>) {
    match format {
        RecordFormat::Tsv => {
            escape::put(key, bytes);
            bytes.push(b'\t');
            escape::put(value, bytes);
            bytes.push(b'\n');
        }
        RecordFormat::Flat => {
            put_flat(key, bytes);
            put_flat(value, bytes);
        }
    }
}

fn put_flat(part: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(RECORD);
    let mut shift = 63;
    while shift > 0 && part.len() >> shift == 0 {
        shift -= 7;
    }
    while shift > 0 {
        bytes.push((part.len() >> shift) as u8 | 0x80);
        shift -= 7;
    }
    bytes.push(part.len() as u8 & 0x7f);
    bytes.extend_from_slice(part);
}

/// The next record; `None` at the end.
pub fn next(
    format: RecordFormat,
    source: &mut impl BufRead,
) -> Result<Option<(Bytes, Bytes)>, Error> {
    match format {
        RecordFormat::Tsv => next_line(source),
        RecordFormat::Flat => {
            let Some(key) = next_flat(source)? else {
                return Ok(None);
            };
            let value = next_flat(source)?.ok_or(Error::End)?;
            Ok(Some((key, value)))
        }
    }
}

fn next_line(source: &mut impl BufRead) -> Result<Option<(Bytes, Bytes)>, Error> {
    let mut line = Vec::new();
    source.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_none() && line.len() as u64 >= LINE_BYTES_MAX {
        return Err(Error::Long);
    }
    // A carriage return of a value is escaped, so this one is the line's.
    line.pop_if(|last| *last == b'\r');
    let tab = line
        .iter()
        .position(|byte| *byte == b'\t')
        .ok_or(Error::Tab)?;
    let (key, value) = (&line[..tab], &line[tab + 1..]);
    Ok(Some((
        escape::read(key)?.into(),
        escape::read(value)?.into(),
    )))
}

fn next_flat(source: &mut impl BufRead) -> Result<Option<Bytes>, Error> {
    loop {
        let Some(start) = byte(source)? else {
            return Ok(None);
        };
        if start != RECORD && start != ABOUT {
            return Err(Error::Start(start));
        }
        let mut length = 0_u64;
        loop {
            let group = byte(source)?.ok_or(Error::End)?;
            length = length << 7 | u64::from(group & 0x7f);
            if length > LINE_BYTES_MAX {
                return Err(Error::Long);
            }
            if group & 0x80 == 0 {
                break;
            }
        }
        let mut part = Vec::new();
        let read = source.take(length).read_to_end(&mut part)?;
        if (read as u64) < length {
            return Err(Error::End);
        }
        if start == RECORD {
            return Ok(Some(part.into()));
        }
    }
}

fn byte(source: &mut impl BufRead) -> io::Result<Option<u8>> {
    let first = source.fill_buf()?.first().copied();
    source.consume(usize::from(first.is_some()));
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: RecordFormat, mut source: &[u8], expected: &str) {
        let mut found = Vec::new();
        let end = loop {
            match next(format, &mut source) {
                Ok(Some((key, value))) => found.push(format!(
                    "{}={}",
                    escape::escaped(&key),
                    escape::escaped(&value)
                )),
                Ok(None) => break "end".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        found.push(end);
        let found = found.join(" ");
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn lines_are_records() {
        check(RecordFormat::Tsv, b"a\t1\nb\t2\r\n\t\n", "a=1 b=2 = end");
        check(RecordFormat::Tsv, b"a\t1\nb\t2\t3", "a=1 b=2\\t3 end");
        check(RecordFormat::Tsv, b"a\t1\nb\n", "a=1 the line has no tab");
        check(RecordFormat::Tsv, b"a\t\\q\n", "a backslash is followed");
        check(RecordFormat::Tsv, b"", "end");
    }

    #[test]
    fn flat_files_are_read_to_where_they_are_sound() {
        check(
            RecordFormat::Flat,
            b"\xfe\x03abc\xff\x01k\xff\x02vw",
            "k=vw end",
        );
        check(
            RecordFormat::Flat,
            b"\xff\x01k\xff\x02v",
            "the file ends within it",
        );
        check(RecordFormat::Flat, b"\xff\x01k", "the file ends within it");
        check(RecordFormat::Flat, b"\xff\x81", "the file ends within it");
        check(RecordFormat::Flat, b"k\tv\n", "it begins with byte 0x6b");
        check(RecordFormat::Flat, &[0xff; 16], "it has more than");
    }

    #[test]
    fn written_record_is_read_back() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 2_097_152] {
            let (key, value) = (b"k\t\n\\\xff".as_slice(), vec![b'\r'; length]);
            for format in [RecordFormat::Tsv, RecordFormat::Flat] {
                let mut bytes = Vec::new();
                put(format, key, &value, &mut bytes);
                let mut source = bytes.as_slice();
                let record = next(format, &mut source).unwrap().unwrap();
                assert_eq!((&*record.0, &*record.1), (key, &*value));
                assert!(next(format, &mut source).unwrap().is_none());
            }
        }
    }

    #[test]
    fn lengths_are_in_groups_of_seven_bits() {
        let mut bytes = Vec::new();
        put_flat(&[0; 300], &mut bytes);
        assert_eq!(bytes[..3], [0xff, 0x82, 0x2c]);
    }
}
