//! A place in the write-ahead log, as it is compared and read. Data only: nothing here asks.
//! Rule: places are those of one cluster; nothing in them says which.

use tsumugi_pg_proto::backend::DataRow;

use crate::xact::{lsn, texts};

/// A place in the write-ahead log. One of a later timeline is behind all of the earlier ones that lead there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition {
    /// The timeline; each promotion begins another one.
    pub timeline: u32,
    /// Bytes since the log began.
    pub lsn: u64,
}

impl LogPosition {
    /// From a row of its bytes and of its timeline, as a server prints them in a file's name.
    pub(crate) fn read(row: DataRow<'_>) -> Option<LogPosition> {
        let mut fields = texts(row);
        let lsn = lsn(fields.next()??)?;
        let timeline = u32::from_str_radix(fields.next()??, 16).ok()?;
        Some(LogPosition { timeline, lsn })
    }
}
