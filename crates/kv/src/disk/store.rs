//! One open folder: the lock, the marker, the engine's database, and how a commit is put into it. Knows no callers and no times.
//! Rule: nothing is changed in a folder that is not ours, that is locked, or whose files do not fit together.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use fjall::{AbstractTree as _, AnyTree, KeyspaceCreateOptions, PersistMode, SeqNo};

use super::alias::Alias;
use super::failure::{if_there, io_error};
use super::journal::{Context, ReplayError, SparseRegions, examine};
use super::layout::{META_KEY, Meta, Seal};
use super::manifest;
use super::marker::{self, Marker};
use crate::error::{Error, LockHolder, Result};
use crate::spec::{Durability, Spec};

const LOCK: &str = "lock";
const PROBE: &str = "probe";
/// Holds the system's name for the run of the machine that the folder was last opened in.
const BOOT: &str = "boot";
const BOOT_NOW: &str = "/proc/sys/kernel/random/boot_id";
const ENGINE: &str = "engine";
const KEYSPACE: &str = "records";
/// Files without which the engine would begin anew, and say nothing.
const ENGINE_FILES: [&str; 3] = ["version", "keyspaces/0/current", "keyspaces/1/current"];
/// The engine's own records, and ours.
const ENGINE_KEYSPACES: [&str; 2] = ["keyspaces/0", "keyspaces/1"];

/// What a user of Tkrzw does with a file of its.
const A_FILE: &str = "it is a file, and a database on disk is a folder; the records of a file of Tkrzw's come here by `tkrzw_dbm_util export FILE records.flat` and `tsumugi kv import --format flat records.flat`";

/// Threads of the engine that flush and compact: two, as one of them leaves compaction to the other.
const ENGINE_THREADS: usize = 2;
/// Bytes that are collected in memory before they become a table.
const MEMTABLE_BYTES: u64 = 32 * 1024 * 1024;
/// Files the engine keeps open.
const ENGINE_FILES_MAX: usize = 256;
/// The engine stops its callers for as long as its own threads take, and those may have died: from here on we wait ourselves.
const SEALED_MAX: usize = 1;
const RUNS_MAX: usize = 16;
/// Space that must be free before a database is opened again after the disk was full.
const PROBE_BYTES: usize = 8 * 1024 * 1024;

pub(super) struct Store {
    // In this order: the engine removes what it has no use for by its alias, and is gone before the lock.
    /// Nothing once it has stopped and another is about to be opened; what it held can be read still.
    engine: Option<EngineLoan>,
    alias: Option<Alias>,
    tree: AnyTree,
    /// Where the tree stood when the engine was taken away.
    end: SeqNo,
    path: PathBuf,
    /// None of a database of an earlier version that is only read.
    seal: Option<Seal>,
    lock: Arc<File>,
}

/// A consistent snapshot of all records, which costs a little more than a plain read.
pub(super) struct ReadView {
    tree: AnyTree,
    at: SeqNo,
    /// Keeps the engine from forgetting what is seen.
    _snapshot: Option<fjall::Snapshot>,
    path: PathBuf,
}

/// The engine, also for one long piece of work beside reads and writes.
#[derive(Clone)]
pub(super) struct EngineLoan {
    records: fjall::Keyspace,
    database: fjall::Database,
    path: PathBuf,
}

/// Whether a commit can be tried again.
#[derive(Debug)]
pub(super) enum CommitError {
    /// The engine had stopped before; nothing was written.
    Stopped,
    /// Writing failed; what is in the journal is cut off when the folder is opened again.
    Failed(Error),
}

