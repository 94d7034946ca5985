//! The databases this process has open, by path. Keeps none of them open. Rule: one path is one database for all callers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use crate::clock::Clock;
use crate::close_state::CloseState;
use crate::database::{KvDatabase, Open};
use crate::disk::{is_database, replace_copy};
use crate::error::{Error, LockHolder, Result};
use crate::limits::TAKEOVER_LATE_LOOK;
use crate::pending::Pending;
use crate::spec::Spec;
use crate::takeover::{release, waits_for_locks};

static OPEN: Mutex<Option<HashMap<PathBuf, Entry>>> = Mutex::new(None);

struct Entry {
    open: Weak<Open>,
    closed: Arc<CloseState>,
}

impl KvDatabase {
    /// Blocks the thread while files are read. One path is one database, so its settings must be the same each time.
    ///
    /// # Errors
    /// [`Error::Spec`]; [`Error::NotBuiltIn`] of a database on disk, without the feature `disk`; [`Error::Conflict`] where this process has it open with other settings, [`Error::Locked`] where another process has it;
    /// [`Error::Io`], [`Error::DiskFull`] and [`Error::Broken`] of the folder.
    pub fn open(spec: &Spec) -> Result<Self> {
        Self::open_with(spec, Clock::System)
    }

    /// [`open`](Self::open) with another clock for times to live; one that joins an open database keeps that one's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(spec: &Spec, clock: Clock) -> Result<Self> {
        spec.validate()?;
        // Before a folder is made for it.
        spec.require_engine()?;
        if spec.read_only && !spec.is_in_memory() && !is_database(&spec.path)? {
            return Err(Error::Broken {
                path: spec.path.clone(),
                reason: "there is none, and with read_only none is made".to_owned(),
            });
        }
        join_or_open(spec, |closed| Self::start(spec, clock.clone(), closed))
    }

    /// [`backup`](Self::backup) to a folder that may hold an earlier one, which is there until this one is whole and then replaced.
    ///
    /// # Errors
    /// When the folder holds something else, or a process has the earlier backup open, which may be this one; [`Error::NotBuiltIn`] without the
    /// feature `disk`.
    pub fn replace_backup(&self, folder: &Path) -> Result<()> {
        let replaced = replace_copy(folder, |folder| self.backup(folder));
        replaced.map_err(|error| match error {
            Error::Locked { path, .. } if is_open_here(&path) => Error::Locked {
                path,
                holder: LockHolder::Own,
            },
            error => error,
        })
    }
}

/// Lets go of all databases on disk for another process, for good: what was submitted before is written, and every later call is answered
/// with [`Error::Locked`]. Blocks the thread until their folders are free, which a running backup or rebuild puts off. Says how many there were.
pub fn release_databases() -> usize {
    release();
    let held: Vec<KvDatabase> = {
        let mut guard = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let table = guard.get_or_insert_default();
        let open = table.values().filter_map(|entry| entry.open.upgrade());
        let open = open.map(|open| KvDatabase { open });
        open.filter(|database| !database.is_in_memory()).collect()
    };
    let pending: Vec<Pending> = held.iter().map(KvDatabase::release).collect();
    for released in pending {
        // What it could not write its callers know.
        let _ = released.wait();
    }
    held.len()
}

/// The database of that path if it is open, or else what `open` opens, which tells the `CloseState` it is given what it does.
///
/// The table is locked meanwhile: opening is rare, and two threads that ask for the same path must not both do it.
fn join_or_open(
    spec: &Spec,
    open: impl Fn(Arc<CloseState>) -> Result<KvDatabase>,
) -> Result<KvDatabase> {
    if spec.is_private() {
        return open(Arc::default());
    }
    let name = name(spec)?;
    let mut has_waited = false;
    loop {
        let mut guard = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let table = guard.get_or_insert_default();
        table.retain(|_, entry| entry.open.strong_count() > 0 || !entry.closed.is_closed());
        let Some(entry) = table.get(&name) else {
            let closed = Arc::default();
            let opened = match open(Arc::clone(&closed)) {
                Err(error) if error.is_held_by_another() && waits_for_locks() => {
                    drop(guard);
                    if !std::mem::replace(&mut has_waited, true) {
                        let path = spec.path.display();
                        tracing::warn!(%path, "another process has a database, which is waited for");
                    }
                    thread::park_timeout(TAKEOVER_LATE_LOOK);
                    continue;
                }
                opened => opened?,
            };
            let open = Arc::downgrade(&opened.open);
            table.insert(name, Entry { open, closed });
            return Ok(opened);
        };
        let open = entry.open.upgrade().map(|open| KvDatabase { open });
        if let Some(open) = open {
            if !open.is_unavailable() {
                return join(open, spec);
            }
            // Whoever has that one keeps it, and its place is taken by one that may open.
            table.remove(&name);
            continue;
        }
        let closed = entry.closed.clone();
        drop(guard);
        // Its last user is gone, and what it left is being written.
        closed.wait();
    }
}

fn is_open_here(folder: &Path) -> bool {
    let Ok(name) = std::fs::canonicalize(folder) else {
        return false;
    };
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = open.as_ref().and_then(|open| open.get(&name));
    entry.is_some_and(|entry| !entry.closed.is_closed())
}

fn join(open: KvDatabase, spec: &Spec) -> Result<KvDatabase> {
    // The same settings, whatever was ignored, by whatever way the path was written.
    let plain = |spec: &Spec| Spec {
        path: PathBuf::new(),
        ignored: Vec::new(),
        ..spec.clone()
    };
    if plain(open.spec()) == plain(spec) {
        return Ok(open);
    }
    Err(Error::Conflict {
        path: spec.path.clone(),
        open: open.spec().to_string(),
    })
}

/// What stands for a database: a name in memory is taken as it is, a folder by the path the system has for it.
fn name(spec: &Spec) -> Result<PathBuf> {
    if spec.is_in_memory() {
        return Ok(Path::new("memory:").join(spec.path.as_os_str()));
    }
    // A folder has one name only once it is there. Why it cannot be made is reported when it is opened.
    std::fs::create_dir_all(&spec.path)
        .and_then(|()| std::fs::canonicalize(&spec.path))
        .or_else(|_| std::path::absolute(&spec.path))
        .map_err(|source| Error::Io {
            action: "finding",
            path: spec.path.clone(),
            source: Arc::new(source),
        })
}
