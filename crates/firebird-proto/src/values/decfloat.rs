//! Decimal floating point of Firebird 4 and later: IEEE 754 decimal64 and decimal128 with densely packed digits. Tested on constructed bytes only.
//! Rule: zeros at the end and the exponent are part of the value, as in the standard: `1.20` is not `1.2`.

use std::fmt;

/// A DECFLOAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecFloat {
    /// `coefficient` × 10^`exponent`, negated if so.
    Finite {
        /// The sign, also of zero.
        sign: Sign,
        /// At most 16 or 34 digits.
        coefficient: u128,
        /// At least -398 or -6176, at most 369 or 6111.
        exponent: i16,
    },
    /// Infinity.
    Infinity(Sign),
    /// Not a number.
    NaN(Sign),
}

/// Whether a number is below zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// It is not.
    Plus,
    /// It is.
    Minus,
}

/// One of the two widths.
struct Width {
    /// Bits of the exponent behind those in the combination.
    exponent_bits: u32,
    /// Groups of three digits behind the first digit.
    declets: u32,
    bias: i32,
}

const DECIMAL64: Width = Width {
    exponent_bits: 8,
    declets: 5,
    bias: 398,
};
const DECIMAL128: Width = Width {
    exponent_bits: 12,
    declets: 11,
    bias: 6_176,
};

impl Width {
    fn declet_bits(&self) -> u32 {
        10 * self.declets
    }

    /// All bits but the sign's, the combination's five and the rest's.
    fn sign_shift(&self) -> u32 {
        self.declet_bits() + self.exponent_bits + 5
    }

    fn decode(&self, bits: u128) -> DecFloat {
        let sign = match bits >> self.sign_shift() & 1 {
            0 => Sign::Plus,
            _ => Sign::Minus,
        };
        let combination = bits >> (self.declet_bits() + self.exponent_bits) & 0x1f;
        let (high, first) = match combination {
            0x1f => return DecFloat::NaN(sign),
            0x1e => return DecFloat::Infinity(sign),
            0x18.. => (combination >> 1 & 3, 8 + (combination & 1)),
            _ => (combination >> 3, combination & 7),
        };
        let low = bits >> self.declet_bits() & ((1 << self.exponent_bits) - 1);
        let biased = high << self.exponent_bits | low;
        let mut coefficient = first;
        for group in (0..self.declets).rev() {
            let declet = bits >> (10 * group) & 0x3ff;
            coefficient = coefficient * 1000 + u128::from(digits(declet));
        }
        // At most 14 bits.
        let exponent = i32::try_from(biased).unwrap_or(0) - self.bias;
        DecFloat::Finite {
            sign,
            coefficient,
            exponent: i16::try_from(exponent).unwrap_or(0),
        }
    }

    /// `None` if it has more digits or another exponent than fit.
    fn encode(&self, value: DecFloat) -> Option<u128> {
        let signed = |sign: Sign| u128::from(sign == Sign::Minus) << self.sign_shift();
        let combined = |bits: u128| bits << (self.declet_bits() + self.exponent_bits);
        let (sign, coefficient, exponent) = match value {
            DecFloat::NaN(sign) => return Some(signed(sign) | combined(0x1f)),
            DecFloat::Infinity(sign) => return Some(signed(sign) | combined(0x1e)),
            DecFloat::Finite {
                sign,
                coefficient,
                exponent,
            } => (sign, coefficient, exponent),
        };
        let biased = u128::try_from(i32::from(exponent) + self.bias).ok()?;
        // Its two highest bits are never both set.
        if biased >> self.exponent_bits >= 3 {
            return None;
        }
        let mut declets = 0;
        let mut rest = coefficient;
        for group in 0..self.declets {
            declets |= u128::from(declet(u16::try_from(rest % 1000).ok()?)) << (10 * group);
            rest /= 1000;
        }
        let high = biased >> self.exponent_bits;
        let combination = match rest {
            0..=7 => high << 3 | rest,
            8 | 9 => 0x18 | high << 1 | (rest & 1),
            _ => return None,
        };
        let low = biased & ((1 << self.exponent_bits) - 1);
        Some(signed(sign) | combined(combination) | low << self.declet_bits() | declets)
    }
}

