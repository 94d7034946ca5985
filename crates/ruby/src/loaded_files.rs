//! Which files an application has loaded, for who watches them beside it. Reads none of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files that were loaded on any worker since the process began. Cheap to clone; the default keeps none.
#[derive(Clone, Debug, Default)]
pub struct LoadedFiles(Option<Arc<Mutex<BTreeSet<PathBuf>>>>);

impl LoadedFiles {
    /// One that keeps them.
    pub fn kept() -> LoadedFiles {
        LoadedFiles(Some(Arc::default()))
    }

    /// Whether the file of this path, which has no links in it, was loaded.
    pub fn contains(&self, path: &Path) -> bool {
        let files = self.0.as_deref();
        files.is_some_and(|files| lock(files).contains(path))
    }

    /// The application has loaded the file of this name.
    pub(crate) fn add(&self, file: &str) {
        // A file that has gone is not watched either.
        if let (Some(files), Ok(path)) = (&self.0, Path::new(file).canonicalize()) {
            lock(files).insert(path);
        }
    }
}

fn lock(files: &Mutex<BTreeSet<PathBuf>>) -> MutexGuard<'_, BTreeSet<PathBuf>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}
