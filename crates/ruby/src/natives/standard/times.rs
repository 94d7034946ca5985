//! `Time#strftime` and the reading of ISO 8601. Works on numbers; clocks and time zones are mruby's.

use std::fmt::Write as _;

use tsumugi_mruby::{Result, Scope, Value};

use crate::limits::{STRING_BYTES_MAX, TIME_WIDTH_MAX};
use crate::natives::arguments::{text, too_long};
use crate::natives::definitions::Natives;

/// Characters of a format, or directives, between two looks at whether to go on.
const CHARACTERS_AT_ONCE: usize = 4_096;
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("time_format", |_, scope, call| {
        let format = text(scope, call.argument(0), "the format")?;
        let parts = call.argument(1);
        let part = |i| scope.array_at(parts, i).as_integer().unwrap_or_default();
        let moment = Moment {
            year: part(0),
            month: part(1),
            day: part(2),
            hour: part(3),
            minute: part(4),
            second: part(5),
            nanosecond: part(6),
            offset: part(7),
            weekday: part(8),
            day_of_year: part(9),
            epoch: part(10),
            zone: scope.text(scope.array_at(parts, 11)).unwrap_or_default(),
        };
        scope.string(moment.format(scope, &format, 0)?)
    })?;
    // [year, month, day, hour, minute, second, microsecond, seconds east or nil], or nil.
    natives.plain("time_read", |_, scope, call| {
        let text = text(scope, call.argument(0), "the time")?;
        read(scope, text.trim())
    })
}

struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    nanosecond: i64,
    /// Seconds east of UTC.
    offset: i64,
    /// 0 is Sunday.
    weekday: i64,
    /// From 1.
    day_of_year: i64,
    epoch: i64,
    zone: String,
}

/// Flags and width of one directive.
#[derive(Default)]
struct Field {
    /// `-` drops padding, `0` and `_` choose it.
    padding: Option<char>,
    upcase: bool,
    swapcase: bool,
    colons: usize,
    width: Option<usize>,
}

impl Field {
    fn number(&self, out: &mut String, number: i64, width: usize, padding: char) {
        let padding = match self.padding {
            Some('-') => {
                let _ = write!(out, "{number}"); // a String takes every write
                return;
            }
            Some('_') => ' ',
            Some(_) => '0',
            None => padding,
        };
        let width = self.width.unwrap_or(width);
        let digits = number.unsigned_abs().to_string();
        let sign = if number < 0 { "-" } else { "" };
        let fill = width.saturating_sub(digits.len() + sign.len());
        let fill = if padding == '0' { "0" } else { " " }.repeat(fill);
        let _ = if padding == '0' {
            write!(out, "{sign}{fill}{digits}")
        } else {
            write!(out, "{fill}{sign}{digits}")
        };
    }

    fn text(&self, out: &mut String, text: &str) {
        let text = if self.upcase || self.swapcase {
            text.to_uppercase()
        } else {
            text.to_owned()
        };
        let padding = if self.padding == Some('0') { "0" } else { " " };
        let fill = self.width.unwrap_or(0).saturating_sub(text.chars().count());
        out.push_str(&padding.repeat(fill));
        out.push_str(&text);
    }
}

impl Moment {
    fn format<'s>(&self, scope: &'s Scope<'s>, format: &str, depth: usize) -> Result<'s, String> {
        let mut out = String::with_capacity(format.len());
        let mut rest = format.chars();
        let mut left = CHARACTERS_AT_ONCE;
        while let Some(char) = rest.next() {
            left -= 1;
            if left == 0 {
                scope.check_interrupt()?;
                left = CHARACTERS_AT_ONCE;
            }
            if out.len() > STRING_BYTES_MAX {
                return Err(too_long(scope));
            }
            if char != '%' {
                out.push(char);
                continue;
            }
            let whole = rest.clone();
            let mut field = Field::default();
            let mut done = false;
            for char in rest.by_ref() {
                match char {
                    '-' | '_' => field.padding = Some(char),
                    '0' if field.width.is_none() => field.padding = Some(char),
                    '^' => field.upcase = true,
                    '#' => field.swapcase = true,
                    ':' => field.colons += 1,
                    '0'..='9' => {
                        let digit = char as usize - '0' as usize;
                        field.width =
                            Some((field.width.unwrap_or(0) * 10 + digit).min(TIME_WIDTH_MAX));
                    }
                    _ => {
                        done = self.directive(scope, &mut out, char, &field, depth)?;
                        break;
                    }
                }
            }
            if !done {
                // No directive: it stands for itself.
                out.push('%');
                rest = whole;
            }
        }
        Ok(out)
    }

