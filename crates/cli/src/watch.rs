//! Watches the files of an application for `serve --dev` and asks for a reload when one changes, comes or goes.
//! It looks at names, sizes and times only: no file is read, and looking again is all it needs on any system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tsumugi_ruby::LoadedFiles;
use tsumugi_worker::{Handle, ReloadTrigger};

use crate::limits::{WATCH_INTERVAL_MS, WATCHED_DEPTH_MAX, WATCHED_FILES_MAX};

/// What is compared of a file.
type Stamp = (Option<SystemTime>, u64);

/// Files of these kinds are part of an application.
const KINDS: &[&str] = &["rb", "erb"];

/// The folder of tests: what an application does not load from it is no part of it.
const TESTS: &str = "test";

/// Watches `folder` from a thread of its own, until the process ends. `data` is left out: the application writes there. Of the tests only those files
/// count that another load may need. Called before the application is loaded, so that a change made meanwhile is not taken for what was loaded.
pub fn start(
    folder: PathBuf,
    data: PathBuf,
    loaded: LoadedFiles,
    handle: Handle,
) -> std::io::Result<()> {
    let (folder, data) = (folder.canonicalize()?, data.canonicalize()?);
    let mut known = look(&folder, &data);
    let watch = move || {
        if known.len() >= WATCHED_FILES_MAX {
            tracing::warn!(
                "more files than watched_files_max ({WATCHED_FILES_MAX}): some are not watched"
            );
        }
        loop {
            std::thread::park_timeout(Duration::from_millis(WATCH_INTERVAL_MS));
            let before = std::mem::replace(&mut known, look(&folder, &data));
            let tests = folder.join(TESTS);
            let counts = |path: &Path| !path.starts_with(&tests) || loaded.may_matter(path);
            let Some(changed) = difference(&before, &known, counts) else {
                continue;
            };
            tracing::info!("{} has changed", changed.display());
            let trigger =
                ReloadTrigger::File(changed.strip_prefix(&folder).unwrap_or(changed).to_owned());
            drop(handle.reload_for(trigger)); // the server itself logs how it went
        }
    };
    std::thread::Builder::new()
        .name("tsumugi-watch".to_owned())
        .spawn(watch)
        .map(drop)
}

/// The folder's files with their stamps.
fn look(folder: &Path, data: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if entry.file_name().as_encoded_bytes().starts_with(b".") || path == data {
                continue;
            }
            if metadata.is_dir() && depth < WATCHED_DEPTH_MAX {
                folders.push((path, depth + 1));
            } else if files.len() < WATCHED_FILES_MAX && is_of_the_application(&path) {
                files.insert(path, (metadata.modified().ok(), metadata.len()));
            }
        }
    }
    files
}

fn is_of_the_application(path: &Path) -> bool {
    let kind = path.extension().and_then(|extension| extension.to_str());
    kind.is_some_and(|kind| KINDS.contains(&kind))
}

/// The first file that counts and is not as it was.
fn difference<'a>(
    before: &'a BTreeMap<PathBuf, Stamp>,
    now: &'a BTreeMap<PathBuf, Stamp>,
    counts: impl Fn(&Path) -> bool,
) -> Option<&'a Path> {
    let is_other = |(path, stamp): &(&'a PathBuf, &Stamp)| before.get(*path) != Some(*stamp);
    let is_gone = |(path, _): &(&'a PathBuf, &Stamp)| !now.contains_key(*path);
    let changed = now.iter().filter(is_other);
    let gone = before.iter().filter(is_gone);
    let mut paths = changed.chain(gone).map(|(path, _)| path.as_path());
    paths.find(|path| counts(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_after(act: impl FnOnce(&Path)) -> Option<PathBuf> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("views/deep")).unwrap();
        std::fs::create_dir_all(at("data")).unwrap();
        std::fs::write(at("app.rb"), "1").unwrap();
        std::fs::write(at("views/deep/a.erb"), "1").unwrap();
        let before = look(folder.path(), &at("data"));
        act(folder.path());
        let now = look(folder.path(), &at("data"));
        difference(&before, &now, |_| true)
            .map(|path| path.strip_prefix(folder.path()).unwrap().to_owned())
    }

    fn check(write: &str, expected: Option<&str>) {
        let changed = changed_after(|folder| {
            std::fs::write(folder.join(write), "22").unwrap();
        });
        assert_eq!(changed, expected.map(PathBuf::from), "{write}");
    }

    #[test]
    fn file_of_the_application_changed_is_seen() {
        check("app.rb", Some("app.rb"));
        check("new.rb", Some("new.rb"));
        check("views/deep/a.erb", Some("views/deep/a.erb"));
        check("data/made.rb", None);
        check(".hidden.rb", None);
        check("notes.txt", None);
    }

    #[test]
    fn removed_file_is_a_change() {
        let gone = changed_after(|folder| std::fs::remove_file(folder.join("app.rb")).unwrap());
        assert_eq!(gone, Some(PathBuf::from("app.rb")));
    }
}
