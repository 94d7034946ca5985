//! What a client asks of a file beyond its bytes: only if it has changed, or only a part (RFC 9110 sections 13 and 14). Pure.
//! A condition that cannot be read is no condition; several ranges are answered with the whole, which is always allowed.

use std::time::{Duration, SystemTime};

use http::{
    HeaderMap, HeaderValue,
    header::{IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, RANGE},
};

/// The header fields that matter, owned, so that they can be looked at away from the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conditions {
    /// Of all field lines.
    none_match: Vec<HeaderValue>,
    modified_since: Option<HeaderValue>,
    range: Option<HeaderValue>,
    if_range: Option<HeaderValue>,
}

/// What identifies the bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    pub(crate) length: u64,
    pub(crate) modified: SystemTime,
    /// With its quotes; strong.
    pub(crate) tag: String,
}

/// What to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileDecision {
    /// 200.
    Whole,
    /// 206: from the first byte up to and without the second.
    Part(u64, u64),
    /// 304.
    Unchanged,
    /// 416.
    Unsatisfiable,
}

impl Conditions {
    pub(crate) fn of(headers: &HeaderMap) -> Conditions {
        let owned = |name| headers.get(name).cloned();
        Conditions {
            none_match: readable(headers).cloned().collect(),
            modified_since: owned(IF_MODIFIED_SINCE),
            range: owned(RANGE),
            if_range: owned(IF_RANGE),
        }
    }

    /// Whether a part is asked for.
    pub(crate) fn has_range(&self) -> bool {
        self.range.is_some()
    }

    pub(crate) fn ignore_range(&mut self) {
        (self.range, self.if_range) = (None, None);
    }

    pub(crate) fn decide(&self, version: &FileVersion) -> FileDecision {
        if self.is_unchanged(version) {
            return FileDecision::Unchanged;
        }
        let Some(range) = text(&self.range) else {
            return FileDecision::Whole;
        };
        if let Some(condition) = text(&self.if_range) {
            // Bytes of two versions must not be put together, so this comparison is the strict one.
            let same = condition == version.tag
                || httpdate::parse_http_date(condition)
                    .is_ok_and(|date| date == whole_seconds(version.modified));
            if !same {
                return FileDecision::Whole;
            }
        }
        part(range, version.length)
    }

    fn is_unchanged(&self, version: &FileVersion) -> bool {
        if !self.none_match.is_empty() {
            return is_known(self.none_match.iter(), &version.tag);
        }
        text(&self.modified_since)
            .and_then(|date| httpdate::parse_http_date(date).ok())
            .is_some_and(|date| whole_seconds(version.modified) <= date)
    }
}

/// Whether a client has what has this tag, which is strong and with its quotes: one of its fields If-None-Match says so (RFC 9110 section 13.1.2,
/// by the weak comparison).
pub fn entity_tag_known(headers: &HeaderMap, tag: &str) -> bool {
    is_known(readable(headers), tag)
}

fn readable(headers: &HeaderMap) -> impl Iterator<Item = &HeaderValue> {
    let lines = headers.get_all(IF_NONE_MATCH).into_iter();
    lines.filter(|line| line.to_str().is_ok())
}

