//! Values of a caller as parameters of Firebird. The server makes its column's type of them, as it does with a literal.
//! Rule: nothing is rounded here but the time of day, of which Firebird has ten-thousandths of a second.

use std::borrow::Cow;

use tsumugi_firebird_proto::Value as Sent;
use tsumugi_firebird_proto::values::Timestamp;

use crate::json;
use crate::value::Value;

/// The values of one statement.
pub(super) fn values(values: &[Value]) -> Vec<Sent<'_>> {
    values.iter().map(sent).collect()
}

fn sent(value: &Value) -> Sent<'_> {
    match value {
        Value::Null => Sent::Null,
        Value::Boolean(boolean) => Sent::Boolean(*boolean),
        Value::Integer(integer) => Sent::Integer(*integer),
        Value::Real(real) => Sent::Double(*real),
        Value::Text(text) | Value::Decimal(text) => text_or_time(text),
        Value::Blob(blob) => Sent::Bytes(blob),
        Value::Json(text) => Sent::Text(Cow::Borrowed(text)),
        Value::List(_) => Sent::Text(Cow::Owned(json::text(value))),
    }
}

/// A point in time as other databases take it, such as `2024-02-29T03:04:05.678901Z`, goes in Firebird's own form, because its server reads neither
/// the `T` nor so many digits. A text column gets the same form; every other text goes as it is.
fn text_or_time(text: &str) -> Sent<'_> {
    match timestamp(text) {
        Some(at) => Sent::Text(Cow::Owned(at.to_string())),
        None => Sent::Text(Cow::Borrowed(text)),
    }
}

/// A date, `T`, a time of day and `Z`, all of it. What is finer than Firebird's times is cut off.
fn timestamp(text: &str) -> Option<Timestamp> {
    let local = text.strip_suffix('Z')?;
    // Up to microseconds; a nanosecond has three digits more.
    let (local, finer) = local.split_at_checked(26).unwrap_or((local, ""));
    let is_time = local.as_bytes().get(10) == Some(&b'T')
        && finer.len() <= 3
        && finer.bytes().all(|byte| byte.is_ascii_digit());
    let at = local.parse().ok().filter(|_| is_time)?;
    Timestamp::from_calendar(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let Sent::Text(sent) = text_or_time(text) else {
            panic!("{text} is sent as text");
        };
        assert_eq!(sent, expected);
    }

    #[test]
    fn points_in_time_go_in_the_servers_form() {
        check("2024-02-29T03:04:05Z", "2024-02-29 03:04:05");
        check("2024-02-29T03:04:05.678901Z", "2024-02-29 03:04:05.6789");
        check("2024-02-29T03:04:05.5Z", "2024-02-29 03:04:05.5");
        check("2024-02-29T03:04:05.678912345Z", "2024-02-29 03:04:05.6789");
    }

    #[test]
    fn text_that_is_no_utc_timestamp_is_bound_unchanged() {
        for text in [
            "2023-02-29T03:04:05Z",
            "2024-02-29T03:04Z",
            "2024-02-29T03:04:05",
            "TZ",
            "",
            "24-02-29T03:04:05Z",
            "2024-02-29T03:04:05.Z5Z",
            "2024-02-29T03:04:05.123456xZ",
            "2024-02-29T03:04:05.1234567890Z",
            "2024-02-29T03:04:05 BCZ",
            "0000-02-29T03:04:05Z",
        ] {
            check(text, text);
        }
    }
}
