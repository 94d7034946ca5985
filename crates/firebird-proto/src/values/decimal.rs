//! Exact decimal numbers: an integer and where its point is. No arithmetic.
//! Rule: every digit is kept, zeros at the end included: `1.50` is not `1.5`.

use std::fmt;
use std::str::FromStr;

/// A NUMERIC, a DECIMAL or an INT128: `unscaled` × 10^`scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// All its digits.
    pub unscaled: i128,
    /// How many of them stand behind the point, negated; 0 of an integer.
    pub scale: i8,
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.unscaled.unsigned_abs();
        if self.unscaled < 0 {
            f.write_str("-")?;
        }
        match u32::try_from(-i32::from(self.scale)) {
            Ok(0) => write!(f, "{digits}"),
            Ok(behind) => {
                let width = behind as usize + 1;
                let digits = format!("{digits:0>width$}");
                let (before, after) = digits
                    .split_at_checked(digits.len() - behind as usize)
                    .unwrap_or((&digits, ""));
                write!(f, "{before}.{after}")
            }
            // Firebird has none of these; they are still numbers.
            Err(_) if digits == 0 => f.write_str("0"),
            Err(_) => write!(
                f,
                "{digits}{:0>1$}",
                "",
                usize::from(self.scale.unsigned_abs())
            ),
        }
    }
}

impl FromStr for Decimal {
    type Err = NoDecimal;

    /// Reads digits with at most one point and a sign, `-12.50`.
    fn from_str(text: &str) -> Result<Self, NoDecimal> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{before}{after}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NoDecimal);
        }
        let scale = i8::try_from(after.len()).map_err(|_| NoDecimal)?;
        Ok(Self {
            unscaled: format!("{sign}{all}").parse().map_err(|_| NoDecimal)?,
            scale: -scale,
        })
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self {
            unscaled: number.into(),
            scale: 0,
        }
    }
}

/// The text is no decimal number, or one of more digits than fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no decimal number of at most 38 digits")]
pub struct NoDecimal;
