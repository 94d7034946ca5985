//! The owner's side of a transaction. Sends commands to the thread that keeps the connection; runs nothing itself.
//! Rule: when the owner is dropped the transaction is rolled back, whatever was going on.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{self, SyncSender, TrySendError};
use std::sync::{Arc, Weak};

use tokio::sync::oneshot;

use crate::batch::BatchSize;
use crate::error::{Error, Failed, Result};
use crate::limits;
use crate::options::TransactionOptions;
use crate::rows::Rows;
use crate::value::Value;

use super::engine::Engine;
use super::job::{Call, Command, Executed, Output, Request, Statement, Work};
use super::pool::Pool;
use super::queue::Lane;
use super::stream::{Finished, RowStream};

/// Why a transaction is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Committed,
    RolledBack,
    /// SQLite rolled it back: a write was stopped, or the disk failed.
    Aborted,
    Idle,
}

/// How a transaction ended, written once by the thread that served it.
#[derive(Debug, Default)]
pub(super) struct End(AtomicU8);

impl End {
    /// The first word counts.
    pub(super) fn set(&self, ended: Ended) {
        let code = match ended {
            Ended::Committed => 1,
            Ended::RolledBack => 2,
            Ended::Aborted => 3,
            Ended::Idle => 4,
        };
        let _ = self.0.compare_exchange(0, code, Relaxed, Relaxed);
    }

    fn error(&self) -> Error {
        let reason = match self.0.load(Relaxed) {
            1 => "it was committed",
            2 => "it was rolled back",
            3 => {
                return Error::RolledBack {
                    reason: "a statement in it was stopped or failed",
                };
            }
            4 => {
                return Error::RolledBack {
                    reason: "it was idle for longer than idle_timeout",
                };
            }
            _ => "its connection failed and nothing was committed",
        };
        Error::Closed {
            what: "transaction",
            reason,
        }
    }
}

/// A transaction on a connection of its own. See [`crate::Transaction`].
#[derive(Debug)]
pub struct Transaction {
    session: Arc<Session>,
}

#[derive(Debug)]
struct Session {
    commands: SyncSender<Command>,
    end: Arc<End>,
    savepoints: AtomicU32,
    /// Set when a dropped savepoint could not be undone: then nothing may be committed.
    is_broken: AtomicBool,
    stream: Arc<Finished>,
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
            commands,
            end,
            savepoints: AtomicU32::new(0),
            is_broken: AtomicBool::new(false),
            stream: Arc::new(Finished::new()),
            engine: pool.engine().clone(),
        };
        Ok(Transaction {
            session: Arc::new(session),
        })
    }

    pub(crate) async fn query(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Rows> {
        let request = Request::Statement(Call::Query, Statement::new(sql, values));
        match self.session.ask(request).await? {
            Output::Rows(rows) => Ok(rows.into()),
            other => unreachable!("a query was answered with {other:?}"),
        }
    }

    pub(crate) async fn execute(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Executed> {
        let request = Request::Statement(Call::Execute, Statement::new(sql, values));
        match self.session.ask(request).await? {
            Output::Executed(executed) => Ok(executed),
            other => unreachable!("an execute was answered with {other:?}"),
        }
    }

    pub(crate) async fn execute_script(&self, sql: Arc<str>) -> Result<()> {
        let request = Request::Statement(Call::Script, Statement::new(sql, Vec::new()));
        self.session.ask(request).await.map(drop)
    }

    pub(crate) async fn stream(
        &self,
        sql: Arc<str>,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let (demand, demands) = mpsc::channel();
        let request = Request::Stream(Statement::new(sql, values), demands, by);
        let first = self.session.ask(request).await?;
        self.session.stream.clear();
        Ok(RowStream::new(
            first,
            demand,
            self.session.engine.clone(),
            self.session.stream.clone(),
        ))
    }

    pub(crate) async fn savepoint(&self) -> Result<Savepoint> {
        let number = self.session.savepoints.fetch_add(1, Relaxed);
        // Made before it is asked for, so that a future dropped meanwhile undoes it.
        let savepoint = Savepoint {
            number,
            session: Arc::downgrade(&self.session),
            is_open: true,
        };
        match self.session.ask(Request::Savepoint(number)).await {
            Ok(_) => Ok(savepoint),
            Err(error) => {
                savepoint.forget();
                Err(error)
            }
        }
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        if self.session.is_broken.load(Relaxed) {
            return Err(Error::usage(
                "a savepoint was dropped and could not be rolled back: roll the transaction back",
            ));
        }
        self.session.ask(Request::Commit).await.map(drop)
    }

    pub(crate) async fn roll_back(&self) -> Result<()> {
        self.session.ask(Request::RollBack).await.map(drop)
    }
}

impl Session {
    async fn ask(&self, request: Request) -> Result<Output> {
        if !self.stream.is_set() {
            return Err(Error::usage(
                "a stream of this transaction is open: read it to its end or drop it first",
            ));
        }
        let (reply, answer) = oneshot::channel();
        match self.commands.try_send(Command {
            request,
            reply: Some(reply),
        }) {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(self.end.error())),
            Err(TrySendError::Disconnected(_)) => Err(self.end.error()),
            Err(TrySendError::Full(command)) => {
                let statement = match command.request {
                    Request::Statement(_, statement) | Request::Stream(statement, ..) => {
                        statement.failed(String::new())
                    }
                    _ => Failed::none(),
                };
                let (limit, max) = ("transaction_queue_max", limits::TRANSACTION_QUEUE_MAX);
                Err(Error::QueueFull {
                    limit,
                    max,
                    statement,
                })
            }
        }
    }
}

/// A savepoint in a transaction. See [`crate::Savepoint`].
#[derive(Debug)]
pub struct Savepoint {
    number: u32,
    /// Weak, so that a savepoint does not keep its transaction open.
    session: Weak<Session>,
    is_open: bool,
}

impl Savepoint {
    pub(crate) async fn release(self) -> Result<()> {
        let request = Request::Release(self.number);
        self.end(request).await
    }

    pub(crate) async fn roll_back(self) -> Result<()> {
        let request = Request::RollBackTo(self.number);
        self.end(request).await
    }

    async fn end(self, request: Request) -> Result<()> {
        let Some(session) = self.session.upgrade() else {
            return Err(Error::Closed {
                what: "transaction",
                reason: "it was dropped before its savepoint",
            });
        };
        let result = session.ask(request).await.map(drop);
        if result.is_ok() {
            self.forget();
        }
        result
    }

    fn forget(mut self) {
        self.is_open = false;
    }
}

impl Drop for Savepoint {
    fn drop(&mut self) {
        let Some(session) = self.session.upgrade().filter(|_| self.is_open) else {
            return;
        };
        let command = Command {
            request: Request::RollBackTo(self.number),
            reply: None,
        };
        if let Err(TrySendError::Full(_)) = session.commands.try_send(command) {
            session.is_broken.store(true, Relaxed);
        }
    }
}
