//! Jobs over real databases: what all of them promise, by the same tests, and what PostgreSQL's does alone.

#![cfg(feature = "cron")]

mod claims;
mod figures;
mod keeping;
mod kills;
mod losses;
mod model;
mod pushes;
mod schedules;
mod sessions;
mod traces;
mod versions;
mod workers;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tracing::Level;
use tsumugi_db::{Database, Executor, Options};
use tsumugi_jobs::{ClaimedJob, JobFuture, JobKind, JobPush, JobQueue, JobWorker, WorkerOptions};
use tsumugi_testkit::{LogBuffer, firebird, postgres};

/// A database that several processes share, each of which the test stands for by a connection of its own.
enum Place {
    Postgres(postgres::PostgresDatabase<'static>),
    Firebird(firebird::FirebirdDatabase<'static>),
    Sqlite(TempDir),
}

impl Place {
    fn postgres() -> Place {
        Place::Postgres(postgres::Server::shared().database())
    }

    fn sqlite() -> Place {
        Place::Sqlite(tempfile::tempdir().unwrap())
    }

    fn firebird() -> Place {
        Place::Firebird(firebird::Server::shared().database())
    }

    fn url(&self) -> String {
        match self {
            Place::Postgres(database) => database.url(),
            Place::Firebird(database) => database.url(),
            Place::Sqlite(folder) => format!("sqlite:{}/app.db", folder.path().display()),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Place::Postgres(_) => "PostgreSQL",
            Place::Firebird(_) => "Firebird",
            Place::Sqlite(_) => "SQLite",
        }
    }

    /// A queue as another process has it.
    async fn queue(&self) -> JobQueue {
        let database = Database::connect(&self.url(), Options::default()).await;
        JobQueue::over(&database.unwrap())
    }
}

/// What has been logged. The threads of SQLite's engine write it, so it is the process's.
static LOG: LazyLock<LogBuffer> = LazyLock::new(|| LogBuffer::of_process(Level::TRACE));

/// Runs a test at a place, on a runtime like a worker's.
fn at(place: &Place, test: impl AsyncFnOnce(&Place)) {
    LazyLock::force(&LOG);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test(place));
}

/// Runs a test with each database.
fn with_each(test: impl AsyncFn(&Place)) {
    at(&Place::sqlite(), &test);
    at(&Place::postgres(), &test);
    at(&Place::firebird(), &test);
}

fn kind(name: &str) -> JobKind {
    JobKind::new(name).unwrap()
}

async fn push(queue: &JobQueue, push: &JobPush) -> Option<i64> {
    queue.push(push, &here(queue)).await.unwrap()
}

fn here(queue: &JobQueue) -> Executor {
    Executor::Database(queue.database().clone())
}

/// Looks often, and keeps what it has claimed for longer than a test takes.
fn quick() -> WorkerOptions {
    WorkerOptions {
        lease: Duration::from_secs(300),
        grace: Duration::from_millis(50),
        poll: Some(Duration::from_millis(50)),
        ..WorkerOptions::default()
    }
}

/// The same where a claim that runs out would be an error, however crowded the machine is.
fn calm() -> WorkerOptions {
    WorkerOptions {
        lease: Duration::from_secs(600),
        ..quick()
    }
}

/// Neither looks at the table by the clock nor the end of a claim help within a test.
fn patient() -> WorkerOptions {
    WorkerOptions {
        poll: Some(Duration::from_secs(3_600)),
        ..calm()
    }
}

/// A worker in a task of its own.
struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(
        queue: &JobQueue,
        kinds: &[JobKind],
        options: WorkerOptions,
        perform: impl Fn(ClaimedJob) -> JobFuture + 'static,
    ) -> Running {
        let worker = JobWorker::new(queue, kinds.to_vec(), options, Rc::new(perform)).unwrap();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::task::spawn_local(worker.run(async move { drop(stopped.await) }));
        Running { stop, task }
    }

    async fn end(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap();
    }

    /// As a process that is killed: nothing of it is given back.
    async fn kill(self) {
        self.task.abort();
        drop(self.task.await);
    }
}

/// What jobs have done, in order.
#[derive(Clone, Default)]
struct Diary(Rc<RefCell<Vec<String>>>);

impl Diary {
    fn add(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    fn lines(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    fn count(&self) -> usize {
        self.0.borrow().len()
    }
}

/// Waits for what comes, however crowded the machine is.
async fn eventually(what: &str, mut has_come: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !has_come().await {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        sleep(Duration::from_millis(10)).await;
    }
}
