//! The first packet of a connection: which database, which user, which versions. Knows no way to prove a password: `auth` fills in its part.
//! Source: protocol chapter "Connect and authenticate". Rule: only versions of [`Version`] are offered.

use bytes::{BufMut, Bytes, BytesMut};

use crate::clumplet::Clumplets;
use crate::error::Misuse;
use crate::limits::CONNECT_DATA_BYTES_MAX;
use crate::wire::{put_cstring, sendable};
use crate::{Version, op};

const CONNECT_VERSION: u32 = 3;
const ARCHITECTURE_GENERIC: u32 = 1;
/// The kind of transport that may delay answers to requests which need none.
const TYPE_LAZY_SEND: u32 = 5;
const FLAG_COMPRESS: u32 = 0x100;

/// Tags of the user's identification.
mod tag {
    pub const OS_USER: u8 = 1;
    pub const HOST: u8 = 4;
    pub const USER_VERIFICATION: u8 = 6;
    pub const SPECIFIC_DATA: u8 = 7;
    pub const PLUGIN_NAME: u8 = 8;
    pub const LOGIN: u8 = 9;
    pub const PLUGIN_LIST: u8 = 10;
    pub const CLIENT_CRYPT: u8 = 11;
}

/// Bytes of data of one part, beside the part's number.
const PART_BYTES: usize = 254;

/// Whether the client encrypts; the numbers are the protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireCrypt {
    /// Never: a server that requires it refuses.
    Disabled = 0,
    /// If the server does.
    Enabled = 1,
    /// Always: a server that does not is refused.
    #[default]
    Required = 2,
}

/// Whether what follows the server's acceptance may be compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// No.
    #[default]
    None,
    /// By zlib, if the server agrees.
    Zlib,
}

/// The client that connects.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// The user's name as [`crate::auth::login_name`] returns it.
    pub login: &'a str,
    /// The way to prove the password that `data` belongs to, such as `Srp256`.
    pub plugin: &'a str,
    /// All ways that are known here, by their names with commas between them, best first.
    pub plugins: &'a str,
    /// The first message of `plugin`.
    pub data: &'a [u8],
    /// Whether to encrypt.
    pub wire_crypt: WireCrypt,
    /// The name of the process's user, for the server's monitoring tables.
    pub os_user: &'a str,
    /// The name of this machine, for the server's monitoring tables.
    pub host: &'a str,
}

impl Identity<'_> {
    fn block(&self) -> Result<Bytes, Misuse> {
        if self.data.len() > CONNECT_DATA_BYTES_MAX {
            return Err(Misuse::Length {
                what: "first message of authentication",
                length: self.data.len(),
            });
        }
        let mut block = Clumplets::default();
        block.text(tag::LOGIN, self.login, "user name")?;
        block.text(tag::PLUGIN_NAME, self.plugin, "plugin's name")?;
        block.text(tag::PLUGIN_LIST, self.plugins, "list of plugins")?;
        for (number, part) in (0..=u8::MAX).zip(self.data.chunks(PART_BYTES)) {
            let numbered = [&[number], part].concat();
            block.bytes(tag::SPECIFIC_DATA, &numbered, "part of authentication")?;
        }
        block.number(tag::CLIENT_CRYPT, self.wire_crypt as u32);
        block.text(tag::OS_USER, self.os_user, "process's user")?;
        block.text(tag::HOST, self.host, "machine's name")?;
        block.bytes(tag::USER_VERIFICATION, &[], "verification")?;
        Ok(block.finish())
    }
}

/// Appends op_connect for `file`: an alias of the server or a path there. The first packet on a connection.
///
/// # Errors
/// A [`Misuse`] if something is too long; nothing was written.
pub fn connect(
    out: &mut BytesMut,
    file: &str,
    identity: &Identity<'_>,
    versions: &[Version],
    compression: Compression,
) -> Result<(), Misuse> {
    sendable(file.as_bytes(), "database's name")?;
    let block = identity.block()?;
    let transport = match compression {
        Compression::None => TYPE_LAZY_SEND,
        Compression::Zlib => TYPE_LAZY_SEND | FLAG_COMPRESS,
    };
    for word in [
        op::CONNECT,
        op::ATTACH,
        CONNECT_VERSION,
        ARCHITECTURE_GENERIC,
    ] {
        out.put_u32(word);
    }
    put_cstring(out, file.as_bytes());
    // The server reads the first ten; there are never that many.
    let offered = versions.iter().take(Version::ALL.len());
    out.put_u32(offered.len().try_into().unwrap_or(0));
    put_cstring(out, &block);
    for version in offered {
        let weight = 2 * (version.code() & 0xff);
        for word in [version.code(), ARCHITECTURE_GENERIC, 0, transport, weight] {
            out.put_u32(word);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTITY: Identity<'_> = Identity {
        login: "U",
        plugin: "Srp",
        plugins: "Srp256,Srp",
        data: b"A1",
        wire_crypt: WireCrypt::Enabled,
        os_user: "o",
        host: "h",
    };

    #[test]
    fn first_packet_names_the_user_and_the_versions() {
        let mut out = BytesMut::new();
        let versions = [Version::V13, Version::V15];
        connect(&mut out, "t", &IDENTITY, &versions, Compression::Zlib).unwrap();
        let mut expected = Vec::new();
        expected.extend(b"\0\0\0\x01\0\0\0\x13\0\0\0\x03\0\0\0\x01\0\0\0\x01t\0\0\0\0\0\0\x02");
        expected.extend(b"\0\0\0\x27\x09\x01U\x08\x03Srp\x0a\x0aSrp256,Srp\x07\x03\0A1\x0b\x04\x01\0\0\0\x01\x01o\x04\x01h\x06\0\0");
        expected.extend(b"\0\0\x80\x0d\0\0\0\x01\0\0\0\0\0\0\x01\x05\0\0\0\x1a");
        expected.extend(b"\0\0\x80\x0f\0\0\0\x01\0\0\0\0\0\0\x01\x05\0\0\0\x1e");
        assert_eq!(
            out.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }

    #[test]
    fn long_data_goes_in_numbered_parts() {
        let identity = Identity {
            data: &[b'A'; 256],
            ..IDENTITY
        };
        let block = identity.block().unwrap();
        let parts: Vec<&[u8]> = [&b"\x07\xff\0AA"[..], b"\x07\x03\x01AA"].into();
        for part in parts {
            assert!(block.windows(part.len()).any(|window| window == part));
        }
    }

    #[test]
    fn name_too_long_for_its_length_is_refused_and_nothing_is_written() {
        let name = "x".repeat(256);
        let identity = Identity {
            login: &name,
            ..IDENTITY
        };
        let mut out = BytesMut::new();
        let misuse = connect(&mut out, "t", &identity, &Version::ALL, Compression::None);
        assert!(matches!(
            misuse,
            Err(Misuse::ClumpletLength { length: 256, .. })
        ));
        assert!(out.is_empty());
    }
}
