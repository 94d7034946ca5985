//! Which files an application has loaded, for who watches them beside it. Reads none of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files that were loaded on any worker since the process began, and whether a load is missing one. Cheap to clone; the default records nothing.
#[derive(Clone, Debug, Default)]
pub struct LoadedFiles(Option<Arc<Mutex<Record>>>);

#[derive(Debug, Default)]
struct Record {
    files: BTreeSet<PathBuf>,
    last_load_failed: bool,
}

impl LoadedFiles {
    /// One that records them.
    pub fn recording() -> LoadedFiles {
        LoadedFiles(Some(Arc::default()))
    }

    /// Whether another load may differ once the file of this path, which has no links in it, has changed. After a failed load that is any file: one that
    /// was not there may be what it lacked.
    pub fn may_matter(&self, path: &Path) -> bool {
        let record = self.0.as_deref().map(lock);
        record.is_some_and(|record| record.last_load_failed || record.files.contains(path))
    }

    /// The application has loaded the file of this name.
    pub(crate) fn add(&self, file: &str) {
        // A file that has gone is not watched either.
        if let (Some(record), Ok(path)) = (&self.0, Path::new(file).canonicalize()) {
            lock(record).files.insert(path);
        }
    }

    /// A load has succeeded.
    pub(crate) fn note_success(&self) {
        if let Some(record) = &self.0 {
            lock(record).last_load_failed = false;
        }
    }

    /// A load has failed.
    pub(crate) fn note_failure(&self) {
        if let Some(record) = &self.0 {
            lock(record).last_load_failed = true;
        }
    }
}

fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_may_matter_after_a_failed_load_and_only_loaded_ones_after_another() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (loaded, other) = (folder.join("a.rb"), folder.join("b.rb"));
        std::fs::write(&loaded, "").unwrap();
        let files = LoadedFiles::recording();
        files.add(&loaded.display().to_string());
        let matter = || [&loaded, &other].map(|path| files.may_matter(path));
        assert_eq!(matter(), [true, false]);
        files.note_failure();
        assert_eq!(matter(), [true, true]);
        files.note_success();
        assert_eq!(matter(), [true, false]);
    }

    #[test]
    fn default_records_nothing() {
        let files = LoadedFiles::default();
        files.add("/");
        files.note_failure();
        assert!(!files.may_matter(Path::new("/")));
    }
}
