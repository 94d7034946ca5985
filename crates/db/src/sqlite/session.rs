//! The owner's side of a transaction. Sends commands to the thread that keeps the connection; runs nothing itself.
//! Rule: when the owner is dropped the transaction is rolled back, whatever was going on.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};

use tokio::sync::oneshot;

use crate::batch::BatchSize;
use crate::error::{Error, FailedStatement, Result};
use crate::execution::ExecuteResult;
use crate::limits;
use crate::options::TransactionOptions;
use crate::outcome::{Abandon, CommitCallback, EndReason, Savepoints};
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::value::Value;

use super::engine::Engine;
use super::job::{Answer, Call, Command, Output, OwnCommand, Reply, Request, Statement, Work};
use super::pool::Pool;
use super::queue::Lane;
use super::stream::{Demand, RowStream};

/// How a transaction ended, written once: by the thread that served it, or by its owner. The thread stops what runs for it then.
#[derive(Debug, Default)]
pub(super) struct End(OnceLock<EndReason>);

impl End {
    /// The first word counts.
    pub(super) fn set(&self, ended: EndReason) {
        let _ = self.0.set(ended);
    }

    /// Whether it is over, whatever is still asked.
    pub(super) fn is_set(&self) -> bool {
        self.0.get().is_some()
    }

    pub(super) fn error(&self) -> Error {
        match self.0.get() {
            Some(ended) => ended.error(),
            None => Error::closed(
                "transaction",
                "its connection failed and nothing was committed",
            ),
        }
    }
}

/// A transaction on a connection of its own. See [`crate::Transaction`].
#[derive(Debug)]
pub struct Transaction {
    session: Rc<Session>,
}

#[derive(Debug)]
struct Session {
    /// None once the owner has ended it, by which the thread that serves it rolls back.
    commands: RefCell<Option<SyncSender<Command>>>,
    end: Arc<End>,
    savepoints: RefCell<Savepoints>,
    /// The commit was asked for.
    committing: Cell<bool>,
    /// The last stream in it, which ends with it.
    stream: RefCell<Option<Arc<Demand>>>,
    engine: Arc<Engine>,
}

impl Transaction {
    pub(super) async fn begin(pool: &Pool, options: TransactionOptions) -> Result<Transaction> {
        let (commands, receiver) = mpsc::sync_channel(limits::TRANSACTION_QUEUE_MAX);
        let end = Arc::new(End::default());
        let work = Work::Transaction {
            options,
            commands: receiver,
            end: end.clone(),
        };
        let lane = match options.access {
            crate::options::Access::ReadOnly => Lane::Readers,
            crate::options::Access::ReadWrite => Lane::Writer,
        };
        // The commands are dropped with this future, which ends the transaction if it has begun by then.
        pool.ask(lane, work, Statement::new("BEGIN", Vec::new()))
            .await?;
        let session = Session {
            commands: RefCell::new(Some(commands)),
            end,
            savepoints: RefCell::default(),
            committing: Cell::new(false),
            stream: RefCell::default(),
            engine: pool.engine().clone(),
        };
        Ok(Transaction {
            session: Rc::new(session),
        })
    }

    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let answer = self.session.begin_statement(Call::Query, sql, values);
        let answer = self.session.answer_or_closed(answer).await;
        answer.map(Output::rows)
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<ExecuteResult> {
        let answer = self.session.begin_statement(Call::Execute, sql, values);
        let answer = self.session.answer_or_closed(answer).await;
        answer.map(Output::executed)
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        let request = Request::Statement(Call::Script, Statement::new(sql, Vec::new()));
        self.session.ask(request).await.map(drop)
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let (demand, demands) = Demand::new();
        let request = Request::Stream(Statement::new(sql, values), demands, by);
        let first = self.session.ask(request).await?;
        self.session.stream.replace(Some(demand.clone()));
        Ok(RowStream::new(
            first,
            demand,
            self.session.engine.clone(),
            Some(self.session.end.clone()),
        ))
    }

    pub(crate) async fn savepoint(&self) -> Result<Savepoint> {
        let number = self.session.savepoints.borrow_mut().open();
        let savepoint = Savepoint {
            number,
            session: Rc::downgrade(&self.session),
        };
        let made = self
            .session
            .ask(Request::own(OwnCommand::Savepoint(number)))
            .await;
        if made.is_err() {
            drop(self.session.undo_savepoint(number));
        }
        made.map(|_| savepoint)
    }

