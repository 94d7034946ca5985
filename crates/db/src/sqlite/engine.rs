//! The engines of this process: for each database one writer thread, some reader threads and one that watches the
//! queues. Opens, shares and closes; runs no statement.
//! Rule: a database is opened once in a process, however many workers connect to it and by whatever path.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::thread;

use tokio::sync::oneshot;
use tracing::warn;

use crate::error::{Error, Result};
use crate::log::whole_milliseconds;
use crate::metrics::{Counters, Figures, Snapshot};
use crate::options::{Location, MissingFile, Options};

use super::connection::{self, Connection, Opening};
use super::job::Job;
use super::queue::{Lane, PushOutcome, Queues};
use super::serve::EngineThread;

/// What makes two connects mean the same database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Memory(String),
    File(PathBuf),
}

/// The engines in use. Locked only by threads that open, never by a worker.
static ENGINES: LazyLock<Mutex<HashMap<Key, Weak<Engine>>>> = LazyLock::new(Mutex::default);

/// One opened database. Its threads end when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Engine {
    queues: Arc<Queues>,
    counters: Arc<Counters>,
    /// None in memory, where one connection does everything.
    readers: Option<usize>,
    options: Arc<Options>,
    /// None in memory.
    path: Option<PathBuf>,
}

impl Engine {
    /// The engine for this database, opened now unless it is open.
    pub(super) async fn open(location: Location, options: Arc<Options>) -> Result<Arc<Engine>> {
        elsewhere("db-open", move || Engine::open_shared(location, options)).await
    }

    fn open_shared(location: Location, options: Arc<Options>) -> Result<Arc<Engine>> {
        let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, missing) = match location {
            Location::Memory(name) => (Key::Memory(name), MissingFile::Create),
            Location::File { path, missing } => (Key::File(canonical(path, missing)?), missing),
        };
        if let Some(engine) = engines.get(&key).and_then(Weak::upgrade) {
            engine.warn_about_options(&options);
            return Ok(engine);
        }
        engines.retain(|_, engine| engine.strong_count() > 0);
        let path = match &key {
            Key::Memory(_) => None,
            Key::File(path) => Some(path.clone()),
        };
        let (busy_timeout, statement_cache) = (options.busy_timeout, options.statement_cache);
        let engine = Engine::start(
            Opening {
                path,
                missing,
                busy_timeout,
                statement_cache,
            },
            options,
        )?;
        engines.insert(key, Arc::downgrade(&engine));
        Ok(engine)
    }

    fn start(opening: Opening, options: Arc<Options>) -> Result<Arc<Engine>> {
        let opened = |result: rusqlite::Result<Connection>| {
            result.map_err(|cause| open_error(opening.path.as_deref(), cause))
        };
        let writer = opened(opening.writer())?;
        let readers = opening.path.is_some().then_some(options.pool);
        let name = opening.path.as_deref().and_then(Path::file_name);
        let name = name.map_or(":memory:".into(), |name| name.to_string_lossy());
        let database: Arc<str> = name.into();
        let mut connections = vec![(Lane::Writer, "db-writer".to_owned(), writer)];
        for number in 0..readers.unwrap_or(0) {
            connections.push((
                Lane::Readers,
                format!("db-reader-{number}"),
                opened(opening.reader())?,
            ));
        }
        let (queues, counters) = (Arc::<Queues>::default(), Arc::<Counters>::default());
        // Made before the threads, so that dropping it ends those that were started when a later one cannot be.
        let engine = Arc::new(Engine {
            queues: queues.clone(),
            counters: counters.clone(),
            readers,
            options,
            path: opening.path.clone(),
        });
        let opening = Arc::new(opening);
        for (lane, name, connection) in connections {
            let (opening, queues, counters) = (opening.clone(), queues.clone(), counters.clone());
            let engine_thread = EngineThread {
                connection: Some(connection),
                opening,
                lane,
                queues,
                counters,
                database: Arc::clone(&database),
            };
            spawn(name, move || engine_thread.work())?;
        }
        spawn("db-sweeper".into(), move || {
            queues.sweep_until_closed(|lane, job| expire(lane, job, readers, &counters))
        })?;
        Ok(engine)
    }

    /// The one path of its file; none in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(super) fn push(&self, lane: Lane, job: Job) {
        let lane = if self.readers.is_some() {
            lane
        } else {
            Lane::Writer
        };
        if self.queues.push(lane, job) == PushOutcome::Refused {
            self.counters.turned_away();
        }
    }

    fn warn_about_options(&self, wanted: &Options) {
        // In memory there is one connection, which waits for no other process.
        if self.path.is_none() {
            return;
        }
        let shared =
            |options: &Options| (options.pool, options.statement_cache, options.busy_timeout);
        if shared(&self.options) != shared(wanted) {
            warn!(
                target: "tsumugi_db",
                "the database is open already: its pool, statement_cache and busy_timeout stay as they are"
            );
        }
    }
}

