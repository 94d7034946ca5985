//! A line of cron in a time zone, and the times that it stands for. Knows no job and no table.
//! Rule: a line that is never due is refused as one that cannot be read is.

use cronexpr::Crontab;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::error::{Error, Result, check_text};
use crate::limits::CRON_LINE_BYTES_MAX;
use crate::sql::unix_millis;

/// When jobs are due: a line of cron, in a time zone.
#[derive(Clone, Debug)]
pub struct CronSchedule {
    /// Read as one of UTC, whose days are all alike: what becomes of it where clocks are set is ours.
    line: Crontab,
    clock_rule: ClockRule,
    zone: TimeZone,
    words: String,
}

/// What a line does on the days on which clocks are set.
#[derive(Clone, Copy, Debug)]
enum ClockRule {
    /// Its minutes and hours are named one by one: it is due at each of them once on each day.
    OncePerDay,
    /// It is for every so often, and goes on by the clock on the wall: what a day does not have is left out, what it has twice is due twice.
    WallClock,
}

impl CronSchedule {
    /// A line of five fields (minute, hour, day of the month, month, day of the week) in a zone such as `Asia/Tokyo`.
    ///
    /// # Errors
    /// [`Error::Usage`] of a line or a zone that is none; [`Error::TooLarge`].
    pub fn parse(line: &str, zone: &str) -> Result<CronSchedule> {
        let max = CRON_LINE_BYTES_MAX;
        check_text("a line of cron", line, "CRON_LINE_BYTES_MAX", max)?;
        check_text("the name of a zone", zone, "CRON_LINE_BYTES_MAX", max)?;
        let refused = |why: String| Error::Usage(format!("{line:?} is no line of cron: {why}"));
        let given = fields_of(line).map_err(refused)?;
        let read = read(&given);
        let read = read.map_err(|error| refused(wrong_field(&given).unwrap_or(error)))?;
        let words = format!("{line} ({zone})");
        let zone = TimeZone::get(zone);
        let zone = zone.map_err(|error| Error::Usage(format!("there is no such zone: {error}")))?;
        let schedule = CronSchedule {
            line: read,
            clock_rule: clock_rule(&given),
            zone,
            words,
        };
        match schedule.next_after(unix_millis()) {
            Some(_) => Ok(schedule),
            None => Err(refused("it is never due".to_owned())),
        }
    }

    /// The line and its zone.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// When it is due next after this time, both in milliseconds since 1970; never, where there is no such day within 40 years.
    #[must_use]
    pub fn next_after(&self, unix_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(unix_ms).ok()?;
        let next = match self.clock_rule {
            ClockRule::WallClock => self.next_on_wall(now),
            ClockRule::OncePerDay => self.next_named(now),
        };
        Some(next?.as_millisecond())
    }

    /// The next time at which the clock shows one of the line: looked for between one setting of the clock and the next, where it is as far from UTC all the time.
    fn next_on_wall(&self, now: Timestamp) -> Option<Timestamp> {
        let mut after = now;
        loop {
            let first = after.checked_add(MOMENT).ok()?;
            let offset = self.zone.to_offset(first);
            let ahead = SignedDuration::from_secs(i64::from(offset.seconds()));
            let next = find_next(&self.line, after.checked_add(ahead).ok()?)?;
            let next = next.checked_sub(ahead).ok()?;
            let set = self.zone.following(first).next();
            match set.map(|set| set.timestamp()) {
                // What is due just when the clock is set is looked for by the new one.
                Some(set) if set <= next => after = set.checked_sub(MOMENT).ok()?,
                _ => return Some(next),
            }
        }
    }

    /// The next of the times that the line names. Several of what the clock shows can be the same moment, or one that has been.
    fn next_named(&self, now: Timestamp) -> Option<Timestamp> {
        let utc = TimeZone::UTC;
        let mut shown = utc.to_timestamp(self.zone.to_datetime(now)).ok()?;
        loop {
            shown = find_next(&self.line, shown)?;
            let moment = moment_of(utc.to_datetime(shown), &self.zone)?;
            if moment > now {
                return Some(moment);
            }
        }
    }
}

/// How far a line is looked for: a 29 February that is a certain day of the week comes again after 40 years at the latest.
const YEARS_MAX: i64 = 40;

/// The first time of a line after this one. The library looks four years ahead.
fn find_next(line: &Crontab, after: Timestamp) -> Option<Timestamp> {
    let mut starts = (0..YEARS_MAX / 4).map(|turn| SignedDuration::from_hours(turn * 4 * 365 * 24));
    let next = starts.find_map(|ahead| line.find_next(after.checked_add(ahead).ok()?).ok())?;
    Some(next.timestamp())
}

const MOMENT: SignedDuration = SignedDuration::from_nanos(1);

