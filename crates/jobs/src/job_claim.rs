//! A claim of a job and its end, as numbers. Knows no statement and no worker.
//! Rule: a claim is one attempt: whoever has an older number has another claim.

/// A claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct JobClaim {
    pub id: i64,
    pub attempt: i64,
}

/// A job that has ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobEnd {
    pub claim: JobClaim,
    /// Whether it may have kept a key of its own.
    pub is_keyed: bool,
}
