//! The folder of one run of tests, with a folder for the data of each test. Knows no database and no test.
//! Rule: what one test has there no other test of the run sees.

use std::cell::Cell;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::temporary_folder::TemporaryFolder;

/// How the names of all folders of runs begin.
const PREFIX: &str = "tsumugi-test-";

/// A folder of one run of tests. Removed with what is in it when it is dropped; one of a run that was killed by the next run.
#[derive(Debug)]
pub struct TestFolder {
    folder: TemporaryFolder,
    tests: Cell<u32>,
}

impl TestFolder {
    /// Makes one, after those that killed runs have left were removed.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn make() -> Result<TestFolder> {
        Ok(TestFolder {
            folder: TemporaryFolder::make(PREFIX, "tests")?,
            tests: Cell::new(0),
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes an empty folder for the data of one test.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn data(&self) -> Result<PathBuf> {
        let number = self.tests.get() + 1;
        self.tests.set(number);
        let path = self.path().join(format!("data-{number}"));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_a_folder_of_its_own_which_goes_with_the_run() {
        let folder = TestFolder::make().unwrap();
        let (first, second) = (folder.data().unwrap(), folder.data().unwrap());
        assert!(first.is_dir() && second.is_dir() && first != second);
        drop(folder);
        assert!(!first.exists() && !second.exists());
    }
}
