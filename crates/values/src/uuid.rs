//! UUIDs: sixteen bytes. Not a generator of them.
//! Rule: printed in lower case with hyphens; read in either case, with hyphens in the usual places or none.

use std::fmt;

use crate::error::from_text;

/// A universally unique identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

fn parse(text: &str) -> Option<Uuid> {
    let hyphens = text.len() == 36;
    if !hyphens && text.len() != 32 {
        return None;
    }
    let mut number = 0_u128;
    for (index, byte) in text.bytes().enumerate() {
        if hyphens && matches!(index, 8 | 13 | 18 | 23) {
            (byte == b'-').then_some(())?;
        } else {
            number = number << 4 | u128::from(char::from(byte).to_digit(16)?);
        }
    }
    Some(Uuid(number.to_be_bytes()))
}

from_text!(Uuid "uuid" parse);

#[cfg(feature = "uuid")]
mod convert {
    use super::Uuid;

    impl From<Uuid> for ::uuid::Uuid {
        fn from(uuid: Uuid) -> Self {
            Self::from_bytes(uuid.0)
        }
    }

    impl From<::uuid::Uuid> for Uuid {
        fn from(uuid: ::uuid::Uuid) -> Self {
            Self(uuid.into_bytes())
        }
    }
}
