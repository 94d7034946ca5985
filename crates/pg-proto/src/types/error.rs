//! What can go wrong with one value. Not which column or parameter it was; the caller adds that.
//! Rule: neither `Display` nor `Debug` shows a value's content.

use tsumugi_values::ValueError;

use super::Oid;

/// Why bytes of the server are not a value of the wanted Rust type.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The value is NULL and the Rust type has no room for that. Ask for an `Option`.
    #[error("the value is NULL; ask for an Option")]
    UnexpectedNull,
    /// The Rust type cannot hold values of this type. Ask for another one, or cast in SQL.
    #[error("a value of type {name} (oid {oid}) does not fit into {rust}")]
    Mismatch {
        /// The type's number.
        oid: Oid,
        /// The type's name.
        name: String,
        /// What was asked for.
        rust: &'static str,
    },
    /// The type is not known well enough to read its binary form. Ask for text format, or describe the type.
    #[error("the binary form of the type with oid {oid} is not known; ask for text format")]
    UnknownType {
        /// The type's number.
        oid: Oid,
    },
    /// The bytes are no value of the type: the server, or something between, broke the protocol.
    #[error("the bytes are no {what}")]
    Invalid {
        /// What was being read.
        what: &'static str,
    },
    /// The bytes end before the value does.
    #[error("the value ends too early")]
    Truncated,
    /// Bytes are left over after the value.
    #[error("there are bytes after the value")]
    Trailing,
    /// The value is right, but the Rust type cannot represent it.
    #[error("the value is out of range for {rust}")]
    OutOfRange {
        /// What was asked for.
        rust: &'static str,
    },
    /// Values are nested deeper than [`TYPE_DEPTH_MAX`](crate::limits::TYPE_DEPTH_MAX).
    #[error(
        "the value is nested deeper than {} levels",
        crate::limits::TYPE_DEPTH_MAX
    )]
    TooDeep,
}

impl From<ValueError> for DecodeError {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::OutOfRange { rust } => Self::OutOfRange { rust },
            ValueError::Invalid { what } => Self::Invalid { what },
        }
    }
}

/// Why a Rust value cannot be sent as a parameter of a type. Nothing was appended to the buffer.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The parameter has another type. Pass another Rust type, or cast in SQL.
    #[error("{rust} cannot be sent as {name} (oid {oid})")]
    Mismatch {
        /// The parameter's type number.
        oid: Oid,
        /// The parameter's type name.
        name: String,
        /// What was passed.
        rust: &'static str,
    },
    /// The parameter's type cannot represent the value exactly.
    #[error("the value is out of range for {name}")]
    OutOfRange {
        /// The parameter's type name.
        name: String,
    },
    /// A text holds a NUL character, which PostgreSQL cannot store. Send it as `bytea`.
    #[error("text for PostgreSQL must not contain NUL characters")]
    Nul,
    /// A value is longer than [`VALUE_BYTES_MAX`](crate::limits::VALUE_BYTES_MAX).
    #[error("the value is longer than {} bytes", crate::limits::VALUE_BYTES_MAX)]
    TooLong,
    /// A part of the value goes in text format, which the whole cannot. Pass the part as a value of its own type.
    #[error("a string inside of {name} is no text there; pass a value of its own type")]
    NeedsText {
        /// The name of the whole's type.
        name: String,
    },
}