    fn directive<'s>(
        &self,
        scope: &'s Scope<'s>,
        out: &mut String,
        letter: char,
        field: &Field,
        depth: usize,
    ) -> Result<'s, bool> {
        let hour12 = (self.hour + 11) % 12 + 1;
        match letter {
            'Y' => field.number(out, self.year, if self.year < 0 { 5 } else { 4 }, '0'),
            'C' => field.number(out, self.year.div_euclid(100), 2, '0'),
            'y' => field.number(out, self.year.rem_euclid(100), 2, '0'),
            'm' => field.number(out, self.month, 2, '0'),
            'd' => field.number(out, self.day, 2, '0'),
            'e' => field.number(out, self.day, 2, ' '),
            'j' => field.number(out, self.day_of_year, 3, '0'),
            'H' => field.number(out, self.hour, 2, '0'),
            'k' => field.number(out, self.hour, 2, ' '),
            'I' => field.number(out, hour12, 2, '0'),
            'l' => field.number(out, hour12, 2, ' '),
            'M' => field.number(out, self.minute, 2, '0'),
            'S' => field.number(out, self.second, 2, '0'),
            's' => field.number(out, self.epoch, 1, '0'),
            'u' => field.number(out, (self.weekday + 6) % 7 + 1, 1, '0'),
            'w' => field.number(out, self.weekday, 1, '0'),
            'U' => field.number(out, (self.day_of_year + 6 - self.weekday) / 7, 2, '0'),
            'W' => field.number(
                out,
                (self.day_of_year + 6 - (self.weekday + 6) % 7) / 7,
                2,
                '0',
            ),
            'G' => field.number(out, self.iso_week().0, 4, '0'),
            'g' => field.number(out, self.iso_week().0.rem_euclid(100), 2, '0'),
            'V' => field.number(out, self.iso_week().1, 2, '0'),
            'L' => self.fraction(out, field.width.unwrap_or(3)),
            'N' => self.fraction(out, field.width.unwrap_or(9)),
            'z' => self.offset(out, field),
            _ => return self.words(scope, out, letter, field, depth),
        }
        Ok(true)
    }

    fn words<'s>(
        &self,
        scope: &'s Scope<'s>,
        out: &mut String,
        letter: char,
        field: &Field,
        depth: usize,
    ) -> Result<'s, bool> {
        let name = |names: &'static [&str], i: i64| {
            usize::try_from(i)
                .ok()
                .and_then(|i| names.get(i))
                .copied()
                .unwrap_or("?")
        };
        let half = if self.hour < 12 {
            ["AM", "am"]
        } else {
            ["PM", "pm"]
        };
        match letter {
            'A' => field.text(out, name(&DAYS, self.weekday)),
            'a' => field.text(out, name(&DAYS, self.weekday).get(..3).unwrap_or("?")),
            'B' => field.text(out, name(&MONTHS, self.month - 1)),
            'b' | 'h' => field.text(out, name(&MONTHS, self.month - 1).get(..3).unwrap_or("?")),
            'p' if field.swapcase => out.push_str(half[1]),
            'p' => field.text(out, half[0]),
            'P' => field.text(out, half[1]),
            'Z' => field.text(out, &self.zone),
            '%' => out.push('%'),
            'n' => out.push('\n'),
            't' => out.push('\t'),
            _ => {
                let format = match letter {
                    'F' => "%Y-%m-%d",
                    'T' | 'X' => "%H:%M:%S",
                    'D' | 'x' => "%m/%d/%y",
                    'R' => "%H:%M",
                    'r' => "%I:%M:%S %p",
                    'c' => "%a %b %e %H:%M:%S %Y",
                    'v' => "%e-%^b-%Y",
                    '+' => "%a %b %e %H:%M:%S %Z %Y",
                    _ => return Ok(false),
                };
                if depth > 0 {
                    return Ok(false);
                }
                field.text(out, &self.format(scope, format, depth + 1)?);
            }
        }
        Ok(true)
    }

    fn fraction(&self, out: &mut String, digits: usize) {
        let nanoseconds = format!("{:09}", self.nanosecond.clamp(0, 999_999_999));
        out.push_str(nanoseconds.get(..digits).unwrap_or(&nanoseconds));
        out.push_str(&"0".repeat(digits.saturating_sub(nanoseconds.len())));
    }

    fn offset(&self, out: &mut String, field: &Field) {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let seconds = self.offset.abs();
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        let rest = match field.colons {
            0 => format!("{minute:02}"),
            1 => format!(":{minute:02}"),
            _ => format!(":{minute:02}:{second:02}"),
        };
        let width = field
            .width
            .unwrap_or(0)
            .saturating_sub(rest.len() + 1)
            .max(2);
        let _ = match field.padding {
            Some('-') => write!(out, "{sign}{hour}{rest}"),
            Some('_') => write!(
                out,
                "{:>width$}{rest}",
                format!("{sign}{hour}"),
                width = width + 1
            ),
            _ => write!(out, "{sign}{hour:0width$}{rest}"),
        };
    }

    /// The year and the week of ISO 8601.
    fn iso_week(&self) -> (i64, i64) {
        let monday = (self.weekday + 6) % 7;
        let week = (self.day_of_year - 1 - monday + 10) / 7;
        if week < 1 {
            return (self.year - 1, weeks(self.year - 1));
        }
        if week > weeks(self.year) {
            return (self.year + 1, 1);
        }
        (self.year, week)
    }
}

