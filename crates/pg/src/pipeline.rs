//! Several statements in one write, each with its own Sync or all under one. Decodes no rows.
//! Rule: what is run a second time, because its plan no longer fits the tables, was not executed the first time or left nothing
//! behind, and nothing but what only reads has overtaken it.

use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::backend::{Message, ServerError, TransactionStatus};
use tsumugi_pg_proto::connection::Shape;

use crate::connection::{Connection, FlushMode, ServerReply};
use crate::error::{Error, Result};
use crate::limits::STALE_TRIES_MAX;
use crate::query::{Parameters, check_count, rows, staleness};
use crate::rows::Rows;
use crate::statement::Description;
use crate::statement_text::reads;

/// Whether the statements of a pipeline stand and fall together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomicity {
    /// Each for itself.
    #[default]
    Each,
    /// All or none: they share one Sync, and with it one transaction, unless one is open already.
    All,
}

/// One statement of a pipeline.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    /// The text, with `$1`, `$2`, … for the values.
    pub sql: &'a str,
    /// The values.
    pub values: &'a dyn Parameters,
}

impl Connection {
    /// Runs several statements in one write. Their results come in their order; the outer error is that of a statement that
    /// could not be prepared or sent, in which case none ran, or the end of the connection.
    ///
    /// With [`Atomicity::All`] there is [`Error::RolledBack`] for all others than the one that failed; an error that comes when all
    /// have run, such as a deferred constraint's, is the last one's.
    ///
    /// A statement whose tables have changed since it was prepared is prepared and run again outside of transactions: with
    /// [`Atomicity::All`] together with all others, of which nothing is left; otherwise by itself, unless something else than a
    /// SELECT has overtaken it.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn pipeline<'a>(
        &'a self,
        statements: &'a [Statement<'a>],
        atomicity: Atomicity,
    ) -> LocalBoxFuture<'a, Result<Vec<Result<Rows>>>> {
        self.run_pipeline(statements, atomicity).boxed_local()
    }

    pub(crate) async fn run_pipeline(
        &self,
        statements: &[Statement<'_>],
        atomicity: Atomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let descriptions = self.prepare_all(statements).await?;
        if statements.is_empty() {
            return Ok(Vec::new());
        }
        match atomicity {
            Atomicity::Each => {
                let outcomes = self.pipeline_each(statements, &descriptions).await?;
                self.all_up_to_date(statements, descriptions, outcomes)
                    .await
            }
            Atomicity::All => {
                let (mut descriptions, mut tries) = (descriptions, 1);
                let mut reply = self.request_all(statements, &descriptions).await?;
                while self.all_may_run_again(statements, &reply)? && tries < STALE_TRIES_MAX {
                    descriptions = self.prepare_all(statements).await?;
                    reply = self.request_all(statements, &descriptions).await?;
                    tries += 1;
                }
                let outcomes = split(&reply, &descriptions)?;
                self.all_up_to_date(statements, descriptions, outcomes)
                    .await
            }
        }
    }

    /// Runs several statements as [`Connection::pipeline`] with [`Atomicity::All`], and another one without values in front of them, in the same write and
    /// under a Sync of its own. Gives the rows of that one first.
    pub(crate) async fn pipeline_behind(
        &self,
        front: &str,
        statements: &[Statement<'_>],
    ) -> Result<(Rows, Vec<Result<Rows>>)> {
        let description = self.prepare(front, &[]).await?;
        // So that nothing is waited for between the two.
        self.prepare_all(statements).await?;
        self.room().await;
        let answer = self.ask(1, FlushMode::WithOthers, |mut request, ticket| {
            self.write_closing(&mut request)?;
            self.write_execution(&mut request, front, &description, &())?;
            Ok(request.sync(ticket, Shape::Whole)?)
        })?;
        let outcomes = self.run_pipeline(statements, Atomicity::All).await?;
        let reply = answer.await?;
        if reply.error.is_some() {
            self.0.driver.cache.borrow_mut().forget(front, &[]);
        }
        Ok((rows(reply, &description)?, outcomes))
    }

    async fn all_up_to_date(
        &self,
        statements: &[Statement<'_>],
        descriptions: Vec<Rc<Description>>,
        mut outcomes: Vec<Result<Rows>>,
    ) -> Result<Vec<Result<Rows>>> {
        for ((outcome, description), statement) in
            outcomes.iter_mut().zip(descriptions).zip(statements)
        {
            let Ok(rows) = outcome else { continue };
            let mut description = description;
            if description.usable_name().is_empty() {
                let executed = self.as_executed(statement.sql, &[], rows.clone(), &description);
                (*rows, description) = executed.await?;
            }
            if description.holds_rows {
                let (renewed, _) = self
                    .up_to_date(statement.sql, &[], rows.clone(), description)
                    .await;
                *rows = renewed;
            }
        }
        Ok(outcomes)
    }

    /// A text that is repeated is looked up once.
    async fn prepare_all(&self, statements: &[Statement<'_>]) -> Result<Vec<Rc<Description>>> {
        let mut descriptions = Vec::with_capacity(statements.len());
        let mut before: Option<&Statement<'_>> = None;
        for statement in statements {
            let same = before.is_some_and(|before| std::ptr::eq(before.sql, statement.sql));
            let description = match descriptions.last().filter(|_| same) {
                Some(description) => Rc::clone(description),
                None => {
                    let prepared = self.prepare(statement.sql, &[]).await;
                    prepared.map_err(Error::before_execution)?
                }
            };
            check_count(&description, statement.values)?;
            descriptions.push(description);
            before = Some(statement);
        }
        Ok(descriptions)
    }

    async fn pipeline_each(
        &self,
        statements: &[Statement<'_>],
        descriptions: &[Rc<Description>],
    ) -> Result<Vec<Result<Rows>>> {
        self.room().await;
        for statement in statements {
            self.asks_xact_id(statement.sql);
        }
        let mut pairs = statements.iter().zip(descriptions);
        let requests = u32::try_from(statements.len()).unwrap_or(u32::MAX);
        let answer = self.ask(requests, FlushMode::WithOthers, |mut request, ticket| {
            let (statement, description) = pairs.next().expect("one request for each statement");
            self.write_closing(&mut request)?;
            self.write_execution(&mut request, statement.sql, description, statement.values)?;
            Ok(request.sync(ticket, Shape::Whole)?)
        })?;
        let replies = answer.all().await?;
        let mut outcomes = Vec::with_capacity(statements.len());
        let mut stale = Stale::default();
        for ((reply, description), statement) in
            replies.into_iter().zip(descriptions).zip(statements)
        {
            let (mut refused, mut idle) = (false, false);
            if let Ok(reply) = &reply {
                refused = staleness(reply, 1)?.is_some();
                idle = reply.status == TransactionStatus::Idle;
            }
            if refused {
                self.0.driver.cache.borrow_mut().forget(statement.sql, &[]);
            }
            if refused && idle {
                stale.found(outcomes.len(), statement.sql);
            } else {
                stale.overtaken(statement.sql);
            }
            outcomes.push(reply.and_then(|reply| rows(reply, description)));
        }
        for index in stale.may_run_again() {
            let again = statements.get(index).zip(outcomes.get_mut(index));
            if let Some((statement, outcome)) = again {
                *outcome = self.query(statement.sql, statement.values).await;
            }
        }
        Ok(outcomes)
    }

    async fn request_all(
        &self,
        statements: &[Statement<'_>],
        descriptions: &[Rc<Description>],
    ) -> Result<ServerReply> {
        self.room().await;
        // Each is looked at: one behind the first that writes may deallocate the question.
        let mut asks_xact_id = false;
        for statement in statements {
            asks_xact_id |= self.asks_xact_id(statement.sql);
        }
        let answer = self.ask(1, FlushMode::Now, |mut request, ticket| {
            // Before anything that may fail: what follows an error is skipped.
            self.write_closing(&mut request)?;
            for (statement, description) in statements.iter().zip(descriptions) {
                self.write_execution(&mut request, statement.sql, description, statement.values)?;
            }
            if asks_xact_id {
                self.write_xact_question(&mut request)?;
            }
            Ok(request.sync(ticket, Shape::Whole)?)
        })?;
        let mut reply = answer.await?;
        if asks_xact_id {
            self.take_xact_id(&mut reply, statements.len())?;
        }
        Ok(reply)
    }

    /// When the server found a statement stale, all are forgotten, because the same may have befallen the others. True when they may
    /// be run again.
    fn all_may_run_again(&self, statements: &[Statement<'_>], reply: &ServerReply) -> Result<bool> {
        if staleness(reply, statements.len())?.is_none() {
            return Ok(false);
        }
        for statement in statements {
            self.0.driver.cache.borrow_mut().forget(statement.sql, &[]);
        }
        Ok(reply.status == TransactionStatus::Idle && is_undone(reply))
    }
}

/// The statements of a pipeline that the server refused because they were stale.
#[derive(Default)]
struct Stale {
    indices: Vec<usize>,
    /// Something that came after one of them was not refused so.
    overtaken: bool,
    /// One of them, or of what came after, may write.
    writes: bool,
}

impl Stale {
    fn found(&mut self, index: usize, sql: &str) {
        self.indices.push(index);
        self.writes |= !reads(sql);
    }

    fn overtaken(&mut self, sql: &str) {
        if !self.indices.is_empty() {
            self.overtaken = true;
            self.writes |= !reads(sql);
        }
    }

    /// All of them, or none: they keep their order.
    fn may_run_again(self) -> Vec<usize> {
        if self.overtaken && self.writes {
            return Vec::new();
        }
        self.indices
    }
}

/// Whether what ran was certainly undone when a later statement failed: a COMMIT, a procedure and some commands end transactions of
/// themselves.
fn is_undone(reply: &ServerReply) -> bool {
    reply.messages().all(|message| match message {
        Ok(Message::CommandComplete(tag)) => {
            matches!(
                tag.command(),
                "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "MERGE"
            )
        }
        Ok(_) => true,
        Err(_) => false,
    })
}

/// Takes the answer to several statements under one Sync apart.
fn split(reply: &ServerReply, descriptions: &[Rc<Description>]) -> Result<Vec<Result<Rows>>> {
    let mut outcomes = Vec::with_capacity(descriptions.len());
    let mut messages = reply.messages();
    let (mut start, mut count) = (0, 0);
    while let Some(message) = messages.next() {
        let description = descriptions.get(outcomes.len());
        match (message.map_err(Error::Protocol)?, description) {
            (Message::DataRow(_), _) => count += 1,
            (Message::CommandComplete(_) | Message::EmptyQueryResponse, Some(description)) => {
                let bytes = reply.bytes.slice(start..messages.offset());
                let columns = Rc::clone(&description.columns);
                outcomes.push(Ok(Rows::new(columns, bytes, count)));
                (start, count) = (messages.offset(), 0);
            }
            // When all have ended it comes from the Sync, as a deferred constraint's does.
            (Message::ErrorResponse(report), _) => {
                let error = Box::new(ServerError::from(report));
                outcomes.clear();
                outcomes.resize_with(descriptions.len(), || Err(Error::RolledBack));
                let failed = reply_index(reply, descriptions.len());
                if let Some(place) = outcomes.get_mut(failed) {
                    *place = Err(Error::Server(error));
                }
                return Ok(outcomes);
            }
            _ => {}
        }
    }
    Ok(outcomes)
}

/// Which statement of several failed: as many ended before it.
fn reply_index(reply: &ServerReply, statements: usize) -> usize {
    let ended = reply.messages().filter(|message| {
        matches!(
            message,
            Ok(Message::CommandComplete(_) | Message::EmptyQueryResponse)
        )
    });
    ended.count().min(statements.saturating_sub(1))
}