impl Figures for Engine {
    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.counters.snapshot();
        snapshot.connections = self.readers.unwrap_or(0) + 1;
        snapshot.writer_waiting = self.queues.len(Lane::Writer);
        snapshot.waiting = self.queues.len(Lane::Readers) + snapshot.writer_waiting;
        snapshot
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.queues.close();
    }
}

/// Removes the file of a database in which nothing was kept but an empty table of notes of this name, unless a process uses it. Whoever
/// has it open here gets errors from now on.
pub(crate) async fn remove_unused(path: PathBuf, notes: &'static str) -> Result<()> {
    elsewhere("db-remove", move || {
        let path = canonical(path, MissingFile::Fail)?;
        // Locked to the end, so that it is not opened here meanwhile.
        let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = engines.remove(&Key::File(path.clone()));
        if let Some(engine) = engine.and_then(|engine| engine.upgrade()) {
            engine.queues.close();
        }
        connection::remove_unused(&path, notes).map_err(|cause| open_error(Some(&path), cause))
    })
    .await
}

/// Runs what touches files on a thread of its own.
async fn elsewhere<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (reply, answer) = oneshot::channel();
    spawn(name.to_owned(), move || {
        let _ = reply.send(work());
    })?;
    answer.await.unwrap_or_else(|_| Err(no_thread()))
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let spawned = thread::Builder::new().name(name).spawn(work);
    spawned.map(drop).map_err(|_| no_thread())
}

fn no_thread() -> Error {
    Error::closed("database", "its threads could not be started")
}

fn expire(lane: Lane, job: Job, readers: Option<usize>, counters: &Counters) {
    counters.turned_away();
    let connection = match lane {
        _ if readers.is_none() => "connection",
        Lane::Readers => "reader",
        Lane::Writer => "writer",
    };
    let waited_ms = whole_milliseconds(job.enqueued.elapsed());
    job.refuse(|statement| Error::PoolTimeout {
        connection,
        limit: "acquire_timeout",
        waited_ms,
        statement,
    });
}

/// The one path of a file, which need not exist yet.
fn canonical(path: PathBuf, missing: MissingFile) -> Result<PathBuf> {
    let error = |reason: String, source: Option<std::io::Error>| {
        let source = source.map(|source| Box::new(source).into());
        Err(Error::Open {
            path: path.clone(),
            reason,
            source,
        })
    };
    match fs::canonicalize(&path) {
        Ok(canonical) if canonical.is_dir() => return error("it is a directory".into(), None),
        Ok(canonical) => return Ok(canonical),
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            return error(cause.to_string(), Some(cause));
        }
        Err(_) if missing == MissingFile::Fail => {
            return error("there is no such file; mode=rwc creates it".into(), None);
        }
        Err(_) => {}
    }
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    match (fs::canonicalize(directory), path.file_name()) {
        (Ok(directory), Some(name)) => Ok(directory.join(name)),
        (Ok(_), None) => error("it names no file".into(), None),
        (Err(cause), _) => error(
            format!(
                "its directory {} is not there; create it first",
                directory.display()
            ),
            Some(cause),
        ),
    }
}

/// The error for a file that SQLite could not open.
pub(super) fn open_error(path: Option<&Path>, cause: rusqlite::Error) -> Error {
    Error::Open {
        path: path.unwrap_or(Path::new(":memory:")).to_owned(),
        reason: cause.to_string(),
        source: Some(Box::new(cause)),
    }
}
