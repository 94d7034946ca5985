//! Rows in batches, fetched while they are used: a portal that is executed a piece at a time. For a connection of one's own.
//! Rule: the server sends the next batch when it is asked for, so a slow reader costs it a portal and us one batch.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::backend::{Header, Message, TransactionStatus, tag};
use tsumugi_pg_proto::connection::{Messages, Shape};
use tsumugi_pg_proto::frontend;
use tsumugi_pg_proto::types::{Type, TypeRef};

use crate::connection::{Connection, Part, Parts};
use crate::error::{Error, Result};
use crate::limits::{BATCH_BYTES, BATCH_ROWS_FIRST, BATCH_ROWS_MAX, STALE_TRIES_MAX};
use crate::query::{Parameters, is_stale};
use crate::rows::Rows;
use crate::statement::{Column, Columns, Description, PortalColumns};

/// Rows on their way. Dropped before its end it tells the server to stop.
pub struct RowStream {
    connection: Connection,
    parts: Parts,
    columns: Rc<Columns>,
    state: State,
    /// Rows and bytes so far, for the size of the next batch.
    rows: u64,
    bytes: u64,
    next_rows: Option<u32>,
    rows_max: u32,
    /// What the caller gets instead of the first rows.
    failed: Option<Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Rows of a batch are on their way.
    Coming,
    /// The batch is over and there are more.
    Suspended,
    /// The statement has ended; its Sync is on its way.
    Ending,
}

impl Connection {
    /// Runs a statement and gives its rows batch by batch. Nothing else can be asked on this connection meanwhile.
    ///
    /// # Errors
    /// As [`Connection::query`]; the statement's own come with the first batch.
    pub async fn stream<P: Parameters + ?Sized>(&self, sql: &str, values: &P) -> Result<RowStream> {
        self.stream_by(sql, values, BATCH_ROWS_FIRST).await
    }

    /// Like [`Connection::stream`], with at most so many rows in the first batch; see [`RowStream::limit_next`] for the others.
    ///
    /// # Errors
    /// As there.
    pub async fn stream_by<P: Parameters + ?Sized>(
        &self,
        sql: &str,
        values: &P,
        rows_max: u32,
    ) -> Result<RowStream> {
        self.open_stream(sql, &values, rows_max).await
    }

    fn open_stream<'a>(
        &'a self,
        sql: &'a str,
        values: &'a dyn Parameters,
        rows_max: u32,
    ) -> LocalBoxFuture<'a, Result<RowStream>> {
        async move {
            let mut tries = 0;
            loop {
                tries += 1;
                let description = self.prepare(sql, &[]).await;
                let description = description.map_err(Error::before_execution)?;
                self.room().await;
                self.asks_xact_id(sql);
                let described = Cell::new(false);
                let parts = self.ask_parts(|mut request, ticket| {
                    self.write_closing(&mut request)?;
                    described.set(description.usable_name().is_empty());
                    self.write_bind(&mut request, sql, &description, values)?;
                    // That it is bound is said before it runs, however long that takes.
                    frontend::flush(request.out());
                    request.execute("", rows_max.max(1))?;
                    Ok(request.flush(ticket, Shape::Streamed)?)
                })?;
                let mut stream = RowStream {
                    connection: self.clone(),
                    parts,
                    columns: Rc::clone(&description.columns),
                    state: State::Coming,
                    rows: 0,
                    bytes: 0,
                    next_rows: None,
                    rows_max: BATCH_ROWS_MAX,
                    failed: None,
                };
                let error = match stream.begin(&description, described.get()).await? {
                    StreamStart::Yes => return Ok(stream),
                    StreamStart::Refused(error) => error,
                };
                // Nothing was executed, so nothing is done twice.
                let stale = error.server().is_some_and(is_stale);
                if stale {
                    self.0.driver.cache.borrow_mut().forget(sql, &[]);
                }
                let may_repeat = stale && self.status() == TransactionStatus::Idle;
                if !may_repeat || tries >= STALE_TRIES_MAX {
                    stream.failed = Some(error);
                    return Ok(stream);
                }
            }
        }
        .boxed_local()
    }
}

/// What the server says before it executes the statement of a stream.
enum StreamStart {
    Yes,
    /// It executes nothing of it.
    Refused(Error),
}

impl RowStream {
    /// Waits until the server has bound the statement, and said what its rows are where it was asked.
    async fn begin(
        &mut self,
        description: &Rc<Description>,
        described: bool,
    ) -> Result<StreamStart> {
        loop {
            let Some(Part::Messages { tag, bytes }) = self.parts.next().await? else {
                return Ok(StreamStart::Yes);
            };
            match tag {
                tag::BIND_COMPLETE if !described => return Ok(StreamStart::Yes),
                tag::ROW_DESCRIPTION | tag::NO_DATA => {
                    let row = Messages::new(&bytes).find_map(|message| match message {
                        Ok(Message::RowDescription(row)) => Some(row),
                        _ => None,
                    });
                    self.is_described(&PortalColumns(row), description);
                    return Ok(StreamStart::Yes);
                }
                tag::ERROR_RESPONSE => {
                    self.finish();
                    self.parts.drain().await?;
                    return Ok(StreamStart::Refused(server_error(&bytes)?));
                }
                _ => {}
            }
        }
    }

