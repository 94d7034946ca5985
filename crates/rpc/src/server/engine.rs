//! What a served database may be beside one of this process: an engine behind a network, by the calls that the service makes of it. Knows no engine.
//! Rule: an engine that cannot do a call says so before anything is sent, and an error of a write says whether it may have taken place.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{self as kv, ChangeEvent, KeyRange, KvDatabase, Lifetime, Pair, Waiters};
use tsumugi_kv::{Write, WriteResult};
use tsumugi_worker::Pool;

use super::outcome;
use crate::code::TkrzwCode;

/// What an engine answers, on the worker that opened it.
pub type RemoteFuture<T> = Pin<Box<dyn Future<Output = Result<T, EngineError>>>>;

/// One of the databases that are served.
#[derive(Clone)]
pub enum ServedDatabase {
    /// A database of this process.
    Local(KvDatabase),
    /// What an engine keeps.
    Engine(ServedEngine),
}

/// An engine, and those who wait for notices of its records: these are of this process alone.
#[derive(Clone)]
pub struct ServedEngine {
    pub(crate) source: Arc<dyn EngineSource>,
    pub(crate) notices: Arc<Waiters>,
}

impl ServedDatabase {
    /// What this engine keeps. It is opened on each worker.
    #[must_use]
    pub fn engine(source: impl EngineSource) -> ServedDatabase {
        ServedDatabase::Engine(ServedEngine {
            source: Arc::new(source),
            notices: Arc::default(),
        })
    }

    /// The database, if it is one of this process.
    #[must_use]
    pub fn local(&self) -> Option<&KvDatabase> {
        match self {
            ServedDatabase::Local(database) => Some(database),
            ServedDatabase::Engine(_) => None,
        }
    }
}

impl From<KvDatabase> for ServedDatabase {
    fn from(database: KvDatabase) -> ServedDatabase {
        ServedDatabase::Local(database)
    }
}

/// As people know it. Holds no secret.
impl fmt::Display for ServedDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServedDatabase::Local(database) => database.spec().fmt(formatter),
            ServedDatabase::Engine(engine) => formatter.write_str(&engine.source.place()),
        }
    }
}

impl fmt::Debug for ServedDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Where an engine is, and how it is reached.
pub trait EngineSource: Send + Sync + 'static {
    /// For people. Holds no secret.
    fn place(&self) -> String;

    /// The engine in texts, as in `a store in etcd`.
    fn engine(&self) -> &'static str;

    /// Opens it for one worker, on that worker, and asks once whether it is there.
    fn open(&self, pool: &Pool) -> RemoteFuture<Rc<dyn RemoteEngine>>;
}

/// An engine on one worker. The calls mean what those of [`KvDatabase`] mean. Dropping a future does not take a write back.
pub trait RemoteEngine {
    /// The value at a key.
    fn get(&self, key: Bytes) -> RemoteFuture<Option<Bytes>>;

    /// How long the record at a key is still there.
    fn lifetime(&self, key: Bytes) -> RemoteFuture<Option<Lifetime>>;

    /// The records of those keys that exist, in the order of `keys`.
    fn records(&self, keys: Vec<Bytes>) -> RemoteFuture<Vec<Pair>>;

    /// Applies a write. A batch is of `Set` and `Remove` alone.
    fn write(&self, write: Write) -> RemoteFuture<WriteResult>;

    /// Removes the first record of a queue, or of all without a name, waiting for one for this long.
    fn pop(&self, queue: Option<Bytes>, wait: Duration) -> RemoteFuture<WriteResult>;

    /// The first records of a range, at most `limit`. With a limit of 0 it says whether there is an order at all.
    fn page(&self, range: KeyRange, limit: usize) -> RemoteFuture<Vec<Pair>>;

    /// How many records there are.
    fn count(&self) -> RemoteFuture<u64>;

    /// Keys that fit a pattern, at most `limit`. `mode` is a name of [`SearchMode`](kv::SearchMode).
    fn search(&self, mode: String, pattern: Bytes, limit: usize) -> RemoteFuture<Vec<Bytes>>;

    /// Answers once what was acknowledged is as safe as it can be made.
    fn synchronize(&self) -> RemoteFuture<()>;

    /// Why it writes no backup to a folder of this machine.
    fn backup(&self) -> RemoteFuture<()>;

    /// What it says of itself.
    fn inspect(&self) -> RemoteFuture<Vec<(String, String)>>;

    /// The changes of the keys that begin with `prefix`, from the moment of the answer on.
    fn watch(&self, prefix: Bytes) -> RemoteFuture<Box<dyn EngineWatch>>;
}

/// Changes as an engine reports them, within bounds of its own.
pub trait EngineWatch {
    /// The next change. Dropping the future loses nothing.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<ChangeEvent, EngineError>> + '_>>;
}

/// Why an engine did not do a call: a status of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// What the caller can do about it; [`TkrzwCode::NotImplemented`] of what the engine cannot promise, [`TkrzwCode::Network`] of one
    /// that is not reached.
    pub code: TkrzwCode,
    /// The text. Of a write it says whether it may have taken place.
    pub message: String,
}

impl EngineError {
    /// An error with this code.
    pub fn new(code: TkrzwCode, message: impl Into<String>) -> EngineError {
        let message = message.into();
        EngineError { code, message }
    }
}

impl From<&kv::Error> for EngineError {
    fn from(error: &kv::Error) -> EngineError {
        let status = outcome::of_error(error);
        EngineError::new(TkrzwCode::of(status.code), status.message)
    }
}