/// The three digits, as a number below 1000, of ten bits.
fn digits(declet: u128) -> u16 {
    let bit = |at: u32| u16::from(declet >> at & 1 == 1);
    let three = |a: u32, b: u32, c: u32| bit(a) << 2 | bit(b) << 1 | bit(c);
    let eight = |low: u32| 8 + bit(low);
    let (high, middle, low) = if bit(3) == 0 {
        (three(9, 8, 7), three(6, 5, 4), three(2, 1, 0))
    } else {
        match (bit(2), bit(1)) {
            (0, 0) => (three(9, 8, 7), three(6, 5, 4), eight(0)),
            (0, _) => (three(9, 8, 7), eight(4), three(6, 5, 0)),
            (_, 0) => (eight(7), three(6, 5, 4), three(9, 8, 0)),
            _ => match (bit(6), bit(5)) {
                (0, 0) => (eight(7), eight(4), three(9, 8, 0)),
                (0, _) => (eight(7), three(9, 8, 4), eight(0)),
                (_, 0) => (three(9, 8, 7), eight(4), eight(0)),
                _ => (eight(7), eight(4), eight(0)),
            },
        }
    };
    high * 100 + middle * 10 + low
}

/// The ten bits of a number below 1000.
fn declet(number: u16) -> u16 {
    let (high, middle, low) = (number / 100, number / 10 % 10, number % 10);
    let small = |digit: u16| digit < 8;
    // The last bit of a digit always has its own place.
    let last = ((high % 2) << 7) | ((middle % 2) << 4) | (low % 2);
    let (h, m, l) = (high >> 1 & 3, middle >> 1 & 3, low >> 1 & 3);
    last | match (small(high), small(middle), small(low)) {
        (true, true, true) => h << 8 | m << 5 | l << 1,
        (true, true, false) => h << 8 | m << 5 | 0x08,
        (true, false, true) => h << 8 | l << 5 | 0x0a,
        (false, true, true) => l << 8 | m << 5 | 0x0c,
        (false, false, true) => l << 8 | 0x0e,
        (false, true, false) => m << 8 | 0x2e,
        (true, false, false) => h << 8 | 0x4e,
        (false, false, false) => 0x6e,
    }
}

impl DecFloat {
    /// A DECFLOAT(16).
    pub fn from_decimal64(bytes: [u8; 8]) -> Self {
        DECIMAL64.decode(u64::from_be_bytes(bytes).into())
    }

    /// A DECFLOAT(34).
    pub fn from_decimal128(bytes: [u8; 16]) -> Self {
        DECIMAL128.decode(u128::from_be_bytes(bytes))
    }

    /// As a DECFLOAT(16), if it has at most 16 digits and its exponent fits.
    pub fn to_decimal64(self) -> Option<[u8; 8]> {
        let bits = u64::try_from(DECIMAL64.encode(self)?).ok()?;
        Some(bits.to_be_bytes())
    }

    /// As a DECFLOAT(34), if it has at most 34 digits and its exponent fits.
    pub fn to_decimal128(self) -> Option<[u8; 16]> {
        DECIMAL128.encode(self).map(u128::to_be_bytes)
    }
}

impl fmt::Display for DecFloat {
    /// Digits with a point where there are few zeros before them, else with an exponent: `1.20`, `1.2E+8`, `Infinity`, `NaN`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Finite { sign, .. } | Self::Infinity(sign) | Self::NaN(sign)) = self;
        if *sign == Sign::Minus {
            f.write_str("-")?;
        }
        let (coefficient, exponent) = match self {
            Self::NaN(_) => return f.write_str("NaN"),
            Self::Infinity(_) => return f.write_str("Infinity"),
            Self::Finite {
                coefficient,
                exponent,
                ..
            } => (coefficient.to_string(), i32::from(*exponent)),
        };
        let count = i32::try_from(coefficient.len()).unwrap_or(i32::MAX);
        let adjusted = exponent + count - 1;
        let split = |at: usize| {
            coefficient
                .split_at_checked(at)
                .unwrap_or((&coefficient, ""))
        };
        if exponent <= 0 && adjusted >= -6 {
            return match usize::try_from(count + exponent) {
                _ if exponent == 0 => f.write_str(&coefficient),
                Ok(before) if before > 0 => {
                    let (before, after) = split(before);
                    write!(f, "{before}.{after}")
                }
                _ => {
                    let zeros = usize::try_from(-(count + exponent)).unwrap_or(0);
                    write!(f, "0.{:0>zeros$}{coefficient}", "")
                }
            };
        }
        let (first, others) = split(1);
        let point = if others.is_empty() { "" } else { "." };
        write!(f, "{first}{point}{others}E{adjusted:+}")
    }
}
