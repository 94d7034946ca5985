//! Intervals in words, as `5 minutes`, where a line of cron is expected. Knows no clock.
//! Rule: they are for the advice of errors, and nothing is scheduled by them.

use std::time::Duration;

use crate::CronSchedule;
use crate::error::{Error, Result};

/// What is advised where a text names no interval that is understood.
const EXAMPLE: Duration = Duration::from_secs(300);

/// Units of time with their seconds; each may have an `s` behind it.
const UNITS: [(&[&str], u64); 4] = [
    (&["s", "sec", "second"], 1),
    (&["m", "min", "minute"], 60),
    (&["h", "hour"], 3_600),
    (&["d", "day"], 86_400),
];

/// As [`CronSchedule::parse`]; `advice` makes the end of an error about a text that may be meant as an interval, of its seconds.
///
/// # Errors
/// As those of [`CronSchedule::parse`].
pub fn parse_line(line: &str, zone: &str, advice: impl Fn(u64) -> String) -> Result<CronSchedule> {
    CronSchedule::parse(line, zone).map_err(|error| match (error, interval_meant_by(line)) {
        (Error::Usage(why), Some(interval)) => {
            Error::Usage(format!("{why}; {}", advice(interval.as_secs())))
        }
        (error, _) => error,
    })
}

/// The interval that an author may have meant by a text that is no line of cron, or an example; nothing of a text that looks like a line.
fn interval_meant_by(text: &str) -> Option<Duration> {
    let is_like_line =
        text.contains(['*', '/', ',', '@', '?']) || text.split_whitespace().count() == 5;
    (!is_like_line).then(|| read(text).unwrap_or(EXAMPLE))
}

fn read(text: &str) -> Option<Duration> {
    let text = text.trim().to_lowercase();
    let text = text.strip_prefix("every ").unwrap_or(&text).trim_start();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = match number {
        "" => 1,
        number => number.parse().ok()?,
    };
    let unit = unit.trim_start();
    let is_named = |names: &[&str]| {
        let mut names = names.iter();
        names.any(|name| unit == *name || unit.strip_suffix('s') == Some(name))
    };
    let (_, seconds) = UNITS.into_iter().find(|(names, _)| is_named(names))?;
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds > 0)?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_names_an_interval_is_read_and_any_other_gives_the_example() {
        for (text, seconds) in [
            ("5 minutes", 300),
            ("90s", 90),
            ("every 2 hours", 7_200),
            ("Day", 86_400),
            ("five minutes", 300),
            ("0 seconds", 300),
            ("99999999999999999999 days", 300),
            ("", 300),
        ] {
            let meant = interval_meant_by(text);
            assert_eq!(meant, Some(Duration::from_secs(seconds)), "{text}");
        }
        for line in ["61 * * * *", "0 3 * *", "@daily", "0 0 1 1 9"] {
            assert_eq!(interval_meant_by(line), None, "{line}");
        }
    }
}
