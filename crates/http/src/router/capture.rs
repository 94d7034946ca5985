//! The types of captures and the values they take from one segment of a path. Pure.
//! A segment that does not have the form of its type is no match, not an error.

use std::borrow::Cow;

use smallvec::SmallVec;

/// What a capture accepts. The order is the order in which captures at the same place are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaptureKind {
    /// An optional `-` and digits that fit 64 bits.
    Integer,
    /// An optional `-`, digits, and optionally a point and digits.
    Float,
    /// Five groups of 8, 4, 4, 4 and 12 hexadecimal digits.
    Uuid,
    /// Any segment that is not empty.
    String,
    /// The rest of the path, slashes included, if it is not empty. Only at the end of a pattern, written `*name`.
    Path,
}

/// The value of a capture.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'p> {
    /// Of [`CaptureKind::Integer`].
    Integer(i64),
    /// Of [`CaptureKind::Float`].
    Float(f64),
    /// Of the other types, percent-decoded.
    Text(Cow<'p, str>),
}

/// The values of a route's captures, in the order of its pattern. Up to three live without an allocation.
pub type CaptureValues<'p> = SmallVec<[Value<'p>; 3]>;

impl CaptureKind {
    pub(super) fn value<'p>(self, segment: &Cow<'p, str>) -> Option<Value<'p>> {
        match self {
            CaptureKind::Integer => integer(segment).map(Value::Integer),
            CaptureKind::Float => float(segment).map(Value::Float),
            CaptureKind::Uuid if !is_uuid(segment) => None,
            CaptureKind::Uuid | CaptureKind::String | CaptureKind::Path if segment.is_empty() => {
                None
            }
            CaptureKind::Uuid | CaptureKind::String | CaptureKind::Path => {
                Some(Value::Text(segment.clone()))
            }
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn integer(text: &str) -> Option<i64> {
    // `parse` alone would also take a leading plus sign.
    is_digits(text.strip_prefix('-').unwrap_or(text))
        .then(|| text.parse().ok())
        .flatten()
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(capture: CaptureKind, segment: &str, expected: Option<Value<'_>>) {
        assert_eq!(
            capture.value(&Cow::Borrowed(segment)),
            expected,
            "{capture:?} {segment:?}"
        );
    }

    #[test]
    fn integers_are_digits_that_fit() {
        check(CaptureKind::Integer, "0042", Some(Value::Integer(42)));
        check(CaptureKind::Integer, "-7", Some(Value::Integer(-7)));
        check(
            CaptureKind::Integer,
            "9223372036854775807",
            Some(Value::Integer(i64::MAX)),
        );
        check(
            CaptureKind::Integer,
            "-9223372036854775808",
            Some(Value::Integer(i64::MIN)),
        );
        for text in [
            "",
            "-",
            "+1",
            "1.0",
            "1e3",
            "9223372036854775808",
            "--1",
            " 1",
            "\u{661}",
        ] {
            check(CaptureKind::Integer, text, None);
        }
    }

    #[test]
    fn floats_are_plain_decimals() {
        check(CaptureKind::Float, "-1.25", Some(Value::Float(-1.25)));
        check(CaptureKind::Float, "3", Some(Value::Float(3.0)));
        let overflow = "9".repeat(400);
        for text in [
            "",
            "-",
            ".5",
            "1.",
            "1e3",
            "NaN",
            "inf",
            "1.2.3",
            overflow.as_str(),
        ] {
            check(CaptureKind::Float, text, None);
        }
    }

    #[test]
    fn uuids_have_five_groups() {
        let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
        check(
            CaptureKind::Uuid,
            uuid,
            Some(Value::Text(Cow::Borrowed(uuid))),
        );
        for text in [
            "",
            "67e5504410b1426f9247bb680e5fe0c8",
            "67e55044-10b1-426f-9247-bb680e5fe0cg",
        ] {
            check(CaptureKind::Uuid, text, None);
        }
    }

    #[test]
    fn strings_are_not_empty() {
        check(
            CaptureKind::String,
            "x",
            Some(Value::Text(Cow::Borrowed("x"))),
        );
        check(CaptureKind::String, "", None);
    }
}
