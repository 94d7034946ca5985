//! `macaddr` and `macaddr8`: six and eight bytes, printed with colons.
//! Not a parser of every spelling the server takes. Rule: what is printed reads back the same.

use std::fmt;
use std::str::FromStr;

use bytes::BytesMut;

use super::DecodeError;
use super::read::Reader;
use super::scalar::{Scalar, scalar};

/// A hardware address of six bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

/// A hardware address of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr8(pub [u8; 8]);

macro_rules! mac_address {
    ($rust:ident, $length:literal, $what:literal) => {
        impl fmt::Display for $rust {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (index, byte) in self.0.iter().enumerate() {
                    let colon = if index == 0 { "" } else { ":" };
                    write!(f, "{colon}{byte:02x}")?;
                }
                Ok(())
            }
        }

        impl FromStr for $rust {
            type Err = DecodeError;

            fn from_str(text: &str) -> Result<Self, DecodeError> {
                parse::<$length>(text)
                    .map(Self)
                    .ok_or(DecodeError::Invalid { what: $what })
            }
        }

        impl Scalar for $rust {
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                reader.array().map(Self)
            }

            fn write(&self, out: &mut BytesMut) {
                out.extend_from_slice(&self.0);
            }
        }
    };
}

fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}

mac_address!(MacAddr, 6, "macaddr");
mac_address!(MacAddr8, 8, "macaddr8");

scalar!(MacAddr => MACADDR, MacAddr8 => MACADDR8);
