//! `macaddr` and `macaddr8`: six and eight bytes, printed with colons.
//! Not a parser of every spelling the server takes. Rule: what is printed reads back the same.

use std::fmt;

use super::scalar::{from_text, scalar};

/// A hardware address of six bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

/// A hardware address of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr8(pub [u8; 8]);

macro_rules! mac_address {
    ($rust:ident) => {
        impl fmt::Display for $rust {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (index, byte) in self.0.iter().enumerate() {
                    let colon = if index == 0 { "" } else { ":" };
                    write!(f, "{colon}{byte:02x}")?;
                }
                Ok(())
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

mac_address!(MacAddr);
mac_address!(MacAddr8);

from_text! {
    MacAddr "macaddr" |text| parse(text).map(Self);
    MacAddr8 "macaddr8" |text| parse(text).map(Self);
}

scalar!(MacAddr { 0 } => MACADDR, MacAddr8 { 0 } => MACADDR8);
