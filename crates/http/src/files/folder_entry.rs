//! Opens a regular file below a folder, name by name. Follows no link and decides nothing about names.
//! Rule: what is opened stands below the folder at that moment, whoever renames meanwhile, and opening it never waits for anybody.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io,
    os::fd::OwnedFd,
    path::{Component, Path},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, open, openat, statat},
    io::Errno,
};

/// A name in a folder that is held open.
#[derive(Debug)]
pub(super) struct FolderEntry {
    folder: OwnedFd,
    name: OsString,
}

impl FolderEntry {
    /// Descends to the folder of `path`, which is below `root`, and has no link and no `..` in it, as `fs::canonicalize` answers. One that has
    /// is not found: somebody has changed it since.
    pub fn find(root: &Path, path: &Path) -> io::Result<FolderEntry> {
        let below = path.strip_prefix(root).map_err(|_| nothing())?;
        let mut folders = below.components();
        let Some(Component::Normal(name)) = folders.next_back() else {
            return Err(nothing());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = open(root, flags, Mode::empty())?;
        for component in folders {
            let Component::Normal(name) = component else {
                return Err(nothing());
            };
            let opened = openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty());
            folder = opened.map_err(without_links)?;
        }
        Ok(FolderEntry {
            folder,
            name: name.to_owned(),
        })
    }

    /// The file of this name.
    pub fn open(&self) -> io::Result<(File, Metadata)> {
        self.open_regular(&self.name)
    }

    /// The file beside it that has a further extension.
    pub fn open_sibling(&self, extension: &str) -> io::Result<(File, Metadata)> {
        let mut name = self.name.clone();
        name.push(".");
        name.push(extension);
        self.open_regular(&name)
    }

    fn open_regular(&self, name: &OsStr) -> io::Result<(File, Metadata)> {
        // Opening a device can do something, so that it is looked at first.
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => self.open_at_once(name),
            _ => Err(nothing()),
        }
    }

    /// Opens what has this name now, which may be something else by now: a pipe without waiting for who writes to it.
    fn open_at_once(&self, name: &OsStr) -> io::Result<(File, Metadata)> {
        let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = openat(&self.folder, name, OFlags::RDONLY | flags, Mode::empty());
        let file = File::from(opened.map_err(without_links)?);
        let metadata = file.metadata()?;
        match metadata.is_file() {
            true => Ok((file, metadata)),
            false => Err(nothing()),
        }
    }
}

fn nothing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// A link where there was none before is as nothing.
fn without_links(error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::NOTDIR => nothing(),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Read as _, os::unix::fs::symlink};

    use rustix::fs::{CWD, mknodat};

    use super::*;

    fn text(root: &Path, path: &Path) -> String {
        let opened = FolderEntry::find(root, path).and_then(|entry| entry.open());
        match opened {
            Ok((mut file, _)) => {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                text
            }
            Err(error) => error.kind().to_string(),
        }
    }

    #[test]
    fn link_that_has_come_in_between_is_not_followed() {
        let outer = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(outer.path()).unwrap().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "inside").unwrap();
        fs::create_dir_all(outer.path().join("secret/b")).unwrap();
        fs::write(outer.path().join("secret/b/file"), "outside").unwrap();
        let none = io::ErrorKind::NotFound.to_string();
        let path = root.join("a/b/file");
        assert_eq!(text(&root, &path), "inside");
        assert_eq!(text(Path::new("/"), &path), "inside");
        // What was a folder when the path was resolved is a link by now.
        fs::rename(root.join("a"), root.join("old")).unwrap();
        symlink("../secret", root.join("a")).unwrap();
        assert_eq!(text(&root, &path), none);
        fs::remove_file(root.join("a")).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("../../../secret/b/file", &path).unwrap();
        assert_eq!(text(&root, &path), none);
        let entry = FolderEntry::find(&root, &path).unwrap();
        let opened = entry.open_at_once(OsStr::new("file"));
        assert_eq!(opened.unwrap_err().kind(), io::ErrorKind::NotFound);
        for path in ["..", "../secret/b/file", "", "a/../old/b/file"] {
            assert_eq!(text(&root, &root.join(path)), none, "{path}");
        }
        assert_eq!(text(&root, &outer.path().join("secret/b/file")), none);
    }

    #[test]
    fn pipe_is_no_file_and_nobody_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let pipe = root.join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let entry = FolderEntry::find(&root, &pipe).unwrap();
        for opened in [entry.open(), entry.open_at_once(OsStr::new("pipe"))] {
            assert_eq!(opened.unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
