//! What callers ask of the engine's threads and what they get back. Only data: no thread and no connection.
//! Rule: every job has one reply, and a reply whose caller has gone away is not worked for.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

use tokio::sync::oneshot;
use tsumugi_trace::Activity;

use crate::batch::BatchSize;
use crate::bookkeeping::StatementPurpose;
use crate::error::{Error, FailedStatement, Result};
use crate::execution::ExecuteResult;
use crate::log;
use crate::options::{Options, TransactionOptions};
use crate::route_scope;
use crate::rows::Rows;
use crate::rows::packed::PackedRows;
use crate::statement_context::StatementContext;
use crate::statement_table;
use crate::value::Value;

use super::session::End;

/// Where the answer goes. Closed as soon as the caller's future is dropped.
pub(super) type Reply = oneshot::Sender<Result<Output>>;

/// Where it is received.
pub(super) type Answer = oneshot::Receiver<Result<Output>>;

/// What a job can give. One type for all jobs, so that the statement that runs on a thread can watch its caller
/// without knowing what it runs.
#[derive(Debug)]
pub(super) enum Output {
    Done,
    Rows(PackedRows),
    Executed(ExecuteResult),
    Batch { rows: PackedRows, is_last: bool },
}

impl Output {
    /// The rows that a query is answered with.
    pub(super) fn rows(self) -> Rows {
        match self {
            Output::Rows(rows) => rows.into(),
            other => unreachable!("a query was answered with {other:?}"),
        }
    }

    /// What an execute is answered with.
    pub(super) fn executed(self) -> ExecuteResult {
        match self {
            Output::Executed(executed) => executed,
            other => unreachable!("an execute was answered with {other:?}"),
        }
    }
}

/// What to do with the SQL of a job or command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Query,
    Execute,
    Script,
}

/// SQL with its values.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) sql: Arc<str>,
    pub(super) values: Vec<Value>,
    /// What it is a part of, where statements are counted or logged.
    pub(super) activity: Option<Arc<Activity>>,
    /// Where it was asked for, where statements are counted.
    pub(super) place: Option<Arc<str>>,
    pub(super) purpose: StatementPurpose,
}

impl Statement {
    pub(super) fn new(sql: impl Into<Arc<str>>, values: impl Into<Vec<Value>>) -> Statement {
        Statement {
            sql: sql.into(),
            values: values.into(),
            activity: match statement_table::are_kept() || log::is_wanted() {
                true => tsumugi_trace::current(),
                false => None,
            },
            place: statement_table::are_kept()
                .then(route_scope::source_location)
                .flatten(),
            purpose: StatementPurpose::current(),
        }
    }

    /// Gives the statement to the error about it.
    pub(super) fn failed(self) -> FailedStatement {
        FailedStatement::new(self.sql, self.values, String::new())
    }

    /// For an error about it.
    pub(super) fn within(self, options: &Options) -> StatementContext<'_> {
        StatementContext {
            sql: self.sql.into(),
            values: self.values,
            options,
        }
    }
}

/// What a job wants from the connection it waits for.
#[derive(Debug)]
pub(super) enum Work {
    Statement(Call),
    Stream(mpsc::Receiver<Reply>, BatchSize),
    Transaction {
        options: TransactionOptions,
        commands: mpsc::Receiver<Command>,
        end: Arc<End>,
    },
}

/// One entry of a queue.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) statement: Statement,
    pub(super) reply: Reply,
    pub(super) options: Arc<Options>,
    pub(super) enqueued: Instant,
}

impl Job {
    pub(super) fn expires(&self) -> Instant {
        self.enqueued + self.options.acquire_timeout
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    /// Answers with an error about the job's own statement.
    pub(super) fn refuse(self, error: impl FnOnce(FailedStatement) -> Error) {
        // The caller may have gone away: then nobody wants the answer.
        let _ = self.reply.send(Err(error(self.statement.failed())));
    }
}

/// What the owner of a transaction asks.
#[derive(Debug)]
pub(super) enum Request {
    Statement(Call, Statement),
    Stream(Statement, mpsc::Receiver<Reply>, BatchSize),
    Own(OwnCommand, StatementPurpose),
}

impl Request {
    /// A command of this crate's, for what statements are for that are asked for here.
    pub(super) fn own(command: OwnCommand) -> Request {
        Request::Own(command, StatementPurpose::current())
    }
}

/// What bounds a transaction or a part of it. A savepoint is named by its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum OwnCommand {
    Savepoint(u32),
    Release(u32),
    RollBackTo(u32),
    Commit,
    RollBack,
}

/// A request in a transaction. One without a reply comes from a destructor, which cannot wait.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) request: Request,
    pub(super) reply: Option<Reply>,
}
