//! The databases this process has open, by path. Keeps none of them open. Rule: one path is one database, whoever asks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};

use crate::database::{Database, Open};
use crate::error::{Error, Result};
use crate::spec::Spec;

static OPEN: Mutex<Option<HashMap<PathBuf, Entry>>> = Mutex::new(None);

struct Entry {
    open: Weak<Open>,
    closed: Arc<Closed>,
}

/// Whether a database's thread has ended and let go of its folder.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Closed {
    pub(crate) fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    pub(crate) fn close(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.changed.notify_all();
    }

    fn is_closed(&self) -> bool {
        !*self.is_open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait(&self) {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_open, |is_open| *is_open));
    }
}

/// The database of that path if it is open, or else what `open` opens, which tells the `Closed` it is given what it does.
///
/// The table is locked meanwhile: opening is rare, and two threads that ask for the same path must not both do it.
pub(crate) fn join_or_open(
    spec: &Spec,
    open: impl FnOnce(Arc<Closed>) -> Result<Database>,
) -> Result<Database> {
    if spec.is_private() {
        return open(Arc::default());
    }
    let name = name(spec)?;
    loop {
        let mut guard = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let table = guard.get_or_insert_default();
        table.retain(|_, entry| entry.open.strong_count() > 0 || !entry.closed.is_closed());
        let Some(entry) = table.get(&name) else {
            let closed = Arc::default();
            let opened = open(Arc::clone(&closed))?;
            let open = Arc::downgrade(&opened.open);
            table.insert(name, Entry { open, closed });
            return Ok(opened);
        };
        if let Some(open) = entry.open.upgrade() {
            return join(Database { open }, spec);
        }
        let closed = entry.closed.clone();
        drop(guard);
        // Its last user is gone, and what it left is being written.
        closed.wait();
    }
}

fn join(open: Database, spec: &Spec) -> Result<Database> {
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
    // A folder has one name only once it is there. Why it cannot be made is told when it is opened.
    std::fs::create_dir_all(&spec.path)
        .and_then(|()| std::fs::canonicalize(&spec.path))
        .or_else(|_| std::path::absolute(&spec.path))
        .map_err(|source| Error::Io {
            action: "finding",
            path: spec.path.clone(),
            source: Arc::new(source),
        })
}
