//! Statements as the server prepared them: what they take and return, and which is in use. Runs none.
//! Rule: a statement that was prepared goes back to the cache, or is freed, however its user goes.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_firebird_proto::connection::Expect;
use tsumugi_firebird_proto::describe::{Describe, ITEMS, Progress, StatementKind};
use tsumugi_firebird_proto::handle::{Statement, Transaction};
use tsumugi_firebird_proto::info;
use tsumugi_firebird_proto::request::{Free, Items};
use tsumugi_firebird_proto::row::Format;

use crate::cache::PreparedStatement;
use crate::connection::{Connection, Effect, Writer};
use crate::description::Description;
use crate::error::{Error, Result};
use crate::reading::InUse;

/// What is asked to know whether a query reads from procedures.
const PLAN: [u8; 1] = [info::statement::EXPLAINED_PLAN];

/// Bytes of one piece of a description that is asked for; what does not fit is asked for again.
const DESCRIPTION_BYTES: u16 = u16::MAX;

/// A statement in use.
pub(crate) struct StatementLease {
    prepared: Option<PreparedStatement>,
    used: InUse,
}

impl StatementLease {
    pub(crate) fn handle(&self) -> Statement {
        self.prepared().handle
    }

    pub(crate) fn description(&self) -> &Rc<Description> {
        &self.prepared().description
    }

    fn prepared(&self) -> &PreparedStatement {
        self.prepared.as_ref().expect("it is there until the end")
    }

    /// Writes what has to come before an execution, which opens a cursor or not.
    pub(crate) fn write_close(&self, writer: &mut Writer<'_>) -> Result<()> {
        if !self.prepared().open {
            return Ok(());
        }
        writer.ask_unawaited(Expect::Deferred, |requests| {
            requests.free_statement(self.handle(), Free::Close)
        })
    }

    /// An execution was written.
    pub(crate) fn executed(&mut self) {
        if let Some(prepared) = &mut self.prepared {
            prepared.open = prepared.description.kind.has_cursor();
        }
    }
}

impl Drop for StatementLease {
    fn drop(&mut self) {
        if let Some(prepared) = self.prepared.take()
            && self.used.connection().is_alive()
        {
            let connection = self.used.connection();
            let gone = connection.0.driver.cache.borrow_mut().keep(prepared);
            connection.free(gone);
        }
    }
}

impl Connection {
    /// A statement with this text, prepared in `transaction` if none is at hand.
    pub(crate) async fn lease(
        &self,
        transaction: Transaction,
        sql: &str,
    ) -> Result<StatementLease> {
        let known = self.0.driver.cache.borrow_mut().take(sql);
        let prepared = match known {
            Some(prepared) => prepared,
            None => self.prepare_anew(transaction, sql).await?,
        };
        Ok(StatementLease {
            prepared: Some(prepared),
            used: InUse::of(self),
        })
    }

    async fn prepare_anew(&self, transaction: Transaction, sql: &str) -> Result<PreparedStatement> {
        self.room().await;
        let generation = self.0.driver.cache.borrow().generation();
        let unused = self.0.driver.take_unused();
        let mut asked = self.ask(|writer| write_prepare(writer, unused, transaction, sql))?;
        // From here on it is freed if this future is dropped, or fails.
        let allocated = StatementGuard {
            connection: self,
            handle: Some(match unused {
                Some(handle) => handle,
                None => Statement(asked.response().await?.object),
            }),
        };
        let handle = allocated.handle.expect("it was just put there");
        let prepared = asked.response().await;
        let plan = asked.response().await;
        let mut describe = Describe::new();
        let mut progress = describe.read(&prepared?.data).map_err(Error::Protocol)?;
        let plan = plan.map(|answer| answer.data).unwrap_or_default();
        let described = loop {
            match progress {
                Progress::Done(described) => break described,
                Progress::More(items) => {
                    asked.more(|writer| {
                        writer.ask(Expect::Response, |requests| {
                            requests.statement_info(handle, described_by(&items))
                        })
                    })?;
                    let data = asked.response().await?.data;
                    progress = describe.read(&data).map_err(Error::Protocol)?;
                }
            }
        };
        let description = Description {
            kind: described.kind,
            format: Arc::new(Format::new(described.columns)?),
            parameters: described.parameters.into(),
            may_write: Cell::new(may_write(described.kind, &plan)?),
        };
        let handle = allocated.keep();
        Ok(PreparedStatement::new(
            handle,
            sql.into(),
            Rc::new(description),
            generation,
        ))
    }

