//! What can go wrong, by what the caller can do about it. Not outcomes: a missing key or a comparison that fails is an
//! answer, see [`WriteResult`](crate::WriteResult). Rule: no message shows a key or a value.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Cheap to clone: one failed commit answers every caller whose write it held.
#[non_exhaustive]
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The key is too long. Nothing was written.
    #[error("the key has {length} bytes, at most {max} (KEY_BYTES_MAX)")]
    InvalidKey {
        /// Bytes of the key.
        length: usize,
        /// [`KEY_BYTES_MAX`](crate::limits::KEY_BYTES_MAX).
        max: usize,
    },
    /// The value is too long, or an append would make it so. Nothing was written. Raise the database's `value_max`.
    #[error("the value has {length} bytes, at most {max} (value_max)")]
    ValueTooLong {
        /// Bytes of the value.
        length: usize,
        /// The database's `value_max`.
        max: usize,
    },
    /// The value that was to be incremented is no number. Nothing was written.
    #[error("the value to increment has {length} bytes, a number has 8")]
    NotANumber {
        /// Bytes of the value.
        length: usize,
    },
    /// The call asks for more than one call may. Split it.
    #[error("{asked} {what}, at most {max} ({limit})")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there were.
        asked: usize,
        /// The limit's value.
        max: usize,
        /// The name of the limit.
        limit: &'static str,
    },
    /// The pattern of a search cannot be used. Fix it.
    #[error("the pattern cannot be used: {reason}")]
    Pattern {
        /// Why.
        reason: String,
    },
    /// The specification of a database cannot be used. Fix it.
    #[error("the database specification cannot be used: {reason}")]
    Spec {
        /// Why.
        reason: String,
    },
    /// The engine that the call needs was left out when this program was built. Build it with the feature, or use a database in memory.
    #[error("{engine} is not in this program: it was built without the feature `{feature}`")]
    NotBuiltIn {
        /// The engine.
        engine: &'static str,
        /// The feature of this crate that has it.
        feature: &'static str,
    },
    /// The database in memory is full and refuses. Nothing was written. Remove records, or raise its `capacity`.
    #[error("the database is full: its capacity is {capacity} bytes (capacity)")]
    Full {
        /// The database's `capacity`.
        capacity: u64,
    },
    /// Too many writes wait already. Nothing was written. Try later.
    #[error("{limit} is reached: {max} {what} wait already; nothing was written")]
    QueueFull {
        /// What waits.
        what: &'static str,
        /// The name of the bound.
        limit: &'static str,
        /// The limit's value.
        max: usize,
    },
    /// The disk is full. Nothing of this call was written, reads go on, and writes succeed again once there is space. A read fails so only
    /// while the folder is to be opened again and the space that was free for it is taken by others; try again then.
    #[error("the disk that holds {} is full; nothing was written", .path.display())]
    DiskFull {
        /// The database's folder.
        path: PathBuf,
    },
    /// What is on disk is damaged. Restore a backup.
    #[error("the database {} is broken: {reason}", .path.display())]
    Broken {
        /// The database's folder.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// The database takes no writes, as its specification says. Open it without `read_only`.
    #[error("the database {} is read-only (read_only)", .path.display())]
    ReadOnly {
        /// The database's folder, or its name in memory.
        path: PathBuf,
    },
    /// A process has the database open. End it, or ask it over its service; a backup may have another name. While a process takes over from
    /// another one, it has the database once that one has let it go.
    #[error("the database {} is {holder}", .path.display())]
    Locked {
        /// The database's folder.
        path: PathBuf,
        /// Which process.
        holder: LockHolder,
    },
    /// This process has the database open with other settings. Use the same specification.
    #[error("the database {} is open already with other settings: {open}", .path.display())]
    Conflict {
        /// The database's folder, or the name of a database in memory.
        path: PathBuf,
        /// The specification it was opened with.
        open: String,
    },
    /// Reading or writing failed. When a write fails so, it may or may not have taken place.
    #[error("{action} {}: {source}", .path.display())]
    Io {
        /// What was done, as in `reading`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// What computes a value asks for the value of the same key. Fix it: it would wait for itself.
    #[error("the block of fetch fetches the same key again: it would wait for itself")]
    FetchNested,
    /// The database was closed while the call waited. The write may or may not have taken place.
    #[error("the database was closed")]
    Closed,
}

impl Error {
    /// The answer to calls of a database that another process has.
    pub(crate) fn locked(path: &Path, holder: LockHolder) -> Error {
        let path = path.to_owned();
        Error::Locked { path, holder }
    }

    /// The answer to whatever needs the engine on disk, where it is not built in.
    pub(crate) fn no_disk() -> Error {
        Error::NotBuiltIn {
            engine: "the engine on disk",
            feature: "disk",
        }
    }

    /// Whether another process has the database, of which nothing else is known: it may let it go.
    pub(crate) fn is_held_by_another(&self) -> bool {
        let holder = LockHolder::Other;
        matches!(self, Error::Locked { holder: found, .. } if *found == holder)
    }
}

/// The process that has a database open, for [`Error::Locked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockHolder {
    /// Another one.
    Other,
    /// The one that would replace the database by a backup.
    Own,
    /// The one that this process takes over from.
    Predecessor,
    /// The one that this process took over from, which has not let it go in time.
    LatePredecessor,
    /// The one that took over from this process.
    Successor,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockHolder::Other => "open in another process",
            LockHolder::Predecessor => {
                "open in the process that this one takes over from, which keeps it until this one serves: an application that uses its store while it loads is restarted instead"
            }
            LockHolder::LatePredecessor => {
                "open in the process that this one took over from, which has not let it go in time (handover_store_ms): calls succeed once it has"
            }
            LockHolder::Successor => {
                "that of the process that took over from this one: it was let go when the last request had ended, or after handover_store_ms"
            }
            LockHolder::Own => {
                "open in the process that makes the backup: give the backup another name, or close that database first"
            }
        })
    }
}

/// [`Error::QueueFull`] of a bound that is reached.
pub(crate) fn queue_full(what: &'static str, limit: &'static str, max: usize) -> Error {
    Error::QueueFull { what, limit, max }
}