    /// The columns are those of the rows that come. On a connection that reads rows nothing can be asked, so types that are not built in
    /// stay unknown if they are new.
    fn is_described(&mut self, described: &PortalColumns<'_>, description: &Description) {
        if described.is(&description.columns) {
            return;
        }
        let known = |oid| {
            let mut columns = description.columns.iter();
            let column = columns.find(|column| column.ty.oid() == oid);
            let known = column.map(|column| column.ty.clone());
            known.or_else(|| Type::from_oid(oid).map(TypeRef::from))
        };
        let columns = described.columns().into_iter();
        let columns = columns.map(|(name, oid, format)| Column {
            name: name.into(),
            ty: known(oid).unwrap_or_else(|| Type::unknown(oid).into()),
            format,
        });
        self.columns = Rc::new(Columns::new(columns.collect()));
    }

    /// The columns, known before the first batch and also when there is none.
    pub fn columns(&self) -> &Rc<Columns> {
        &self.columns
    }

    /// Some more rows, at least one; none after the last. Dropping the future loses nothing.
    ///
    /// # Errors
    /// As [`Connection::query`]. There are no more rows after one.
    pub async fn next(&mut self) -> Result<Option<Rows>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            if self.state == State::Suspended {
                self.ask_for_more()?;
            }
            let part = match self.parts.next().await {
                Ok(Some(part)) => part,
                Ok(None) => return Ok(None),
                Err(error) => {
                    self.finish();
                    return Err(error);
                }
            };
            let Part::Messages { tag, bytes } = part else {
                continue;
            };
            match tag {
                tag::DATA_ROW => return self.batch(bytes).map(Some),
                tag::PORTAL_SUSPENDED => self.state = State::Suspended,
                tag::COMMAND_COMPLETE | tag::EMPTY_QUERY_RESPONSE => self.finish(),
                tag::ERROR_RESPONSE => {
                    self.finish();
                    self.parts.fail_at_end(server_error(&bytes)?);
                }
                _ => {}
            }
        }
    }

    fn batch(&mut self, bytes: Bytes) -> Result<Rows> {
        let (mut at, mut rows) = (0, 0);
        while let Some(header) = Header::scan(&bytes[at..]).map_err(Error::Protocol)? {
            at += header.length;
            rows += 1;
        }
        self.rows += rows as u64;
        self.bytes += bytes.len() as u64;
        Ok(Rows::new(Rc::clone(&self.columns), bytes, rows))
    }

    /// The next time the server is asked for rows, for at most so many (one at least). After that batches have the size that
    /// suits their rows again.
    pub fn limit_next(&mut self, rows_max: u32) {
        self.next_rows = Some(rows_max);
    }

    /// Whenever the server is asked for rows from now on, for at most so many (one at least); for fewer where they are large.
    pub fn limit(&mut self, rows_max: u32) {
        self.rows_max = rows_max.clamp(1, BATCH_ROWS_MAX);
    }

    fn ask_for_more(&mut self) -> Result<()> {
        let row_bytes = (self.bytes / self.rows.max(1)).max(1);
        let rows = match self.next_rows.take() {
            Some(rows) => rows,
            None => u32::try_from(BATCH_BYTES as u64 / row_bytes).unwrap_or(BATCH_ROWS_MAX),
        };
        self.connection.0.append(|out| {
            frontend::execute(out, "", rows.clamp(1, self.rows_max))?;
            frontend::flush(out);
            Ok::<(), Error>(())
        })?;
        self.state = State::Coming;
        Ok(())
    }

    /// Ends the request that the stream is.
    fn finish(&mut self) {
        if self.state != State::Ending {
            self.state = State::Ending;
            self.connection.0.append(frontend::sync);
            self.parts.release();
        }
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        if self.parts.is_open() {
            self.finish();
            if self.connection.status() != TransactionStatus::Idle {
                // A batch soon ends by itself. Cancelling it would fail the transaction.
                self.parts.let_run();
            }
        }
    }
}

/// The error in a part of an answer.
pub(crate) fn server_error(bytes: &[u8]) -> Result<Error> {
    let error = Messages::new(bytes).find_map(|message| match message {
        Ok(Message::ErrorResponse(report)) => Some(Error::Server(Box::new(report.into()))),
        _ => None,
    });
    error.ok_or(Error::Protocol(tsumugi_pg_proto::Violation::Unsolicited(
        tag::ERROR_RESPONSE,
    )))
}
