//! Copies of a database: another one on disk, in a folder that has its name only once it is whole. Knows no source of records.
//! Rule: what a crash leaves of a copy is no database.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::failure::{if_there, io_error};
use super::layout::{META_KEY, Meta, expiry_key, record_key};
use super::overlay;
use super::store::{CommitError, Store, broken, lock_copy, occupied};
use crate::error::Result;
use crate::limits::{BACKUP_BYTES, PAGE_RECORDS_MAX, PARTIAL_COPIES_MAX};
use crate::record::StoredRecord;
use crate::spec::{Durability, Spec};

/// Tells the replacements of this process from each other.
static REPLACEMENTS: AtomicU64 = AtomicU64::new(0);

/// Makes a database on disk in a new folder; returns how many records it has. A folder that was not finished is not left.
pub(crate) fn write_copy(
    spec: &Spec,
    folder: &Path,
    records: impl Iterator<Item = Result<(Bytes, StoredRecord)>>,
) -> Result<u64> {
    let taken = || occupied(folder, "a backup needs a folder that does not exist yet");
    let exists = folder.try_exists();
    if exists.map_err(|error| io_error("looking for", folder, error))? {
        return Err(taken());
    }
    let partial = make_partial(folder)?;
    let written = copy_to(spec, &partial, records).and_then(|count| {
        name_copy(&partial, folder).map_err(|error| match is_taken(&error) {
            // Another backup to the same folder was faster.
            true => taken(),
            false => io_error("naming", folder, error),
        })?;
        Ok(count)
    });
    if written.is_err() {
        // The error that stopped the copy says more than one about what it left.
        drop(std::fs::remove_dir_all(&partial));
    }
    written
}

/// Makes a copy by `write` and gives it the name of `folder`, where it takes the place of an earlier copy that no process has open. Until
/// then the earlier one is there, and after an error too; what a crash leaves of the change is an older or newer copy under
/// `NAME.replaced-…` or `NAME.new-…`.
pub(crate) fn replace_copy(folder: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    // Before the work of copying, as well as when it is done.
    let turn = take_turn();
    if is_there(folder)? {
        drop(lock_copy(folder)?);
    }
    drop(turn);
    let number = REPLACEMENTS.fetch_add(1, Relaxed);
    let beside = |what: &str| {
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{what}-{}-{number}", std::process::id()));
        folder.with_file_name(name)
    };
    let (new, old) = (beside("new"), beside("replaced"));
    write(&new)?;
    let turn = take_turn();
    let replaced = take_place(folder, &new, &old);
    drop(turn);
    if replaced.is_err() {
        // The error that kept the copy from its name says more than one about what it left.
        drop(std::fs::remove_dir_all(&new));
    }
    replaced
}

/// Among the replacements of this process, one at a time looks at what has the name and takes its place.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURNS: Mutex<()> = Mutex::new(());
    TURNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether something has the name that cannot just be taken: an empty folder is nothing.
fn is_there(folder: &Path) -> Result<bool> {
    let at = |error| io_error("looking for", folder, error);
    match std::fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(_) => folder.try_exists().map_err(at),
    }
}

/// Puts the new copy in the place of the one that is there, which goes only when the new one has its name.
fn take_place(folder: &Path, new: &Path, old: &Path) -> Result<()> {
    // Again when another backup was given the name in between.
    while is_there(folder)? {
        let _lock = lock_copy(folder)?;
        if_there(std::fs::rename(folder, old))
            .map_err(|error| io_error("renaming", folder, error))?;
        match std::fs::rename(new, folder) {
            Ok(()) => {
                synchronize_parent(folder).map_err(|error| io_error("naming", folder, error))?;
                forget(old);
                return Ok(());
            }
            // A newer copy than the earlier one has the name.
            Err(error) if is_taken(&error) => forget(old),
            Err(error) => {
                let error = io_error("naming", folder, error);
                return Err(match std::fs::rename(old, folder) {
                    Err(back) if back.kind() != ErrorKind::NotFound => broken(
                        folder,
                        format!(
                            "{error}; the earlier copy is under {} ({back})",
                            old.display()
                        ),
                    ),
                    _ => error,
                });
            }
        }
    }
    name_copy(new, folder).map_err(|error| io_error("naming", folder, error))
}

