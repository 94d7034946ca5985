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

const TOO_LONG: Violation =
    Violation::too_many("bytes in one packet of the handshake", PREAUTH_BYTES_MAX);

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
        let Some(packet) = complete(Packet::read(&mut reader, version), &mut 0)? else {
            return match input.len() {
                ..=PREAUTH_BYTES_MAX => Ok(None),
                _ => Err(TOO_LONG.into()),
            };
        };
        let length = reader.position();
        input.advance(length);
        match packet {
            Packet::Ignored => {}
            Packet::Reject => return Err(Refusal::Version.into()),
            Packet::Answer(answer) => return Ok(Some(answer)),
        }
    }
}

/// What one packet comes to.
enum Packet {
    Ignored,
    Reject,
    Answer(Answer),
}

impl Packet {
    fn read(reader: &mut Reader<'_>, version: Option<Version>) -> ReadResult<Self> {
        Ok(Self::Answer(match reader.u32()? {
            op::DUMMY => return Ok(Self::Ignored),
            op::REJECT => return Ok(Self::Reject),
            op::RESPONSE => {
                let response = RawResponse::read(reader)?;
                Answer::Response(response.outcome(Bytes::copy_from_slice))
            }
            op::CRYPT_KEY_CALLBACK => {
                let data = piece(reader)?;
                if has_key_room(version) {
                    reader.u32()?;
                }
                Answer::KeyCallback(data)
            }
            op::CONT_AUTH => {
                let (data, plugin) = (piece(reader)?, piece(reader)?);
                let _plugins = piece(reader)?;
                let keys = piece(reader)?;
                Answer::Continue(Continue { data, plugin, keys })
            }
            op::ACCEPT => Answer::Accept(Accept::read(reader, Demand::Attachment)?),
            op::ACCEPT_DATA => Answer::Accept(Accept::read(reader, Demand::Proof)?),
            op::COND_ACCEPT => Answer::Accept(Accept::read(reader, Demand::Rounds)?),
            op => {
                return Err(Stop::Wrong(Violation::unexpected(
                    op,
                    "an answer of the handshake",
                )));
            }
        }))
    }
}

/// Whether a packet about a key says how much room there is for the other side's. Before a version is agreed on, it does.
fn has_key_room(version: Option<Version>) -> bool {
    version.is_none_or(|version| version >= Version::V14)
}

fn piece(reader: &mut Reader<'_>) -> ReadResult<Bytes> {
    let piece = reader.cstring(PREAUTH_BYTES_MAX, "a part of the handshake")?;
    Ok(Bytes::copy_from_slice(piece))
}

impl Accept {
    fn read(reader: &mut Reader<'_>, demand: Demand) -> ReadResult<Self> {
        let version = reader.u32()?;
        let _architecture = reader.u32()?;
        let transport = reader.u32()?;
        if transport & MASK_TYPE < TYPE_MIN {
            return Err(Violation::value("the transport", transport).into());
        }
        let mut accept = Self {
            version: Version::from_code(version)?,
            compression: match transport & FLAG_COMPRESS {
                0 => Compression::None,
                _ => Compression::Zlib,
            },
            demand,
            turn: Continue::default(),
        };
        if demand != Demand::Attachment {
            accept.turn.data = piece(reader)?;
            accept.turn.plugin = piece(reader)?;
            if reader.u32()? != 0 {
                accept.demand = Demand::Attachment;
            }
            accept.turn.keys = piece(reader)?;
        }
        Ok(accept)
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
