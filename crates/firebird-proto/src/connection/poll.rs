//! Cutting what the socket delivered into events. Looks at lengths; decodes responses only.
//! Rule: a row that was measured is not measured again however the rest arrives, and nothing of it is copied.

use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};

use super::{Connection, Event, Expect, FetchEnd, Scan};
use crate::error::Violation;
use crate::limits::{PASSED_BYTES_MAX, ROW_BYTES_MAX, ROWS_BYTES_MAX};
use crate::op;
use crate::response::{Outcome, RawResponse};
use crate::row::{Format, HEAD_BYTES, Rows};
use crate::wire::{ReadResult, Reader, Stop};

const STATUS_EOF: u32 = 100;
/// op_sql_response's operation and how many rows follow.
const SQL_HEAD_BYTES: usize = 8;

const NOT_A_FAILURE: Violation = Violation::unexpected(op::RESPONSE, "rows or an error");

enum FetchPacket {
    Row,
    End(FetchEnd),
    Error,
    /// One that says nothing.
    Nothing,
}

impl<T: Clone> Connection<T> {
    /// The next event in `input`, which what the socket delivers is appended to. `None` when more is needed.
    ///
    /// # Errors
    /// A [`Violation`]: the connection is dead; close it and report it to all that wait.
    #[inline]
    pub fn poll(&mut self, input: &mut BytesMut) -> Result<Option<Event<T>>, Violation> {
        if input.len() < self.scan.wanted {
            self.missing = self.scan.wanted - input.len();
            return Ok(None);
        }
        match self.step(input) {
            Ok(event) => Ok(Some(event)),
            Err(Stop::Missing(count)) => {
                self.scan.wanted = input.len() + count;
                self.missing = count;
                Ok(None)
            }
            Err(Stop::Wrong(violation)) => Err(violation),
        }
    }

    fn step(&mut self, input: &mut BytesMut) -> ReadResult<Event<T>> {
        self.pass_over(input)?;
        let Some((token, expect)) = self.expected.front() else {
            return Err(Violation::Unsolicited(Reader::new(input).u32()?).into());
        };
        let token = token.clone();
        match expect {
            Expect::Response | Expect::Deferred => self.response(token, input),
            Expect::Sql(format) => {
                let format = Arc::clone(format);
                self.sql(token, &format, input)
            }
            Expect::Fetch(format) => {
                let format = Arc::clone(format);
                self.fetch(token, &format, input)
            }
        }
    }

    /// Removes packets that say nothing. Between the rows of one piece they are left to [`Connection::fetch`].
    fn pass_over(&mut self, input: &mut BytesMut) -> ReadResult<()> {
        while self.scan.at == 0 {
            let mut reader = Reader::new(input);
            if !nothing(&mut reader)? {
                break;
            }
            let length = reader.position();
            input.advance(length);
            self.scan.wanted = 0;
        }
        Ok(())
    }

    fn response(&mut self, token: T, input: &mut BytesMut) -> ReadResult<Event<T>> {
        let mut reader = Reader::new(input);
        operation(&mut reader, op::RESPONSE, "a response")?;
        RawResponse::read(&mut reader)?;
        let length = reader.position();
        let (_, outcome) = self.answered(0, length, input)?;
        Ok(Event::Response { token, outcome })
    }

    fn sql(
        &mut self,
        token: T,
        format: &Arc<Format>,
        input: &mut BytesMut,
    ) -> ReadResult<Event<T>> {
        let mut reader = Reader::new(input);
        let mut rows = 0;
        let expected = "the answer to an execution";
        match reader.u32()? {
            // It failed before there was a message to answer with.
            op::RESPONSE => reader = Reader::new(input),
            op::SQL_RESPONSE => {
                rows = reader.u32()?;
                match rows {
                    0 => {}
                    1 => row(format, &mut reader)?,
                    value => {
                        return Err(
                            Violation::value("the number of rows of an execution", value).into(),
                        );
                    }
                }
            }
            op => return Err(Violation::Unexpected { op, expected }.into()),
        }
        let after_row = reader.position();
        pass(&mut reader)?;
        let response = reader.position();
        operation(&mut reader, op::RESPONSE, expected)?;
        RawResponse::read(&mut reader)?;
        let length = reader.position();
        let (packet, outcome) = self.answered(response, length, input)?;
        let row = (rows == 1).then(|| Rows {
            format: Arc::clone(format),
            bytes: packet.slice(..after_row),
            head: SQL_HEAD_BYTES,
            count: 1,
        });
        Ok(Event::Sql {
            token,
            row,
            outcome,
        })
    }

