//! What is said between the first packet and the attachment: how the two sides speak, who the user is, with which cipher.
//! Not the proof of a password and not the order of the exchange: those are `auth`'s and the driver's.
//! Source: protocol chapter "Connect and authenticate". Rule: a server that has not let us in may not send much.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::error::{Misuse, Refusal, Violation};
use crate::limits::PREAUTH_BYTES_MAX;
use crate::response::{Outcome, RawResponse};
use crate::wire::{ReadResult, Reader, Stop, complete, put_cstring, sendable};
use crate::{Compression, Result, Version, op};

const MASK_TYPE: u32 = 0xff;
const FLAG_COMPRESS: u32 = 0x100;
/// Transports that the protocol has, of which only those from here on are Firebird 3's.
const TYPE_MIN: u32 = 3;

const TOO_LONG: Violation = Violation::TooMany {
    what: "bytes in one packet of the handshake",
    max: PREAUTH_BYTES_MAX,
};

/// One packet of the server.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The server speaks one of the offered versions (op_accept, op_accept_data, op_cond_accept).
    Accept(Accept),
    /// Another round of authentication (op_cont_auth).
    Continue(Continue),
    /// An end: of the authentication, with the server's keys as data, or of the attempt, with an error (op_response).
    Response(Outcome),
    /// The server wants the key of an encrypted database (op_crypt_key_callback). [`crypt_key_callback`] answers.
    KeyCallback(Bytes),
}

/// How the server will speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// The protocol's version.
    pub version: Version,
    /// Whether everything after this packet is compressed, both ways.
    pub compression: Compression,
    /// What it wants to know, if it said so.
    pub demand: Demand,
    /// What it says to the plugin.
    pub turn: Continue,
}

/// What the server wants before the attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Nothing (op_accept), or the user is known already: attach.
    Attachment,
    /// The proof inside the attachment's parameters (op_accept_data).
    Proof,
    /// The proof now (op_cond_accept): answer with [`cont_auth`].
    Rounds,
}

/// One turn of the authentication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Continue {
    /// What the plugin has to say.
    pub data: Bytes,
    /// The plugin the server wants. Another than before: begin with that one's first message.
    pub plugin: Bytes,
    /// The ciphers and keys the server knows, as clumplets.
    pub keys: Bytes,
}

/// Cuts the next packet off `input`, if it is all there. `version` is the one that the server accepted, `None` before it did. The answer to
/// the attachment is read here, too: until then the server may want a key.
///
/// # Errors
/// [`crate::Error::Refused`] if the server speaks none of the offered versions; [`crate::Error::Protocol`] if this is no packet of a handshake.
pub fn answer(input: &mut BytesMut, version: Option<Version>) -> Result<Option<Answer>> {
    loop {
        let mut reader = Reader::new(input);
        let mut missing = 0;
        let Some(packet) = complete(Packet::read(&mut reader, version), &mut missing)? else {
            return match input.len() {
                ..=PREAUTH_BYTES_MAX => Ok(None),
                _ => Err(TOO_LONG.into()),
            };
        };
        let length = reader.position();
        let answer = packet.answer(input)?;
        input.advance(length);
        if answer.is_some() {
            return Ok(answer);
        }
    }
}

/// A packet where it lies.
enum Packet<'a> {
    Ignored,
    Reject,
    /// A response of so many bytes.
    Response(usize),
    KeyCallback(&'a [u8]),
    Continue(Turn<'a>),
    Accept(RawAccept<'a>),
}

struct Turn<'a> {
    data: &'a [u8],
    plugin: &'a [u8],
    keys: &'a [u8],
}

struct RawAccept<'a> {
    version: u32,
    transport: u32,
    demand: Demand,
    turn: Turn<'a>,
}

const NO_TURN: Turn<'static> = Turn {
    data: &[],
    plugin: &[],
    keys: &[],
};

impl<'a> Packet<'a> {
    fn read(reader: &mut Reader<'a>, version: Option<Version>) -> ReadResult<Self> {
        Ok(match reader.u32()? {
            op::DUMMY => Self::Ignored,
            op::REJECT => Self::Reject,
            op::RESPONSE => {
                RawResponse::read(reader)?;
                Self::Response(reader.position())
            }
            op::CRYPT_KEY_CALLBACK => {
                let data = piece(reader)?;
                if has_key_room(version) {
                    reader.u32()?;
                }
                Self::KeyCallback(data)
            }
            op::CONT_AUTH => {
                let (data, plugin) = (piece(reader)?, piece(reader)?);
                let _plugins = piece(reader)?;
                let keys = piece(reader)?;
                Self::Continue(Turn { data, plugin, keys })
            }
            op::ACCEPT => Self::Accept(RawAccept::read(reader, Demand::Attachment)?),
            op::ACCEPT_DATA => Self::Accept(RawAccept::read(reader, Demand::Proof)?),
            op::COND_ACCEPT => Self::Accept(RawAccept::read(reader, Demand::Rounds)?),
            op => {
                let expected = "an answer of the handshake";
                return Err(Stop::Wrong(Violation::Unexpected { op, expected }));
            }
        })
    }
}

