//! Stands in for `cron.rs` where the feature `cron` is off: every line is refused. Knows no time.

use std::convert::Infallible;

use crate::error::{Error, Result};

/// When jobs are due; without the feature `cron` there is none.
#[derive(Clone, Debug)]
pub struct CronSchedule(Infallible);

impl CronSchedule {
    /// Refuses every line.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub fn parse(_line: &str, _zone: &str) -> Result<CronSchedule> {
        let why = "Cron is not in this program: it was built without the feature `cron`";
        Err(Error::Usage(why.to_owned()))
    }

    /// The line and its zone.
    #[must_use]
    pub fn words(&self) -> &str {
        match self.0 {}
    }

    /// When it is due next after this time, both in milliseconds since 1970.
    #[must_use]
    pub fn next_after(&self, _unix_ms: i64) -> Option<i64> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_refused_with_the_feature_to_build() {
        let error = CronSchedule::parse("* * * * *", "UTC").unwrap_err();
        let expected = "Cron is not in this program: it was built without the feature `cron`";
        assert!(error.to_string().contains(expected), "{error}");
    }
}
