//! A line of cron in a time zone, and the times that it stands for. Knows no job and no table.
//! Rule: a line that is never due is refused as one that cannot be read is.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::error::{Error, Result, check_text};
use crate::limits::CRON_LINE_BYTES_MAX;
use crate::sql::unix_millis;

/// When jobs are due: a line of cron, in a time zone.
#[derive(Clone, Debug)]
pub struct CronSchedule {
    /// One for each time of the day, where the line names these one by one: so each is read as a line of one time is.
    crons: Vec<Cron>,
    zone: TimeZone,
    words: String,
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
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let refused = |why: String| Error::Usage(format!("{line:?} is no line of cron: {why}"));
        let parse = |line: &str| parser.parse(line).map_err(|error| error.to_string());
        let whole = parse(line).map_err(|error| {
            let is_read = |line: &str| parse(line).is_ok();
            refused(wrong_field(line, is_read).unwrap_or(error))
        })?;
        let crons = match times_of_day(line) {
            Some(lines) => lines
                .iter()
                .map(|line| parse(line).map_err(refused))
                .collect::<Result<_>>()?,
            None => vec![whole],
        };
        let words = format!("{line} ({zone})");
        let zone = TimeZone::get(zone);
        let zone = zone.map_err(|error| Error::Usage(format!("there is no such zone: {error}")))?;
        let schedule = CronSchedule { crons, zone, words };
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

    /// When it is due next after this time, both in milliseconds since 1970; never, where there is no such day.
    #[must_use]
    pub fn next_after(&self, unix_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(unix_ms).ok()?;
        let now = Zoned::new(now, self.zone.clone());
        let next = |cron: &Cron| cron.find_next_occurrence(&now, false).ok();
        let next = self.crons.iter().filter_map(next).min()?;
        Some(next.timestamp().as_millisecond())
    }
}

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

/// Which field of a line cannot be read, in words; nothing where each of them can by itself.
fn wrong_field(line: &str, is_read: impl Fn(&str) -> bool) -> Option<String> {
    let given: Vec<&str> = line.split_whitespace().collect();
    if given.len() != FIELDS.len() {
        let names = FIELDS.map(|(name, _)| name).join(", ");
        let count = given.len();
        return Some(format!("it has {count} fields and needs five: {names}"));
    }
    let is_alone_read = |at: usize| {
        let alone = given.iter().enumerate();
        let alone = alone.map(|(place, field)| if place == at { *field } else { "*" });
        is_read(&alone.collect::<Vec<_>>().join(" "))
    };
    let wrong = (0..FIELDS.len()).find(|at| !is_alone_read(*at))?;
    let (name, range) = FIELDS[wrong];
    let field = given[wrong];
    let is_step = |step: &str| step.parse::<u32>().is_ok_and(|step| step > 0);
    let mut steps = field.split(',').filter_map(|part| part.split_once('/'));
    Some(match steps.find(|(_, step)| !is_step(step)) {
        Some((_, step)) => format!("its {name} is {field:?}; a step is 1 or more, not {step:?}"),
        None => format!("its {name} is {field:?}; that is {range}"),
    })
}

/// A line for each minute and hour of one that names several one by one. Where the clock is set, a line of one time is due once on each day, and one for every
/// so often goes by the clock on the wall.
fn times_of_day(line: &str) -> Option<Vec<String>> {
    let mut fields = line.split_whitespace();
    let (minutes, hours) = (fields.next()?, fields.next()?);
    let is_list = |field: &str| {
        let is_part = |byte: u8| byte == b',' || byte.is_ascii_digit();
        field.bytes().all(is_part)
    };
    if !(is_list(minutes) && is_list(hours)) {
        return None;
    }
    let rest: Vec<&str> = fields.collect();
    let rest = rest.join(" ");
    let at = |hour| {
        let minutes = minutes.split(',');
        let rest = &rest;
        minutes.map(move |minute| format!("{minute} {hour} {rest}"))
    };
    Some(hours.split(',').flat_map(at).collect())
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, ToSpan};

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
    fn no_time_follows_the_last_year_of_the_calendar() {
        let ends = [
            "9994-12-31T23:59:59Z",
            "9995-01-01T00:00:00Z",
            "9999-12-30T21:59:59Z",
        ];
        for line in ["* * * * *", "0 3 29 2 *", "30 2,14 * * *", "0 0 1 1 mon"] {
            let schedule = CronSchedule::parse(line, "Pacific/Kiritimati").unwrap();
            for end in ends {
                let end: Timestamp = end.parse().unwrap();
                assert_eq!(schedule.next_after(end.as_millisecond()), None, "{line}");
            }
        }
    }

    #[test]
    fn clock_outside_the_calendar_is_no_panic() {
        let schedule = CronSchedule::parse("* * * * *", "Pacific/Kiritimati").unwrap();
        // The second is the beginning of the year -9999, some hours before the first moment that every zone has.
        for outside in [i64::MIN, -377_705_116_800_000, i64::MAX] {
            assert_eq!(schedule.next_after(outside), None, "{outside}");
        }
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
    fn line_that_is_none_is_refused_with_the_field_that_is_wrong() {
        let check = |line: &str, why: &str| {
            let said = CronSchedule::parse(line, "UTC").unwrap_err().to_string();
            assert_eq!(said, format!("{line:?} is no line of cron: {why}"));
        };
        check("60 * * * *", "its minute is \"60\"; that is 0 to 59");
        check(
            "*/0 * * * *",
            "its minute is \"*/0\"; a step is 1 or more, not \"0\"",
        );
        check(
            "0 3,0-6/x * * *",
            "its hour is \"3,0-6/x\"; a step is 1 or more, not \"x\"",
        );
        check("61/2 * * * *", "its minute is \"61/2\"; that is 0 to 59");
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