impl Store {
    /// Opens a folder, or makes a database of it if it is empty or missing. What comes after the commit `keep` is cut off.
    pub(super) fn open(spec: &Spec, keep: Option<u64>) -> Result<(Self, Meta)> {
        let path = &spec.path;
        fs::create_dir_all(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => broken(path, A_FILE),
            _ => io_error("making", path, error),
        })?;
        Self::open_locked(spec, keep, Arc::new(lock(path)?), None)
    }

    /// Opens the folder again, with another engine, while this store is read. It must have lost its own.
    pub(super) fn open_again(&self, spec: &Spec, keep: u64) -> Result<(Self, Meta)> {
        Self::open_locked(spec, Some(keep), self.lock.clone(), self.alias.as_ref())
    }

    /// Whether it can be read without its engine while another has the folder.
    pub(super) fn can_rest(&self) -> bool {
        self.alias.is_some()
    }

    /// Gives its engine away; from here on it is only read, as it is now.
    pub(super) fn rest(&mut self) -> Option<EngineLoan> {
        let engine = self.engine.take()?;
        self.end = engine.database.snapshot().seqno();
        Some(engine)
    }

    fn open_locked(
        spec: &Spec,
        keep: Option<u64>,
        lock: Arc<File>,
        other: Option<&Alias>,
    ) -> Result<(Self, Meta)> {
        let path = &spec.path;
        let engine = path.join(ENGINE);
        let (is_new, seal) = match Marker::read(path)? {
            Some(Marker::Ready(seal)) => (false, seal),
            Some(Marker::Creating) => (true, None),
            Some(Marker::Unknown) => {
                return Err(broken(path, "its marker is damaged or of another version"));
            }
            None if is_empty(path)? => {
                Marker::Creating.write(path)?;
                (true, None)
            }
            None => return Err(broken(path, "the folder holds other files and no database")),
        };
        let mut last_commit = None;
        if is_new {
            // Nothing in there was ever acknowledged.
            if_there(fs::remove_dir_all(&engine))
                .map_err(|error| io_error("removing", &engine, error))?;
        } else {
            last_commit = check_files(path, &engine, keep, seal)?;
        }
        fs::create_dir_all(&engine).map_err(|error| io_error("making", &engine, error))?;
        let alias = Alias::new(path, ENGINE, other);
        let known = alias.as_ref().map_or(engine.as_path(), Alias::path);
        let engine = open_engine(path, known, spec.cache)?;
        note_boot(path);
        let mut store = Self {
            alias,
            tree: engine.records.tree.clone(),
            engine: Some(engine),
            end: 0,
            path: path.clone(),
            seal,
            lock,
        };
        if is_new {
            let meta = store.put_seal(Meta {
                epoch: 0,
                count: 0,
                commit: 1,
                seal: Some(Seal::new()?),
            })?;
            return Ok((store, meta));
        }
        let meta = store.snapshot().meta()?;
        if last_commit.is_some_and(|last| meta.commit < last) {
            return Err(broken(
                path,
                "the engine did not take all that its journal holds",
            ));
        }
        let meta = store.with_seal(meta, spec)?;
        Ok((store, meta))
    }

    /// What goes into the next commit: the seal of the marker, or a new one where that has none and commits are to come.
    fn with_seal(&mut self, meta: Meta, spec: &Spec) -> Result<Meta> {
        match self.seal {
            None if !spec.read_only => self.put_seal(Meta {
                commit: meta.commit + 1,
                seal: Some(Seal::new()?),
                ..meta
            }),
            None => Ok(Meta { seal: None, ..meta }),
            Some(_) if meta.seal == self.seal => Ok(meta),
            Some(_) => Err(broken(&self.path, "its marker is of another database")),
        }
    }

    /// Makes a commit that has a seal, and then the marker that says that all commits after it have.
    fn put_seal(&mut self, meta: Meta) -> Result<Meta> {
        let begun = self.commit(
            [(Bytes::from_static(&META_KEY), Some(meta.encode()))],
            Durability::Disk,
        );
        begun.map_err(|error| match error {
            CommitError::Failed(error) => error,
            CommitError::Stopped => broken(&self.path, "the engine stopped at once"),
        })?;
        self.seal = meta.seal;
        self.mark_ready()?;
        Ok(meta)
    }

    /// Until it is marked as ready, what is in the folder is thrown away when it is opened.
    pub(super) fn mark_creating(&self) -> Result<()> {
        Marker::Creating.write(&self.path)
    }

    pub(super) fn mark_ready(&self) -> Result<()> {
        Marker::Ready(self.seal).write(&self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is stored at a key, the changes of a commit that is being made among it.
    pub(super) fn newest(&self, key: &[u8]) -> Result<Option<Bytes>> {
        let value = self.tree.get(key, SeqNo::MAX);
        let value = value.map_err(|error| self.error(error.into()))?;
        Ok(value.map(Bytes::from))
    }

    /// Pairs of a range, those of the last commit.
    pub(super) fn newest_range(
        &self,
        from: &[u8],
        to: &[u8],
    ) -> impl DoubleEndedIterator<Item = Result<(Bytes, Bytes)>> + use<> {
        use std::ops::Bound::{Excluded, Included};
        self.snapshot().into_range((Included(from), Excluded(to)))
    }

    pub(super) fn snapshot(&self) -> ReadView {
        let snapshot = self
            .engine
            .as_ref()
            .map(|engine| engine.database.snapshot());
        ReadView {
            tree: self.tree.clone(),
            at: snapshot.as_ref().map_or(self.end, fjall::Snapshot::seqno),
            _snapshot: snapshot,
            path: self.path.clone(),
        }
    }

    /// Writes pairs, or removes keys without a value, all at once.
    pub(super) fn commit(
        &self,
        changes: impl IntoIterator<Item = (Bytes, Option<Bytes>)>,
        durability: Durability,
    ) -> Result<(), CommitError> {
        self.wait_until_calm()?;
        let engine = self.engine.as_ref().ok_or(CommitError::Stopped)?;
        let mode = match durability {
            Durability::Disk => PersistMode::SyncData,
            Durability::Process | Durability::Memory => PersistMode::Buffer,
        };
        let mut batch = engine.database.batch().durability(Some(mode));
        for (key, value) in changes {
            match value {
                Some(value) => batch.insert(&engine.records, key, value),
                None => batch.remove(&engine.records, key),
            }
        }
        batch.commit().map_err(|error| self.commit_error(error))
    }

    /// Whether the engine takes no more commits, be it that its own threads failed.
    pub(super) fn is_stopped(&self) -> bool {
        let engine = self.engine.as_ref();
        engine.is_none_or(|engine| is_stopped(&engine.database))
    }

    pub(super) fn synchronize(&self) -> Result<(), CommitError> {
        let engine = self.engine.as_ref().ok_or(CommitError::Stopped)?;
        engine
            .database
            .persist(PersistMode::SyncAll)
            .map_err(|error| self.commit_error(error))
    }

    /// Waits while the engine is behind, and no longer than it is alive.
    fn wait_until_calm(&self) -> Result<(), CommitError> {
        while self.tree.sealed_memtable_count() > SEALED_MAX || self.tree.l0_run_count() > RUNS_MAX
        {
            if self.is_stopped() {
                return Err(CommitError::Stopped);
            }
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        Ok(())
    }

    /// The engine, for work that takes long. The folder cannot be opened again before it is dropped.
    pub(super) fn engine(&self) -> Result<EngineLoan> {
        let why = || broken(&self.path, "it is being opened again; try later");
        self.engine.clone().ok_or_else(why)
    }

    pub(super) fn disk_bytes(&self) -> Result<u64> {
        // A journal is given its room ahead; what is written is what counts.
        let tables = self.tree.disk_space();
        let journals = fs::read_dir(self.path.join(ENGINE))
            .map_err(|error| io_error("reading", &self.path, error))?
            .filter_map(|entry| entry.ok()?.metadata().ok())
            .filter(fs::Metadata::is_file)
            .map(|file| allocated(&file));
        Ok(tables + journals.sum::<u64>())
    }

    /// Blocks found in the cache, and blocks asked for.
    pub(super) fn cache(&self) -> (u64, u64) {
        let metrics = self.tree.metrics();
        let cached = metrics.block_load_cached_count() as u64;
        (cached, cached + metrics.block_load_io_count() as u64)
    }

    fn commit_error(&self, error: fjall::Error) -> CommitError {
        match error {
            fjall::Error::Poisoned => CommitError::Stopped,
            error => CommitError::Failed(self.error(error)),
        }
    }

    fn error(&self, error: fjall::Error) -> Error {
        convert(&self.path, error)
    }
}

impl EngineLoan {
    /// Moves what is in memory to tables, and those into one run.
    pub(super) fn rebuild(&self) -> Result<()> {
        let at = |error| convert(&self.path, error);
        self.records.rotate_memtable().map_err(at)?;
        while self.records.tree.sealed_memtable_count() > 0 {
            if is_stopped(&self.database) {
                return Err(at(fjall::Error::Poisoned));
            }
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        self.records.major_compact().map_err(at)
    }
}

fn is_stopped(database: &fjall::Database) -> bool {
    database.persist(PersistMode::Buffer).is_err()
}

impl ReadView {
    pub(super) fn value(&self, key: &[u8]) -> Result<Option<Bytes>> {
        let value = self.tree.get(key, self.at);
        let value = value.map_err(|error| convert(&self.path, error.into()))?;
        Ok(value.map(Bytes::from))
    }

    pub(super) fn range<'a>(
        &'a self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> impl DoubleEndedIterator<Item = Result<(Bytes, Bytes)>> + use<'a> {
        let bounds = (bounds.0.map(<[u8]>::to_vec), bounds.1.map(<[u8]>::to_vec));
        let pairs = self.tree.range::<Vec<u8>, _>(bounds, self.at, None);
        pairs.map(|pair| read(&self.path, pair))
    }

    /// As `range`, of a snapshot that is used for nothing else.
    fn into_range(
        self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> impl DoubleEndedIterator<Item = Result<(Bytes, Bytes)>> + use<> {
        let bounds = (bounds.0.map(<[u8]>::to_vec), bounds.1.map(<[u8]>::to_vec));
        let pairs = self.tree.range::<Vec<u8>, _>(bounds, self.at, None);
        pairs.map(move |pair| read(&self.path, pair))
    }

    pub(super) fn meta(&self) -> Result<Meta> {
        let stored = self.value(&META_KEY)?;
        let stored = stored.ok_or_else(|| broken(&self.path, "the meta record is missing"))?;
        Meta::decode(&stored).map_err(|reason| broken(&self.path, reason))
    }
}

/// Whether there is room again, tried by taking it.
pub(super) fn probe(path: &Path) -> Result<()> {
    let file = path.join(PROBE);
    let tried = File::create(&file)
        .and_then(|mut file| {
            file.write_all(&vec![1; PROBE_BYTES])?;
            file.sync_all()
        })
        .map_err(|error| io_error("writing", path, error));
    let removed = if_there(fs::remove_file(&file));
    let removed = removed.map_err(|error| io_error("removing", &file, error));
    tried.and(removed.map(drop))
}

fn read(path: &Path, pair: impl lsm_tree::Guard) -> Result<(Bytes, Bytes)> {
    let pair = pair.into_inner();
    let (key, value) = pair.map_err(|error| convert(path, error.into()))?;
    Ok((key.into(), value.into()))
}

fn lock(path: &Path) -> Result<File> {
    let file = path.join(LOCK);
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&file)
        .map_err(|error| io_error("opening", &file, error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::Locked {
            path: path.to_owned(),
            holder: LockHolder::Other,
        }),
        Err(TryLockError::Error(error)) => Err(io_error("locking", &file, error)),
    }
}

/// Whether a folder holds a database.
pub(crate) fn is_database(path: &Path) -> Result<bool> {
    match if_there(fs::metadata(path.join(marker::FILE))) {
        Ok(marker) => Ok(marker.is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(broken(path, A_FILE)),
        Err(error) => Err(io_error("looking for", path, error)),
    }
}

/// Keeps other processes from a copy that is to be replaced; refuses what is none, or is open.
pub(super) fn lock_copy(path: &Path) -> Result<File> {
    if path.is_file() {
        let reason = "it is a file, and a backup is a folder: remove it, or give the backup another name; it was left unchanged";
        return Err(occupied(path, reason));
    }
    match Marker::read(path)? {
        Some(_) => lock(path),
        None => Err(occupied(
            path,
            "the folder exists and is not a database; it was left unchanged",
        )),
    }
}

/// Whether nothing is in a folder but what we put there before the marker.
fn is_empty(path: &Path) -> Result<bool> {
    let at = |error| io_error("reading", path, error);
    for entry in fs::read_dir(path).map_err(at)? {
        let name = entry.map_err(at)?.file_name();
        if name != LOCK && name != marker::NEW {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the machine may have crashed since the folder was opened.
fn sparse_regions(path: &Path) -> SparseRegions {
    match (fs::read(path.join(BOOT)), fs::read(BOOT_NOW)) {
        (Ok(then), Ok(now)) if then == now => SparseRegions::Impossible,
        _ => SparseRegions::Possible,
    }
}

/// Notes in which run of the machine the folder is open. A note that is missing or torn is none: a crash is then thought possible.
fn note_boot(path: &Path) {
    let noted = fs::read(BOOT_NOW).and_then(|now| fs::write(path.join(BOOT), now));
    if let Err(error) = noted {
        tracing::debug!(path = %path.display(), %error, "the run of the machine was not noted");
    }
}

/// Looks at what the engine would pass over; returns the last commit of its journals.
fn check_files(
    path: &Path,
    engine: &Path,
    keep: Option<u64>,
    seal: Option<Seal>,
) -> Result<Option<u64>> {
    for name in ENGINE_FILES {
        if !engine.join(name).is_file() {
            return Err(broken(path, format!("the engine's file {name} is missing")));
        }
    }
    let refused = |refused| match refused {
        ReplayError::Io(file, error) => io_error("reading", &file, error),
        ReplayError::Damaged(reason) => broken(path, reason),
    };
    manifest::examine(engine, &ENGINE_KEYSPACES).map_err(refused)?;
    let context = Context {
        keep,
        sparse_regions: sparse_regions(path),
        seal,
    };
    let examined = examine(engine, context).map_err(refused)?;
    if examined.cut_bytes > 0 {
        tracing::warn!(
            path = %path.display(),
            bytes = examined.cut_bytes,
            last_commit = examined.last_commit,
            "the end of a journal held no whole commit and was cut off",
        );
    }
    Ok(examined.last_commit)
}

/// The engine panics about some damage: that is an error here.
fn open_engine(path: &Path, engine: &Path, cache: u64) -> Result<EngineLoan> {
    let open = || {
        let database = fjall::Database::builder(engine)
            .cache_size(cache)
            .worker_threads(ENGINE_THREADS)
            .max_cached_files(Some(ENGINE_FILES_MAX))
            .open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        let records = database.keyspace(KEYSPACE, options)?;
        let path = path.to_owned();
        Ok(EngineLoan {
            records,
            database,
            path,
        })
    };
    match catch_unwind(AssertUnwindSafe(open)) {
        Ok(opened) => opened.map_err(|error| convert(path, error)),
        Err(panic) => {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            Err(broken(path, message.unwrap_or("the engine gave up")))
        }
    }
}

/// Bytes that a file takes, which are fewer than its length while it has room ahead.
fn allocated(file: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    (file.blocks() * 512).min(file.len())
}

pub(super) fn broken(path: &Path, reason: impl Into<String>) -> Error {
    Error::Broken {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

/// The place of a copy that something else has.
pub(super) fn occupied(path: &Path, reason: &'static str) -> Error {
    let error = io::Error::new(io::ErrorKind::AlreadyExists, reason);
    io_error("making a backup in", path, error)
}

fn convert(path: &Path, error: fjall::Error) -> Error {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => {
            match error.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => {
                    broken(path, error.to_string())
                }
                _ => io_error("using", path, error),
            }
        }
        fjall::Error::Locked => Error::Locked {
            path: path.to_owned(),
            holder: LockHolder::Other,
        },
        error => broken(path, format!("{error:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database as earlier versions made it, with two commits.
    fn unsealed(path: &Path) -> Spec {
        let spec = Spec::disk(path, Durability::Process);
        let (mut store, meta) = Store::open(&spec, None).unwrap();
        let meta = Meta {
            commit: meta.commit + 1,
            seal: None,
            ..meta
        };
        let changes = [(Bytes::from_static(&META_KEY), Some(meta.encode()))];
        store.commit(changes, Durability::Disk).unwrap();
        store.seal = None;
        store.mark_ready().unwrap();
        assert_eq!(
            fs::read(path.join(marker::FILE)).unwrap(),
            b"tsumugi-kv 1 ready\n"
        );
        spec
    }

    #[test]
    fn database_of_an_earlier_version_gets_a_seal_once_it_is_opened_to_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = unsealed(folder.path());
        spec.read_only = true;
        let (store, meta) = Store::open(&spec, None).unwrap();
        assert_eq!((meta.seal, meta.commit), (None, 2));
        drop(store);
        spec.read_only = false;
        let (store, sealed) = Store::open(&spec, None).unwrap();
        assert!(sealed.seal.is_some());
        assert_eq!((sealed.commit, sealed.count), (3, 0));
        drop(store);
        let (store, again) = Store::open(&spec, None).unwrap();
        assert_eq!(again, sealed);
        drop(store);
        // Stopped between the commit and the marker.
        Marker::Ready(None).write(folder.path()).unwrap();
        let (store, other) = Store::open(&spec, None).unwrap();
        assert!(other.seal.is_some() && other.seal != sealed.seal && other.commit == 4);
        drop(store);
        let (_, again) = Store::open(&spec, None).unwrap();
        assert_eq!(again, other);
    }

    #[test]
    fn marker_that_is_damaged_or_of_another_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let spec = Spec::disk(folder.path(), Durability::Process);
        drop(Store::open(&spec, None).unwrap());
        let marker = folder.path().join(marker::FILE);
        let text = fs::read(&marker).unwrap();
        for at in 0..text.len() {
            let mut damaged = text.clone();
            damaged[at] ^= 1;
            fs::write(&marker, &damaged).unwrap();
            let refused = Store::open(&spec, None).err().unwrap().to_string();
            assert!(refused.contains("marker is damaged"), "{refused}");
        }
        Marker::Ready(Some(Seal::new().unwrap()))
            .write(folder.path())
            .unwrap();
        let refused = Store::open(&spec, None).err().unwrap().to_string();
        assert!(refused.contains("of another database"), "{refused}");
        fs::write(&marker, text).unwrap();
        drop(Store::open(&spec, None).unwrap());
    }
}
