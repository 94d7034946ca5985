//! What can go wrong, by what the caller can do about it. Not the failures of jobs, which are texts.
//! Rule: no message shows the arguments of a job.

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a job was not pushed, run or changed.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller misuses the interface. Fix the code.
    #[error("{0}")]
    Usage(String),
    /// Something is larger or longer than it may be. Nothing was done.
    #[error("{what} has {given} bytes; {limit} is {max}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        given: usize,
        /// The name of the limit.
        limit: &'static str,
        /// The limit's value.
        max: usize,
    },
    /// Another process has begun the job anew, because the claim of this one had run out. What it was about to do is undone.
    #[error("the job {id} was claimed by another process")]
    Lost {
        /// The job.
        id: i64,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] tsumugi_db::Error),
}

impl Error {
    /// Every name that [`Error::kind`] can give.
    pub const KINDS: &[&str] = &["UsageError", "LimitExceeded", "Lost"];

    /// The name of the Ruby class for this error, below `Tsumugi::Jobs::`; nothing where it is the database's own.
    #[must_use]
    pub fn kind(&self) -> Option<&'static str> {
        match self {
            Error::Usage(_) => Some("UsageError"),
            Error::TooLarge { .. } => Some("LimitExceeded"),
            Error::Lost { .. } => Some("Lost"),
            Error::Database(_) => None,
        }
    }
}

/// Refuses a text that is empty or longer than its limit.
pub(crate) fn check_text(
    what: &'static str,
    text: &str,
    limit: &'static str,
    max: usize,
) -> Result<()> {
    if text.is_empty() || text.contains('\0') {
        return Err(Error::Usage(format!(
            "{what} is a text without zero bytes, and not empty"
        )));
    }
    check_bytes(what, text.len(), limit, max)
}

pub(crate) fn check_bytes(
    what: &'static str,
    given: usize,
    limit: &'static str,
    max: usize,
) -> Result<()> {
    match given > max {
        true => Err(Error::TooLarge {
            what,
            given,
            limit,
            max,
        }),
        false => Ok(()),
    }
}
