//! `float4` and `float8`, and their text as the server prints it. Not JSON's numbers; see `json`.
//! Rule: the fewest digits that read back the same, and never a decimal that lies exactly between two floats.

use std::fmt::{self, LowerExp, Write};

use bytes::BytesMut;

use super::decode::{self, parsed};
use super::encode::{self, Encode, Encoded};
use super::integer::fixed;
use super::kind::Shape;
use super::{Decode, DecodeError, EncodeError, Numeric, Oid, Type};

/// The longest of `{:e}` with 16 digits after the point: `-1.2345678901234567e-308`.
const BUFFER_BYTES: usize = 32;

/// A short text on the stack.
struct Buffer {
    bytes: [u8; BUFFER_BYTES],
    length: usize,
}

impl Buffer {
    fn of(arguments: fmt::Arguments<'_>) -> Result<Self, fmt::Error> {
        let mut buffer = Self {
            bytes: [0; BUFFER_BYTES],
            length: 0,
        };
        buffer.write_fmt(arguments)?;
        Ok(buffer)
    }

    fn text(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// What differs between the two widths.
struct Width {
    mantissa_bits: u32,
    /// The first power of ten that is printed with an exponent.
    exponent_from: i32,
}

const FLOAT4: Width = Width {
    mantissa_bits: f32::MANTISSA_DIGITS,
    exponent_from: 6,
};
const FLOAT8: Width = Width {
    mantissa_bits: f64::MANTISSA_DIGITS,
    exponent_from: 15,
};

/// Appends a `float8` as the server prints it.
pub(crate) fn write_f64<W: Write>(out: &mut W, value: f64) -> fmt::Result {
    write_float(out, value, &FLOAT8)
}

/// Appends a `float4` as the server prints it.
pub(crate) fn write_f32<W: Write>(out: &mut W, value: f32) -> fmt::Result {
    write_float(out, value, &FLOAT4)
}

fn write_special<W: Write>(out: &mut W, value: f64) -> fmt::Result {
    out.write_str(if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    })
}

/// Digits after the first one that name every float of either width.
const FRACTION_DIGITS_MAX: usize = 16;

fn write_float<W: Write, F: LowerExp + Into<f64> + Copy>(
    out: &mut W,
    value: F,
    width: &Width,
) -> fmt::Result {
    if !value.into().is_finite() {
        return write_special(out, value.into());
    }
    let shortest = Buffer::of(format_args!("{value:e}"))?;
    let digits = Decimal::of(shortest.text()).ok_or(fmt::Error)?;
    let digits = digits.fraction.len();
    let format = |digits: usize| Buffer::of(format_args!("{value:.digits$e}"));
    // Formatted anew, because of two decimals equally near the shortest form takes either, the server the even one.
    for digits in digits..FRACTION_DIGITS_MAX {
        let buffer = format(digits)?;
        let decimal = Decimal::of(buffer.text()).ok_or(fmt::Error)?;
        if !decimal.is_midpoint(width.mantissa_bits) {
            return decimal.write(out, width.exponent_from);
        }
    }
    let longest = format(FRACTION_DIGITS_MAX)?;
    let decimal = Decimal::of(longest.text()).ok_or(fmt::Error)?;
    decimal.write(out, width.exponent_from)
}

/// `[-]I.FFFFe±X`, taken apart.
struct Decimal<'a> {
    sign: &'a str,
    integer: &'a str,
    fraction: &'a str,
    exponent: i32,
}

