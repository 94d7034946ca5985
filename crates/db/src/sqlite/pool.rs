//! The caller's side of an engine: makes jobs and waits for their answers. Runs nothing on the caller's thread.
//! Rule: every call makes one job and awaits one reply; dropping the call abandons the job.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Instant;

use tokio::sync::oneshot::{self, error::RecvError};

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::metrics::{Figures, Snapshot};
use crate::options::{self, Options, TransactionOptions};
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::value::Value;

use super::engine::Engine;
use super::job::{Answer, Call, Job, Output, Statement, Work};
use super::policy::{self, Leading};
use super::queue::Lane;
use super::session::Transaction;
use super::stream::{Demand, RowStream};

/// The connections to one SQLite database, with the options of one connect. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pool {
    engine: Arc<Engine>,
    options: Arc<Options>,
    name: Arc<str>,
}

/// The same, not kept open.
#[derive(Debug)]
pub(crate) struct WeakPool {
    engine: Weak<Engine>,
    options: Arc<Options>,
    name: Arc<str>,
}

impl WeakPool {
    pub(crate) fn upgrade(&self) -> Option<Pool> {
        Some(Pool {
            engine: self.engine.upgrade()?,
            options: Arc::clone(&self.options),
            name: Arc::clone(&self.name),
        })
    }
}

impl Pool {
    pub(crate) fn downgrade(&self) -> WeakPool {
        WeakPool {
            engine: Arc::downgrade(&self.engine),
            options: Arc::clone(&self.options),
            name: Arc::clone(&self.name),
        }
    }

    pub(crate) async fn connect(url: &str, options: Options) -> Result<Pool> {
        let (location, options) = options::parse(url, options)?;
        let location = location.unless_absent()?;
        let options = Arc::new(options);
        let name = location.name().into();
        let engine = Engine::open(location, options.clone()).await?;
        Ok(Pool {
            engine,
            options,
            name,
        })
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// A look from outside that keeps nothing open.
    pub(crate) fn watch(&self) -> Weak<dyn Figures> {
        let engine: Arc<dyn Figures> = Arc::<Engine>::clone(&self.engine);
        Arc::downgrade(&engine)
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The one path of its file; none in memory.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.engine.path()
    }

    pub(crate) fn shares_connections_with(&self, other: &Pool) -> bool {
        Arc::ptr_eq(&self.engine, &other.engine)
    }

    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let lane = match policy::leading(&sql) {
            // A reader hands over what turns out to write.
            Leading::Read | Leading::With | Leading::Nothing => Lane::Readers,
            Leading::Insert | Leading::Vacuum | Leading::Other => Lane::Writer,
        };
        let answer = self.run(lane, Call::Query, sql, values).await;
        answer.map(Output::rows)
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<ExecuteResult> {
        let answer = self.run(Lane::Writer, Call::Execute, sql, values).await;
        answer.map(Output::executed)
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        let answer = self.run(Lane::Writer, Call::Script, sql, Vec::new()).await;
        answer.map(drop)
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let (demand, demands) = Demand::new();
        let (work, statement) = (Work::Stream(demands, by), Statement::new(sql, values));
        let first = self.ask(Lane::Readers, work, statement).await?;
        Ok(RowStream::new(first, demand, self.engine.clone(), None))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        Transaction::begin(self, options).await
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    async fn run(
        &self,
        lane: Lane,
        call: Call,
        sql: SqlText,
        values: Vec<Value>,
    ) -> Result<Output> {
        answer_or_closed(self.push_statement(lane, call, sql, values).await)
    }

    /// No async function, so that what waits for the answer is compiled with the answer alone.
    fn push_statement(&self, lane: Lane, call: Call, sql: SqlText, values: Vec<Value>) -> Answer {
        let statement = Statement::new(sql, values);
        self.push(lane, Work::Statement(call), statement)
    }

    pub(super) async fn ask(&self, lane: Lane, work: Work, statement: Statement) -> Result<Output> {
        answer_or_closed(self.push(lane, work, statement).await)
    }

    fn push(&self, lane: Lane, work: Work, statement: Statement) -> Answer {
        let (reply, answer) = oneshot::channel();
        let job = Job {
            work,
            statement,
            reply,
            options: self.options.clone(),
            enqueued: Instant::now(),
        };
        self.engine.push(lane, job);
        answer
    }
}

fn answer_or_closed(answer: Result<Result<Output>, RecvError>) -> Result<Output> {
    answer.unwrap_or_else(|_| {
        Err(Error::closed(
            "database",
            "the statement met a bug and may have run",
        ))
    })
}
