//! The folder of one run of tests, with a folder for the data of each test. Knows no database and no test.
//! Rule: a folder of this name is under a lock for as long as its run lives, so that one without a lock is what a killed run has left, and is removed.

use std::cell::Cell;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::limits::TEST_FOLDERS_STALE_MAX;

/// How the names of all folders of runs begin.
const PREFIX: &str = "tsumugi-test-";
/// The same before there is a lock.
const PREFIX_UNLOCKED: &str = "tsumugi-new-test-";

/// A folder of one run of tests. Removed with what is in it when it is dropped; one of a run that was killed by the next run.
#[derive(Debug)]
pub struct TestFolder {
    path: PathBuf,
    tests: Cell<u32>,
    _lock: File,
}

impl TestFolder {
    /// Makes one, after those that killed runs have left were removed.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn make() -> Result<TestFolder> {
        TestFolder::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> Result<TestFolder> {
        remove_stale(parent);
        let made = tempfile::Builder::new()
            .prefix(PREFIX_UNLOCKED)
            .tempdir_in(parent);
        let made = made.with_context(|| {
            format!(
                "cannot make a folder for tests in {}; TMPDIR=FOLDER names another folder",
                parent.display()
            )
        })?;
        let unusable = || format!("cannot use the folder {}", made.path().display());
        // systemd-tmpfiles, too, leaves alone what has a lock.
        let lock = File::open(made.path()).with_context(unusable)?;
        lock.lock_shared().with_context(unusable)?;
        let name = made.path().file_name().unwrap_or_default();
        let name = name.to_string_lossy().replace(PREFIX_UNLOCKED, PREFIX);
        let path = parent.join(name);
        std::fs::rename(made.path(), &path).with_context(unusable)?;
        // Nothing is there any more under the name that it would remove.
        let _ = made.keep();
        Ok(TestFolder {
            path,
            tests: Cell::new(0),
            _lock: lock,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes an empty folder for the data of one test.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn data(&self) -> Result<PathBuf> {
        let number = self.tests.get() + 1;
        self.tests.set(number);
        let path = self.path.join(format!("data-{number}"));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        // The next run removes what stays.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes what runs that were killed have left: folders that nobody has under a lock.
fn remove_stale(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    let ours = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for entry in entries.flatten().filter(ours).take(TEST_FOLDERS_STALE_MAX) {
        // A link is not followed, and another user's folder cannot be removed.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let Some(lock) = is_folder.then(|| File::open(entry.path()).ok()).flatten() else {
            continue;
        };
        if lock.try_lock().is_ok() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_run_goes_with_it_and_that_of_a_killed_one_with_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let folder = TestFolder::make_in(parent.path()).unwrap();
        let (first, second) = (folder.data().unwrap(), folder.data().unwrap());
        assert!(first.is_dir() && second.is_dir() && first != second);
        let stale = parent.path().join(format!("{PREFIX}stale"));
        std::fs::create_dir_all(stale.join("data-1")).unwrap();
        let next = TestFolder::make_in(parent.path()).unwrap();
        assert!(!stale.exists());
        assert!(folder.path().exists(), "it is under a lock");
        drop((folder, next));
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }
}
