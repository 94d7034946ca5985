//! Folders below TMPDIR that belong to one process: under a lock for as long as it runs, removed when it ends, and by a later process where it
//! was killed. What is put there is others'.
//! Rule: what is removed has the mark that only this file writes, and is this user's. A name alone says nothing: anybody may choose it.

use std::fs::{DirEntry, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::limits::TEMPORARY_FOLDERS_STALE_MAX;

/// A file in each of them, written once the lock is held.
const MARK: &str = ".tsumugi-temporary";
/// What is in it.
const MARK_TEXT: &[u8] =
    b"Made by tsumugi for one process, which removes this folder. ee5d1e3f8c0b4a57\n";

/// A folder of this process, which its user alone can read.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _lock: File,
}

impl TemporaryFolder {
    /// Makes one below TMPDIR whose name begins so, after those were removed that killed processes have left. `what` says in an error what it was for.
    ///
    /// # Errors
    /// Where it cannot be made or locked.
    pub fn make(prefix: &str, what: &str) -> Result<TemporaryFolder> {
        TemporaryFolder::make_in(&std::env::temp_dir(), prefix, what)
    }

    pub(crate) fn make_in(parent: &Path, prefix: &str, what: &str) -> Result<TemporaryFolder> {
        remove_stale(parent, prefix);
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)
            .map_err(without_temporary_name);
        let folder = folder.with_context(|| {
            format!(
                "cannot make a folder for {what} in {}; TMPDIR=FOLDER names another folder",
                parent.display()
            )
        })?;
        let unusable = || format!("cannot use the folder {}", folder.path().display());
        // systemd-tmpfiles, too, leaves alone what has a lock.
        let lock = File::open(folder.path()).with_context(unusable)?;
        lock.lock_shared().with_context(unusable)?;
        mark(folder.path()).with_context(unusable)?;
        Ok(TemporaryFolder {
            folder,
            _lock: lock,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // A later process removes what stays.
        let _ = remove(self.folder.path());
    }
}

/// The system's own error of a temporary file or folder, without the name that was made up for it and is nowhere to be found.
pub fn without_temporary_name(error: io::Error) -> io::Error {
    // `tempfile` adds the name as text and gives the error behind it to nobody.
    let text = error.to_string();
    match text.rsplit_once(" at path ") {
        Some((own, _)) => io::Error::new(error.kind(), own.to_owned()),
        None => error,
    }
}

fn mark(folder: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .open(folder.join(MARK))?;
    file.write_all(MARK_TEXT)
}

/// Removes what processes that were killed have left.
fn remove_stale(parent: &Path, prefix: &str) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    let named = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with(prefix);
    let stale = entries.flatten().filter(named).filter_map(stale);
    for (path, _lock) in stale.take(TEMPORARY_FOLDERS_STALE_MAX) {
        let _ = remove(&path);
    }
}

/// The folder if a process has left it that was killed, and the lock of who removes it.
fn stale(entry: DirEntry) -> Option<(PathBuf, File)> {
    let path = entry.path();
    // A link is not followed.
    let found = std::fs::symlink_metadata(&path).ok()?;
    if !found.is_dir() || !is_own(&found) {
        return None;
    }
    let lock = File::open(&path).ok()?;
    lock.try_lock().ok()?;
    // Whoever makes one has the lock before the mark: with a mark and without a lock its process is gone.
    is_marked(&path).then_some((path, lock))
}

fn is_own(metadata: &std::fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

fn is_marked(folder: &Path) -> bool {
    let path = folder.join(MARK);
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|it| it.is_file() && is_own(&it));
    is_file && text_of(&path).is_ok_and(|text| text == MARK_TEXT)
}

/// What is in a file, as far as it can be a mark.
fn text_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let most = MARK_TEXT.len() as u64 + 1;
    File::open(path)?.take(most).read_to_end(&mut text)?;
    Ok(text)
}

/// Removes a folder, its mark last: one whose removal was broken off is still known.
fn remove(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == MARK {
            continue;
        }
        let _ = match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path()),
            false => std::fs::remove_file(entry.path()),
        };
    }
    std::fs::remove_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "tsumugi-x-";

    fn make(parent: &Path) -> TemporaryFolder {
        TemporaryFolder::make_in(parent, PREFIX, "tests").unwrap()
    }

    /// What a process has left that was killed.
    fn leave(parent: &Path, name: &str) -> PathBuf {
        let path = parent.join(format!("{PREFIX}{name}"));
        std::fs::create_dir_all(path.join("data-1")).unwrap();
        mark(&path).unwrap();
        path
    }

    #[test]
    fn folder_that_somebody_has_named_alike_stays_with_what_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let shop = parent.path().join(format!("{PREFIX}shop"));
        std::fs::create_dir(&shop).unwrap();
        std::fs::write(shop.join("app.rb"), "get('/') { 1 }").unwrap();
        drop(make(parent.path()));
        assert!(shop.join("app.rb").exists());
        // Neither does a file of the mark's name do it, nor a link to one.
        std::fs::write(shop.join(MARK), "by hand").unwrap();
        drop(make(parent.path()));
        assert!(shop.join("app.rb").exists());
        let other = leave(parent.path(), "other");
        std::fs::remove_file(shop.join(MARK)).unwrap();
        std::fs::rename(other.join(MARK), parent.path().join("mark")).unwrap();
        std::os::unix::fs::symlink(parent.path().join("mark"), shop.join(MARK)).unwrap();
        drop(make(parent.path()));
        assert!(shop.join("app.rb").exists());
    }

    #[test]
    fn folder_that_cannot_be_made_is_reported_without_the_name_that_it_would_have_had() {
        let parent = tempfile::tempdir().unwrap();
        let absent = parent.path().join("absent");
        let error = TemporaryFolder::make_in(&absent, PREFIX, "tests").err();
        let story = crate::story(error.unwrap().as_ref());
        let is_named = story.contains("tsumugi-x-") || story.contains(" at path ");
        assert!(!is_named && story.contains("(os error 2)"), "{story}");
    }

    #[test]
    fn folder_goes_with_its_process_and_that_of_a_killed_one_with_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let folder = make(parent.path());
        let mode = folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let stale = leave(parent.path(), "stale");
        let next = make(parent.path());
        assert!(!stale.exists());
        assert!(folder.path().exists(), "it is under a lock");
        std::fs::create_dir(next.path().join("data")).unwrap();
        drop((folder, next));
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn stale_folders_beyond_the_most_of_one_start_go_with_the_next() {
        let parent = tempfile::tempdir().unwrap();
        // What is not removed does not count.
        for number in 0..TEMPORARY_FOLDERS_STALE_MAX {
            let path = parent.path().join(format!("{PREFIX}a{number}"));
            std::fs::create_dir(path).unwrap();
        }
        for number in 0..=TEMPORARY_FOLDERS_STALE_MAX {
            leave(parent.path(), &format!("b{number}"));
        }
        let left = || parent.path().read_dir().unwrap().count() - TEMPORARY_FOLDERS_STALE_MAX;
        drop(make(parent.path()));
        assert_eq!(left(), 1);
        drop(make(parent.path()));
        assert_eq!(left(), 0);
    }
}