/// Whether a packet about a key says how much room there is for the other side's. Before a version is agreed on, it does.
fn has_key_room(version: Option<Version>) -> bool {
    version.is_none_or(|version| version >= Version::V14)
}

impl Packet<'_> {
    /// With what it borrows from `input`, which it begins, copied; `None` if it says nothing.
    fn answer(&self, input: &[u8]) -> Result<Option<Answer>> {
        Ok(Some(match self {
            Self::Ignored => return Ok(None),
            Self::Reject => return Err(Refusal::Version.into()),
            Self::Response(length) => {
                let bytes = Bytes::copy_from_slice(input.get(..*length).unwrap_or_default());
                let mut reader = Reader::new(&bytes);
                let read = reader.u32().and_then(|_| RawResponse::read(&mut reader));
                match complete(read, &mut 0)? {
                    Some(response) => Answer::Response(response.outcome(&bytes)),
                    None => return Ok(None),
                }
            }
            Self::KeyCallback(data) => Answer::KeyCallback(Bytes::copy_from_slice(data)),
            Self::Continue(turn) => Answer::Continue(turn.owned()),
            Self::Accept(accept) => Answer::Accept(accept.owned()?),
        }))
    }
}

fn piece<'a>(reader: &mut Reader<'a>) -> ReadResult<&'a [u8]> {
    reader.cstring(PREAUTH_BYTES_MAX, "a part of the handshake")
}

impl Turn<'_> {
    fn owned(&self) -> Continue {
        Continue {
            data: Bytes::copy_from_slice(self.data),
            plugin: Bytes::copy_from_slice(self.plugin),
            keys: Bytes::copy_from_slice(self.keys),
        }
    }
}

impl<'a> RawAccept<'a> {
    fn read(reader: &mut Reader<'a>, demand: Demand) -> ReadResult<Self> {
        let version = reader.u32()?;
        let _architecture = reader.u32()?;
        let transport = reader.u32()?;
        if demand == Demand::Attachment {
            let turn = NO_TURN;
            return Ok(Self {
                version,
                transport,
                demand,
                turn,
            });
        }
        let (data, plugin) = (piece(reader)?, piece(reader)?);
        let authenticated = reader.u32()?;
        let turn = Turn {
            data,
            plugin,
            keys: piece(reader)?,
        };
        let demand = if authenticated == 0 {
            demand
        } else {
            Demand::Attachment
        };
        Ok(Self {
            version,
            transport,
            demand,
            turn,
        })
    }

    fn owned(&self) -> Result<Accept, Violation> {
        if self.transport & MASK_TYPE < TYPE_MIN {
            return Err(Violation::Value {
                what: "the transport",
                value: self.transport,
            });
        }
        Ok(Accept {
            version: Version::from_code(self.version)?,
            compression: match self.transport & FLAG_COMPRESS {
                0 => Compression::None,
                _ => Compression::Zlib,
            },
            demand: self.demand,
            turn: self.turn.owned(),
        })
    }
}

/// Appends op_cont_auth: our turn of the authentication.
///
/// # Errors
/// [`Misuse::Length`]; nothing was written.
pub fn cont_auth(
    out: &mut BytesMut,
    data: &[u8],
    plugin: &str,
    plugins: &str,
) -> Result<(), Misuse> {
    for piece in [data, plugin.as_bytes(), plugins.as_bytes()] {
        sendable(piece, "turn of the authentication")?;
    }
    out.put_u32(op::CONT_AUTH);
    for piece in [data, plugin.as_bytes(), plugins.as_bytes(), &[]] {
        put_cstring(out, piece);
    }
    Ok(())
}

/// Appends op_crypt: from the answer to it on, which is already encrypted, both sides encrypt by `cipher`. Nothing may be sent before that answer has come.
///
/// # Errors
/// [`Misuse::Length`]; nothing was written.
pub fn crypt(out: &mut BytesMut, cipher: &str, key: &str) -> Result<(), Misuse> {
    sendable(cipher.as_bytes(), "cipher's name")?;
    sendable(key.as_bytes(), "key's name")?;
    out.put_u32(op::CRYPT);
    put_cstring(out, cipher.as_bytes());
    put_cstring(out, key.as_bytes());
    Ok(())
}

/// Appends the answer to [`Answer::KeyCallback`]: the key, or nothing to say that there is none. `version` as for [`answer`].
///
/// # Errors
/// [`Misuse::Length`]; nothing was written.
pub fn crypt_key_callback(
    out: &mut BytesMut,
    key: &[u8],
    version: Option<Version>,
) -> Result<(), Misuse> {
    sendable(key, "database's key")?;
    out.put_u32(op::CRYPT_KEY_CALLBACK);
    put_cstring(out, key);
    if has_key_room(version) {
        // Only the server's packets offer room.
        out.put_u32(0);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
