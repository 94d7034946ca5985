//! The databases this process has open, by path. Keeps none of them open. Rule: one path is one database, whoever asks.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::database::{Database, Open};
use crate::error::{Error, Result};
use crate::spec::Spec;

static OPEN: Mutex<Option<HashMap<PathBuf, Entry>>> = Mutex::new(None);

struct Entry {
    open: Weak<Open>,
}

/// The database of that path if it is open, or else what `open` opens.
///
/// The table is locked meanwhile: opening is rare, and two threads that ask for the same path must not both do it.
pub(crate) fn join_or_open(
    spec: &Spec,
    open: impl FnOnce() -> Result<Database>,
) -> Result<Database> {
    if spec.is_private() {
        return open();
    }
    let mut table = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let table = table.get_or_insert_default();
    table.retain(|_, entry| entry.open.strong_count() > 0);
    let name = name(spec)?;
    if let Some(there) = table.get(&name).and_then(|entry| entry.open.upgrade()) {
        let there = Database { open: there };
        if !is_same(there.spec(), spec) {
            return Err(Error::Conflict {
                path: spec.path.clone(),
                open: there.spec().to_string(),
            });
        }
        return Ok(there);
    }
    let opened = open()?;
    let entry = Entry {
        open: Arc::downgrade(&opened.open),
    };
    table.insert(name, entry);
    Ok(opened)
}

/// The same settings, whatever was ignored.
fn is_same(one: &Spec, other: &Spec) -> bool {
    let plain = |spec: &Spec| Spec {
        path: PathBuf::new(),
        ignored: Vec::new(),
        ..spec.clone()
    };
    plain(one) == plain(other)
}

/// What stands for a database: a name in memory is taken as it is, a folder by the path the system has for it.
fn name(spec: &Spec) -> Result<PathBuf> {
    if spec.is_in_memory() {
        return Ok(Path::new("memory:").join(spec.path.as_os_str()));
    }
    std::path::absolute(&spec.path).map_err(|source| Error::Io {
        action: "finding",
        path: spec.path.clone(),
        source: Arc::new(source),
    })
}
