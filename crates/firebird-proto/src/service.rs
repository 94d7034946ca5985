//! The service manager: what it is attached with, what it says. Of its services only what needs no more than that: the server's version and
//! the lines that a service writes. Users, traces and input to a service are left out.
//! Rule: an answer that was cut is asked for again, it never loses a line.

use bytes::{BufMut, Bytes, BytesMut};

use crate::clumplet::Clumplets;
use crate::error::{Misuse, Violation};
use crate::info;
use crate::parameters::LoginProof;

const SPB_VERSION: u8 = 2;
/// What follows a text that is not the end: it was cut, nothing was ready yet, or the time to wait was over.
const NOT_THE_END: [u8; 3] = [2, 4, 64];

/// Tags of the block of parameters, by their names in the server's interface.
mod tag {
    pub const USER_NAME: u8 = 28;
    pub const SPECIFIC_AUTH_DATA: u8 = 111;
    pub const AUTH_PLUGIN_NAME: u8 = 116;
    pub const AUTH_PLUGIN_LIST: u8 = 117;
    pub const UTF8_FILENAME: u8 = 118;
    pub const DATABASE: u8 = 106;
    pub const VERBOSE: u8 = 107;
    pub const OPTIONS: u8 = 108;
    pub const BACKUP_FILE: u8 = 5;
}

/// What may be asked.
pub mod ask {
    /// The server's version, for people.
    pub const SERVER_VERSION: u8 = 55;
    /// The next line that the service has written.
    pub const LINE: u8 = 62;
    /// As much of what it has written as fits.
    pub const TO_END: u8 = 63;
}

/// The block of parameters to attach with.
///
/// # Errors
/// [`Misuse::ClumpletLength`].
pub fn parameters(login: &str, proof: Option<&LoginProof<'_>>) -> Result<Bytes, Misuse> {
    let mut block = Clumplets::versioned(SPB_VERSION);
    // The version of a version: so it has always been.
    block.flag(SPB_VERSION);
    block.bytes(tag::UTF8_FILENAME, &[], "flag")?;
    block.text(tag::USER_NAME, login, "user name")?;
    if let Some(proof) = proof {
        block.text(tag::AUTH_PLUGIN_NAME, proof.plugin, "plugin's name")?;
        block.text(tag::AUTH_PLUGIN_LIST, proof.plugins, "list of plugins")?;
        block.bytes(tag::SPECIFIC_AUTH_DATA, proof.data, "proof of the password")?;
    }
    Ok(block.finish())
}

/// What a service may do.
#[derive(Debug, Clone, Copy)]
pub enum Action<'a> {
    /// Writes a database to a file of the server, telling what it does line by line.
    Backup {
        /// An alias or a path there.
        database: &'a str,
        /// A path there.
        file: &'a str,
    },
    /// Figures about a database, line by line.
    Statistics {
        /// An alias or a path there.
        database: &'a str,
    },
    /// The server's log, line by line.
    Log,
}

impl Action<'_> {
    /// What op_service_start carries.
    ///
    /// # Errors
    /// [`Misuse::Length`].
    pub fn block(&self) -> Result<Bytes, Misuse> {
        let mut out = BytesMut::new();
        match self {
            Self::Backup { database, file } => {
                out.put_u8(1);
                text(&mut out, tag::DATABASE, database)?;
                text(&mut out, tag::BACKUP_FILE, file)?;
                out.put_u8(tag::VERBOSE);
            }
            Self::Statistics { database } => {
                out.put_u8(11);
                text(&mut out, tag::DATABASE, database)?;
                out.put_u8(tag::OPTIONS);
                out.put_u32_le(0);
            }
            Self::Log => out.put_u8(12),
        }
        Ok(out.freeze())
    }
}

/// Texts of actions have lengths of two bytes.
fn text(out: &mut BytesMut, tag: u8, value: &str) -> Result<(), Misuse> {
    let length = u16::try_from(value.len()).map_err(|_| Misuse::Length {
        what: "service's parameter",
        length: value.len(),
    })?;
    out.put_u8(tag);
    out.put_u16_le(length);
    out.put_slice(value.as_bytes());
    Ok(())
}

/// What a service has said since it was last asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<'a> {
    /// Text, maybe none.
    pub text: &'a [u8],
    /// Whether to ask again.
    pub more: More,
}

/// Whether a service has more to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum More {
    /// The answer was full, or the service has not got there yet: ask again.
    Yes,
    /// Nothing more.
    No,
}

/// Reads the answer to [`ask::TO_END`], [`ask::LINE`] or [`ask::SERVER_VERSION`]. A service has ended when it says nothing.
///
/// # Errors
/// [`Violation::Truncated`].
pub fn said(data: &[u8]) -> Result<Said<'_>, Violation> {
    const CUT: Violation = Violation::Truncated("answer of a service");
    let (_tag, after) = data.split_first().ok_or(CUT)?;
    let (text, rest) = info::value(after).ok_or(CUT)?;
    let cut = rest.first().is_some_and(|byte| NOT_THE_END.contains(byte));
    let more = if text.is_empty() && !cut {
        More::No
    } else {
        More::Yes
    };
    Ok(Said { text, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(data: &[u8], text: &[u8], more: More) {
        assert_eq!(said(data), Ok(Said { text, more }));
    }

    #[test]
    fn a_service_has_ended_when_it_says_nothing() {
        check(b"?\x02\0ab\x01", b"ab", More::Yes);
        check(b"?\x02\0ab\x02\x01", b"ab", More::Yes);
        check(b">\0\0\x04\x01", b"", More::Yes);
        check(b"?\0\0\x01", b"", More::No);
        for cut in [&b""[..], b"?", b"?\x02\0a"] {
            assert!(said(cut).is_err());
        }
    }

    #[test]
    fn block_names_the_user_and_the_login() {
        let proof = LoginProof {
            data: b"AB",
            plugin: "Srp",
            plugins: "Srp",
        };
        let block = parameters("U", Some(&proof)).unwrap();
        assert_eq!(block, b"\x02\x02v\0\x1c\x01Ut\x03Srpu\x03Srpo\x02AB"[..]);
    }

    #[test]
    fn actions_carry_their_parameters() {
        let backup = Action::Backup {
            database: "d",
            file: "f",
        };
        assert_eq!(backup.block().unwrap(), b"\x01j\x01\0d\x05\x01\0fk"[..]);
        let statistics = Action::Statistics { database: "d" };
        assert_eq!(statistics.block().unwrap(), b"\x0bj\x01\0dl\0\0\0\0"[..]);
        assert_eq!(Action::Log.block().unwrap(), b"\x0c"[..]);
        let long = "x".repeat(65_536);
        assert!(Action::Statistics { database: &long }.block().is_err());
    }
}
