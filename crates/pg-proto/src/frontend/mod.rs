//! Messages to the server, each appended to the caller's buffer. Knows no order of messages: that is [`crate::connection`].
//! Names and layouts are those of the manual's chapter "Message Formats".
//! Rule: an error leaves the buffer exactly as it was; what is appended is whole and sound.

mod bind;

use bytes::{BufMut, BytesMut};

pub use bind::{BindWriter, ResultFormats, bind};

use crate::error::Misuse;
use crate::limits::{
    CANCEL_SECRET_BYTES_MAX, MESSAGE_BYTES_MAX, PARAMETERS_MAX, STARTUP_BYTES_MAX,
};
use crate::types::Oid;
use crate::wire::{close, framed, message, patch, put_text};

/// Protocol 3.0, as the server wants it: major version in the upper half.
const PROTOCOL_3_0: u32 = 3 << 16;
/// What stands for a version in a request for encryption.
const SSL_REQUEST_CODE: u32 = 80_877_103;
/// What stands for a version in a request to cancel.
const CANCEL_REQUEST_CODE: u32 = 80_877_102;

/// Asks whether the server encrypts. It answers with one byte, `S` or `N`, before anything else is sent.
pub fn ssl_request(out: &mut BytesMut) {
    out.put_u32(8);
    out.put_u32(SSL_REQUEST_CODE);
}

/// Opens the connection with `parameters` such as `user`, `database`, `client_encoding`, in pairs of name and value.
///
/// # Errors
/// [`Misuse::Nul`], and [`Misuse::StartupLength`] beyond [`STARTUP_BYTES_MAX`].
pub fn startup<'a>(
    out: &mut BytesMut,
    parameters: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), Misuse> {
    framed(out, |out| {
        let start = out.len();
        out.put_u32(PROTOCOL_3_0);
        for (name, value) in parameters {
            if out.len() - start + name.len() + value.len() > STARTUP_BYTES_MAX {
                return Err(Misuse::StartupLength);
            }
            put_text(out, name, "setting's name")?;
            put_text(out, value, "setting's value")?;
        }
        out.put_u8(0);
        if out.len() - start + 4 > STARTUP_BYTES_MAX {
            return Err(Misuse::StartupLength);
        }
        Ok(())
    })
}

/// Asks a server, on a connection of its own, to stop what the connection with this key does. There is no answer.
///
/// # Errors
/// [`Misuse::MessageLength`] for a secret above [`CANCEL_SECRET_BYTES_MAX`].
pub fn cancel_request(out: &mut BytesMut, process_id: u32, secret: &[u8]) -> Result<(), Misuse> {
    if secret.len() > CANCEL_SECRET_BYTES_MAX {
        return Err(Misuse::MessageLength);
    }
    framed(out, |out| {
        out.put_u32(CANCEL_REQUEST_CODE);
        out.put_u32(process_id);
        out.put_slice(secret);
        Ok(())
    })
}

/// A password in clear, or the answer to an MD5 request.
///
/// # Errors
/// [`Misuse::Nul`].
pub fn password(out: &mut BytesMut, password: &str) -> Result<(), Misuse> {
    message(out, b'p', |out| put_text(out, password, "password"))
}

/// Chooses a SASL mechanism and sends its first message.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn sasl_initial(out: &mut BytesMut, mechanism: &str, first: &[u8]) -> Result<(), Misuse> {
    message(out, b'p', |out| {
        put_text(out, mechanism, "mechanism")?;
        let length = u32::try_from(first.len()).map_err(|_| Misuse::MessageLength)?;
        out.put_u32(length);
        put_bytes(out, first)
    })
}

/// A later message of a SASL exchange.
///
/// # Errors
/// [`Misuse::MessageLength`].
pub fn sasl_response(out: &mut BytesMut, data: &[u8]) -> Result<(), Misuse> {
    message(out, b'p', |out| put_bytes(out, data))
}

