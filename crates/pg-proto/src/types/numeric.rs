//! `numeric`: decimal digits in groups of four, exactly as the server has them. Not a calculator.
//! Rule: no digit, no zero at the end and no special value is lost on the way, in either direction.

use std::fmt::{self, Write};
use std::str::FromStr;

use bytes::BytesMut;

use super::DecodeError;
use super::read::Reader;
use super::scalar::{Scalar, scalar};
use crate::limits::{NUMERIC_INTEGER_DIGITS_MAX, NUMERIC_SCALE_MAX};

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEG_INFINITY: u16 = 0xf000;
/// What the server sends as the scale of an infinity.
const INFINITY_SCALE: u16 = 0x20;
/// Decimal digits of a group.
const GROUP_DIGITS: usize = 4;
const GROUP_MAX: u16 = 9_999;
const INVALID: DecodeError = DecodeError::Invalid { what: "numeric" };

/// The sign of a [`Numeric`], or which special value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// Zero or more.
    Positive,
    /// Less than zero.
    Negative,
    /// Not a number.
    NaN,
    /// Infinity (version 14 and later).
    Infinity,
    /// Minus infinity (version 14 and later).
    NegInfinity,
}

/// An exact decimal number. Two are equal if they print the same, so `1.0` and `1.00` are not.
///
/// ```
/// use tsumugi_pg_proto::types::Numeric;
///
/// let price: Numeric = "1234567890.0123456789000".parse()?;
/// assert_eq!(price.to_string(), "1234567890.0123456789000");
/// # Ok::<(), tsumugi_pg_proto::types::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Numeric {
    sign: Sign,
    weight: i16,
    scale: u16,
    groups: Vec<u16>,
}

impl Numeric {
    /// Not a number.
    pub const NAN: Self = Self::special(Sign::NaN);
    /// Infinity. Servers before version 14 refuse it.
    pub const INFINITY: Self = Self::special(Sign::Infinity);
    /// Minus infinity. Servers before version 14 refuse it.
    pub const NEG_INFINITY: Self = Self::special(Sign::NegInfinity);

    const fn special(sign: Sign) -> Self {
        Self {
            sign,
            weight: 0,
            scale: 0,
            groups: Vec::new(),
        }
    }

    /// The sign, or which special value this is.
    pub const fn sign(&self) -> Sign {
        self.sign
    }

    /// Whether this is a number, and no infinity.
    pub const fn is_finite(&self) -> bool {
        matches!(self.sign, Sign::Positive | Sign::Negative)
    }

    /// How many digits are printed after the point.
    pub const fn scale(&self) -> u16 {
        self.scale
    }

    /// The power of 10,000 of the first group.
    pub const fn weight(&self) -> i16 {
        self.weight
    }

    /// Digits in groups of four, each below 10,000, the most significant first.
    pub fn groups(&self) -> &[u16] {
        &self.groups
    }

    /// The nearest float, infinite for what is too large.
    pub fn to_f64(&self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

/// A numeric where it lies in a message: checked, not copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumericRef<'a> {
    sign: Sign,
    weight: i16,
    scale: u16,
    groups: &'a [[u8; 2]],
}

impl<'a> NumericRef<'a> {
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = usize::from(reader.u16()?);
        let weight = reader.i16()?;
        let sign = match reader.u16()? {
            POSITIVE => Sign::Positive,
            NEGATIVE => Sign::Negative,
            NAN => Sign::NaN,
            INFINITY => Sign::Infinity,
            NEG_INFINITY => Sign::NegInfinity,
            _ => return Err(INVALID),
        };
        let scale = reader.u16()?;
        let (groups, _) = reader.bytes(count * 2)?.as_chunks::<2>();
        let sound = groups
            .iter()
            .all(|group| u16::from_be_bytes(*group) <= GROUP_MAX);
        if !sound || scale > NUMERIC_SCALE_MAX {
            return Err(INVALID);
        }
        Ok(Self {
            sign,
            weight,
            scale,
            groups,
        })
    }

    pub fn scan(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let numeric = Self::read(&mut reader)?;
        reader.end()?;
        Ok(numeric)
    }

    pub const fn is_finite(self) -> bool {
        matches!(self.sign, Sign::Positive | Sign::Negative)
    }

