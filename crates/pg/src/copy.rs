//! COPY: data in bulk, to the server and from it, on a connection of one's own. Knows no row: see [`tsumugi_pg_proto::copy`].
//! Rule: dropped midway, a COPY is given up and the connection is clean; slow readers and writers cost a bounded buffer.

use bytes::{Buf, Bytes};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::backend::{HEAD_BYTES, Header, Message, tag};
use tsumugi_pg_proto::connection::{Messages, Shape};
use tsumugi_pg_proto::types::Format;
use tsumugi_pg_proto::{Violation, frontend};

use crate::connection::{Connection, Part, Parts};
use crate::error::{Error, Result};
use crate::limits::COPY_PIECE_BYTES_MAX;
use crate::row_stream::server_error;

/// How the data of a COPY are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyFormats {
    /// Of all the data: text and CSV are both [`Format::Text`].
    pub overall: Format,
    /// Of each column.
    pub columns: Box<[Format]>,
}

/// A COPY FROM STDIN that takes data. Dropped before [`CopyIn::finish`] it copies nothing.
pub struct CopyIn {
    connection: Connection,
    parts: Parts,
    formats: CopyFormats,
    /// The server was sent the end of the data.
    done: bool,
}

/// A COPY TO STDOUT that gives data. Dropped before its end it lets the server stop.
pub struct CopyOut {
    connection: Connection,
    parts: Parts,
    formats: CopyFormats,
    /// Whole messages whose data are handed out next.
    messages: Bytes,
    rows: u64,
}

impl Connection {
    /// Runs a `COPY … FROM STDIN`. The server takes no values for it. Nothing else can be asked on this connection meanwhile.
    ///
    /// ```no_run
    /// # async fn copy(connection: tsumugi_pg::Connection) -> tsumugi_pg::Result<()> {
    /// let mut copy = connection.copy_in("COPY word FROM STDIN").await?;
    /// copy.send(b"spin\n").await?;
    /// copy.send(b"weave\n").await?;
    /// assert_eq!(copy.finish().await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Connection::query`]; [`Error::Copy`] when the statement is another one, which has run then.
    pub fn copy_in<'a>(&'a self, sql: &'a str) -> LocalBoxFuture<'a, Result<CopyIn>> {
        async move {
            self.room().await;
            self.note_unasked_write();
            let mut copy = CopyIn {
                connection: self.clone(),
                parts: self.ask_parts(|request, ticket| {
                    Ok(request.query(sql, ticket, Shape::Streamed)?)
                })?,
                formats: CopyFormats::unknown(),
                done: false,
            };
            loop {
                match copy.parts.next().await? {
                    Some(Part::CopyIn(bytes)) => {
                        copy.formats = CopyFormats::read(&bytes)?;
                        return Ok(copy);
                    }
                    Some(Part::Messages {
                        tag: tag::ERROR_RESPONSE,
                        bytes,
                    }) => {
                        copy.parts.drain().await?;
                        return Err(server_error(&bytes)?);
                    }
                    Some(_) => {}
                    None => return Err(Error::Copy("the statement is no COPY FROM STDIN")),
                }
            }
        }
        .boxed_local()
    }

    /// Runs a `COPY … TO STDOUT`. The server takes no values for it. Nothing else can be asked on this connection meanwhile.
    ///
    /// # Errors
    /// As [`Connection::query`]; [`Error::Copy`] when the statement is another one, which has run then.
    pub fn copy_out<'a>(&'a self, sql: &'a str) -> LocalBoxFuture<'a, Result<CopyOut>> {
        async move {
            self.room().await;
            // A table is only read; a query may do anything.
            if sql.contains('(') {
                self.note_unasked_write();
            }
            let mut parts = self
                .ask_parts(|request, ticket| Ok(request.query(sql, ticket, Shape::Fragments)?))?;
            loop {
                match parts.next().await? {
                    Some(Part::Messages {
                        tag: tag::COPY_OUT_RESPONSE,
                        bytes,
                    }) => {
                        return Ok(CopyOut {
                            connection: self.clone(),
                            formats: CopyFormats::read(&bytes)?,
                            parts,
                            messages: Bytes::new(),
                            rows: 0,
                        });
                    }
                    Some(Part::Messages {
                        tag: tag::ERROR_RESPONSE,
                        bytes,
                    }) => {
                        parts.drain().await?;
                        return Err(server_error(&bytes)?);
                    }
                    Some(Part::CopyIn(_)) => self.give_copy_up(),
                    Some(_) => {}
                    None => return Err(Error::Copy("the statement is no COPY TO STDOUT")),
                }
            }
        }
        .boxed_local()
    }
}

impl CopyIn {
    /// How the server wants the data.
    pub fn formats(&self) -> &CopyFormats {
        &self.formats
    }

