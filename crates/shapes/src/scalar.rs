//! Texts from clients as single values: whole numbers, numbers, truths. Pure.
//! Rule: a text that is not written exactly as such a value is none; nothing is trimmed or guessed.

/// Digits of the longest 64 bit integers.
const DIGITS_MAX: usize = 19;

/// A decimal integer of 64 bits.
pub fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let decimal =
        (1..=DIGITS_MAX).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    decimal.then(|| text.parse().ok()).flatten()
}

/// A finite number: digits, more of them behind a point, and an exponent.
pub fn number(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if !is_digits(digits) {
            return None;
        }
    }
    let written = is_plain_decimal(mantissa).then(|| text.parse::<f64>().ok());
    written.flatten().filter(|number| number.is_finite())
}

/// Digits, and more of them behind a point: what Rust and Ruby read alike.
pub fn is_plain_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    match unsigned.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(unsigned),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A truth in one of the words that forms and JSON have for it.
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "1" | "on" | "yes" => Some(true),
        "false" | "0" | "off" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_decimal_and_of_64_bits() {
        for (text, expected) in [
            ("0", Some(0)),
            ("-7", Some(-7)),
            ("007", Some(7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("00000000000000000001", None),
            ("", None),
            ("-", None),
            ("+1", None),
            ("1_000", None),
            ("1.0", None),
            (" 1", None),
            ("１", None),
        ] {
            assert_eq!(integer(text), expected, "{text:?}");
        }
    }

    #[test]
    fn plain_decimals_have_digits_on_both_sides_of_a_point() {
        for text in ["1", "-1.5", "0.25", "007"] {
            assert!(is_plain_decimal(text), "{text:?}");
        }
        for text in ["", "-", ".5", "1.", "1e3", "+1", "1_0", "1.2.3", "NaN"] {
            assert!(!is_plain_decimal(text), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_finite_and_have_an_exponent_of_digits() {
        for (text, expected) in [
            ("1.5e3", Some(1500.0)),
            ("-1E-2", Some(-0.01)),
            ("1e", None),
            ("1e+", None),
            ("1e999", None),
            ("NaN", None),
            ("inf", None),
            ("0x10", None),
        ] {
            assert_eq!(number(text), expected, "{text:?}");
        }
    }
}
