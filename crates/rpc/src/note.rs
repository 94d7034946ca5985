//! Where a database on disk is served, as a file in its folder says it: for a process of the same machine that cannot open the folder itself.
//! Opens no database. Rule: a note is only a hint; what it names is asked before it is believed, and a server removes only its own.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process;

use crate::RpcTarget;

/// The file's name.
const NAME: &str = "service";

/// The longest note: the path of a UNIX socket and two numbers.
const NOTE_BYTES_MAX: u64 = 4_096;

/// Where the database of a folder is served. Needs the feature `tkrzw`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceNote {
    /// The server.
    pub target: RpcTarget,
    /// The number of the database there.
    pub index: i32,
}

impl ServiceNote {
    /// What is noted in a database's folder, if anything is. Blocks.
    #[must_use]
    pub fn read(folder: &Path) -> Option<ServiceNote> {
        let file = File::open(folder.join(NAME)).ok()?;
        let mut text = String::new();
        file.take(NOTE_BYTES_MAX).read_to_string(&mut text).ok()?;
        let mut lines = text.lines();
        let target = lines.next()?.parse().ok()?;
        let index: i32 = lines.next()?.parse().ok()?;
        (index >= 0).then_some(ServiceNote { target, index })
    }
}

/// The notes of a server about its databases. They are removed when it is dropped. Needs the feature `tkrzw`.
#[derive(Debug)]
pub struct ServiceNotes {
    target: String,
    /// By the number of the database; none for one in memory.
    folders: Vec<Option<PathBuf>>,
}

impl ServiceNotes {
    /// About databases in these folders, which are reached at `target`. Nothing is written yet.
    pub fn new(target: &RpcTarget, folders: impl IntoIterator<Item = Option<PathBuf>>) -> Self {
        ServiceNotes {
            target: target.to_string(),
            folders: folders.into_iter().collect(),
        }
    }

    /// Writes them. Blocks. What cannot be written is logged: the databases are served all the same.
    pub fn write(&self) {
        for (folder, text) in self.texts() {
            if let Err(error) = put(folder, &text) {
                tracing::warn!(
                    folder = %folder.display(),
                    %error,
                    "other processes cannot find the service of this database"
                );
            }
        }
    }

    /// Leaves them to the process that has taken over: it writes its own, and until then has the same address.
    pub fn leave(mut self) {
        self.folders.clear();
    }

    fn texts(&self) -> impl Iterator<Item = (&Path, String)> {
        let folders = self.folders.iter().enumerate();
        folders.filter_map(|(index, folder)| {
            let folder = folder.as_deref()?;
            Some((
                folder,
                format!("{}\n{index}\n{}\n", self.target, process::id()),
            ))
        })
    }
}

impl Drop for ServiceNotes {
    fn drop(&mut self) {
        for (folder, text) in self.texts() {
            let note = folder.join(NAME);
            // Another process may have the database by now, with a note of its own.
            if fs::read_to_string(&note).is_ok_and(|found| found == text) {
                // One that stays is found to be wrong by whoever reads it.
                let _ = fs::remove_file(&note);
            }
        }
    }
}

/// Whole or not at all: another process may read it at any time.
fn put(folder: &Path, text: &str) -> io::Result<()> {
    let fresh = folder.join(format!("{NAME}.new"));
    fs::write(&fresh, text)?;
    fs::rename(&fresh, folder.join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_is_found_as_long_as_its_server_runs() {
        let folders: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
        let target: RpcTarget = "tkrzw+unix:/run/kv.sock".parse().unwrap();
        let path = |number: usize| folders[number].path().to_owned();
        let notes = ServiceNotes::new(&target, [Some(path(0)), None, Some(path(1))]);
        assert_eq!(ServiceNote::read(&path(0)), None);
        notes.write();
        for (number, index) in [(0, 0), (1, 2)] {
            let target = target.clone();
            assert_eq!(
                ServiceNote::read(&path(number)),
                Some(ServiceNote { target, index })
            );
        }
        // Another server has written over it.
        let other = "tkrzw://127.0.0.1:1978\n0\n1\n";
        fs::write(path(0).join(NAME), other).unwrap();
        drop(notes);
        assert!(ServiceNote::read(&path(0)).is_some());
        assert_eq!(ServiceNote::read(&path(1)), None);
        let notes = ServiceNotes::new(&target, [Some(path(1))]);
        notes.write();
        notes.leave();
        assert!(ServiceNote::read(&path(1)).is_some());
    }

    #[test]
    fn file_with_something_else_is_no_note() {
        let folder = tempfile::tempdir().unwrap();
        for text in [
            "",
            "nonsense",
            "tkrzw+unix:/run/kv.sock",
            "tkrzw+unix:/run/kv.sock\n-1\n",
            "tkrzw+unix:/run/kv.sock\nx\n",
            &"x".repeat(10_000),
        ] {
            fs::write(folder.path().join(NAME), text).unwrap();
            assert_eq!(ServiceNote::read(folder.path()), None, "{text:.40}");
        }
        fs::write(folder.path().join(NAME), [0xff; 64]).unwrap();
        assert_eq!(ServiceNote::read(folder.path()), None);
    }
}