    pub(crate) fn savepoints(&self) -> &RefCell<Savepoints> {
        &self.session.savepoints
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        self.session.committing.set(true);
        let committed = self.session.ask(Request::own(OwnCommand::Commit)).await;
        self.session.committing.set(false);
        committed.map(drop)
    }

    pub(crate) async fn roll_back(&self) -> Result<()> {
        self.session
            .ask(Request::own(OwnCommand::RollBack))
            .await
            .map(drop)
    }

    pub(crate) fn owner(&self) -> Weak<dyn Abandon> {
        let session: Weak<Session> = Rc::downgrade(&self.session);
        session
    }
}

impl Abandon for Session {
    fn abandon(&self) {
        self.end(match self.committing.get() {
            true => EndReason::Uncommitted,
            false => EndReason::AbandonedCall,
        });
    }
}

impl Session {
    /// Ends a savepoint, and gives what will not run after the commit; none when it had ended.
    fn undo_savepoint(&self, number: u32) -> Option<Vec<CommitCallback>> {
        self.savepoints.borrow_mut().undo(number)
    }

    /// Rolls back without waiting, unless it is over.
    fn end(&self, how: EndReason) {
        self.end.set(how);
        self.commands.borrow_mut().take();
        if let Some(stream) = self.stream.take() {
            stream.close();
        }
    }

    /// Asks without waiting.
    fn send(&self, request: Request, reply: Option<Reply>) -> Result<(), TrySendError<Command>> {
        let command = Command { request, reply };
        match &*self.commands.borrow() {
            Some(commands) => commands.try_send(command),
            None => Err(TrySendError::Disconnected(command)),
        }
    }

    async fn ask(&self, request: Request) -> Result<Output> {
        self.answer_or_closed(self.begin(request)).await
    }

    async fn answer_or_closed(&self, answer: Result<Answer>) -> Result<Output> {
        answer?.await.unwrap_or_else(|_| Err(self.end.error()))
    }

    fn begin_statement(&self, call: Call, sql: SqlText, values: Vec<Value>) -> Result<Answer> {
        self.begin(Request::Statement(call, Statement::new(sql, values)))
    }

    fn begin(&self, request: Request) -> Result<Answer> {
        if self
            .stream
            .borrow()
            .as_ref()
            .is_some_and(|stream| stream.is_open())
        {
            return Err(Error::usage(
                "a stream of this transaction is open: read it to its end or drop it first",
            ));
        }
        let (reply, answer) = oneshot::channel();
        match self.send(request, Some(reply)) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Disconnected(_)) => Err(self.end.error()),
            Err(TrySendError::Full(command)) => {
                let statement = match command.request {
                    Request::Statement(_, statement) | Request::Stream(statement, ..) => {
                        statement.failed()
                    }
                    _ => FailedStatement::none(),
                };
                let (limit, max) = ("transaction_queue_max", limits::TRANSACTION_QUEUE_MAX);
                Err(Error::queue_full(limit, max, statement))
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end(EndReason::RolledBack);
    }
}

/// A savepoint in a transaction. See [`crate::Savepoint`].
#[derive(Debug)]
pub struct Savepoint {
    number: u32,
    /// Weak, so that a savepoint does not keep its transaction open.
    session: Weak<Session>,
}

impl Savepoint {
    pub(crate) async fn release(self) -> Result<()> {
        let request = Request::own(OwnCommand::Release(self.number));
        let session = self.end(request).await?;
        session.savepoints.borrow_mut().release(self.number);
        Ok(())
    }

    pub(crate) async fn roll_back(self) -> Result<()> {
        let request = Request::own(OwnCommand::RollBackTo(self.number));
        let session = self.end(request).await?;
        drop(session.undo_savepoint(self.number));
        Ok(())
    }

    async fn end(&self, request: Request) -> Result<Rc<Session>> {
        let Some(session) = self.session.upgrade() else {
            return Err(Error::closed(
                "transaction",
                "it was dropped before its savepoint",
            ));
        };
        session.savepoints.borrow().check(self.number)?;
        session.ask(request).await?;
        Ok(session)
    }

    pub(crate) fn owner(&self) -> Weak<dyn Abandon> {
        let session: Weak<Session> = self.session.clone();
        session
    }
}

impl Drop for Savepoint {
    fn drop(&mut self) {
        let Some(session) = self.session.upgrade() else {
            return;
        };
        // What will not run is dropped at the end.
        let Some(_undone) = session.undo_savepoint(self.number) else {
            return;
        };
        if let Err(TrySendError::Full(_)) =
            session.send(Request::own(OwnCommand::RollBackTo(self.number)), None)
        {
            session.end(EndReason::SavepointLost);
        }
    }
}
