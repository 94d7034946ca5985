//! Authentication: SRP with either digest, and the hash of Firebird's older versions. Says which bytes, not in which packets.
//! Rule: a password goes in and never comes out, not even in an error.

mod des;
mod legacy;
mod name;
mod srp;

#[cfg(test)]
mod tests;

pub use self::legacy::legacy_hash;
pub use self::name::login_name;
pub use self::srp::{Proof, Srp};

/// An authentication method, by the name of its plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// SRP whose proof is hashed with SHA-256: the usual one from Firebird 4.0 on.
    Srp256,
    /// SRP whose proof is hashed with SHA-1: the usual one of Firebird 3.0.
    Srp,
    /// A short hash of the first eight bytes, without a key to encrypt with. For old users on servers that allow it.
    Legacy,
}

impl Plugin {
    /// The best first.
    pub const ALL: [Plugin; 3] = [Plugin::Srp256, Plugin::Srp, Plugin::Legacy];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Srp256 => "Srp256",
            Plugin::Srp => "Srp",
            Plugin::Legacy => "Legacy_Auth",
        }
    }

    /// The plugin of this name, as the server says it or a person writes it.
    pub fn from_name(name: &[u8]) -> Option<Plugin> {
        Plugin::ALL
            .into_iter()
            .find(|plugin| plugin.name().as_bytes().eq_ignore_ascii_case(name))
    }
}
