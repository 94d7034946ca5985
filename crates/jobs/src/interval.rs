//! Intervals in words, as `5 minutes`, where a line of cron is expected. Knows no clock.
//! Rule: they are for the advice of errors, and nothing is scheduled by them.

use std::time::Duration;

/// What is advised where a text names no interval that is understood.
const EXAMPLE: Duration = Duration::from_secs(300);

/// Units of time with their seconds; each may have an `s` behind it.
const UNITS: [(&[&str], u64); 4] = [
    (&["s", "sec", "second"], 1),
    (&["m", "min", "minute"], 60),
    (&["h", "hour"], 3_600),
    (&["d", "day"], 86_400),
];

/// The interval that an author may have meant by a text that is no line of cron, or an example; nothing of a text of five fields, which is meant as a line.
#[must_use]
pub fn interval_meant_by(text: &str) -> Option<Duration> {
    match text.split_whitespace().count() {
        5 => None,
        _ => Some(read(text).unwrap_or(EXAMPLE)),
    }
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
            ("0 3 * *", 300),
        ] {
            let meant = interval_meant_by(text);
            assert_eq!(meant, Some(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(interval_meant_by("61 * * * *"), None);
    }
}
