//! The log line of a statement, the same for every database: the only place where binds are printed.
//! Rule: it is written only where the options say so.

use std::time::Duration;

use crate::bookkeeping::StatementPurpose;
use crate::value::Value;

/// Whether lines of statements are shown by anybody.
pub(crate) fn is_wanted() -> bool {
    tracing::enabled!(target: "tsumugi_db", tracing::Level::DEBUG)
}

/// A statement that has ended.
pub(crate) struct Line<'a> {
    pub(crate) sql: &'a str,
    pub(crate) values: &'a [Value],
    /// How many rows it gave or changed; none when it failed.
    pub(crate) rows: Option<usize>,
    pub(crate) took: Duration,
    /// What went wrong, without data.
    pub(crate) fault: Option<&'a dyn std::fmt::Debug>,
    pub(crate) purpose: StatementPurpose,
}

/// An event of the target of statements, whose level goes by what a statement is for.
macro_rules! statement_event {
    ($purpose:expr, $($fields:tt)+) => {
        match $purpose {
            $crate::bookkeeping::StatementPurpose::Application => {
                ::tracing::debug!(target: "tsumugi_db", $($fields)+)
            }
            $crate::bookkeeping::StatementPurpose::Bookkeeping => {
                ::tracing::trace!(target: "tsumugi_db", $($fields)+)
            }
        }
    };
}
pub(crate) use statement_event;

impl Line<'_> {
    pub(crate) fn write(&self) {
        statement_event!(
            self.purpose,
            sql = self.sql,
            binds = ?self.values,
            rows = self.rows,
            ms = milliseconds(self.took),
            fault = self.fault.map(tracing::field::debug),
        );
    }
}

/// `Debug` of what shows nothing but its name: what is in it belongs to a caller, or to a driver.
macro_rules! opaque {
    ($($of:ident $(<$backend:ident: $bound:path>)?),*) => {
        $(impl $(<$backend: $bound>)? ::std::fmt::Debug for $of $(<$backend>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($of)).finish_non_exhaustive()
            }
        })*
    };
}
pub(crate) use opaque;

/// Whole milliseconds, as errors show them.
pub(crate) fn whole_milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds with three decimals.
pub(crate) fn milliseconds(took: Duration) -> f64 {
    took.as_micros() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals() {
        for (nanoseconds, shown) in [(6_449, "0.006"), (1_234_567, "1.234"), (30_000_000, "30")] {
            let ms = milliseconds(Duration::from_nanos(nanoseconds));
            assert_eq!(ms.to_string(), shown);
        }
    }
}
