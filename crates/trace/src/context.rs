//! W3C Trace Context: which trace a request belongs to, as the headers `traceparent` and `tracestate` say it. Knows no activity.
//! Rule: what is malformed is as good as absent; then a new trace begins (section 3.2.2).

use std::fmt;

use http::HeaderMap;

use crate::limits::{TRACESTATE_BYTES_MAX, TRACESTATE_MEMBERS_MAX};

/// Names a trace: 16 bytes, not all of them 0. Printed as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(pub(crate) u128);

/// Names a span of a trace: 8 bytes, not all of them 0. Printed as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(pub(crate) u64);

impl TraceId {
    /// From a number that is unique. 0 becomes 1.
    pub fn of(number: u128) -> TraceId {
        TraceId(number.max(1))
    }

    /// From 32 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<TraceId> {
        digits(text.as_bytes(), 32).map(TraceId)
    }

    /// Its bytes as they are sent.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl SpanId {
    /// From 16 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<SpanId> {
        let number = digits(text.as_bytes(), 16)?;
        u64::try_from(number).ok().map(SpanId)
    }

    /// Its bytes as they are sent.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What a caller says of the trace that its request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: TraceId,
    /// The caller's span.
    pub span_id: SpanId,
    /// Whether the caller records it.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Reads the value of a `traceparent` (section 3.2). None when it is malformed.
    pub fn parse(value: &[u8]) -> Option<TraceParent> {
        let (version, rest) = (value.get(..2)?, value.get(2..)?);
        let version = hexadecimal(version)?;
        // What a later version adds comes behind another dash.
        let is_whole = match (version, rest.get(53)) {
            (0xff, _) => false,
            (_, None) => true,
            (0, Some(_)) => false,
            (_, Some(byte)) => *byte == b'-',
        };
        let dashes = [0, 33, 50];
        if !is_whole || dashes.iter().any(|at| rest.get(*at) != Some(&b'-')) {
            return None;
        }
        let trace_id = digits(rest.get(1..33)?, 32)?;
        let span_id = digits(rest.get(34..50)?, 16)?;
        let flags = hexadecimal(rest.get(51..53)?)?;
        Some(TraceParent {
            trace_id: TraceId(trace_id),
            span_id: SpanId(u64::try_from(span_id).ok()?),
            is_sampled: flags & 1 == 1,
        })
    }

    /// That of a request with these header fields. One that comes more than once is malformed.
    pub fn of_headers(headers: &HeaderMap) -> Option<TraceParent> {
        let mut values = headers.get_all("traceparent").iter();
        match (values.next(), values.next()) {
            (Some(value), None) => TraceParent::parse(value.as_bytes()),
            _ => None,
        }
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.is_sampled);
        write!(f, "00-{}-{}-{flags:02x}", self.trace_id, self.span_id)
    }
}

/// The `tracestate` of a request, as it is to be sent on: its fields joined (section 3.3.1). None when there is none, or it is malformed or longer than
/// [`TRACESTATE_BYTES_MAX`].
pub fn trace_state(headers: &HeaderMap) -> Option<Box<str>> {
    let mut joined = String::new();
    for value in headers.get_all("tracestate") {
        let text = value.to_str().ok()?.trim();
        if joined.len() + text.len() > TRACESTATE_BYTES_MAX {
            return None;
        }
        if !joined.is_empty() && !text.is_empty() {
            joined.push(',');
        }
        joined.push_str(text);
    }
    let members = || joined.split(',').map(str::trim);
    let is_member = |member: &str| member.is_empty() || member.find('=').is_some_and(|at| at > 0);
    let is_sound = joined.len() <= TRACESTATE_BYTES_MAX
        && members().all(is_member)
        && members().filter(|member| !member.is_empty()).count() <= TRACESTATE_MEMBERS_MAX;
    (is_sound && !joined.is_empty()).then(|| joined.into())
}

/// So many lower-case hexadecimal digits that are not all 0.
fn digits(text: &[u8], count: usize) -> Option<u128> {
    if text.len() != count {
        return None;
    }
    hexadecimal(text).filter(|number| *number != 0)
}

/// Up to 32 lower-case hexadecimal digits.
fn hexadecimal(text: &[u8]) -> Option<u128> {
    text.iter().try_fold(0, |number: u128, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    /// Whether a value is taken.
    fn check(value: &str, is_taken: bool) {
        let parsed = TraceParent::parse(value.as_bytes());
        assert_eq!(parsed.is_some(), is_taken, "{value}");
    }

    #[test]
    fn traceparent_is_read_and_written_alike() {
        let parsed = TraceParent::parse(SOUND.as_bytes()).unwrap();
        assert_eq!(parsed.to_string(), SOUND);
        assert!(parsed.is_sampled);
        assert!(
            !TraceParent::parse(SOUND.replace("-01", "-02").as_bytes())
                .unwrap()
                .is_sampled
        );
    }

    #[test]
    fn malformed_traceparent_is_none() {
        check(SOUND, true);
        check("", false);
        check(&SOUND[..54], false);
        check(&format!("{SOUND}-"), false);
        check(&SOUND.to_uppercase(), false);
        check(
            &SOUND.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            false,
        );
        check(&SOUND.replace("00f067aa0ba902b7", &"0".repeat(16)), false);
        check(&SOUND.replacen("00", "ff", 1), false);
        check(&SOUND.replacen('-', "_", 1), false);
        check(&SOUND.replacen("00", "0x", 1), false);
    }

    #[test]
    fn traceparent_of_a_later_version_may_go_on_behind_a_dash() {
        let later = SOUND.replacen("00", "cc", 1);
        check(&later, true);
        check(&format!("{later}-what-follows"), true);
        check(&format!("{later}.what-follows"), false);
    }

    #[test]
    fn traceparent_that_comes_twice_is_none() {
        let mut headers = HeaderMap::new();
        headers.append("traceparent", SOUND.parse().unwrap());
        assert!(TraceParent::of_headers(&headers).is_some());
        headers.append("traceparent", SOUND.parse().unwrap());
        assert!(TraceParent::of_headers(&headers).is_none());
    }

    /// What is carried of these fields.
    fn carried(fields: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append("tracestate", field.parse().unwrap());
        }
        trace_state(&headers).map(String::from)
    }

    #[test]
    fn tracestate_is_joined_and_a_longer_one_is_left() {
        assert_eq!(carried(&[]), None);
        assert_eq!(
            carried(&["a=1, b=2", "c=3"]).as_deref(),
            Some("a=1, b=2,c=3")
        );
        assert_eq!(carried(&["a=1", "nothing"]), None);
        let fits = format!("a={}", "x".repeat(TRACESTATE_BYTES_MAX - 2));
        assert_eq!(carried(&[&fits]), Some(fits.clone()));
        assert_eq!(carried(&[&format!("{fits}x")]), None);
        let members = vec!["a=1"; TRACESTATE_MEMBERS_MAX].join(",");
        assert_eq!(carried(&[&members]), Some(members.clone()));
        assert_eq!(carried(&[&members, "b=2"]), None);
    }
}
