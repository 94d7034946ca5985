//! How the number of a transaction is learnt while it runs. Decides nothing about what it is for.
//! Rule: the question goes behind a statement that may write, under the same Sync, so that it is answered before the caller has the statement's
//! answer and takes no round trip; and only to a server that has answered it before, because an error would fail the transaction.

use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::backend::{Message, TransactionStatus};
use tsumugi_pg_proto::connection::{Request, Shape};
use tsumugi_pg_proto::frontend::ResultFormats;
use tsumugi_pg_proto::sqlstate::SqlState;
use tsumugi_pg_proto::types::Format;

use crate::connection::{Answer, Connection, FlushMode, Pooling, ServerReply, Ticket};
use crate::error::{Error, Result};
use crate::query::failure;
use crate::statement_text::{TextKind, deallocates};
use crate::xact::{CertainEnd, IDENTITY, ServerIdentity, XactFunctions, XactId};

impl Connection {
    /// The number of the transaction that was begun last, once it has written something and the server has said it. It stays known when the
    /// connection is lost.
    pub fn xact_id(&self) -> Option<XactId> {
        self.0.driver.xact.id()
    }

    /// The server that this connection reaches, as it was when the first transaction was begun here; none where it does not say.
    pub fn server_identity(&self) -> Option<Rc<ServerIdentity>> {
        self.0.driver.xact.identity()
    }

    /// Whether the transaction that was begun last is one that only reads, and whether the texts of all its statements show the same: then there
    /// is nothing that a commit could bring about, unless one of them has failed.
    pub fn has_only_read(&self) -> bool {
        self.0.driver.xact.has_only_read()
    }

    /// How the transaction that was begun last ends by its COMMIT, which was sent, whatever becomes of the answer; none where that is not certain.
    pub fn certain_end(&self) -> Option<CertainEnd> {
        self.0.driver.xact.certain_end()
    }

    /// Whether the transaction that was begun last may have something to commit, as far as the texts of its statements show it.
    pub fn may_have_written(&self) -> bool {
        !self.0.driver.xact.only_reads()
    }

    /// What is prepared in the session may not be there any more, because a statement may have deallocated it.
    pub fn distrust_prepared(&self) {
        self.0.driver.xact.set_statement(None);
    }

    /// Writes, in front of what begins a transaction, what is still to be learnt: whether the server answers the question, which it is asked outside of a
    /// transaction, and which server it is. Nothing where that is known.
    pub(crate) fn ask_identity(&self) -> Result<Option<Answer>> {
        let xact = &self.0.driver.xact;
        // Nothing can be written there.
        if !xact.needs_identity() || self.parameter_is("in_hot_standby", "on") {
            return Ok(None);
        }
        let version = self.parameter("server_version").unwrap_or_default();
        let Some(functions) = XactFunctions::of(&version) else {
            xact.note_functions(None);
            return Ok(None);
        };
        let known = xact.statement();
        if known.is_none() && self.0.driver.behaviour.pooling == Pooling::Session {
            let name = self.0.driver.queue.borrow_mut().statement_name();
            xact.set_statement(Some(name));
        }
        let name = xact.statement();
        let name = name.as_deref().unwrap_or_default();
        let mut is_first = true;
        let answer = self.ask(2, FlushMode::Now, |mut request, ticket| {
            if std::mem::take(&mut is_first) {
                if known.is_none() {
                    request.parse(name, functions.question, &[])?;
                }
                execute(&mut request, name)?;
            } else {
                request.parse("", IDENTITY, &[])?;
                execute(&mut request, "")?;
            }
            Ok(request.sync(ticket, Shape::Whole)?)
        });
        // Where nothing was written, nothing is prepared.
        let answer = answer.inspect_err(|_| xact.set_statement(known))?;
        Ok(Some(answer))
    }