impl<'a> Decimal<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once('e')?;
        let (sign, mantissa) = match mantissa.strip_prefix('-') {
            Some(mantissa) => ("-", mantissa),
            None => ("", mantissa),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Some(Self {
            sign,
            integer,
            fraction: fraction.trim_end_matches('0'),
            exponent: exponent.parse().ok()?,
        })
    }

    /// Whether the decimal is exactly half way between two neighbouring floats. Then it reads back the same only where
    /// ties go to even, so the server does not print it. Such a number has one bit more than the mantissa.
    fn is_midpoint(&self, mantissa_bits: u32) -> bool {
        let digits = self.integer.bytes().chain(self.fraction.bytes());
        let number = digits.fold(0_u128, |number, digit| {
            number * 10 + u128::from(digit - b'0')
        });
        let Ok(fraction) = i32::try_from(self.fraction.len()) else {
            return false;
        };
        let power = self.exponent - fraction;
        // 5^27 and 17 digits fit into 128 bits; beyond, no midpoint has so few digits.
        let Some(five) = Some(power.unsigned_abs())
            .filter(|power| *power <= 27)
            .map(|power| 5_u128.pow(power))
        else {
            return false;
        };
        let odd = match power {
            0.. => number * five,
            _ if number % five == 0 => number / five,
            _ => return false,
        };
        odd != 0 && u128::BITS - odd.leading_zeros() - odd.trailing_zeros() == mantissa_bits + 1
    }

    fn write<W: Write>(&self, out: &mut W, exponent_from: i32) -> fmt::Result {
        let Self {
            sign,
            integer,
            fraction,
            exponent,
        } = *self;
        out.write_str(sign)?;
        if exponent < -4 || exponent >= exponent_from {
            let point = if fraction.is_empty() { "" } else { "." };
            return write!(out, "{integer}{point}{fraction}e{exponent:+03}");
        }
        let Ok(whole) = usize::try_from(exponent) else {
            let zeros = exponent.unsigned_abs() - 1;
            out.write_str("0.")?;
            (0..zeros).try_for_each(|_| out.write_char('0'))?;
            return write!(out, "{integer}{fraction}");
        };
        out.write_str(integer)?;
        match fraction.split_at_checked(whole) {
            Some((whole, "")) => out.write_str(whole),
            Some((whole, rest)) => write!(out, "{whole}.{rest}"),
            None => {
                out.write_str(fraction)?;
                (fraction.len()..whole).try_for_each(|_| out.write_char('0'))
            }
        }
    }
}

impl Encode for f64 {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Float4 | Shape::Float8 | Shape::Numeric)
    }

    /// To `float4` the value is rounded as the server would; to `numeric` it goes with the fewest digits that name it.
    #[inline]
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        match ty.shape() {
            Shape::Float8 => out.extend_from_slice(&self.to_be_bytes()),
            Shape::Float4 => {
                let narrow = *self as f32;
                if narrow.is_infinite() && self.is_finite() {
                    return Err(encode::out_of_range(ty));
                }
                out.extend_from_slice(&narrow.to_be_bytes());
            }
            Shape::Numeric => return Numeric::from(*self).encode(ty, out),
            _ => return encode::mismatch(ty, "f64"),
        }
        Encoded::BINARY
    }

    fn type_hint() -> Option<Oid> {
        Some(Type::FLOAT8.oid())
    }
}

impl<'a> Decode<'a> for f64 {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Float4 | Shape::Float8)
    }

    #[inline]
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match ty.shape() {
            Shape::Float8 => fixed(bytes).map(Self::from_be_bytes),
            Shape::Float4 => Ok(Self::from(f32::from_be_bytes(fixed(bytes)?))),
            _ => decode::mismatch(ty, "f64"),
        }
    }

    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match ty.shape() {
            Shape::Float8 => parsed(bytes, "float8"),
            Shape::Float4 => parsed::<f32>(bytes, "float4").map(Self::from),
            _ => decode::mismatch(ty, "f64"),
        }
    }
}

impl Encode for f32 {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Float4 | Shape::Float8)
    }

    #[inline]
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        match ty.shape() {
            Shape::Float4 => out.extend_from_slice(&self.to_be_bytes()),
            Shape::Float8 => out.extend_from_slice(&f64::from(*self).to_be_bytes()),
            _ => return encode::mismatch(ty, "f32"),
        }
        Encoded::BINARY
    }

    fn type_hint() -> Option<Oid> {
        Some(Type::FLOAT4.oid())
    }
}

impl<'a> Decode<'a> for f32 {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Float4)
    }

    #[inline]
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match ty.shape() {
            Shape::Float4 => fixed(bytes).map(Self::from_be_bytes),
            _ => decode::mismatch(ty, "f32"),
        }
    }

    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match ty.shape() {
            Shape::Float4 => parsed(bytes, "float4"),
            _ => decode::mismatch(ty, "f32"),
        }
    }
}
