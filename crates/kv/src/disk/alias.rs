//! The path by which the engine knows its folder: a link of its own for each time it is opened. Knows no engine.
//! Rule: once the link is gone, what is left of that engine can remove and make no file, while another has the folder already.

use std::fs;
use std::path::{Path, PathBuf};

const NAMES: [&str; 2] = ["open.0", "open.1"];

/// A link to a folder beside it, gone with this.
#[derive(Debug)]
pub(super) struct Alias {
    path: PathBuf,
}

impl Alias {
    /// Links to the folder of this name in `parent`, by a name that `current` has not. `None` where there are no links.
    pub(super) fn new(parent: &Path, folder: &str, current: Option<&Alias>) -> Option<Alias> {
        let mut made = None;
        for name in NAMES {
            let path = parent.join(name);
            if current.is_some_and(|current| current.path == path) {
                continue;
            }
            // What a crash has left.
            let removed = fs::remove_file(&path);
            if made.is_none() && link(folder, &path) {
                made = Some(Alias { path });
            } else if let Err(error) = removed {
                tracing::trace!(path = %path.display(), %error, "no link of an earlier time");
            }
        }
        made
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Alias {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "a link stays until the database is opened again");
        }
    }
}

#[cfg(unix)]
fn link(folder: &str, path: &Path) -> bool {
    std::os::unix::fs::symlink(folder, path).is_ok()
}

#[cfg(not(unix))]
fn link(_: &str, _: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_has_another_link_and_leaves_none() {
        let parent = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(parent.path()).unwrap().count();
        fs::create_dir(parent.path().join("engine")).unwrap();
        std::mem::forget(Alias::new(parent.path(), "engine", None).unwrap());
        let first = Alias::new(parent.path(), "engine", None).unwrap();
        fs::write(first.path().join("file"), "there").unwrap();
        let second = Alias::new(parent.path(), "engine", Some(&first)).unwrap();
        assert_ne!(first.path(), second.path());
        let old = first.path().join("file");
        drop(first);
        assert!(fs::remove_file(old).is_err());
        assert_eq!(fs::read(second.path().join("file")).unwrap(), b"there");
        drop(second);
        assert_eq!(names(), 1);
    }
}
