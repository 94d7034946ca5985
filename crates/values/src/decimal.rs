//! Exact decimal numbers as text: reading, comparing, adding. Not the numbers of a protocol, which have forms of their own.
//! Rule: nothing is rounded; what is no number is never taken for one.

use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::limits::{INTEGER_DIGITS_MAX, SCALE_MAX};

/// Digits of a limb.
const LIMB_DIGITS: usize = 9;
const LIMB: i64 = 1_000_000_000;
/// Additions after which limbs are carried over, long before one could overflow.
const CARRY_AFTER: u32 = 1 << 30;

/// A number's digits where they lie in a text, without zeros that do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits<'t> {
    negative: bool,
    whole: &'t [u8],
    part: &'t [u8],
    /// Digits after the point as they were written, zeros included.
    scale: usize,
}

impl<'t> Digits<'t> {
    /// None if the text is no number, or is one with an exponent.
    pub fn of(text: &'t str) -> Option<Digits<'t>> {
        let text = text.trim_ascii();
        let (negative, digits) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        let point = digits.iter().position(|byte| *byte == b'.');
        let (whole, part) = match point.and_then(|at| digits.split_at_checked(at)) {
            Some((whole, rest)) => (whole, rest.get(1..).unwrap_or_default()),
            None => (digits, &[][..]),
        };
        let plain = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
        if (whole.is_empty() && part.is_empty()) || !plain(whole) || !plain(part) {
            return None;
        }
        let scale = part.len();
        let leading = whole.iter().take_while(|byte| **byte == b'0').count();
        let trailing = part.iter().rev().take_while(|byte| **byte == b'0').count();
        let whole = whole.get(leading..).unwrap_or_default();
        let part = part.get(..part.len() - trailing).unwrap_or_default();
        Some(Digits {
            negative: negative && !(whole.is_empty() && part.is_empty()),
            whole,
            part,
            scale,
        })
    }

    /// Digits after the point as they were written.
    pub fn scale(self) -> u16 {
        u16::try_from(self.scale).unwrap_or(u16::MAX)
    }

    /// Appends it with at least so many digits after the point.
    pub fn write(self, scale: usize, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        match self.whole {
            [] => out.push(b'0'),
            whole => out.extend_from_slice(whole),
        }
        let scale = scale.max(self.part.len());
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(self.part);
            out.extend(std::iter::repeat_n(b'0', scale - self.part.len()));
        }
    }
}

impl Ord for Digits<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |one: &Self, other: &Self| {
            let whole = one.whole.len().cmp(&other.whole.len());
            let whole = whole.then_with(|| one.whole.cmp(other.whole));
            whole.then_with(|| one.part.cmp(other.part))
        };
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(self, other),
            (true, true) => size(other, self),
        }
    }
}

impl PartialOrd for Digits<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A number in plain digits, also of a text with an exponent. None if the text is no number, or one of more digits than
/// [`INTEGER_DIGITS_MAX`] before the point or [`SCALE_MAX`] behind it.
pub fn plain(text: &str) -> Option<String> {
    let text = text.trim_ascii();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?.into()),
        None => (text, 0_i64),
    };
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(part.bytes());
    if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = (i64::try_from(part.len()).ok()? - exponent).max(0);
    let zeros = digits().take_while(|digit| *digit == b'0').count();
    let digits: Vec<u8> = digits().skip(zeros).collect();
    // How many of the digits stand before the point; negative if zeros follow it.
    let point = i64::try_from(whole.len()).ok()? + exponent - i64::try_from(zeros).ok()?;
    let point = if digits.is_empty() { 0 } else { point };
    if scale > SCALE_MAX || point > INTEGER_DIGITS_MAX {
        return None;
    }
    let digit = |place: i64| {
        let digit = usize::try_from(place)
            .ok()
            .and_then(|place| digits.get(place));
        char::from(digit.copied().unwrap_or(b'0'))
    };
    let mut plain = String::from(if digits.is_empty() { "" } else { sign });
    if point <= 0 {
        plain.push('0');
    }
    plain.extend((0..point).map(digit));
    if scale > 0 {
        plain.push('.');
        plain.extend((point..point + scale).map(digit));
    }
    Some(plain)
}