    fn fetch(
        &mut self,
        token: T,
        format: &Arc<Format>,
        input: &mut BytesMut,
    ) -> ReadResult<Event<T>> {
        loop {
            let mut reader = Reader::new(rest(input, self.scan.at));
            let packet = fetched(format, &mut reader)?;
            let length = reader.position();
            if let FetchPacket::Row = packet {
                self.scan.at += length;
                self.scan.rows += 1;
                if self.scan.at < ROWS_BYTES_MAX {
                    continue;
                }
            }
            let rows = self.take_rows(format, input);
            let end = match packet {
                // A piece of rows has nothing between them.
                FetchPacket::Row | FetchPacket::Nothing => None,
                FetchPacket::End(end) => {
                    input.advance(length);
                    self.finished();
                    Some(Ok(end))
                }
                FetchPacket::Error => {
                    let outcome = self.answered(0, length, input)?.1;
                    // Only a failure is reported this way.
                    Some(Err(outcome.err().ok_or(NOT_A_FAILURE)?))
                }
            };
            return Ok(Event::Rows { token, rows, end });
        }
    }

    /// Takes the packets that end the answer off `input`, with the response at `at` in them, which was read before.
    fn answered(
        &mut self,
        at: usize,
        length: usize,
        input: &mut BytesMut,
    ) -> ReadResult<(Bytes, Outcome)> {
        let packet = input.split_to(length).freeze();
        self.finished();
        let mut reader = Reader::new(rest(&packet, at));
        reader.u32()?;
        let response = RawResponse::read(&mut reader)?;
        let outcome = response.outcome(|data| packet.slice_ref(data));
        Ok((packet, outcome))
    }

    /// The rows that have been measured.
    fn take_rows(&mut self, format: &Arc<Format>, input: &mut BytesMut) -> Rows {
        let scan = std::mem::take(&mut self.scan);
        Rows {
            format: Arc::clone(format),
            bytes: input.split_to(scan.at).freeze(),
            head: HEAD_BYTES,
            count: scan.rows,
        }
    }

    /// The head of the queue has got its answer.
    fn finished(&mut self) {
        self.scan = Scan::default();
        self.expected.pop_front();
        self.owed = self.owed.min(self.expected.len());
    }
}

fn rest(input: &[u8], at: usize) -> &[u8] {
    input.get(at..).unwrap_or_default()
}

fn operation(reader: &mut Reader<'_>, wanted: u32, expected: &'static str) -> ReadResult<()> {
    match reader.u32()? {
        op if op == wanted => Ok(()),
        op => Err(Violation::Unexpected { op, expected }.into()),
    }
}

/// Goes past packets that say nothing. They stay in the input until what comes after them has been read, so there may not be many.
fn pass(reader: &mut Reader<'_>) -> ReadResult<()> {
    let start = reader.position();
    loop {
        if reader.position() - start > PASSED_BYTES_MAX {
            return Err(Violation::too_many(
                "bytes between a row and its response",
                PASSED_BYTES_MAX,
            )
            .into());
        }
        let mut ahead = *reader;
        if !nothing(&mut ahead)? {
            return Ok(());
        }
        *reader = ahead;
    }
}

/// Reads a packet that says nothing; false if the next one says something.
fn nothing(reader: &mut Reader<'_>) -> ReadResult<bool> {
    match reader.u32()? {
        op::DUMMY => Ok(true),
        op::RESPONSE_PIGGYBACK => {
            RawResponse::read(reader)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// One row, whose length is within the limit because its format's is.
fn row(format: &Format, reader: &mut Reader<'_>) -> ReadResult<()> {
    let start = reader.position();
    format.skip(reader)?;
    debug_assert!(
        reader.position() - start <= ROW_BYTES_MAX,
        "its format says so"
    );
    Ok(())
}

fn fetched(format: &Format, reader: &mut Reader<'_>) -> ReadResult<FetchPacket> {
    match reader.u32()? {
        op::FETCH_RESPONSE => {}
        op::DUMMY | op::RESPONSE_PIGGYBACK => return Ok(FetchPacket::Nothing),
        op::RESPONSE => {
            RawResponse::read(reader)?;
            return Ok(FetchPacket::Error);
        }
        op => {
            return Err(Violation::unexpected(op, "rows or an error").into());
        }
    }
    let status = reader.u32()?;
    match (status, reader.u32()?) {
        (0, 1) => {
            row(format, reader)?;
            Ok(FetchPacket::Row)
        }
        (0, 0) => Ok(FetchPacket::End(FetchEnd::More)),
        (STATUS_EOF, 0) => Ok(FetchPacket::End(FetchEnd::Eof)),
        (_, value) => {
            Err(Violation::value("the number or the status of a batch's rows", value).into())
        }
    }
}