    pub fn write_text<W: Write>(self, out: &mut W) -> fmt::Result {
        let group = |index| {
            self.groups
                .get(index)
                .map(|group| u16::from_be_bytes(*group))
        };
        write_decimal(out, self.sign, self.weight, self.scale, group)
    }
}

/// Prints the number whose `index`th group is `group(index)`, or 0 beyond the last one.
fn write_decimal<W: Write>(
    out: &mut W,
    sign: Sign,
    weight: i16,
    scale: u16,
    group: impl Fn(usize) -> Option<u16>,
) -> fmt::Result {
    match sign {
        Sign::NaN => return out.write_str("NaN"),
        Sign::Infinity => return out.write_str("Infinity"),
        Sign::NegInfinity => return out.write_str("-Infinity"),
        Sign::Negative => out.write_char('-')?,
        Sign::Positive => {}
    }
    // How many groups stand before the point; negative if zeros follow it.
    let whole = i32::from(weight) + 1;
    let at = |index: i32| usize::try_from(index).ok().and_then(&group).unwrap_or(0);
    if whole <= 0 {
        out.write_char('0')?;
    } else {
        write!(out, "{}", at(0))?;
        for index in 1..whole {
            write_group(out, at(index), GROUP_DIGITS)?;
        }
    }
    if scale == 0 {
        return Ok(());
    }
    out.write_char('.')?;
    let mut left = usize::from(scale);
    let mut index = whole;
    while left > 0 {
        let digits = left.min(GROUP_DIGITS);
        write_group(out, at(index), digits)?;
        left -= digits;
        index += 1;
    }
    Ok(())
}

/// The first `digits` digits of a group.
fn write_group<W: Write>(out: &mut W, group: u16, digits: usize) -> fmt::Result {
    let places = [group / 1_000, group / 100 % 10, group / 10 % 10, group % 10];
    for place in places.iter().take(digits) {
        let digit = u8::try_from(*place).unwrap_or(0);
        out.write_char(char::from(b'0' + digit))?;
    }
    Ok(())
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |index| self.groups.get(index).copied();
        write_decimal(f, self.sign, self.weight, self.scale, group)
    }
}