/// ISO weeks of a year.
fn weeks(year: i64) -> i64 {
    let last = |year: i64| {
        (year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400)).rem_euclid(7)
    };
    if last(year) == 4 || last(year - 1) == 3 {
        53
    } else {
        52
    }
}

fn read<'s>(scope: &'s Scope<'s>, text: &str) -> Result<'s, Value<'s>> {
    let Some((parts, offset)) = parse(text) else {
        return Ok(Value::nil());
    };
    let parts = parts.into_iter().map(Some).chain([offset]);
    let part = |part: Option<i64>| part.map_or_else(Value::nil, |part| scope.integer(part));
    scope.list(parts.map(|one| Ok(part(one))))
}

/// `2024-01-31`, then `T` or a space and `12:34[:56[.789]]`, then `Z`, `UTC`, `+09:00` or nothing.
fn parse(text: &str) -> Option<([i64; 7], Option<i64>)> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut date = date.split('-').map(|part| number(part, 2..=4));
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || date.next().is_some() {
        return None;
    }
    if rest.is_empty() {
        return Some(([year, month, day, 0, 0, 0, 0], None));
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let end = rest
        .find(['Z', 'z', 'U', '+', '-', ' '])
        .unwrap_or(rest.len());
    let (clock, zone) = rest.split_at_checked(end)?;
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let mut clock = clock.split(':').map(|part| number(part, 2..=2));
    let (hour, minute) = (clock.next()??, clock.next()??);
    let second = clock.next().unwrap_or(Some(0))?;
    if hour > 24 || minute > 59 || second > 60 || clock.next().is_some() {
        return None;
    }
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let micros = number(&micros, 6..=6)?;
    Some((
        [year, month, day, hour, minute, second, micros],
        offset(zone.trim())?,
    ))
}

fn offset(zone: &str) -> Option<Option<i64>> {
    if zone.is_empty() {
        return Some(None);
    }
    if matches!(zone, "Z" | "z" | "UTC") {
        return Some(Some(0));
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone.strip_prefix(['+', '-'])?.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes = if minutes.is_empty() {
        0
    } else {
        number(minutes, 2..=2)?
    };
    Some(Some(sign * (number(hours, 2..=2)? * 3_600 + minutes * 60)))
}

fn number(text: &str, width: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let digits = width.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn invalid_time_is_refused() {
        for text in [
            "",
            "2024",
            "2024-13-01",
            "2024-01-01X",
            "2024-01-01T",
            "2024-01-01T1:00",
            "2024-01-01T10:00+9",
            "2024-01-01T10:00:00+09:0",
            "20é4-01-01",
            "2024-01-01T25:00",
            "2024-01-01T10:00:00.1é",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
