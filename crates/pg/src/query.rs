//! Statements on a connection: prepared once, then one write and one answer for each execution. Decodes no rows.
//! Rule: every execution ends with its own Sync, so that an error of one caller never fails another's.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use bytes::BytesMut;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::backend::{CommandTag, Message, ServerError, TransactionStatus};
use tsumugi_pg_proto::connection::{Request, Shape, StatementName};
use tsumugi_pg_proto::frontend::{BindWriter, ResultFormats};
use tsumugi_pg_proto::sqlstate::SqlState;
use tsumugi_pg_proto::types::{Encode, EncodeError, Encoded, Format, Oid, Type};

use crate::cache::CacheLookup;
use crate::connection::{Connection, FlushMode, Pooling, ServerReply, Ticket};
use crate::error::{Error, Result};
use crate::limits::STALE_TRIES_MAX;
use crate::rows::Rows;
use crate::statement::{Columns, Description};
use crate::statement_text::behind_comments;

/// Values for the parameters of a statement.
pub trait Parameters {
    /// How many there are.
    fn count(&self) -> usize;

    /// Appends the value at `index` as a parameter of type `ty`.
    ///
    /// # Errors
    /// When the value cannot be sent as `ty`; nothing is appended then.
    fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError>;
}

impl<P: Parameters + ?Sized> Parameters for &P {
    fn count(&self) -> usize {
        (**self).count()
    }

    fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        (**self).encode(index, ty, out)
    }
}

impl<E: Encode> Parameters for [E] {
    fn count(&self) -> usize {
        self.len()
    }

    fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        self[index].encode(ty, out)
    }
}

impl<E: Encode, const N: usize> Parameters for [E; N] {
    fn count(&self) -> usize {
        N
    }

    fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        self[index].encode(ty, out)
    }
}

/// Values of different types, borrowed: `MixedValues(&[&id, &name])`.
#[derive(Clone, Copy)]
pub struct MixedValues<'a>(pub &'a [&'a dyn Encode]);

impl Parameters for MixedValues<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        self.0[index].encode(ty, out)
    }
}

/// Values of different types, as a tuple: `(id, "name")`.
macro_rules! tuple {
    ($count:literal: $($name:ident $index:tt)*) => {
        impl<$($name: Encode),*> Parameters for ($($name,)*) {
            fn count(&self) -> usize {
                $count
            }

            fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
                match index {
                    $($index => self.$index.encode(ty, out),)*
                    _ => unreachable!("a tuple has as many values as it says"),
                }
            }
        }
    };
}