/// `[+-]digits[.digits][e[+-]digits]`, or one of the special values.
fn parse(text: &str) -> Option<Numeric> {
    match text {
        "NaN" => return Some(Numeric::NAN),
        "Infinity" => return Some(Numeric::INFINITY),
        "-Infinity" => return Some(Numeric::NEG_INFINITY),
        _ => {}
    }
    let (sign, text) = match text.as_bytes().first()? {
        b'-' => (Sign::Negative, text.get(1..)?),
        b'+' => (Sign::Positive, text.get(1..)?),
        _ => (Sign::Positive, text),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = i64::try_from(fraction.len()).ok()? - i64::from(exponent);
    let scale = u16::try_from(scale.max(0))
        .ok()
        .filter(|scale| *scale <= NUMERIC_SCALE_MAX)?;
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    from_digits(sign, digits(), point, scale)
}

/// The number of `digits` (ASCII) with its point after `point` of them.
fn from_digits(
    sign: Sign,
    digits: impl Iterator<Item = u8> + Clone,
    point: i64,
    scale: u16,
) -> Option<Numeric> {
    let zeros = digits.clone().take_while(|digit| *digit == b'0').count();
    let digits: Vec<u8> = digits.skip(zeros).map(|digit| digit - b'0').collect();
    let point = point - i64::try_from(zeros).ok()?;
    if digits.is_empty() {
        return Some(Numeric {
            scale,
            ..Numeric::special(Sign::Positive)
        });
    }
    if point > NUMERIC_INTEGER_DIGITS_MAX {
        return None;
    }
    let padding = usize::try_from((-point).rem_euclid(4)).ok()?;
    let weight = (point + i64::try_from(padding).ok()?) / 4 - 1;
    let padded: Vec<u8> = std::iter::repeat_n(0, padding).chain(digits).collect();
    let mut groups: Vec<u16> = padded
        .chunks(GROUP_DIGITS)
        .map(|chunk| {
            let digit = |index| u16::from(chunk.get(index).copied().unwrap_or(0));
            digit(0) * 1_000 + digit(1) * 100 + digit(2) * 10 + digit(3)
        })
        .collect();
    while groups.last() == Some(&0) {
        groups.pop();
    }
    Some(Numeric {
        sign,
        weight: i16::try_from(weight).ok()?,
        scale,
        groups,
    })
}

impl FromStr for Numeric {
    type Err = DecodeError;

    /// Reads what the server prints, and exponents.
    ///
    /// # Errors
    /// `Invalid` for anything else, and for more digits than the server takes.
    fn from_str(text: &str) -> Result<Self, DecodeError> {
        parse(text).ok_or(INVALID)
    }
}

impl From<i128> for Numeric {
    fn from(number: i128) -> Self {
        let mut rest = number.unsigned_abs();
        let mut groups = Vec::new();
        while rest > 0 {
            groups.push(u16::try_from(rest % 10_000).unwrap_or(0));
            rest /= 10_000;
        }
        groups.reverse();
        let weight = i16::try_from(groups.len()).map_or(0, |count| (count - 1).max(0));
        while groups.last() == Some(&0) {
            groups.pop();
        }
        Self {
            sign: if number < 0 {
                Sign::Negative
            } else {
                Sign::Positive
            },
            weight,
            scale: 0,
            groups,
        }
    }
}

impl From<i64> for Numeric {
    fn from(number: i64) -> Self {
        Self::from(i128::from(number))
    }
}

impl From<f64> for Numeric {
    /// The decimal with the fewest digits that names the float.
    fn from(number: f64) -> Self {
        match number {
            f64::INFINITY => Self::INFINITY,
            f64::NEG_INFINITY => Self::NEG_INFINITY,
            // Of NaN it is no number either.
            _ => format!("{number:e}").parse().unwrap_or(Self::NAN),
        }
    }
}

impl TryFrom<&Numeric> for i128 {
    type Error = DecodeError;

    /// Fails for fractions other than zeros, special values and what is too large.
    fn try_from(numeric: &Numeric) -> Result<Self, DecodeError> {
        let out_of_range = || DecodeError::OutOfRange { rust: "integer" };
        let whole = usize::try_from(i32::from(numeric.weight) + 1).unwrap_or(0);
        let fraction = numeric.groups.get(whole..).unwrap_or_default();
        if !numeric.is_finite() || fraction.iter().any(|group| *group != 0) {
            return Err(out_of_range());
        }
        // No group after the first may be skipped, and 40 digits are more than fit.
        if whole > 10 && !numeric.groups.is_empty() {
            return Err(out_of_range());
        }
        let mut number: Self = 0;
        for index in 0..whole {
            let group = Self::from(numeric.groups.get(index).copied().unwrap_or(0));
            let group = if numeric.sign == Sign::Negative {
                -group
            } else {
                group
            };
            number = number
                .checked_mul(10_000)
                .and_then(|number| number.checked_add(group))
                .ok_or_else(out_of_range)?;
        }
        Ok(number)
    }
}

impl TryFrom<&Numeric> for i64 {
    type Error = DecodeError;

    /// Fails for fractions other than zeros, special values and what is too large.
    fn try_from(numeric: &Numeric) -> Result<Self, DecodeError> {
        Self::try_from(i128::try_from(numeric)?)
            .map_err(|_| DecodeError::OutOfRange { rust: "i64" })
    }
}

impl Scalar for Numeric {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let numeric = NumericRef::read(reader)?;
        if !numeric.is_finite() {
            return Ok(Self::special(numeric.sign));
        }
        Ok(Self {
            sign: numeric.sign,
            weight: numeric.weight,
            scale: numeric.scale,
            groups: numeric
                .groups
                .iter()
                .map(|group| u16::from_be_bytes(*group))
                .collect(),
        })
    }

    fn write(&self, out: &mut BytesMut) {
        let (sign, scale) = match self.sign {
            Sign::Positive => (POSITIVE, self.scale),
            Sign::Negative => (NEGATIVE, self.scale),
            Sign::NaN => (NAN, 0),
            Sign::Infinity => (INFINITY, INFINITY_SCALE),
            Sign::NegInfinity => (NEG_INFINITY, INFINITY_SCALE),
        };
        // As many groups as a numeric can have are fewer than 65,536.
        let count = u16::try_from(self.groups.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&self.weight.to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&scale.to_be_bytes());
        for group in &self.groups {
            out.extend_from_slice(&group.to_be_bytes());
        }
    }
}

scalar!(Numeric => NUMERIC);
