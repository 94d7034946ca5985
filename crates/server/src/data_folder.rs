//! Where a command finds the data of an application: a folder of the user's, or a temporary one. Knows nothing of what is in it.
//! Rule: a command leaves no folder behind in which there is nothing.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::temporary_folder::TemporaryFolder;

/// How the names of all temporary ones begin.
const PREFIX: &str = "tsumugi-data-";

/// A folder for data while a command runs.
pub enum DataFolder {
    /// One that is removed afterwards; one of a process that was killed goes with the next.
    Temporary {
        /// A folder in it, so that the application finds nothing in its own but what it puts there.
        data: PathBuf,
        /// What is removed.
        folder: TemporaryFolder,
    },
    /// One that was there.
    Found(PathBuf),
    /// One that was made, and is removed again if it is still empty.
    Made(PathBuf),
}

impl DataFolder {
    /// This folder, made if it is absent, or a temporary one.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn of(folder: Option<&Path>) -> Result<DataFolder> {
        let Some(folder) = folder else {
            let folder = TemporaryFolder::make(PREFIX, "the data of the application")?;
            let data = folder.path().join("data");
            let made = DirBuilder::new().mode(0o700).create(&data);
            made.with_context(|| format!("cannot make the folder {}", data.display()))?;
            return Ok(DataFolder::Temporary { data, folder });
        };
        if folder.is_dir() {
            return Ok(DataFolder::Found(folder.to_owned()));
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        Ok(DataFolder::Made(folder.to_owned()))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        match self {
            DataFolder::Temporary { data: folder, .. }
            | DataFolder::Found(folder)
            | DataFolder::Made(folder) => folder,
        }
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if let DataFolder::Made(folder) = self {
            // Fails where something is in it.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_that_was_made_stays_only_with_something_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        drop(DataFolder::of(Some(&data)).unwrap());
        assert!(!data.exists());
        let made = DataFolder::of(Some(&data)).unwrap();
        std::fs::write(made.path().join("app.db"), "").unwrap();
        drop(made);
        assert!(data.join("app.db").exists());
        std::fs::remove_file(data.join("app.db")).unwrap();
        drop(DataFolder::of(Some(&data)).unwrap());
        assert!(data.exists(), "it was there before");
    }
}