/// When a clock of the zone shows this time first; where it goes past it, when it does.
fn moment_of(shown: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(shown);
    match ambiguous.offset() {
        AmbiguousOffset::Gap { .. } => {
            // The last setting of the clock up to then, at that moment included.
            let after = ambiguous.later().ok()?.checked_add(MOMENT).ok()?;
            let mut changes = zone.preceding(after);
            Some(changes.next()?.timestamp())
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => {
            ambiguous.earlier().ok()
        }
    }
}

/// Fields as one line of UTC; the error is the library's. That wants `L` and `W` in capitals, and has no `?`, no range up to `sun` and no `#L`.
fn read(fields: &[&str; 5]) -> std::result::Result<Crontab, String> {
    let [minute, hour, day, month, weekday] = fields;
    let any = |field: &str| match field {
        "?" => "*".to_owned(),
        field => field.to_ascii_uppercase(),
    };
    let (day, weekday) = (any(day), any(weekday));
    let weekday = weekday.replace("-SUN", "-7").replace("#L", "L");
    let line = format!("{minute} {hour} {day} {month} {weekday} UTC");
    cronexpr::parse_crontab(&line).map_err(|error| error.to_string())
}

/// Names of lines that other crons have.
const NICKNAMES: [(&str, [&str; 5]); 7] = [
    ("@hourly", ["0", "*", "*", "*", "*"]),
    ("@daily", ["0", "0", "*", "*", "*"]),
    ("@midnight", ["0", "0", "*", "*", "*"]),
    ("@weekly", ["0", "0", "*", "*", "0"]),
    ("@monthly", ["0", "0", "1", "*", "*"]),
    ("@yearly", ["0", "0", "1", "1", "*"]),
    ("@annually", ["0", "0", "1", "1", "*"]),
];

/// The fields of a line in their order, and what may be in each.
const FIELDS: [(&str, &str); 5] = [
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12 or jan to dec"),
    (
        "day of the week",
        "0 to 7, where 0 and 7 are Sunday, or sun to sat",
    ),
];

fn fields_of(line: &str) -> std::result::Result<[&str; 5], String> {
    let mut nicknames = NICKNAMES.into_iter();
    let nickname = nicknames.find(|(name, _)| line.trim().eq_ignore_ascii_case(name));
    if let Some((_, fields)) = nickname {
        return Ok(fields);
    }
    let given: Vec<&str> = line.split_whitespace().collect();
    <[&str; 5]>::try_from(given).map_err(|given| {
        let (count, names) = (given.len(), FIELDS.map(|(name, _)| name).join(", "));
        format!("it has {count} fields and needs five: {names}")
    })
}

/// Which field of a line cannot be read, in words; nothing where each of them can by itself.
fn wrong_field(given: &[&str; 5]) -> Option<String> {
    let is_alone_read = |at: usize| {
        let mut alone = ["*"; 5];
        alone[at] = given[at];
        read(&alone).is_ok()
    };
    let wrong = (0..FIELDS.len()).find(|at| !is_alone_read(*at))?;
    let (name, range) = FIELDS[wrong];
    let field = given[wrong];
    Some(format!("its {name} is {field:?}; that is {range}"))
}

/// [`ClockRule::OncePerDay`] where minutes and hours are numbers, none of them a range, a step or any.
fn clock_rule(fields: &[&str; 5]) -> ClockRule {
    let is_named = |field: &&str| {
        let is_part = |byte: u8| byte == b',' || byte.is_ascii_digit();
        field.bytes().all(is_part)
    };
    match fields.iter().take(2).all(is_named) {
        true => ClockRule::OncePerDay,
        false => ClockRule::WallClock,
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;

    fn times(line: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let schedule = CronSchedule::parse(line, zone).unwrap();
        let start: Timestamp = from.parse().unwrap();
        let mut at = start.as_millisecond();
        (0..count)
            .map(|_| {
                at = schedule.next_after(at).unwrap();
                let time = Timestamp::from_millisecond(at).unwrap();
                time.to_zoned(schedule.zone.clone())
                    .strftime("%m-%dT%H:%M%:z")
                    .to_string()
            })
            .collect()
    }

    #[test]
    fn line_is_read_in_its_zone() {
        let found = times("0 3 * * *", "Asia/Tokyo", "2026-01-31T17:59:59Z", 2);
        assert_eq!(found, ["02-01T03:00+09:00", "02-02T03:00+09:00"]);
        let found = times("*/20 9-10 * * mon", "UTC", "2026-11-26T00:00:00Z", 7);
        let monday = [
            "11-30T09:00+00:00",
            "11-30T09:20+00:00",
            "11-30T09:40+00:00",
        ];
        assert_eq!(found[..3], monday);
        assert_eq!(found[6], "12-07T09:00+00:00");
    }

    #[test]
    fn time_that_a_day_does_not_have_is_when_its_clock_goes_on_and_one_that_it_has_twice_is_the_first()
     {
        let found = times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3);
        assert_eq!(
            found,
            [
                "03-28T02:30+01:00",
                "03-29T03:00+02:00",
                "03-30T02:30+02:00"
            ]
        );
        let found = times("30 2 * * *", "Europe/Berlin", "2026-10-24T00:00:00Z", 3);
        assert_eq!(
            found,
            [
                "10-24T02:30+02:00",
                "10-25T02:30+02:00",
                "10-26T02:30+01:00"
            ]
        );
    }

    #[test]
    fn line_for_every_so_often_goes_on_through_a_change_of_the_clock() {
        let found = times("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:29:00Z", 3);
        assert_eq!(
            found,
            [
                "03-29T01:30+01:00",
                "03-29T03:00+02:00",
                "03-29T03:30+02:00"
            ]
        );
        let found = times("0 * * * *", "Europe/Berlin", "2026-10-24T23:59:00Z", 4);
        let twice = [
            "10-25T02:00+02:00",
            "10-25T02:00+01:00",
            "10-25T03:00+01:00",
            "10-25T04:00+01:00",
        ];
        assert_eq!(found, twice);
    }

    #[test]
    fn each_time_of_a_line_that_names_several_is_due_once_on_each_day() {
        let berlin = |line, from, count| times(line, "Europe/Berlin", from, count);
        let found = berlin("30 2,14 * * *", "2026-03-28T20:00:00Z", 3);
        let spring = [
            "03-29T03:00+02:00",
            "03-29T14:30+02:00",
            "03-30T02:30+02:00",
        ];
        assert_eq!(found, spring);
        let found = berlin("30 2,14 * * *", "2026-10-24T20:00:00Z", 3);
        let autumn = [
            "10-25T02:30+02:00",
            "10-25T14:30+01:00",
            "10-26T02:30+01:00",
        ];
        assert_eq!(found, autumn);
        // Both are at the moment at which the clock goes on.
        let found = berlin("0,30 2 * * *", "2026-03-28T20:00:00Z", 2);
        assert_eq!(found, ["03-29T03:00+02:00", "03-30T02:00+02:00"]);
    }

    #[test]
    fn line_with_a_range_of_hours_goes_by_the_clock_on_the_wall() {
        let berlin = |from, count| times("30 1-3 * * *", "Europe/Berlin", from, count);
        let found = berlin("2026-03-28T20:00:00Z", 2);
        assert_eq!(found, ["03-29T01:30+01:00", "03-29T03:30+02:00"]);
        let found = berlin("2026-10-24T23:45:00Z", 2);
        assert_eq!(found, ["10-25T02:30+02:00", "10-25T02:30+01:00"]);
    }

    /// A day before clocks are set.
    const CHANGES: [(&str, &str); 5] = [
        ("Europe/Berlin", "2026-03-28T12:07:00Z"),
        ("Europe/Berlin", "2026-10-24T12:07:00Z"),
        ("America/Santiago", "2026-09-05T12:07:00Z"),
        // Half an hour.
        ("Australia/Lord_Howe", "2026-04-04T03:07:00Z"),
        ("Australia/Lord_Howe", "2026-10-03T03:07:00Z"),
    ];

    /// Minute by minute through three days in which clocks are set, for what the search skips.
    #[test]
    fn each_minute_at_which_a_clock_shows_the_line_is_due() {
        let lines = [
            "*/7 * * * *",
            "3 * * * *",
            "13-40/9 1-3 * * *",
            "* 2 * * sun",
            "*/20 */2 4,5,25,29 * *",
            "59 0-23 * * 6",
        ];
        for (zone, from) in CHANGES {
            let start: Timestamp = from.parse().unwrap();
            let utc = TimeZone::UTC;
            for line in lines {
                let schedule = CronSchedule::parse(line, zone).unwrap();
                let mut due = schedule.next_after(start.as_millisecond()).unwrap();
                for minute in 1..3 * 24 * 60 {
                    let now = start + SignedDuration::from_mins(minute);
                    let shown = schedule.zone.to_datetime(now);
                    let shown = utc.to_timestamp(shown).unwrap();
                    let is_due = due == now.as_millisecond();
                    let text = format!("{line} in {zone}, {shown} on the wall");
                    assert_eq!(is_due, schedule.line.matches(shown).unwrap(), "{text}");
                    if is_due {
                        due = schedule.next_after(due).unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn each_named_time_is_due_when_the_clock_first_shows_it_or_a_later_one() {
        for (zone, from) in CHANGES {
            let start: Timestamp = from.parse().unwrap();
            let of_minute = |minute: i64| start + SignedDuration::from_mins(minute);
            let minutes: Vec<_> = (1..3 * 24 * 60).map(of_minute).collect();
            let hours = 0..24;
            let times = hours.flat_map(|hour| [0, 15, 30, 59].map(|minute| (hour, minute)));
            for (hour, minute) in times {
                let line = format!("{minute} {hour} * * *");
                let schedule = CronSchedule::parse(&line, zone).unwrap();
                let mut due = start.as_millisecond();
                let first = schedule.zone.to_datetime(start).date();
                for day in 1..3 {
                    let day = first.checked_add(day.days()).unwrap();
                    let shown = day.at(hour, minute, 0, 0);
                    let is_there = |now: &&Timestamp| schedule.zone.to_datetime(**now) >= shown;
                    let expected = minutes.iter().find(is_there).unwrap();
                    // The first may still be that of the day of the start.
                    let next = || schedule.next_after(due.max(expected.as_millisecond() - 1));
                    due = next().unwrap();
                    assert_eq!(due, expected.as_millisecond(), "{shown} in {zone}");
                }
            }
        }
    }

    #[test]
    fn day_of_month_and_of_week_fit_either_and_both_with_an_asterisk() {
        let first = |line| times(line, "UTC", "2026-11-26T00:00:00Z", 1).remove(0);
        assert_eq!(first("0 0 13 * fri"), "11-27T00:00+00:00");
        assert_eq!(first("0 0 */2 * fri"), "11-27T00:00+00:00");
        assert_eq!(first("0 0 */4 * fri"), "12-25T00:00+00:00");
    }

    #[test]
    fn words_of_other_crons_are_read() {
        let first = |line| times(line, "UTC", "2026-11-26T10:30:00Z", 1).remove(0);
        for (line, due) in [
            ("@hourly", "11-26T11:00+00:00"),
            ("@Daily", "11-27T00:00+00:00"),
            ("@weekly", "11-29T00:00+00:00"),
            ("@monthly", "12-01T00:00+00:00"),
            ("@yearly", "01-01T00:00+00:00"),
            ("0 0 * * SAT-SUN", "11-28T00:00+00:00"),
            ("0 0 ? * mon", "11-30T00:00+00:00"),
            ("0 0 L * *", "11-30T00:00+00:00"),
            ("0 0 l * *", "11-30T00:00+00:00"),
            ("0 0 15w * *", "12-15T00:00+00:00"),
            ("0 0 * * fri#2", "12-11T00:00+00:00"),
            ("0 0 * * 5L", "11-27T00:00+00:00"),
            ("0 0 * * fri#l", "11-27T00:00+00:00"),
        ] {
            assert_eq!(first(line), due, "{line}");
        }
    }

    #[test]
    fn day_that_comes_once_in_many_years_is_found() {
        let sunday = CronSchedule::parse("0 0 29 2 */7", "UTC").unwrap();
        let from: Timestamp = "2032-03-01T00:00:00Z".parse().unwrap();
        let next = sunday.next_after(from.as_millisecond()).unwrap();
        let next = Timestamp::from_millisecond(next).unwrap();
        assert_eq!(next.to_string(), "2060-02-29T00:00:00Z");
    }

    #[test]
    fn line_that_is_none_is_refused_with_the_field_that_is_wrong() {
        let check = |line: &str, why: &str| {
            let said = CronSchedule::parse(line, "UTC").unwrap_err().to_string();
            assert_eq!(said, format!("{line:?} is no line of cron: {why}"));
        };
        check("60 * * * *", "its minute is \"60\"; that is 0 to 59");
        check("0 24,3 * * *", "its hour is \"24,3\"; that is 0 to 23");
        check(
            "0 3 32 * *",
            "its day of the month is \"32\"; that is 1 to 31",
        );
        check(
            "0 3 * * someday",
            "its day of the week is \"someday\"; that is 0 to 7, where 0 and 7 are Sunday, or sun to sat",
        );
        check(
            "0 3 * *",
            "it has 4 fields and needs five: minute, hour, day of the month, month, day of the week",
        );
    }

    #[test]
    fn line_or_zone_that_is_none_is_refused() {
        let said =
            |line: &str, zone: &str| CronSchedule::parse(line, zone).unwrap_err().to_string();
        for line in ["60 * * * *", "* * *", "0 0 0 * * *", "x", "0 0 31 2 *"] {
            assert!(said(line, "UTC").contains("is no line of cron"), "{line}");
        }
        assert!(said("0 3 * * *", "Asia/Nowhere").contains("no such zone"));
        assert!(said(&"1,".repeat(51), "UTC").contains("CRON_LINE_BYTES_MAX is 100"));
    }
}
