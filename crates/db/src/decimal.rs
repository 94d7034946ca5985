//! Exact decimal numbers as text: reading, comparing, adding. For a database that has no such type; PostgreSQL's come from its driver.
//! Rule: nothing is rounded; what is no number is never taken for one.

use std::cmp::Ordering;
use std::fmt::Write as _;

use tsumugi_pg_proto::types::Numeric;

/// Digits of a limb.
const LIMB_DIGITS: usize = 9;
const LIMB: i64 = 1_000_000_000;
/// Additions after which limbs are carried over, long before one could overflow.
const CARRY_AFTER: u32 = 1 << 30;

/// A number's digits where they lie in a text, without zeros that do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digits<'t> {
    negative: bool,
    whole: &'t [u8],
    part: &'t [u8],
    /// Digits after the point as they were written, zeros included.
    scale: usize,
}

impl<'t> Digits<'t> {
    /// None if the text is no number, or is one with an exponent.
    pub(crate) fn of(text: &'t str) -> Option<Digits<'t>> {
        let text = text.trim_ascii();
        let (negative, digits) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        let point = digits.iter().position(|byte| *byte == b'.');
        let (whole, part) = match point {
            Some(at) => (&digits[..at], &digits[at + 1..]),
            None => (digits, &digits[digits.len()..]),
        };
        let plain = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
        if (whole.is_empty() && part.is_empty()) || !plain(whole) || !plain(part) {
            return None;
        }
        let scale = part.len();
        let leading = whole.iter().take_while(|byte| **byte == b'0').count();
        let trailing = part.iter().rev().take_while(|byte| **byte == b'0').count();
        let (whole, part) = (&whole[leading..], &part[..part.len() - trailing]);
        Some(Digits {
            negative: negative && !(whole.is_empty() && part.is_empty()),
            whole,
            part,
            scale,
        })
    }

    /// Digits after the point as they were written.
    pub(crate) fn scale(self) -> u16 {
        u16::try_from(self.scale).unwrap_or(u16::MAX)
    }

    /// Appends it with at least so many digits after the point.
    pub(crate) fn write(self, scale: usize, out: &mut Vec<u8>) {
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

/// A number in plain digits, also of a text with an exponent.
pub(crate) fn plain(text: &str) -> Option<String> {
    let number: Numeric = text.trim_ascii().parse().ok()?;
    number.is_finite().then(|| number.to_string())
}

/// The number that a text begins with, 0.0 if it begins with none: what SQLite takes it for.
pub(crate) fn prefix(text: &[u8]) -> f64 {
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
    let number = std::str::from_utf8(&text[..end]).ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Numbers in their order, then what is none, byte by byte.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    if let (Some(one), Some(other)) = (Digits::of(one), Digits::of(other)) {
        return one.cmp(&other);
    }
    let (plain_one, plain_other) = (plain(one), plain(other));
    let digits = |text: &Option<String>| text.as_deref().and_then(Digits::of).is_some();
    match (digits(&plain_one), digits(&plain_other)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => one.cmp(other),
        (true, true) => {
            let (one, other) = (
                plain_one.unwrap_or_default(),
                plain_other.unwrap_or_default(),
            );
            Digits::of(&one).cmp(&Digits::of(&other))
        }
    }
}

/// Whether a number is added or taken away again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Add,
    Remove,
}

/// A sum of exact numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    /// Nine digits each, those before the point first.
    whole: Vec<i64>,
    /// Nine digits each, from the point on.
    part: Vec<i64>,
    scale: usize,
    steps: u32,
}

impl Sum {
    /// Adds a number, or takes it away.
    pub(crate) fn step(&mut self, number: Digits<'_>, step: Step) {
        let sign = if number.negative == (step == Step::Remove) {
            1
        } else {
            -1
        };
        self.scale = self.scale.max(number.scale);
        let value = |digits: &[u8]| {
            digits
                .iter()
                .fold(0, |n, byte| n * 10 + i64::from(byte - b'0'))
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
        for limb in self.part.iter_mut().rev() {
            let sum = *limb + carried;
            (*limb, carried) = (sum.rem_euclid(LIMB), sum.div_euclid(LIMB));
        }
        for limb in &mut self.whole {
            let sum = *limb + carried;
            (*limb, carried) = (sum.rem_euclid(LIMB), sum.div_euclid(LIMB));
        }
        if carried != 0 {
            self.whole.push(carried);
        }
    }

    /// The sum in digits.
    pub(crate) fn text(&self) -> String {
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
    limbs[place] += amount;
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