/// The number that a text begins with, 0.0 if it begins with none: what SQLite takes it for.
pub fn prefix(text: &[u8]) -> f64 {
    let text = text.trim_ascii_start();
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let sign = |at: usize| usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let start = sign(0);
    let mut end = start + digits(start);
    if text.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + sign(end + 1);
        if digits(exponent) > 0 {
            end = exponent + digits(exponent);
        }
    }
    let number = std::str::from_utf8(text.get(..end).unwrap_or_default()).ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

fn digits(text: &Option<String>) -> Option<Digits<'_>> {
    text.as_deref().and_then(Digits::of)
}

/// Numbers in their order, then what is none, byte by byte.
pub fn compare(one: &str, other: &str) -> Ordering {
    if let (Some(one), Some(other)) = (Digits::of(one), Digits::of(other)) {
        return one.cmp(&other);
    }
    let (plain_one, plain_other) = (plain(one), plain(other));
    match (digits(&plain_one).is_some(), digits(&plain_other).is_some()) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => one.cmp(other),
        (true, true) => digits(&plain_one).cmp(&digits(&plain_other)),
    }
}

/// Whether a number is added or taken away again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is added.
    Add,
    /// It is taken away.
    Remove,
}

/// A sum of exact numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    /// Nine digits each, those before the point first.
    whole: Vec<i64>,
    /// Nine digits each, from the point on.
    part: Vec<i64>,
    scale: usize,
    steps: u32,
}

impl Sum {
    /// Adds a number, or takes it away.
    pub fn step(&mut self, number: Digits<'_>, step: Step) {
        let sign = if number.negative == (step == Step::Remove) {
            1
        } else {
            -1
        };
        self.scale = self.scale.max(number.scale);
        let value = |digits: &[u8]| {
            let digits = digits.iter().map(|byte| i64::from(byte - b'0'));
            digits.fold(0, |number, digit| number * 10 + digit)
        };
        for (place, limb) in number.whole.rchunks(LIMB_DIGITS).enumerate() {
            grown(&mut self.whole, place, sign * value(limb));
        }
        for (place, limb) in number.part.chunks(LIMB_DIGITS).enumerate() {
            let missing = u32::try_from(LIMB_DIGITS - limb.len()).unwrap_or(0);
            grown(
                &mut self.part,
                place,
                sign * value(limb) * 10_i64.pow(missing),
            );
        }
        self.steps += 1;
        if self.steps >= CARRY_AFTER {
            self.steps = 0;
            self.carry();
        }
    }

    /// Makes every limb but the last one of the whole part 0 to 999,999,999.
    fn carry(&mut self) {
        let mut carried = 0;
        for limb in self.part.iter_mut().rev().chain(&mut self.whole) {
            let sum = *limb + carried;
            (*limb, carried) = (sum.rem_euclid(LIMB), sum.div_euclid(LIMB));
        }
        if carried != 0 {
            self.whole.push(carried);
        }
    }

    /// The sum in digits.
    pub fn text(&self) -> String {
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.whole.last().is_some_and(|limb| *limb < 0);
        if negative {
            let limbs = sum.whole.iter_mut().chain(&mut sum.part);
            limbs.for_each(|limb| *limb = -*limb);
            sum.carry();
        }
        let mut digits = String::new();
        for limb in sum.whole.iter().rev() {
            let _ = write!(digits, "{limb:09}"); // text takes every write
        }
        let whole = digits.trim_start_matches('0');
        let mut text = String::from(if negative { "-" } else { "" });
        text.push_str(if whole.is_empty() { "0" } else { whole });
        if sum.scale > 0 {
            let mut part = String::new();
            for limb in &sum.part {
                let _ = write!(part, "{limb:09}");
            }
            text.push('.');
            text.extend(part.chars().chain(std::iter::repeat('0')).take(sum.scale));
        }
        text
    }
}

