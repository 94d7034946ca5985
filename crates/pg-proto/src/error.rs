//! What can go wrong, by what the caller can do about it. Not the server's list of codes: that is [`crate::sqlstate`].
//! Rule: no error shows a password, a bound value or a server's DETAIL.

use thiserror::Error as Thiserror;

use crate::backend::ServerError;
use crate::limits;
use crate::types::{DecodeError, EncodeError};

/// The result of everything here that can fail in more than one way.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a connection could not be opened, a message not written or an answer not read.
#[non_exhaustive]
#[derive(Debug, Clone, Thiserror)]
pub enum Error {
    /// The server refused. During start-up the connection is over; afterwards it is usable.
    #[error("{0}")]
    Server(#[source] Box<ServerError>),
    /// The server broke the protocol. The connection is dead; open another.
    #[error("the server broke the protocol: {0}")]
    Protocol(#[from] Violation),
    /// Authentication or the negotiation of the protocol failed. Retrying cannot help; change the settings.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// A value cannot be sent as its parameter. Nothing was written.
    #[error("parameter ${number}: {cause}")]
    Parameter {
        /// The parameter, from 1.
        number: usize,
        /// Why.
        #[source]
        cause: EncodeError,
    },
    /// A field cannot be read as the Rust type that was asked for. The connection is usable.
    #[error("column {name}: {cause}")]
    Column {
        /// The column.
        name: String,
        /// Why.
        #[source]
        cause: DecodeError,
    },
    /// The statement is not what its types say. Fix one of them.
    #[error("{0}")]
    Mismatch(#[from] Mismatch),
    /// The caller misused the crate. Fix the code; retrying cannot help.
    #[error("{0}")]
    Usage(#[from] Misuse),
}

/// How a server broke the protocol. Nothing of the connection can be trusted any more.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Thiserror)]
pub enum Violation {
    /// A message's length is below 4 or above what its kind may have.
    #[error("message {} has the impossible length {length}", tag.escape_ascii())]
    Length {
        /// The message's first byte.
        tag: u8,
        /// As sent.
        length: u32,
    },
    /// No message of the protocol begins with this byte, or none at this point.
    #[error("unknown message {}", .0.escape_ascii())]
    UnknownTag(u8),
    /// A message ended before what it must contain.
    #[error("a message ends within its {0}")]
    Truncated(&'static str),
    /// A message is longer than what it contains.
    #[error("a message goes on after its {0}")]
    Trailing(&'static str),
    /// A text has no end.
    #[error("the text of a {0} does not end")]
    Unterminated(&'static str),
    /// A text that has to be UTF-8 is not.
    #[error("the text of a {0} is not UTF-8")]
    NotUtf8(&'static str),
    /// A field of a row has a length below -1, or one that exceeds the row.
    #[error("a field of a row has the impossible length {0}")]
    FieldLength(i32),
    /// A row has another number of fields than its description.
    #[error("a row has {found} fields where {expected} were described")]
    FieldCount {
        /// By the row description.
        expected: usize,
        /// By the row.
        found: usize,
    },
    /// A number is none of those the protocol has for this place.
    #[error("{what} has the unknown value {value}")]
    Value {
        /// What it is about, as words for the message.
        what: &'static str,
        /// As sent.
        value: u32,
    },
    /// A reply came without a request.
    #[error("message {} came unasked", .0.escape_ascii())]
    Unsolicited(u8),
    /// The server asks for COPY data in the middle of a pipeline. It takes the next statements for data: nobody can tell
    /// any more which answer belongs to whom.
    #[error("COPY FROM STDIN began in the middle of a pipeline")]
    CopyInPipeline,
    /// More came with the answer to the request for encryption: it was added between the two sides.
    #[error("bytes came with the answer to the request for encryption")]
    EncryptionInjected,
    /// The server says more about itself than a limit allows.
    #[error("the server sent more than {max} {what}")]
    TooMany {
        /// What it is about, as words for the message.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}

impl Violation {
    pub(crate) fn value(what: &'static str, value: impl Into<u32>) -> Self {
        let value = value.into();
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
    /// The server does not encrypt and the settings want it.
    #[error("the server does not offer TLS, which the settings require")]
    EncryptionUnavailable,
    /// The server answered the request for encryption with an error. Its text is not authentic and not shown.
    #[error("the server answered the request for TLS with an error")]
    EncryptionError,
    /// The server asks for a password and there is none.
    #[error("the server asks for a password and none was given")]
    PasswordMissing,
    /// The server asks for a password in a way that is not accepted over this connection or not known here.
    #[error("the server asks for {0}, which is not supported")]
    MethodUnsupported(&'static str),
    /// None of the server's SASL mechanisms is known here.
    #[error("the server offers none of the SASL mechanisms SCRAM-SHA-256 and SCRAM-SHA-256-PLUS")]
    MechanismUnsupported,
    /// The settings require channel binding and the server lets us in without.
    #[error("the settings require channel binding and the server does not use it")]
    ChannelBindingUnused,
    /// The server's part of SCRAM is not what RFC 5802 allows.
    #[error("malformed SCRAM {0} from the server")]
    Scram(&'static str),
    /// The server asks for too many rounds of key derivation.
    #[error("the server asks for {asked} rounds of SCRAM; scram_iterations_max is {max}")]
    ScramIterations {
        /// By the server.
        asked: u32,
        /// By the settings.
        max: u32,
    },
    /// The server refused the exchange with an error of RFC 5802, such as `invalid-proof`.
    #[error("the server refuses the password (SCRAM)")]
    ScramRefused,
    /// The server could not prove that it knows the password: it may be another server.
    #[error("the server did not prove that it knows the password")]
    ServerUnproven,
    /// The server speaks only an older minor version or does not know an option we asked for.
    #[error("the server supports protocol 3.{minor} at most, or not an option that was asked for")]
    ProtocolVersion {
        /// The newest minor version the server knows.
        minor: u32,
    },
}

/// What the caller did wrong. Nothing was written.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Thiserror)]
pub enum Misuse {
    /// A name, an SQL text or a password contains NUL, which ends texts in the protocol.
    #[error("a {0} must not contain NUL")]
    Nul(&'static str),
    /// More parameters, or formats, than the protocol can count.
    #[error(
        "{count} parameters were given; a statement has at most {}",
        limits::PARAMETERS_MAX
    )]
    ParameterCount {
        /// How many.
        count: usize,
    },
    /// Another number of values was bound than announced.
    #[error("{given} values were bound where {expected} were announced")]
    ValueCount {
        /// When the message was begun.
        expected: usize,
        /// When it was finished.
        given: usize,
    },
    /// The message would be longer than the server accepts.
    #[error("the message would be longer than {} bytes", limits::MESSAGE_BYTES_MAX)]
    MessageLength,
    /// The settings of a new connection take more room than the server gives them.
    #[error(
        "the start-up settings take more than {} bytes",
        limits::STARTUP_BYTES_MAX
    )]
    StartupLength,
    /// Too many answers are awaited. Read some first.
    #[error("{} answers are awaited already", limits::PIPELINE_MAX)]
    PipelineFull,
    /// The connection has ended. Open another.
    #[error("the connection has ended")]
    Ended,
    /// A function of the start-up was called out of turn.
    #[error("{0} was called out of turn")]
    OutOfTurn(&'static str),
    /// A value of a binary COPY row would be sent as text. Pass a Rust type that has a binary form.
    #[error("field {field} of a binary COPY row would be sent as text")]
    CopyText {
        /// The field, from 1.
        field: usize,
    },
    /// A COPY row has more fields than its format can count.
    #[error("a COPY row has {count} fields; the format counts to {max}")]
    CopyFields {
        /// How many were given.
        count: usize,
        /// How many there may be.
        max: usize,
    },
}

/// How a statement, as the server describes it, differs from the types it was given in Rust.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Thiserror)]
pub enum Mismatch {
    /// Another number of parameters.
    #[error("the statement has {found} parameters where its type has {expected}")]
    ParameterCount {
        /// By the Rust type.
        expected: usize,
        /// By the server.
        found: usize,
    },
    /// Another number of columns.
    #[error("the statement has {found} columns where its type has {expected}")]
    ColumnCount {
        /// By the Rust type.
        expected: usize,
        /// By the server.
        found: usize,
    },
    /// A parameter of a type that the Rust type cannot be sent as.
    #[error("parameter ${number} is of type {name}, which {rust} cannot be sent as")]
    ParameterType {
        /// The parameter, from 1.
        number: usize,
        /// The type of the parameter.
        name: String,
        /// The Rust type.
        rust: &'static str,
    },
    /// A column of a type that the Rust type cannot hold.
    #[error("column {column} is of type {name}, which {rust} cannot hold")]
    ColumnType {
        /// The column's name.
        column: String,
        /// The type of the column.
        name: String,
        /// The Rust type.
        rust: &'static str,
    },
}
