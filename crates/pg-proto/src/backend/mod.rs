//! Messages of the server, decoded where they lie. Knows bytes, not sockets, and no order of messages.
//! Names and layouts are those of the manual's chapter "Message Formats".
//! Rule: what is incomplete is `Ok(None)`, never an error; every length is checked before it is trusted.

mod command;
mod copy;
mod message;
mod report;
mod row;

pub use command::CommandTag;
pub use copy::CopyFormats;
pub use message::{
    Authentication, KeyData, Mechanisms, Message, NegotiateProtocolVersion, Notification,
};
pub use report::{Report, ServerError, Severity};
pub use row::{Columns, DataRow, Field, Fields, Parameters, RowDescription};

use crate::error::Violation;
use crate::limits::{CONTROL_BYTES_MAX, DESCRIPTION_BYTES_MAX, MESSAGE_BYTES_MAX};

/// Bytes of a message's head: its tag and its length.
pub const HEAD_BYTES: usize = 5;

/// First bytes of the server's messages, by their name in the manual.
pub mod tag {
    #![allow(missing_docs, reason = "the names are the protocol's own")]
    pub const AUTHENTICATION: u8 = b'R';
    pub const BACKEND_KEY_DATA: u8 = b'K';
    pub const BIND_COMPLETE: u8 = b'2';
    pub const CLOSE_COMPLETE: u8 = b'3';
    pub const COMMAND_COMPLETE: u8 = b'C';
    pub const COPY_BOTH_RESPONSE: u8 = b'W';
    pub const COPY_DATA: u8 = b'd';
    pub const COPY_DONE: u8 = b'c';
    pub const COPY_IN_RESPONSE: u8 = b'G';
    pub const COPY_OUT_RESPONSE: u8 = b'H';
    pub const DATA_ROW: u8 = b'D';
    pub const EMPTY_QUERY_RESPONSE: u8 = b'I';
    pub const ERROR_RESPONSE: u8 = b'E';
    pub const FUNCTION_CALL_RESPONSE: u8 = b'V';
    pub const NEGOTIATE_PROTOCOL_VERSION: u8 = b'v';
    pub const NO_DATA: u8 = b'n';
    pub const NOTICE_RESPONSE: u8 = b'N';
    pub const NOTIFICATION_RESPONSE: u8 = b'A';
    pub const PARAMETER_DESCRIPTION: u8 = b't';
    pub const PARAMETER_STATUS: u8 = b'S';
    pub const PARSE_COMPLETE: u8 = b'1';
    pub const PORTAL_SUSPENDED: u8 = b's';
    pub const READY_FOR_QUERY: u8 = b'Z';
    pub const ROW_DESCRIPTION: u8 = b'T';
}

/// A message's first five bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The message's kind; one of [`tag`].
    pub tag: u8,
    /// Bytes of the whole message, tag and length included.
    pub length: usize,
}

impl Header {
    /// Reads the head of the message that `bytes` begins with; `None` if it is not all there.
    ///
    /// # Errors
    /// [`Violation::UnknownTag`], and [`Violation::Length`] below 4 or above what the kind of message may have.
    #[inline]
    pub fn scan(bytes: &[u8]) -> Result<Option<Self>, Violation> {
        let Some([tag, length @ ..]) = bytes.first_chunk::<HEAD_BYTES>() else {
            return Ok(None);
        };
        let (tag, length) = (*tag, u32::from_be_bytes(*length));
        let max = length_max(tag).ok_or(Violation::UnknownTag(tag))?;
        match usize::try_from(length) {
            Ok(bytes) if (4..=max).contains(&bytes) => Ok(Some(Self {
                tag,
                length: bytes + 1,
            })),
            _ => Err(Violation::Length { tag, length }),
        }
    }
}

/// The longest that the length field of a message of this kind may say.
#[inline]
fn length_max(tag: u8) -> Option<usize> {
    Some(match tag {
        tag::DATA_ROW
        | tag::COPY_DATA
        | tag::FUNCTION_CALL_RESPONSE
        | tag::ERROR_RESPONSE
        | tag::NOTICE_RESPONSE => MESSAGE_BYTES_MAX,
        tag::NOTIFICATION_RESPONSE | tag::ROW_DESCRIPTION => DESCRIPTION_BYTES_MAX,
        tag::READY_FOR_QUERY => 5,
        tag::BIND_COMPLETE
        | tag::CLOSE_COMPLETE
        | tag::PARSE_COMPLETE
        | tag::NO_DATA
        | tag::PORTAL_SUSPENDED
        | tag::EMPTY_QUERY_RESPONSE
        | tag::COPY_DONE => 4,
        tag::AUTHENTICATION
        | tag::BACKEND_KEY_DATA
        | tag::COMMAND_COMPLETE
        | tag::COPY_BOTH_RESPONSE
        | tag::COPY_IN_RESPONSE
        | tag::COPY_OUT_RESPONSE
        | tag::NEGOTIATE_PROTOCOL_VERSION
        | tag::PARAMETER_DESCRIPTION
        | tag::PARAMETER_STATUS => CONTROL_BYTES_MAX,
        _ => return None,
    })
}

/// What the server says about the session's transaction when it is ready (ReadyForQuery).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction is open.
    Idle,
    /// A transaction is open.
    InTransaction,
    /// A transaction has failed; all but its end is refused.
    Failed,
}

impl TransactionStatus {
    pub(crate) fn new(byte: u8) -> Result<Self, Violation> {
        match byte {
            b'I' => Ok(Self::Idle),
            b'T' => Ok(Self::InTransaction),
            b'E' => Ok(Self::Failed),
            byte => Err(Violation::value("the transaction status", byte)),
        }
    }
}

#[cfg(test)]
mod tests;