    /// What a statement takes and returns, without running it.
    ///
    /// # Errors
    /// [`Error::Server`] when it cannot be prepared; [`Error::Lost`].
    pub fn describe<'a>(&'a self, sql: &'a str) -> LocalBoxFuture<'a, Result<Rc<Description>>> {
        async move {
            let transaction = self.automatic().await?;
            let lease = self.lease(transaction, sql).await?;
            Ok(Rc::clone(lease.description()))
        }
        .boxed_local()
    }

    /// How the server would run a statement, for people; nothing where it says nothing. The statement is not run.
    ///
    /// # Errors
    /// [`Error::Server`] when it cannot be prepared; [`Error::Lost`].
    pub fn explain<'a>(&'a self, sql: &'a str) -> LocalBoxFuture<'a, Result<Option<String>>> {
        async move {
            let transaction = self.automatic().await?;
            let lease = self.lease(transaction, sql).await?;
            self.room().await;
            let handle = lease.handle();
            let mut asked = self.ask(|writer| {
                writer.ask(Expect::Response, |requests| {
                    requests.statement_info(handle, described_by(&PLAN))
                })
            })?;
            let data = asked.response().await?.data;
            // One that is cut is worth nothing.
            let plan = info::explained_plan(&data).unwrap_or_default();
            Ok(plan.map(|plan| String::from_utf8_lossy(plan).into_owned()))
        }
        .boxed_local()
    }

    /// Frees all statements that are kept prepared and not in use, and ends the transactions that keep hold of the tables which statements
    /// outside of any have touched. A table cannot be dropped before that is done on every connection that used it; this one's
    /// own changes of the schema do it by themselves.
    pub fn forget_statements(&self) {
        self.forget(0);
    }

    /// The same, where `mine` of the statements in use do not count.
    pub(crate) fn forget(&self, mine: usize) {
        let gone = self.0.driver.cache.borrow_mut().clear();
        self.free(gone);
        self.release_table_locks(mine);
    }

    /// How many statements are kept prepared and not in use.
    pub fn prepared_statements(&self) -> usize {
        self.0.driver.cache.borrow().len()
    }

    fn free(&self, gone: impl IntoIterator<Item = PreparedStatement>) {
        let mut gone = gone.into_iter().peekable();
        if gone.peek().is_none() || !self.is_alive() {
            return;
        }
        self.send_unawaited(|writer| {
            for prepared in gone {
                write_drop(writer, prepared.handle)?;
            }
            Ok(())
        });
    }
}

/// Prepares a text, in a statement that was allocated before or else now, and asks for its plan.
fn write_prepare(
    writer: &mut Writer<'_>,
    unused: Option<Statement>,
    transaction: Transaction,
    sql: &str,
) -> Result<()> {
    if unused.is_none() {
        let database = writer.database();
        // It fails only where no number is left, and then there is no last object.
        writer.ask_to(Effect::AllocatesStatement, Expect::Deferred, |requests| {
            requests.allocate_statement(database)
        })?;
    }
    let handle = unused.unwrap_or(Statement::LAST);
    writer.ask(Expect::Response, |requests| {
        requests.prepare(transaction, handle, sql.as_bytes(), described_by(&ITEMS))
    })?;
    writer.ask(Expect::Response, |requests| {
        requests.statement_info(handle, described_by(&PLAN))
    })
}

/// Whether a statement may write, by its kind and by what the server says of its plan. What the server did not explain may.
fn may_write(kind: StatementKind, plan: &[u8]) -> Result<bool> {
    if kind != StatementKind::Select {
        return Ok(true);
    }
    let plan = info::explained_plan(plan).map_err(Error::Protocol)?;
    Ok(plan.is_none_or(info::names_procedure))
}

fn described_by(items: &[u8]) -> Items<'_> {
    Items {
        items,
        bytes_max: DESCRIPTION_BYTES,
    }
}

fn write_drop(writer: &mut Writer<'_>, handle: Statement) -> Result<()> {
    writer.ask_unawaited(Expect::Deferred, |requests| {
        requests.free_statement(handle, Free::Drop)
    })
}

/// A statement that is not whole yet.
struct StatementGuard<'a> {
    connection: &'a Connection,
    handle: Option<Statement>,
}

impl StatementGuard<'_> {
    fn keep(mut self) -> Statement {
        self.handle.take().expect("it is there until the end")
    }
}

impl Drop for StatementGuard<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && self.connection.is_alive()
        {
            self.connection
                .send_unawaited(|writer| write_drop(writer, handle));
        }
    }
}
