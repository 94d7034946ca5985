//! Everything here that can fail, by what the caller can do about it. Not a driver's errors: there is no I/O here.
//! Rule: what the server did and what the caller did wrong are different enums, and neither is a panic.

use thiserror::Error as Thiserror;

use crate::limits;
use crate::status::ServerError;
use crate::values::EncodeError;

/// The result of everything here that can fail in more than one way.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a connection could not be opened, a request not written or an answer not read.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Thiserror)]
pub enum Error {
    /// The server refused. During the handshake the connection is over; afterwards it is usable.
    #[error("{0}")]
    Server(#[source] Box<ServerError>),
    /// The server broke the protocol. The connection is dead; open another.
    #[error("the server broke the protocol: {0}")]
    Protocol(#[from] Violation),
    /// Authentication or the negotiation of the protocol failed. Retrying cannot help; change the settings.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// A value cannot be sent as its parameter. Nothing was written.
    #[error("{0}")]
    Parameter(#[from] EncodeError),
    /// The caller misused the crate. Fix the code; retrying cannot help.
    #[error("{0}")]
    Usage(#[from] Misuse),
}

/// How a server broke the protocol. Nothing of the connection can be trusted any more.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Thiserror)]
pub enum Violation {
    /// An answer of a kind that cannot come at this point, or that does not exist.
    #[error("operation {op} came where {expected} was expected")]
    Unexpected {
        /// The number of the operation that came.
        op: u32,
        /// What could have come.
        expected: &'static str,
    },
    /// Something is longer than the limit of its kind.
    #[error("{what} has the impossible length {length}")]
    Length {
        /// What it is about, as words for the message.
        what: &'static str,
        /// As sent.
        length: u32,
    },
    /// A part of an answer ended before what it must contain.
    #[error("the {0} ends too early")]
    Truncated(&'static str),
    /// A number is none of those that the protocol has for this place.
    #[error("{what} has the unknown value {value}")]
    Value {
        /// What it is about, as words for the message.
        what: &'static str,
        /// As sent.
        value: u32,
    },
    /// A reply came without a request.
    #[error("operation {0} came unasked")]
    Unsolicited(u32),
    /// The server says more than a limit allows.
    #[error("the server sent more than {max} {what}")]
    TooMany {
        /// What it is about, as words for the message.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}

impl Violation {
    pub(crate) const fn unexpected(op: u32, expected: &'static str) -> Self {
        Self::Unexpected { op, expected }
    }

    /// What is too big for the message is shown as the biggest number there is.
    pub(crate) fn length(what: &'static str, length: usize) -> Self {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        Self::Length { what, length }
    }

    /// The same of a value.
    pub(crate) fn value(what: &'static str, value: impl TryInto<u32>) -> Self {
        let value = value.try_into().unwrap_or(u32::MAX);
        Self::Value { what, value }
    }

    pub(crate) const fn too_many(what: &'static str, max: usize) -> Self {
        Self::TooMany { what, max }
    }
}

/// Why the two sides did not come together.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Thiserror)]
pub enum Refusal {
    /// The server speaks none of the versions that were offered.
    #[error(
        "the server speaks none of the protocol's versions 13 to 17; it is older than Firebird 3.0 or set not to"
    )]
    Version,
}

/// What the caller did wrong. Nothing was written.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Thiserror)]
pub enum Misuse {
    /// A text or a block is longer than may be sent.
    #[error("a {what} of {length} bytes was given; at most {max} can be sent", max = limits::SENT_BYTES_MAX)]
    Length {
        /// What was too long, as words for the message.
        what: &'static str,
        /// How many bytes were given.
        length: usize,
    },
    /// A parameter of a block is longer than the byte that counts it can say.
    #[error("a {what} of {length} bytes was given; at most 255 can be sent")]
    ClumpletLength {
        /// What was too long, as words for the message.
        what: &'static str,
        /// How many bytes were given.
        length: usize,
    },
    /// A piece of a blob, or several at once, are longer than 16 bits say. Send less at once.
    #[error("{length} bytes of a blob were given at once; at most {max} can be sent", max = limits::SEGMENT_BYTES_MAX)]
    SegmentLength {
        /// Bytes, with those of their lengths if there are several.
        length: usize,
    },
    /// The number that stands for the statement allocated last was to be executed or fetched from. Use the handle that the server gave.
    #[error("a statement is executed and fetched from by the handle that the server gave it")]
    LastStatement,
    /// Too many answers are awaited. Read some first.
    #[error("{} answers are awaited already", limits::PIPELINE_MAX)]
    PipelineFull,
    /// A result has more columns, or longer rows, than are read. Select less.
    #[error("a row of {columns} columns and up to {bytes} bytes is too big")]
    RowTooBig {
        /// How many columns the result has.
        columns: usize,
        /// The bytes it may have.
        bytes: usize,
    },
    /// No names of events, too many, or one that is empty or too long.
    #[error(
        "events are 1 to {} names of 1 to {} bytes each",
        limits::EVENT_NAMES_MAX,
        limits::EVENT_NAME_BYTES_MAX
    )]
    EventNames,
}
