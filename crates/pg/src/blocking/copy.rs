//! COPY as a writer and a reader of bytes. Knows no row.
//! Rule: what is not finished is not copied.

use std::io::{self, BufRead, Read, Write};

use bytes::{Buf, Bytes};

use super::Link;
use crate::copy::{CopyIn, CopyOut};
use crate::error::Error;
use crate::limits::COPY_PIECE_BYTES_MAX;

/// Takes the data of a COPY FROM STDIN. It has to be finished: dropped before, nothing is copied.
pub struct CopyInWriter<'a> {
    link: &'a Link,
    copy: CopyIn,
    waiting: Vec<u8>,
}

impl<'a> CopyInWriter<'a> {
    pub(super) fn begin(link: &'a Link, sql: &str) -> Result<Self, Error> {
        Ok(CopyInWriter {
            copy: link.wait(link.connection.copy_in(sql))?,
            link,
            waiting: Vec::with_capacity(COPY_PIECE_BYTES_MAX),
        })
    }

    /// Ends the data and says how many rows were copied.
    ///
    /// # Errors
    /// As [`CopyIn::finish`].
    pub fn finish(mut self) -> Result<u64, Error> {
        self.send()?;
        self.link.wait(self.copy.finish())
    }

    fn send(&mut self) -> Result<(), Error> {
        self.link.wait(self.copy.send(&self.waiting))?;
        self.waiting.clear();
        Ok(())
    }
}

impl Write for CopyInWriter<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.waiting.len() >= COPY_PIECE_BYTES_MAX {
            self.flush()?;
        }
        let room = COPY_PIECE_BYTES_MAX - self.waiting.len();
        let taken = data.len().min(room);
        self.waiting.extend_from_slice(&data[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send().map_err(io::Error::other)
    }
}

/// Gives the data of a COPY TO STDOUT.
pub struct CopyOutReader<'a> {
    link: &'a Link,
    copy: CopyOut,
    piece: Bytes,
}

impl<'a> CopyOutReader<'a> {
    pub(super) fn begin(link: &'a Link, sql: &str) -> Result<Self, Error> {
        Ok(CopyOutReader {
            copy: link.wait(link.connection.copy_out(sql))?,
            link,
            piece: Bytes::new(),
        })
    }
}

impl Read for CopyOutReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let piece = self.fill_buf()?;
        let length = piece.len().min(into.len());
        into[..length].copy_from_slice(&piece[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for CopyOutReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece.is_empty()
            && let Some(piece) = self.link.wait(self.copy.next()).map_err(io::Error::other)?
        {
            self.piece = piece;
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, length: usize) {
        self.piece.advance(length);
    }
}