fn is_known<'h>(lines: impl Iterator<Item = &'h HeaderValue>, tag: &str) -> bool {
    let texts = lines.filter_map(|line| line.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}

fn text(value: &Option<HeaderValue>) -> Option<&str> {
    value.as_ref()?.to_str().ok()
}

/// The last second of the year 9999, in seconds since 1970.
const LAST_SECOND: u64 = 253_402_300_799;

/// Dates of HTTP have no fractions, and years of four digits: files of some file systems may be of a later one.
pub(crate) fn whole_seconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs().min(LAST_SECOND);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn part(range: &str, length: u64) -> FileDecision {
    let Some((unit, range)) = range.split_once('=') else {
        return FileDecision::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") || range.contains(',') {
        return FileDecision::Whole;
    }
    let Some((first, last)) = range.trim().split_once('-') else {
        return FileDecision::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // More digits than a number holds are past the end of any file.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (
        first.is_empty(),
        number(first),
        last.is_empty(),
        number(last),
    ) {
        // The last so many bytes.
        (true, _, false, Some(0)) => FileDecision::Unsatisfiable,
        (true, _, false, Some(_)) if length == 0 => FileDecision::Unsatisfiable,
        (true, _, false, Some(count)) => FileDecision::Part(length.saturating_sub(count), length),
        (false, Some(first), true, _) if first < length => FileDecision::Part(first, length),
        (false, Some(first), false, Some(last)) if first > last => FileDecision::Whole,
        (false, Some(first), false, Some(last)) if first < length => {
            FileDecision::Part(first, last.saturating_add(1).min(length))
        }
        (false, Some(_), true, _) | (false, Some(_), false, Some(_)) => FileDecision::Unsatisfiable,
        _ => FileDecision::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is decided for a file of 10 bytes, version "a", of 1994-11-06 08:49:37.5 GMT.
    fn check(headers: &[(&'static str, &str)], expected: FileDecision) {
        let version = FileVersion {
            length: 10,
            modified: SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_500),
            tag: "\"a\"".to_owned(),
        };
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (
                    http::HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect();
        assert_eq!(
            Conditions::of(&map).decide(&version),
            expected,
            "{headers:?}"
        );
    }

    #[test]
    fn date_behind_the_year_9999_is_its_last_second() {
        for seconds in [
            LAST_SECOND,
            LAST_SECOND + 1,
            u64::try_from(i64::MAX).unwrap(),
        ] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let date = httpdate::fmt_http_date(whole_seconds(time));
            assert_eq!(date, "Fri, 31 Dec 9999 23:59:59 GMT");
        }
    }

    #[test]
    fn one_range_is_a_part() {
        check(&[("range", "bytes=0-3")], FileDecision::Part(0, 4));
        check(&[("range", "bytes=4-")], FileDecision::Part(4, 10));
        check(&[("range", "bytes=-3")], FileDecision::Part(7, 10));
        check(&[("range", "bytes=-30")], FileDecision::Part(0, 10));
        check(
            &[("range", "bytes=8-99999999999999999999999")],
            FileDecision::Part(8, 10),
        );
    }

    #[test]
    fn a_range_past_the_end_is_unsatisfiable() {
        check(&[("range", "bytes=10-")], FileDecision::Unsatisfiable);
        check(&[("range", "bytes=10-12")], FileDecision::Unsatisfiable);
        check(&[("range", "bytes=-0")], FileDecision::Unsatisfiable);
    }

    #[test]
    fn several_or_malformed_ranges_get_the_whole() {
        for range in [
            "bytes=0-1,4-5",
            "lines=1-2",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=-",
            "bytes",
            "bytes=+1-2",
        ] {
            check(&[("range", range)], FileDecision::Whole);
        }
    }

    #[test]
    fn a_range_of_another_version_gets_the_whole() {
        check(
            &[("range", "bytes=0-3"), ("if-range", "\"a\"")],
            FileDecision::Part(0, 4),
        );
        check(
            &[("range", "bytes=0-3"), ("if-range", "\"b\"")],
            FileDecision::Whole,
        );
        check(
            &[("range", "bytes=0-3"), ("if-range", "W/\"a\"")],
            FileDecision::Whole,
        );
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        check(
            &[("range", "bytes=0-3"), ("if-range", date)],
            FileDecision::Part(0, 4),
        );
    }

    #[test]
    fn tag_is_known_by_each_line_of_the_field() {
        let known = |lines: &[&str], tag: &str| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(IF_NONE_MATCH, HeaderValue::from_str(line).unwrap());
            }
            entity_tag_known(&headers, tag)
        };
        assert!(!known(&[], "\"a\""));
        assert!(!known(&["\"b\""], "\"a\""));
        assert!(known(&["\"b\", W/\"a\""], "\"a\""));
        assert!(known(&["\"b\"", "\"a\""], "\"a\""));
        assert!(known(&["*"], "\"a\""));
    }

    #[test]
    fn unchanged_file_is_not_sent_again() {
        check(
            &[("if-none-match", "\"b\", W/\"a\"")],
            FileDecision::Unchanged,
        );
        check(&[("if-none-match", "*")], FileDecision::Unchanged);
        check(&[("if-none-match", "\"b\"")], FileDecision::Whole);
        // A field may come in several lines.
        check(
            &[("if-none-match", "\"b\""), ("if-none-match", "\"a\"")],
            FileDecision::Unchanged,
        );
        check(
            &[("if-none-match", "\u{e9}"), ("if-none-match", "\"b\"")],
            FileDecision::Whole,
        );
        let (date, earlier) = (
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:36 GMT",
        );
        check(&[("if-modified-since", date)], FileDecision::Unchanged);
        check(&[("if-modified-since", earlier)], FileDecision::Whole);
        check(&[("if-modified-since", "yesterday")], FileDecision::Whole);
        // The tag decides when both are there.
        check(
            &[("if-none-match", "\"b\""), ("if-modified-since", date)],
            FileDecision::Whole,
        );
    }
}