    /// What the server answered to that.
    pub(crate) fn note_identity(&self, replies: Vec<Result<ServerReply>>) {
        let xact = &self.0.driver.xact;
        let mut replies = replies.into_iter().filter_map(Result::ok);
        let Some(reply) = replies.next() else {
            return;
        };
        match failure(&reply) {
            Ok(None) => {}
            // An earlier try to prepare it came to nothing.
            Ok(Some(error)) if error.code == SqlState::INVALID_SQL_STATEMENT_NAME => {
                return xact.forget_session();
            }
            Ok(Some(_)) | Err(_) => return xact.note_functions(None),
        }
        let identity = replies.next().and_then(|reply| {
            reply.messages().find_map(|message| match message {
                Ok(Message::DataRow(row)) => ServerIdentity::read(row),
                _ => None,
            })
        });
        match identity {
            // A standby: nothing is written there, and it is asked again when it may have been promoted.
            Some(identity) if identity.timeline.is_none() => {}
            Some(identity) => {
                let version = self.parameter("server_version").unwrap_or_default();
                xact.note_functions(XactFunctions::of(&version));
                xact.note_identity(identity);
            }
            // It does not tell places in its log, or not this role: the question would fail.
            None => xact.note_functions(None),
        }
    }

    /// Whether the question is to be put behind this statement, and notes what the statement may do.
    pub(crate) fn asks_xact_id(&self, sql: &str) -> bool {
        let xact = &self.0.driver.xact;
        // One that has failed may have gone back to a savepoint by the time that this statement runs.
        if !xact.is_followed() || xact.id().is_some() || self.status() == TransactionStatus::Idle {
            // The next transaction shall not look for what is gone.
            if xact.statement().is_some() && deallocates(sql) {
                xact.set_statement(None);
            }
            return false;
        }
        match TextKind::of(sql) {
            TextKind::Reads | TextKind::Silent => false,
            TextKind::Deallocates => {
                xact.set_statement(None);
                false
            }
            TextKind::Deferred => {
                xact.note_unasked();
                false
            }
            TextKind::Writes => {
                // Until the answer is there.
                xact.note_unasked();
                xact.functions().is_some()
            }
        }
    }

    /// Something has run that may write, and the question was not put behind it: [`Connection::commit_unguarded`] asks then, which takes a round trip.
    pub(crate) fn note_unasked_write(&self) {
        let xact = &self.0.driver.xact;
        if xact.is_followed() {
            xact.note_unasked();
        }
    }

    /// Writes the question.
    pub(crate) fn write_xact_question(&self, request: &mut Request<'_, Ticket>) -> Result<()> {
        let xact = &self.0.driver.xact;
        let name = xact.statement();
        let name = name.as_deref().unwrap_or_default();
        if let Some(functions) = xact.functions().filter(|_| name.is_empty()) {
            request.parse("", functions.question, &[])?;
        }
        execute(request, name)
    }

    /// Takes the answer to the question from behind those of so many statements.
    pub(crate) fn take_xact_id(&self, reply: &mut ServerReply, statements: usize) -> Result<()> {
        let (mut ended, mut rows, mut id) = (0, 0, None);
        let mut end = (statements == 0).then_some(0);
        let mut messages = reply.messages();
        while let Some(message) = messages.next() {
            match message.map_err(Error::Protocol)? {
                Message::CommandComplete(_) | Message::EmptyQueryResponse if end.is_none() => {
                    ended += 1;
                    end = (ended == statements).then(|| messages.offset());
                }
                Message::DataRow(row) if end.is_some() => {
                    rows += 1;
                    id = XactId::read(row);
                }
                _ => {}
            }
        }
        if reply.error.is_some() && end.is_some() {
            // The question itself failed: a function may have deallocated it.
            self.distrust_prepared();
        }
        // Where a statement failed the question was skipped.
        let Some(end) = end.filter(|_| reply.error.is_none()) else {
            return Ok(());
        };
        reply.bytes.truncate(end);
        reply.rows -= rows;
        self.0.driver.xact.note_answer(id);
        Ok(())
    }

    /// Asks by itself.
    pub(crate) fn learn_xact_id(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            self.room().await;
            let answer = self.ask(1, FlushMode::Now, |mut request, ticket| {
                self.write_xact_question(&mut request)?;
                Ok(request.sync(ticket, Shape::Whole)?)
            })?;
            let mut reply = answer.await?;
            self.take_xact_id(&mut reply, 0)
        }
        .boxed_local()
    }
}

/// Runs what is prepared under this name and takes no values.
pub(crate) fn execute(request: &mut Request<'_, Ticket>, statement: &str) -> Result<()> {
    let bind = request.bind("", statement, 0)?;
    bind.finish(ResultFormats::All(Format::Text))?;
    Ok(request.execute("", 0)?)
}
