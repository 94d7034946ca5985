//! Where a command finds the data of an application: a folder of the user's, or a temporary one. Knows nothing of what is in it.
//! Rule: a command leaves no folder behind in which there is nothing.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

/// A folder for data while a command runs.
pub enum DataFolder {
    /// One that is removed afterwards.
    Temporary(TempDir),
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
            let folder = tempfile::Builder::new()
                .prefix("tsumugi-")
                .permissions(Permissions::from_mode(0o700))
                .tempdir();
            let folder = folder.context("cannot make a temporary folder")?;
            return Ok(DataFolder::Temporary(folder));
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
            DataFolder::Temporary(folder) => folder.path(),
            DataFolder::Found(folder) | DataFolder::Made(folder) => folder,
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
