//! What an error of the file system becomes. Opens no file.

use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::Error;

/// The error of an action at a path. A full disk has its own: what is stored is whole, and there may be room again.
pub(super) fn io_error(action: &'static str, path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull {
            path: path.to_owned(),
        },
        _ => Error::Io {
            action,
            path: path.to_owned(),
            source: Arc::new(error),
        },
    }
}

/// What was done with a file or folder; `None` where there is none.
pub(super) fn if_there<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}