fn grown(limbs: &mut Vec<i64>, place: usize, amount: i64) {
    if limbs.len() <= place {
        limbs.resize(place + 1, 0);
    }
    if let Some(limb) = limbs.get_mut(place) {
        *limb += amount;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_order_however_they_are_written() {
        let ordered = [
            "-100", "-9.5", "-0.01", "0", "0.001", "0.01", "9", "9.99", "10", "100", "1e3", "x",
            "y",
        ];
        for (i, one) in ordered.iter().enumerate() {
            for (j, other) in ordered.iter().enumerate() {
                assert_eq!(compare(one, other), i.cmp(&j), "{one} {other}");
            }
        }
        for (one, other) in [
            ("1", "1.00"),
            ("-0", "0"),
            (" 5 ", "+05"),
            (".5", "0.50"),
            ("1e2", "100"),
        ] {
            assert_eq!(compare(one, other), Ordering::Equal, "{one} {other}");
        }
    }

    #[test]
    fn only_numbers_are_numbers() {
        for text in ["", ".", "-", "1.2.3", "1,5", "0x10", "NaN", "1 2", "- 1"] {
            assert_eq!(Digits::of(text), None, "{text}");
            assert_eq!(plain(text), None, "{text}");
        }
    }

    #[test]
    fn exponents_are_written_out_within_limits() {
        for (text, expected) in [
            ("12.50", Some("12.50")),
            ("+007", Some("7")),
            ("-.5", Some("-0.5")),
            ("1e3", Some("1000")),
            ("-1.25E+1", Some("-12.5")),
            ("125e-4", Some("0.0125")),
            ("0.00e-1", Some("0.000")),
            ("-0", Some("0")),
            ("0e999999999", Some("0")),
            ("1e131072", None),
            ("1e-16384", None),
            ("1e99999999999", None),
            ("1e", None),
            ("e5", None),
        ] {
            assert_eq!(plain(text).as_deref(), expected, "{text}");
        }
        let longest = plain("1e131071").unwrap();
        assert_eq!(longest.len(), 131_072);
        let finest = plain("1e-16383").unwrap();
        assert_eq!(finest.len(), 16_385);
    }

    #[test]
    fn a_text_is_the_number_that_it_begins_with() {
        for (text, expected) in [
            ("12abc", 12.0),
            (" -1.5e2x", -150.0),
            ("7e", 7.0),
            ("7e+", 7.0),
            (".5.5", 0.5),
            ("3.", 3.0),
            ("", 0.0),
            ("-", 0.0),
            (".", 0.0),
            (".e5", 0.0),
            ("inf", 0.0),
            ("NaN", 0.0),
        ] {
            assert_eq!(prefix(text.as_bytes()), expected, "{text}");
        }
    }

    #[track_caller]
    fn check_sum(numbers: &[&str], expected: &str) {
        let mut sum = Sum::default();
        for number in numbers {
            sum.step(Digits::of(number).unwrap(), Step::Add);
        }
        assert_eq!(sum.text(), expected);
        for number in &numbers[1..] {
            sum.step(Digits::of(number).unwrap(), Step::Remove);
        }
        let first = Digits::of(numbers[0]).unwrap();
        let left = sum.text();
        assert_eq!(Digits::of(&left).unwrap().cmp(&first), Ordering::Equal);
    }

    #[test]
    fn sums_are_exact_and_can_be_undone() {
        check_sum(&["0.1", "0.2"], "0.3");
        check_sum(&["1", "-1"], "0");
        check_sum(&["0.10", "-0.3"], "-0.20");
        check_sum(
            &["999999999.999999999", "0.000000001"],
            "1000000000.000000000",
        );
        check_sum(
            &["-1000000000", "0.000000000001"],
            "-999999999.999999999999",
        );
        check_sum(
            &["12345678901234567890123456789.5", "0.5"],
            "12345678901234567890123456790.0",
        );
        check_sum(&["-5", "-7.25", "20"], "7.75");
        check_sum(&["5", "-7.25", "-20"], "-22.25");
    }

    #[test]
    fn digits_are_written_with_the_scale_of_their_column() {
        for (text, scale, expected) in [
            ("5", 2, "5.00"),
            ("-.5", 2, "-0.50"),
            ("007.125", 2, "7.125"),
            ("-0.0", 0, "0"),
            ("10", 0, "10"),
        ] {
            let mut out = Vec::new();
            Digits::of(text).unwrap().write(scale, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
