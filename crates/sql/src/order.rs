//! Which of two values of a program is the greater, where every database says the same. Knows no columns.
//! Rule: what a collation or a column's type could decide differently has no order here.

use std::borrow::Cow;
use std::cmp::Ordering;

use tsumugi_values::decimal::Digits;

use crate::value::Value;

/// How `left` stands to `right`; none where that is not known.
pub(crate) fn of(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        (Value::Boolean(left), Value::Boolean(right)) => Some(left.cmp(right)),
        (Value::Real(left), Value::Real(right)) => left.partial_cmp(right),
        (Value::Text(left), Value::Text(right)) => of_texts(left, right),
        (Value::Decimal(left), Value::Decimal(right)) if left == right => Some(Ordering::Equal),
        _ => {
            let (left_digits, right_digits) = (digits(left), digits(right));
            let exact = Digits::of(&left_digits).zip(Digits::of(&right_digits));
            let order = match exact {
                Some((left, right)) => Some(left.cmp(&right)),
                // Rounding makes two numbers equal, never the lesser one the greater.
                None => double(left)?.partial_cmp(&double(right)?),
            };
            order.filter(|order| order.is_ne())
        }
    }
}

/// The digits of an exact number; of another value none.
fn digits(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Integer(number) => Cow::Owned(number.to_string()),
        Value::Decimal(digits) => Cow::Borrowed(digits),
        _ => Cow::Borrowed(""),
    }
}

#[expect(clippy::cast_precision_loss, reason = "only the order is asked for")]
fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        Value::Decimal(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// Dates, times and digits, that differ only in digits, stand in one order as such, as numbers and in every collation.
fn of_texts(left: &str, right: &str) -> Option<Ordering> {
    if left == right {
        return Some(Ordering::Equal);
    }
    let pair = |(left, right): (u8, u8)| {
        left == right || (left.is_ascii_digit() && right.is_ascii_digit())
    };
    let is_alike = left.len() == right.len() && left.bytes().zip(right.bytes()).all(pair);
    let is_number = left.starts_with(|first: char| first.is_ascii_digit()) && left.is_ascii();
    let is_same_zone = zone(left) == zone(right);
    (is_alike && is_number && is_same_zone).then(|| left.cmp(right))
}

/// The offset from UTC behind a time, `+09:00`: what is behind it is earlier by that.
fn zone(text: &str) -> &str {
    const DATE: usize = "2026-01-31".len();
    let clock = text.get(DATE..).unwrap_or_default();
    clock
        .find(['+', '-'])
        .and_then(|at| clock.get(at..))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left: impl Into<Value>, right: impl Into<Value>, expected: Option<Ordering>) {
        let (left, right) = (left.into(), right.into());
        assert_eq!(of(&left, &right), expected, "{left:?} {right:?}");
        let reverse = expected.map(Ordering::reverse);
        assert_eq!(of(&right, &left), reverse, "{right:?} {left:?}");
    }

    #[test]
    fn numbers_of_all_kinds_have_an_order() {
        let decimal = |digits: &str| Value::Decimal(digits.to_owned());
        check(5, 1, Some(Ordering::Greater));
        check(2.5, 1.5, Some(Ordering::Greater));
        check(5, 1.5, Some(Ordering::Greater));
        check(decimal("10.5"), decimal("9.75"), Some(Ordering::Greater));
        check(decimal("-1.50"), decimal("-2"), Some(Ordering::Greater));
        check(decimal("1.5"), 1, Some(Ordering::Greater));
        check(i64::MAX, i64::MAX - 1, Some(Ordering::Greater));
        let wide = decimal("1180591620717411303424");
        check(wide.clone(), i64::MAX, Some(Ordering::Greater));
        check(
            wide.clone(),
            decimal("1180591620717411303423"),
            Some(Ordering::Greater),
        );
        check(wide.clone(), decimal("01180591620717411303424.0"), None);
        check(wide, f64::INFINITY, Some(Ordering::Less));
        check(
            i64::MIN,
            decimal("-9223372036854775809"),
            Some(Ordering::Greater),
        );
        check(decimal("-0.5"), 0, Some(Ordering::Less));
        check(decimal("0.05"), decimal("0.5"), Some(Ordering::Less));
        check(decimal(".5"), decimal("-.6"), Some(Ordering::Greater));
        check(decimal("."), 1, None);
        check(f64::NAN, 1.0, None);
        check(1, 1.0, None);
        check(decimal("1.5"), decimal("1.50"), None);
    }

    #[test]
    fn texts_have_an_order_where_only_digits_differ() {
        check("2026-02-01", "2026-01-31", Some(Ordering::Greater));
        check(
            "2026-02-01 10:00:00+09:00",
            "2026-01-31 10:00:00+09:00",
            Some(Ordering::Greater),
        );
        check("5", "1", Some(Ordering::Greater));
        check("b", "b", Some(Ordering::Equal));
        check(
            "2026-02-01 10:00:00+09:00",
            "2026-02-01 09:00:00+01:00",
            None,
        );
        check("10", "9", None);
        check("-5", "-3", None);
        check("b", "a", None);
        check("a2", "a1", None);
        check("5", 1, None);
    }
}