    /// Sends some data, which need not end where a row ends; waits while as much is waiting to be sent as a connection may hold.
    /// Dropped midway, the future may have sent a part of it.
    ///
    /// # Errors
    /// What the server says to data sent before, [`Error::Lost`]. The COPY is over then.
    pub async fn send(&mut self, data: &[u8]) -> Result<()> {
        for piece in data.chunks(COPY_PIECE_BYTES_MAX) {
            self.connection.room().await;
            if self.parts.has_news() || self.parts.will_fail() {
                return Err(self.refused().await);
            }
            self.connection
                .0
                .append(|out| frontend::copy_data(out, piece))?;
        }
        Ok(())
    }

    /// Ends the data and says how many rows were copied.
    ///
    /// # Errors
    /// What the server says to the data, [`Error::Lost`].
    pub fn finish(mut self) -> LocalBoxFuture<'static, Result<u64>> {
        async move {
            if self.parts.has_news() || self.parts.will_fail() {
                return Err(self.refused().await);
            }
            self.connection
                .0
                .append(|out| self.connection.0.driver.queue.borrow_mut().copy_done(out))?;
            self.done = true;
            self.parts.release();
            let mut rows = 0;
            while let Some(part) = self.parts.next().await? {
                match part {
                    Part::Messages {
                        tag: tag::COMMAND_COMPLETE,
                        bytes,
                    } => rows = completed(&bytes),
                    Part::Messages {
                        tag: tag::ERROR_RESPONSE,
                        bytes,
                    } => self.parts.fail_at_end(server_error(&bytes)?),
                    // A second COPY in the same text.
                    Part::CopyIn(_) => self.connection.give_copy_up(),
                    Part::Messages { .. } | Part::Fragment { .. } => {}
                }
            }
            Ok(rows)
        }
        .boxed_local()
    }

    /// The server has spoken though the data have not ended.
    fn refused(&mut self) -> LocalBoxFuture<'_, Error> {
        async move {
            loop {
                match self.parts.next().await {
                    Ok(Some(Part::Messages {
                        tag: tag::ERROR_RESPONSE,
                        bytes,
                    })) => {
                        let error = server_error(&bytes).unwrap_or_else(|error| error);
                        self.parts.fail_at_end(error);
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => {
                        return Error::Protocol(Violation::Unsolicited(tag::READY_FOR_QUERY));
                    }
                    Err(error) => return error,
                }
            }
        }
        .boxed_local()
    }
}

impl Drop for CopyIn {
    fn drop(&mut self) {
        if !self.done && self.parts.is_due() {
            self.connection.give_copy_up();
        }
    }
}

impl CopyOut {
    /// How the server writes the data.
    pub fn formats(&self) -> &CopyFormats {
        &self.formats
    }

    /// Some more data, never empty; none after the last. A piece is one row, or a part of a long one; in binary format the first
    /// also has the header. Dropping the future loses nothing.
    ///
    /// # Errors
    /// As [`Connection::query`]. There are no more data after one.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(header) = Header::scan(&self.messages).map_err(Error::Protocol)? {
                let mut piece = self.messages.split_to(header.length);
                piece.advance(HEAD_BYTES);
                if !piece.is_empty() {
                    return Ok(Some(piece));
                }
                continue;
            }
            match self.parts.next().await? {
                Some(Part::Messages { tag, bytes }) => match tag {
                    tag::COPY_DATA => self.messages = bytes,
                    tag::COMMAND_COMPLETE => self.rows = completed(&bytes),
                    tag::ERROR_RESPONSE => self.parts.fail_at_end(server_error(&bytes)?),
                    _ => {}
                },
                Some(Part::Fragment {
                    mut bytes, first, ..
                }) => {
                    if first {
                        bytes.advance(HEAD_BYTES.min(bytes.len()));
                    }
                    if !bytes.is_empty() {
                        return Ok(Some(bytes));
                    }
                }
                // A second COPY in the same text.
                Some(Part::CopyIn(_)) => self.connection.give_copy_up(),
                None => return Ok(None),
            }
        }
    }

    /// Rows copied, as the server counts; known at the end.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

impl CopyFormats {
    fn unknown() -> Self {
        CopyFormats {
            overall: Format::Text,
            columns: Box::default(),
        }
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        match Message::decode(bytes).map_err(Error::Protocol)? {
            Some((Message::CopyInResponse(formats) | Message::CopyOutResponse(formats), _)) => {
                Ok(CopyFormats {
                    overall: formats.overall,
                    columns: formats.columns().collect(),
                })
            }
            _ => Err(Error::Protocol(Violation::Truncated("COPY formats"))),
        }
    }
}

/// The number of rows in a CommandComplete.
fn completed(bytes: &[u8]) -> u64 {
    let rows = Messages::new(bytes).find_map(|message| match message {
        Ok(Message::CommandComplete(tag)) => tag.rows(),
        _ => None,
    });
    rows.unwrap_or(0)
}