tuple!(1: A 0);
tuple!(2: A 0 B 1);
tuple!(3: A 0 B 1 C 2);
tuple!(4: A 0 B 1 C 2 D 3);
tuple!(5: A 0 B 1 C 2 D 3 E 4);
tuple!(6: A 0 B 1 C 2 D 3 E 4 F 5);
tuple!(7: A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuple!(8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);

/// No values: `query(sql, &())`.
impl Parameters for () {
    fn count(&self) -> usize {
        0
    }

    fn encode(&self, _: usize, _: &Type, _: &mut BytesMut) -> Result<Encoded, EncodeError> {
        unreachable!("there is no value to encode")
    }
}

impl Connection {
    /// Runs a statement and gives its rows. Its placeholders are `$1`, `$2`, …
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::Lost`], [`Error::TooLarge`], and what is wrong with `values`.
    pub async fn query<P: Parameters + ?Sized>(&self, sql: &str, values: &P) -> Result<Rows> {
        self.query_hinted(sql, &[], values).await
    }

    /// Like [`Connection::query`], with the types that the parameters shall have (0 lets the server decide).
    ///
    /// # Errors
    /// As there.
    pub async fn query_hinted<P: Parameters + ?Sized>(
        &self,
        sql: &str,
        hints: &[Oid],
        values: &P,
    ) -> Result<Rows> {
        let (rows, _) = self.run(sql, hints, &EncodedOneByOne(values)).await?;
        Ok(rows)
    }

    /// Prepares and runs a statement; again when the server says, before it has begun to execute it, that what was prepared no
    /// longer fits.
    pub(crate) async fn run<B: Binding>(
        &self,
        sql: &str,
        hints: &[Oid],
        values: &B,
    ) -> Result<(Rows, Rc<Description>)> {
        let mut tries = 0;
        loop {
            tries += 1;
            let description = self.prepare(sql, hints).await;
            let description = description.map_err(Error::before_execution)?;
            self.room().await;
            let asks_xact_id = self.asks_xact_id(sql);
            let answer = self.ask(1, FlushMode::WithOthers, |mut request, ticket| {
                self.write_closing(&mut request)?;
                self.write_bound(&mut request, sql, &description, values)?;
                request.execute("", 0)?;
                if asks_xact_id {
                    self.write_xact_question(&mut request)?;
                }
                Ok(request.sync(ticket, Shape::Whole)?)
            })?;
            let position = self.ask_log_position(sql);
            let mut reply = answer.await?;
            if let Some(position) = position {
                self.note_log_position(position).await;
            }
            if asks_xact_id {
                self.take_xact_id(&mut reply, 1)?;
            }
            if let Some(error) = staleness(&reply, 1)? {
                self.0.driver.cache.borrow_mut().forget(sql, hints);
                if tries > 1 && error.code == SqlState::INVALID_SQL_STATEMENT_NAME {
                    return Err(Error::Forgotten(error));
                }
                if reply.status != TransactionStatus::Idle || tries >= STALE_TRIES_MAX {
                    return Err(Error::Server(error));
                }
                continue;
            }
            let mut rows = rows(reply, &description)?;
            let mut description = description;
            if description.usable_name().is_empty() {
                let executed = self.as_executed(sql, hints, rows, &description).await?;
                if !Rc::ptr_eq(&executed.1, &description) {
                    values.check(&executed.1)?;
                }
                (rows, description) = executed;
            }
            if description.holds_rows {
                return Ok(self.up_to_date(sql, hints, rows, description).await);
            }
            return Ok((rows, description));
        }
    }

    /// Runs a statement and says how many rows it changed.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn execute<P: Parameters + ?Sized>(&self, sql: &str, values: &P) -> Result<u64> {
        self.query(sql, values).await.map(|rows| rows.affected())
    }

    /// Runs several statements without values, separated by semicolons. They are one transaction unless they say otherwise.
    ///
    /// # Errors
    /// As [`Connection::query`]: of the first that failed.
    pub fn script<'a>(&'a self, sql: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        self.run_script(sql, None)
    }

    /// Like [`Connection::script`]; `each` gets the command tag of every statement that was done, of those before an error too.
    ///
    /// # Errors
    /// As there.
    pub async fn script_with(&self, sql: &str, mut each: impl FnMut(CommandTag<'_>)) -> Result<()> {
        self.run_script(sql, Some(&mut each)).await
    }

    fn run_script<'a>(
        &'a self,
        sql: &'a str,
        mut each: Option<&'a mut dyn FnMut(CommandTag<'_>)>,
    ) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            self.room().await;
            let reply = self.simple(sql)?.await?;
            // What is open behind it may be another transaction than before.
            let mut has_ended = false;
            for message in reply.messages() {
                if let Message::CommandComplete(tag) = message.map_err(Error::Protocol)? {
                    match tag.command() {
                        "BEGIN" | "START TRANSACTION" | "COMMIT" => has_ended = true,
                        // Also the tag of ROLLBACK TO, which ends none; AND CHAIN does.
                        "ROLLBACK" => has_ended |= sql.to_ascii_lowercase().contains("chain"),
                        "SAVEPOINT" | "RELEASE" | "SET" => {}
                        "DEALLOCATE" | "DEALLOCATE ALL" | "DISCARD ALL" => self.distrust_prepared(),
                        _ => self.note_unasked_write(),
                    }
                    if let Some(each) = &mut each {
                        each(tag);
                    }
                }
            }
            if reply.status == TransactionStatus::Idle {
                self.0.driver.xact.end();
            } else if has_ended {
                self.0.driver.xact.forget();
            }
            succeeded(&reply)
        }
        .boxed_local()
    }

    /// Like [`Connection::script`], with the rows of each statement. All values come as text.
    ///
    /// # Errors
    /// As there.
    pub fn script_rows<'a>(&'a self, sql: &'a str) -> LocalBoxFuture<'a, Result<Vec<Rows>>> {
        async move {
            self.room().await;
            let reply = self.simple(sql)?.await?;
            succeeded(&reply)?;
            self.note_unasked_write();
            let mut results = Vec::new();
            let mut messages = reply.messages();
            let none = Rc::new(Columns::new(Box::default()));
            let (mut columns, mut start, mut count) = (Rc::clone(&none), 0, 0);
            while let Some(message) = messages.next() {
                match message.map_err(Error::Protocol)? {
                    Message::RowDescription(row) => columns = Rc::new(Columns::of_text(&row)),
                    Message::DataRow(_) => count += 1,
                    Message::CommandComplete(_) => {
                        let bytes = reply.bytes.slice(start..messages.offset());
                        let columns = std::mem::replace(&mut columns, Rc::clone(&none));
                        results.push(Rows::new(columns, bytes, count));
                        (start, count) = (messages.offset(), 0);
                    }
                    _ => {}
                }
            }
            Ok(results)
        }
        .boxed_local()
    }

    /// What the server says of a statement; asks it unless this connection knows.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub async fn prepare(&self, sql: &str, hints: &[Oid]) -> Result<Rc<Description>> {
        let known = poll_fn(|cx| {
            match self
                .0
                .driver
                .cache
                .borrow_mut()
                .look_up(sql, hints, cx.waker())
            {
                CacheLookup::Ready(description) => Poll::Ready(Some(description)),
                CacheLookup::Unknown => Poll::Ready(None),
                CacheLookup::Preparing => Poll::Pending,
            }
        });
        match known.await {
            Some(description) => Ok(description),
            None => self.prepare_unknown(sql, hints).await,
        }
    }

    /// Has the server prepare a statement, for which the cache keeps a place. Boxed, so that the future of what is known stays small.
    fn prepare_unknown<'a>(
        &'a self,
        sql: &'a str,
        hints: &'a [Oid],
    ) -> LocalBoxFuture<'a, Result<Rc<Description>>> {
        async move {
            refuse_copy_in(sql)
                .inspect_err(|_| self.0.driver.cache.borrow_mut().forget(sql, hints))?;
            let mut preparing = Preparing {
                connection: self,
                sql,
                hints,
                name: None,
                done: false,
            };
            let name = match self.0.driver.behaviour.pooling {
                Pooling::Session => Some(self.0.driver.queue.borrow_mut().statement_name()),
                Pooling::Transaction => None,
            };
            preparing.name = name;
            let text = name.as_deref().unwrap_or("");
            self.room().await;
            let answer = self.ask(1, FlushMode::Now, |mut request, ticket| {
                self.write_closing(&mut request)?;
                request.parse(text, sql, hints)?;
                request.describe_statement(text)?;
                Ok(request.sync(ticket, Shape::Whole)?)
            })?;
            let reply = answer.await?;
            if let Some(error) = failure(&reply)? {
                preparing.name = None; // it does not exist
                return Err(Error::Server(error));
            }
            let description = Rc::new(self.describe(name, &reply).await?);
            preparing.done = true;
            let mut cache = self.0.driver.cache.borrow_mut();
            cache.prepared(sql, hints, Rc::clone(&description));
            drop(cache);
            Ok(description)
        }
        .boxed_local()
    }

    /// Writes Bind and Execute, and Parse where nothing stays in a session.
    pub(crate) fn write_execution<P: Parameters + ?Sized>(
        &self,
        request: &mut Request<'_, Ticket>,
        sql: &str,
        description: &Description,
        values: &P,
    ) -> Result<()> {
        self.write_bind(request, sql, description, values)?;
        Ok(request.execute("", 0)?)
    }

    pub(crate) fn write_bind<P: Parameters + ?Sized>(
        &self,
        request: &mut Request<'_, Ticket>,
        sql: &str,
        description: &Description,
        values: &P,
    ) -> Result<()> {
        self.write_bound(request, sql, description, &EncodedOneByOne(values))
    }

    fn write_bound<B: Binding>(
        &self,
        request: &mut Request<'_, Ticket>,
        sql: &str,
        description: &Description,
        values: &B,
    ) -> Result<()> {
        values.check(description)?;
        let name = description.usable_name();
        if name.is_empty() {
            request.parse("", sql, &description.oids)?;
        }
        let mut bind = request.bind("", name, values.count())?;
        values.write(description, &mut bind)?;
        let formats = &*description.formats;
        bind.finish(match formats.split_first() {
            Some((first, rest)) if rest.iter().any(|format| format != first) => {
                ResultFormats::Each(formats)
            }
            Some((first, _)) => ResultFormats::All(*first),
            None => ResultFormats::All(Format::Binary),
        })?;
        if name.is_empty() {
            // The table may have changed since the statement was described.
            request.describe_portal("")?;
        }
        Ok(())
    }

    /// Statements that the cache let go are closed along with the next request.
    pub(crate) fn write_closing(&self, request: &mut Request<'_, Ticket>) -> Result<()> {
        let mut cache = self.0.driver.cache.borrow_mut();
        if cache.has_closing() {
            for name in cache.closing() {
                request.close_statement(name)?;
            }
        }
        Ok(())
    }
}

/// Values on their way into a Bind.
pub(crate) trait Binding {
    fn count(&self) -> usize;

    /// Whether the statement is one for these values.
    fn check(&self, description: &Description) -> Result<()>;

    fn write(&self, description: &Description, bind: &mut BindWriter<'_>) -> Result<()>;
}

/// Values that are encoded one by one, each by its parameter's type.
struct EncodedOneByOne<'v, P: ?Sized>(&'v P);

impl<P: Parameters + ?Sized> Binding for EncodedOneByOne<'_, P> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn check(&self, description: &Description) -> Result<()> {
        check_count(description, self.0)
    }

    fn write(&self, description: &Description, bind: &mut BindWriter<'_>) -> Result<()> {
        for (index, ty) in description.parameters().iter().enumerate() {
            bind.value(|out| {
                let encoded = self.0.encode(index, ty, out);
                encoded.map_err(|source| Error::Parameter {
                    number: index + 1,
                    source,
                })
            })?;
        }
        Ok(())
    }
}

/// Held while a caller prepares a statement. If that comes to nothing, the next caller tries.
struct Preparing<'a> {
    connection: &'a Connection,
    sql: &'a str,
    hints: &'a [Oid],
    name: Option<StatementName>,
    done: bool,
}

impl Drop for Preparing<'_> {
    fn drop(&mut self) {
        if !self.done {
            let mut cache = self.connection.0.driver.cache.borrow_mut();
            cache.forget(self.sql, self.hints);
            // The server may know it by now; closing what is not there is no error.
            cache.close(self.name);
        }
    }
}

/// Whether as many values are given as there are parameters.
pub(crate) fn check_count<P: Parameters + ?Sized>(
    description: &Description,
    values: &P,
) -> Result<()> {
    let (expected, given) = (description.parameters.len(), values.count());
    if expected == given {
        Ok(())
    } else {
        Err(Error::ParameterCount { expected, given })
    }
}

/// The rows of an answer, or the error in it.
pub(crate) fn rows(reply: ServerReply, description: &Description) -> Result<Rows> {
    succeeded(&reply)?;
    Ok(Rows::new(
        Rc::clone(&description.columns),
        reply.bytes,
        reply.rows,
    ))
}

/// The error in an answer.
pub(crate) fn failure(reply: &ServerReply) -> Result<Option<Box<ServerError>>> {
    let Some(start) = reply.error else {
        return Ok(None);
    };
    let bytes = reply.bytes.get(start..).unwrap_or_default();
    match Message::decode(bytes).map_err(Error::Protocol)? {
        Some((Message::ErrorResponse(report), _)) => Ok(Some(Box::new(report.into()))),
        _ => Ok(None),
    }
}

/// A COPY FROM STDIN that is run like any other statement would take the requests of others for its data.
fn refuse_copy_in(sql: &str) -> Result<()> {
    let text = behind_comments(sql);
    let mut words = text.split(|byte: char| !byte.is_ascii_alphanumeric() && byte != '_');
    let first = words.find(|word| !word.is_empty());
    if first.is_some_and(|word| word.eq_ignore_ascii_case("copy"))
        && words.any(|word| word.eq_ignore_ascii_case("stdin"))
    {
        return Err(Error::Copy("COPY FROM STDIN has to be run by copy_in"));
    }
    Ok(())
}

/// The error in an answer, as one.
pub(crate) fn succeeded(reply: &ServerReply) -> Result<()> {
    failure(reply)?.map_or(Ok(()), |error| Err(Error::Server(error)))
}

/// The error of an answer when the server refused a prepared statement because something has changed since, the tables or the
/// session, and has executed nothing of it. A procedure can commit and then fail in the same words, and so can a trigger that waits
/// for the end of all `statements` of the answer: that is their own error, and the statement has run.
pub(crate) fn staleness(
    reply: &ServerReply,
    statements: usize,
) -> Result<Option<Box<ServerError>>> {
    let Some(error) = failure(reply)? else {
        return Ok(None);
    };
    let refused = is_stale(&error) && failed_before_execution(reply, statements)?;
    Ok(refused.then_some(error))
}

/// Whether the server refuses a prepared statement in these words. It is for callers that have seen no BindComplete for it.
pub(crate) fn is_stale(error: &ServerError) -> bool {
    let routine = error.routine.as_deref();
    error.code == SqlState::INVALID_SQL_STATEMENT_NAME
        || (error.code == SqlState::FEATURE_NOT_SUPPORTED
            && routine == Some("RevalidateCachedQuery"))
        // It has another number of columns than we asked formats for.
        || (error.code == SqlState::PROTOCOL_VIOLATION && routine == Some("PortalSetResultFormat"))
}

/// Whether one of so many statements failed and was not executed. The server answers Bind with BindComplete before it looks at the
/// Execute behind it, and an error in Bind makes it skip that (PostgreSQL documentation, 55.2.3): then all that were bound have ended,
/// and one at least was not bound.
fn failed_before_execution(reply: &ServerReply, statements: usize) -> Result<bool> {
    let (mut bound, mut ended) = (0, 0);
    for message in reply.messages() {
        match message.map_err(Error::Protocol)? {
            Message::BindComplete => bound += 1,
            Message::CommandComplete(_) | Message::EmptyQueryResponse => ended += 1,
            Message::ErrorResponse(_) => break,
            _ => {}
        }
    }
    Ok(bound == ended && ended < statements)
}