/// Removes a copy that has no use any more. What is left of it says so by its name.
fn forget(old: &Path) {
    if let Err(error) = if_there(std::fs::remove_dir_all(old)) {
        tracing::warn!(path = %old.display(), %error, "an earlier backup was not removed");
    }
}

fn is_taken(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists
    )
}

/// Makes the folder of a copy that is not finished, beside where it will be. Nothing else writes there.
fn make_partial(folder: &Path) -> Result<PathBuf> {
    for number in 0..PARTIAL_COPIES_MAX {
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial-{number}"));
        let partial = folder.with_file_name(name);
        match std::fs::create_dir(&partial) {
            Ok(()) => return Ok(partial),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("making", &partial, error)),
        }
    }
    Err(broken(
        folder,
        format!(
            "there are {PARTIAL_COPIES_MAX} unfinished backups beside it (PARTIAL_COPIES_MAX); remove those that do not run"
        ),
    ))
}

/// Gives a copy its name, in a way that outlives a crash.
fn name_copy(partial: &Path, folder: &Path) -> std::io::Result<()> {
    std::fs::rename(partial, folder)?;
    synchronize_parent(folder)
}

fn synchronize_parent(folder: &Path) -> std::io::Result<()> {
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    std::fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

fn copy_to(
    spec: &Spec,
    folder: &Path,
    records: impl Iterator<Item = Result<(Bytes, StoredRecord)>>,
) -> Result<u64> {
    let spec = Spec {
        path: folder.to_owned(),
        durability: Durability::Process,
        read_only: false,
        ..spec.clone()
    };
    let (store, mut meta) = Store::open(&spec, None)?;
    // What a crash leaves of it is no database.
    store.mark_creating()?;
    let convert = |error| match error {
        CommitError::Failed(error) => error,
        CommitError::Stopped => broken(folder, "the engine stopped"),
    };
    let mut batch = Vec::new();
    let mut bytes = 0;
    let commit = |batch: &mut Vec<overlay::CommitEntry>, meta: &mut Meta| {
        meta.commit += 1;
        batch.push((Bytes::from_static(&META_KEY), Some(meta.encode())));
        store
            .commit(batch.drain(..), Durability::Process)
            .map_err(convert)
    };
    for record in records {
        let (key, record) = record?;
        bytes += key.len() + record.value.len();
        meta.count += 1;
        if record.expires_ms != 0 {
            let indexed = expiry_key(meta.epoch, record.expires_ms, &key);
            batch.push((Bytes::copy_from_slice(&indexed), Some(Bytes::new())));
        }
        let key = record_key(meta.epoch, &key);
        batch.push((Bytes::copy_from_slice(&key), Some(record.encode())));
        if bytes >= BACKUP_BYTES || batch.len() >= PAGE_RECORDS_MAX {
            commit(&mut batch, &mut meta)?;
            bytes = 0;
        }
    }
    commit(&mut batch, &mut meta)?;
    store.synchronize().map_err(convert)?;
    store.mark_ready()?;
    Ok(meta.count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KvDatabase;

    fn records(value: &'static str) -> impl Iterator<Item = Result<(Bytes, StoredRecord)>> {
        let record = StoredRecord {
            value: Bytes::from_static(value.as_bytes()),
            expires_ms: 0,
        };
        std::iter::once(Ok((Bytes::from_static(b"key"), record)))
    }

    fn value_in(folder: &Path) -> Option<Bytes> {
        let database = KvDatabase::open(&Spec::disk(folder, Durability::Process)).unwrap();
        let value = database.get(b"key").unwrap();
        assert!(database.close());
        value
    }

    #[test]
    fn earlier_copy_stays_when_the_new_one_is_not_named() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("copy");
        write_copy(&Spec::memory(), &folder, records("earlier")).unwrap();
        // Nothing is where the new copy should be, so it cannot be renamed.
        let refused = replace_copy(&folder, |_| Ok(())).unwrap_err();
        assert!(refused.to_string().contains("naming"), "{refused}");
        assert_eq!(value_in(&folder).unwrap(), "earlier");
        let names = std::fs::read_dir(place.path()).unwrap();
        assert_eq!(names.count(), 1, "nothing is left beside it");
        let write = |new: &Path| write_copy(&Spec::memory(), new, records("new")).map(drop);
        replace_copy(&folder, write).unwrap();
        assert_eq!(value_in(&folder).unwrap(), "new");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
