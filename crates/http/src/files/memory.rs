//! Small files of a folder that are kept in memory for a moment. Knows no disk: a file that was read again is put here again.
//! Names come from clients, but only names of files that exist get here, and all of it together has a limit.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    time::{Duration, Instant},
};

use super::OpenFile;
use crate::{
    encoding::{AcceptedCodings, Coding},
    limits::{FILE_FRESH_MS, FILES_CACHED_BYTES_MAX},
};

#[derive(Debug, Default)]
pub(super) struct Memory {
    files: RefCell<HashMap<Key, CachedFile>>,
    bytes: Cell<usize>,
}

/// The name, and which codings are accepted: the weights would make too many keys.
type Key = (String, [bool; 2]);

fn key(name: String, accepted: AcceptedCodings) -> Key {
    let codings = [Coding::Gzip, Coding::Brotli];
    (name, codings.map(|coding| accepted.takes(coding)))
}

#[derive(Debug)]
struct CachedFile {
    opened: OpenFile,
    since: Instant,
    weight: usize,
}

/// What an entry takes besides its name and its bytes, roughly.
const OVERHEAD_BYTES: usize = 512;

impl Memory {
    /// A file that was read less than `file_fresh_ms` ago.
    pub(super) fn fresh(&self, name: &str, accepted: AcceptedCodings) -> Option<OpenFile> {
        let files = self.files.borrow();
        let kept = files.get(&key(name.to_owned(), accepted))?;
        let is_fresh = kept.since.elapsed() < Duration::from_millis(FILE_FRESH_MS);
        is_fresh.then(|| kept.opened.clone())
    }

    /// Keeps a file; others go when there is no room.
    pub(super) fn keep(&self, name: String, accepted: AcceptedCodings, opened: OpenFile) {
        let weight = opened.first.len() + name.len() + OVERHEAD_BYTES;
        let mut files = self.files.borrow_mut();
        if self.bytes.get() + weight > FILES_CACHED_BYTES_MAX {
            let fresh = Duration::from_millis(FILE_FRESH_MS);
            files.retain(|_, kept| kept.since.elapsed() < fresh);
            self.bytes.set(files.values().map(|kept| kept.weight).sum());
            if self.bytes.get() + weight > FILES_CACHED_BYTES_MAX {
                return;
            }
        }
        let kept = CachedFile {
            opened,
            since: Instant::now(),
            weight,
        };
        let before = files.insert(key(name, accepted), kept);
        let gone = before.map_or(0, |kept| kept.weight);
        self.bytes.set(self.bytes.get() + weight - gone);
    }
}