/// Prepares `sql` under the name `statement` (`""` is the unnamed one). `types` gives parameters their types; 0 and what
/// is left out are the server's choice.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::ParameterCount`], [`Misuse::MessageLength`].
pub fn parse(out: &mut BytesMut, statement: &str, sql: &str, types: &[Oid]) -> Result<(), Misuse> {
    message(out, b'P', |out| {
        put_text(out, statement, "statement's name")?;
        put_text(out, sql, "SQL text")?;
        out.put_u16(count(types.len())?);
        for oid in types {
            out.put_u32(*oid);
        }
        Ok(())
    })
}

/// Asks for a statement's parameters and columns.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn describe_statement(out: &mut BytesMut, statement: &str) -> Result<(), Misuse> {
    named(out, b'D', b'S', statement, "statement's name")
}

/// Asks for a portal's columns.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn describe_portal(out: &mut BytesMut, portal: &str) -> Result<(), Misuse> {
    named(out, b'D', b'P', portal, "portal's name")
}

/// Forgets a statement. One that does not exist is no error.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn close_statement(out: &mut BytesMut, statement: &str) -> Result<(), Misuse> {
    named(out, b'C', b'S', statement, "statement's name")
}

/// Forgets a portal. One that does not exist is no error.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn close_portal(out: &mut BytesMut, portal: &str) -> Result<(), Misuse> {
    named(out, b'C', b'P', portal, "portal's name")
}

/// Runs a portal for at most `rows_max` rows; 0 is all of them.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn execute(out: &mut BytesMut, portal: &str, rows_max: u32) -> Result<(), Misuse> {
    // The server reads the number as signed and takes zero or less for no limit.
    let rows_max = rows_max.min(i32::MAX.unsigned_abs());
    if portal.is_empty() {
        let mut whole = [b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];
        whole[6..].copy_from_slice(&rows_max.to_be_bytes());
        out.put_slice(&whole);
        return Ok(());
    }
    message(out, b'E', |out| {
        put_text(out, portal, "portal's name")?;
        out.put_u32(rows_max);
        Ok(())
    })
}

/// Ends a run of messages: the server commits or rolls back what was implicit and answers ReadyForQuery.
pub fn sync(out: &mut BytesMut) {
    out.put_slice(&[b'S', 0, 0, 0, 4]);
}

/// Asks the server to send what it has without ending the run.
pub fn flush(out: &mut BytesMut) {
    out.put_slice(&[b'H', 0, 0, 0, 4]);
}

/// Says goodbye. The server closes without an answer.
pub fn terminate(out: &mut BytesMut) {
    out.put_slice(&[b'X', 0, 0, 0, 4]);
}

/// Runs one or more statements by the simple protocol; results come as text.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn query(out: &mut BytesMut, sql: &str) -> Result<(), Misuse> {
    message(out, b'Q', |out| put_text(out, sql, "SQL text"))
}

/// A piece of COPY data; pieces need not end where rows end.
///
/// # Errors
/// [`Misuse::MessageLength`].
pub fn copy_data(out: &mut BytesMut, data: &[u8]) -> Result<(), Misuse> {
    message(out, b'd', |out| put_bytes(out, data))
}

/// Ends COPY data.
pub fn copy_done(out: &mut BytesMut) {
    out.put_slice(&[b'c', 0, 0, 0, 4]);
}

/// Gives COPY up: the server answers with an error that quotes `reason`.
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::MessageLength`].
pub fn copy_fail(out: &mut BytesMut, reason: &str) -> Result<(), Misuse> {
    message(out, b'f', |out| put_text(out, reason, "reason"))
}

fn named(
    out: &mut BytesMut,
    tag: u8,
    kind: u8,
    name: &str,
    what: &'static str,
) -> Result<(), Misuse> {
    message(out, tag, |out| {
        out.put_u8(kind);
        put_text(out, name, what)
    })
}

/// What does not fit into a message is refused before it is copied.
fn put_bytes(out: &mut BytesMut, bytes: &[u8]) -> Result<(), Misuse> {
    if bytes.len() >= MESSAGE_BYTES_MAX {
        return Err(Misuse::MessageLength);
    }
    out.put_slice(bytes);
    Ok(())
}

fn count(count: usize) -> Result<u16, Misuse> {
    u16::try_from(count)
        .ok()
        .filter(|_| count <= PARAMETERS_MAX)
        .ok_or(Misuse::ParameterCount { count })
}

#[cfg(test)]
mod tests;
