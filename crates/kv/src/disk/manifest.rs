//! Looks at the engine's list of its tables before the engine does. The list has a checksum, and the engine trusts it without: about some
//! damage it panics where no panic can be caught. Knows where the list and its checksum are, not what is in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use super::journal::ReplayError;

/// Names the list, and holds its checksum.
const CURRENT: &str = "current";
/// The kind of checksum that there is.
const XXH3: u8 = 0;

/// Refuses a list that is not what was written, in each of these folders.
pub(super) fn examine(engine: &Path, keyspaces: &[&str]) -> Result<(), ReplayError> {
    keyspaces
        .iter()
        .try_for_each(|name| list(&engine.join(name)))
}

fn list(keyspace: &Path) -> Result<(), ReplayError> {
    let current = keyspace.join(CURRENT);
    let named = read(&current)?;
    // A number of eight bytes, the checksum in sixteen, least significant first, and its kind.
    let (Some((number, rest)), Some((_, [XXH3]))) =
        (named.split_first_chunk::<8>(), named.split_at_checked(24))
    else {
        return Err(damaged(&current));
    };
    let file = keyspace.join(format!("v{}", u64::from_le_bytes(*number)));
    let expected = rest
        .first_chunk::<16>()
        .map(|sum| u128::from_le_bytes(*sum));
    match expected == Some(xxh3_128(&read(&file)?)) {
        true => Ok(()),
        false => Err(damaged(&file)),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, ReplayError> {
    fs::read(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            ReplayError::Damaged(format!("the engine's file {} is missing", name(file)))
        }
        _ => ReplayError::Io(PathBuf::from(file), error),
    })
}

fn damaged(file: &Path) -> ReplayError {
    ReplayError::Damaged(format!("the engine's file {} is damaged", name(file)))
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
