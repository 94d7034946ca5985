//! `inet` and `cidr`: an address, how many of its bits name the network, and which of the two types it is.
//! Not a set of networks. Rule: a `cidr` prints its bits always, an `inet` only when they are not all.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::BytesMut;

use super::read::Reader;
use super::scalar::{Scalar, from_text, scalar};
use super::{Decode, DecodeError, Encode, EncodeError, Encoded, Oid, Type};

/// The server's numbers for the families, which are not every system's.
const FAMILY_4: u8 = 2;
const FAMILY_6: u8 = 3;
const INVALID: DecodeError = DecodeError::Invalid { what: "inet" };

/// An address with the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inet {
    address: IpAddr,
    prefix: u8,
    network: bool,
}

impl Inet {
    /// An `inet`: a host's address and the length of its network's prefix in bits; `None` if that is too long.
    pub fn host(address: IpAddr, prefix: u8) -> Option<Self> {
        (prefix <= width(address)).then_some(Self {
            address,
            prefix,
            network: false,
        })
    }

    /// A `cidr`: a network's address and the length of its prefix in bits; `None` if that is too long.
    pub fn network(address: IpAddr, prefix: u8) -> Option<Self> {
        Some(Self {
            network: true,
            ..Self::host(address, prefix)?
        })
    }

    /// The address.
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// The length of the network's prefix in bits.
    pub const fn prefix(self) -> u8 {
        self.prefix
    }
}

const fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

impl fmt::Display for Inet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            // The server also writes the last four bytes with dots where the first twelve are zero.
            IpAddr::V6(address) => match address.segments() {
                [0, 0, 0, 0, 0, 0, high, low] if high != 0 => {
                    let [a, b] = high.to_be_bytes();
                    let [c, d] = low.to_be_bytes();
                    write!(f, "::{a}.{b}.{c}.{d}")?;
                }
                _ => write!(f, "{address}")?,
            },
            IpAddr::V4(address) => write!(f, "{address}")?,
        }
        if self.network || self.prefix != width(self.address) {
            write!(f, "/{}", self.prefix)?;
        }
        Ok(())
    }
}

/// Reads an `inet`; for a `cidr`'s text the prefix is there but the type is not known.
fn parse(text: &str) -> Option<Inet> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address.parse().ok()?, prefix.parse().ok()?),
        None => {
            let address = text.parse().ok()?;
            (address, width(address))
        }
    };
    Inet::host(address, prefix)
}

from_text! {
    Inet "inet" parse;
}

impl Scalar for Inet {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [family, prefix, network, length] = reader.array()?;
        let address = match (family, length) {
            (FAMILY_4, 4) => IpAddr::V4(Ipv4Addr::from(reader.array::<4>()?)),
            (FAMILY_6, 16) => IpAddr::V6(Ipv6Addr::from(reader.array::<16>()?)),
            _ => return Err(INVALID),
        };
        let inet = match network {
            0 => Self::host(address, prefix),
            1 => Self::network(address, prefix),
            _ => None,
        };
        inet.ok_or(INVALID)
    }

    fn write(&self, out: &mut BytesMut) {
        let network = u8::from(self.network);
        match self.address {
            IpAddr::V4(address) => {
                out.extend_from_slice(&[FAMILY_4, self.prefix, network, 4]);
                out.extend_from_slice(&address.octets());
            }
            IpAddr::V6(address) => {
                out.extend_from_slice(&[FAMILY_6, self.prefix, network, 16]);
                out.extend_from_slice(&address.octets());
            }
        }
    }
}

scalar!(Inet => INET);

impl From<IpAddr> for Inet {
    fn from(address: IpAddr) -> Self {
        Self {
            address,
            prefix: width(address),
            network: false,
        }
    }
}

impl Encode for IpAddr {
    fn accepts(ty: &Type) -> bool {
        <Inet as Encode>::accepts(ty)
    }

    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        Inet::from(*self).encode(ty, out)
    }

    fn type_hint() -> Option<Oid> {
        Some(Type::INET.oid())
    }
}

impl<'a> Decode<'a> for IpAddr {
    fn accepts(ty: &Type) -> bool {
        <Inet as Decode>::accepts(ty)
    }

    /// Fails with `OutOfRange` for a network.
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        alone(Inet::from_binary(ty, bytes)?)
    }

    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        alone(Inet::from_text(ty, bytes)?)
    }
}

fn alone(inet: Inet) -> Result<IpAddr, DecodeError> {
    if inet.prefix == width(inet.address) {
        Ok(inet.address)
    } else {
        Err(DecodeError::OutOfRange { rust: "IpAddr" })
    }
}
