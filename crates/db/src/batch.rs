//! How many rows of a stream are given at a time. Knows no driver: each gives no more than this says, and those whose protocol counts rows
//! (not Firebird's, which goes by bytes) ask for no more. Rule: a number is a bound, not a promise; large rows come in smaller batches.

use crate::error::{Error, Result};
use crate::limits::BATCH_MAX_ROWS;

/// The rows that come at a time: as many as suit their size, or at most so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchSize(Option<u16>);

impl BatchSize {
    /// At most so many rows, from 1 to [`BATCH_MAX_ROWS`].
    ///
    /// # Errors
    /// [`Error::Usage`] of any other number.
    pub fn of(rows: i64) -> Result<BatchSize> {
        let fits = |rows: &u16| (1..=BATCH_MAX_ROWS).contains(&usize::from(*rows));
        match u16::try_from(rows).ok().filter(fits) {
            Some(rows) => Ok(BatchSize(Some(rows))),
            None => Err(Error::usage(format!(
                "a batch has 1 to {BATCH_MAX_ROWS} rows, not {rows}"
            ))),
        }
    }

    /// The caller's number of rows, if it gave one.
    pub(crate) fn explicit_rows(self) -> Option<u16> {
        self.0
    }

    /// Where a batch of rows that are here already ends.
    pub(crate) fn rows_max(self) -> usize {
        self.0.map_or(BATCH_MAX_ROWS, usize::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_a_bounded_number_of_rows() {
        for (rows, expected) in [(1, Some(1)), (1_000, Some(1_000)), (0, None), (1_001, None)] {
            let batch = BatchSize::of(rows);
            assert_eq!(batch.ok().map(BatchSize::rows_max), expected, "{rows}");
        }
        for rows in [-1, i64::MAX, 65_537] {
            let error = BatchSize::of(rows).unwrap_err().to_string();
            assert_eq!(error, format!("a batch has 1 to 1000 rows, not {rows}"));
        }
        assert_eq!(BatchSize::default().rows_max(), BATCH_MAX_ROWS);
    }
}
