//! Versions of the protocol. Not the server's versions: each of them speaks several.
//! Rule: a version that is not offered is never agreed on.

use crate::error::Violation;

/// What marks the numbers of Firebird's own versions, which began when InterBase's had reached 10.
const FIREBIRD: u32 = 0x8000;

/// A version of the protocol that both sides can speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Version {
    /// Firebird 3.0.
    V13 = 13,
    /// Firebird 3.0.1: callbacks for keys of encrypted databases.
    V14 = 14,
    /// Firebird 3.0.2: callbacks before the connection is let in.
    V15 = 15,
    /// Firebird 4.0: timeouts of statements, batches.
    V16 = 16,
    /// Firebird 4.0.1: batches that wait less.
    V17 = 17,
}

impl Version {
    /// All, oldest first: the server takes the one of the greatest weight that it knows.
    pub const ALL: [Self; 5] = [Self::V13, Self::V14, Self::V15, Self::V16, Self::V17];

    /// The number on the wire.
    pub fn code(self) -> u32 {
        FIREBIRD | u32::from(self as u8)
    }

    /// The version that the server accepted.
    ///
    /// # Errors
    /// [`Violation::Value`] if it is none of [`Version::ALL`]. Some servers extend the sign of its 16 bits.
    pub fn from_code(code: u32) -> Result<Self, Violation> {
        let unextended = match code >> 16 {
            0xffff => code & 0xffff,
            _ => code,
        };
        Self::ALL
            .into_iter()
            .find(|version| version.code() == unextended)
            .ok_or(Violation::value("the protocol's version", code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_known_by_its_number_with_and_without_extended_sign() {
        for version in Version::ALL {
            assert_eq!(Version::from_code(version.code()), Ok(version));
            assert_eq!(
                Version::from_code(version.code() | 0xffff_0000),
                Ok(version)
            );
        }
    }

    #[test]
    fn version_that_was_not_offered_is_refused() {
        for code in [10, 0x800c, 0x8012, 13, 0x1_800d] {
            assert!(Version::from_code(code).is_err(), "{code:#x}");
        }
    }
}
