//! One whole message of the server as an enum that borrows. Does not follow the conversation.
//! Rule: a message that is longer or shorter than its content is refused; rows are walked by their reader.

use std::borrow::Cow;

use super::{
    CommandTag, CopyFormats, DataRow, HEAD_BYTES, Header, Parameters, Report, RowDescription,
    TransactionStatus, tag,
};
use crate::error::Violation;
use crate::limits::{CANCEL_SECRET_BYTES_MAX, MECHANISMS_MAX, PARAMETERS_MAX};
use crate::wire::Reader;

/// A message of the server.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A step of the authentication.
    Authentication(Authentication<'a>),
    /// What a request to cancel has to name.
    BackendKeyData(KeyData<'a>),
    /// A portal exists.
    BindComplete,
    /// A statement or portal is forgotten.
    CloseComplete,
    /// A statement has ended well.
    CommandComplete(CommandTag<'a>),
    /// The server waits for COPY data.
    CopyInResponse(CopyFormats<'a>),
    /// COPY data follow.
    CopyOutResponse(CopyFormats<'a>),
    /// COPY data flow both ways (replication).
    CopyBothResponse(CopyFormats<'a>),
    /// A piece of COPY data.
    CopyData(&'a [u8]),
    /// No more COPY data.
    CopyDone,
    /// One row.
    DataRow(DataRow<'a>),
    /// The statement was empty.
    EmptyQueryResponse,
    /// The statement failed; what follows up to the next Sync is skipped.
    ErrorResponse(Report<'a>),
    /// The result of a function call, `None` for NULL.
    FunctionCallResponse(Option<&'a [u8]>),
    /// The server does not know all that was asked for at start-up.
    NegotiateProtocolVersion(NegotiateProtocolVersion<'a>),
    /// The statement returns no rows.
    NoData,
    /// A warning or a note, at any time.
    NoticeResponse(Report<'a>),
    /// Somebody notified a channel, at any time.
    NotificationResponse(Notification<'a>),
    /// The types of a statement's parameters.
    ParameterDescription(Parameters<'a>),
    /// A setting of the server, its name and its value, at any time.
    ParameterStatus {
        /// Such as `TimeZone`.
        name: &'a str,
        /// Such as `UTC`.
        value: Cow<'a, str>,
    },
    /// A statement is prepared.
    ParseComplete,
    /// The limit of an Execute was reached; there may be more rows.
    PortalSuspended,
    /// The run of messages up to a Sync has ended.
    ReadyForQuery(TransactionStatus),
    /// The columns of the rows that follow.
    RowDescription(RowDescription<'a>),
}

/// What the server wants to know about us.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// Nothing (more).
    Ok,
    /// The password as it is.
    CleartextPassword,
    /// The password, hashed with this salt.
    Md5Password([u8; 4]),
    /// A SASL exchange by one of these mechanisms.
    Sasl(Mechanisms<'a>),
    /// The next step of a SASL exchange.
    SaslContinue(&'a [u8]),
    /// The last step of a SASL exchange.
    SaslFinal(&'a [u8]),
    /// A method that is not known here, by the manual's number: Kerberos 2, SCM 6, GSSAPI 7 and 8, SSPI 9.
    Other(u32),
}

/// The names of the SASL mechanisms a server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mechanisms<'a>(Reader<'a>);

impl<'a> Mechanisms<'a> {
    /// The names in the server's order of preference.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let mut reader = self.0;
        std::iter::from_fn(move || {
            reader
                .text("mechanism")
                .ok()
                .filter(|name| !name.is_empty())
        })
    }

    fn read(reader: Reader<'a>) -> Result<Self, Violation> {
        let mut rest = reader;
        for _ in 0..=MECHANISMS_MAX {
            if rest.text("mechanism")?.is_empty() {
                rest.end("mechanisms")?;
                return Ok(Self(reader));
            }
        }
        Err(Violation::too_many("mechanisms", MECHANISMS_MAX))
    }
}

/// What a request to cancel has to name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyData<'a> {
    /// The process that serves the connection.
    pub process_id: u32,
    /// Proves that the request comes from us.
    pub secret: &'a [u8],
}

impl std::fmt::Debug for KeyData<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyData")
            .field("process_id", &self.process_id)
            .finish_non_exhaustive()
    }
}

/// What the server does not know of what we asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegotiateProtocolVersion<'a> {
    /// The newest minor version of protocol 3 it knows.
    pub minor: u32,
    /// How many of our options it does not know.
    pub options: u32,
    names: Reader<'a>,
}

impl<'a> NegotiateProtocolVersion<'a> {
    /// The names of the options that are not known.
    pub fn names(self) -> impl Iterator<Item = &'a str> {
        let mut reader = self.names;
        std::iter::from_fn(move || reader.text("option").ok())
    }

    fn read(mut reader: Reader<'a>) -> Result<Self, Violation> {
        let minor = reader.u32("version")?;
        let options = reader.u32("number of options")?;
        let names = reader;
        if options > u32::from(u16::MAX) {
            return Err(Violation::too_many("unknown options", PARAMETERS_MAX));
        }
        for _ in 0..options {
            reader.text("option")?;
        }
        reader.end("options")?;
        Ok(Self {
            minor: minor & 0xffff,
            options,
            names,
        })
    }
}

/// A notification on a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification<'a> {
    /// The process that notified; our own included.
    pub process_id: u32,
    /// The channel's name.
    pub channel: Cow<'a, str>,
    /// What was said, maybe nothing.
    pub payload: Cow<'a, str>,
}

impl<'a> Message<'a> {
    /// Decodes the message that `bytes` begins with, and says how many bytes it takes; `None` if it is not all there.
    ///
    /// # Errors
    /// A [`Violation`] if it is no message of protocol 3.
    pub fn decode(bytes: &'a [u8]) -> Result<Option<(Self, usize)>, Violation> {
        let Some(header) = Header::scan(bytes)? else {
            return Ok(None);
        };
        let Some(body) = bytes.get(HEAD_BYTES..header.length) else {
            return Ok(None);
        };
        Ok(Some((Self::decode_body(header.tag, body)?, header.length)))
    }

    /// Decodes the body of a message with this tag.
    pub(crate) fn decode_body(tag: u8, body: &'a [u8]) -> Result<Self, Violation> {
        let mut reader = Reader::new(body);
        let message = match tag {
            // The kinds whose readers take the rest themselves.
            tag::DATA_ROW => return DataRow::read(reader).map(Self::DataRow),
            tag::COPY_DATA => return Ok(Self::CopyData(body)),
            tag::AUTHENTICATION => return Authentication::read(reader).map(Self::Authentication),
            tag::COPY_IN_RESPONSE => return CopyFormats::read(reader).map(Self::CopyInResponse),
            tag::COPY_OUT_RESPONSE => return CopyFormats::read(reader).map(Self::CopyOutResponse),
            tag::COPY_BOTH_RESPONSE => {
                return CopyFormats::read(reader).map(Self::CopyBothResponse);
            }
            tag::ERROR_RESPONSE => return Report::read(reader).map(Self::ErrorResponse),
            tag::NOTICE_RESPONSE => return Report::read(reader).map(Self::NoticeResponse),
            tag::ROW_DESCRIPTION => return RowDescription::read(reader).map(Self::RowDescription),
            tag::PARAMETER_DESCRIPTION => {
                return Parameters::read(reader).map(Self::ParameterDescription);
            }
            tag::NEGOTIATE_PROTOCOL_VERSION => {
                return NegotiateProtocolVersion::read(reader).map(Self::NegotiateProtocolVersion);
            }
            tag::BIND_COMPLETE => Self::BindComplete,
            tag::CLOSE_COMPLETE => Self::CloseComplete,
            tag::COPY_DONE => Self::CopyDone,
            tag::EMPTY_QUERY_RESPONSE => Self::EmptyQueryResponse,
            tag::NO_DATA => Self::NoData,
            tag::PARSE_COMPLETE => Self::ParseComplete,
            tag::PORTAL_SUSPENDED => Self::PortalSuspended,
            tag::COMMAND_COMPLETE => Self::CommandComplete(CommandTag::read(&mut reader)?),
            tag::READY_FOR_QUERY => {
                Self::ReadyForQuery(TransactionStatus::new(reader.u8("status")?)?)
            }
            tag::BACKEND_KEY_DATA => Self::BackendKeyData(KeyData::read(&mut reader)?),
            tag::PARAMETER_STATUS => Self::ParameterStatus {
                name: reader.text("setting's name")?,
                value: reader.text_lossy("setting's value")?,
            },
            tag::NOTIFICATION_RESPONSE => {
                Self::NotificationResponse(Notification::read(&mut reader)?)
            }
            tag::FUNCTION_CALL_RESPONSE => Self::FunctionCallResponse(field(&mut reader)?),
            unknown => return Err(Violation::UnknownTag(unknown)),
        };
        reader.end("content")?;
        Ok(message)
    }
}

/// A value with its length before it; -1 is NULL.
pub(super) fn field<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Violation> {
    let length = reader.i32("field's length")?;
    if length == -1 {
        return Ok(None);
    }
    usize::try_from(length)
        .ok()
        .and_then(|bytes| reader.bytes(bytes, "field").ok())
        .map(Some)
        .ok_or(Violation::FieldLength(length))
}

impl<'a> Authentication<'a> {
    fn read(mut reader: Reader<'a>) -> Result<Self, Violation> {
        let method = match reader.u32("method")? {
            0 => Self::Ok,
            3 => Self::CleartextPassword,
            5 => Self::Md5Password(reader.array("salt")?),
            10 => return Mechanisms::read(reader).map(Self::Sasl),
            11 => return Ok(Self::SaslContinue(reader.rest())),
            12 => return Ok(Self::SaslFinal(reader.rest())),
            other => return Ok(Self::Other(other)),
        };
        reader.end("method")?;
        Ok(method)
    }
}

impl<'a> KeyData<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Violation> {
        let process_id = reader.u32("process")?;
        let secret = reader.rest();
        if secret.len() < 4 {
            return Err(Violation::Truncated("cancel secret"));
        }
        if secret.len() > CANCEL_SECRET_BYTES_MAX {
            return Err(Violation::too_many(
                "bytes of a cancel secret",
                CANCEL_SECRET_BYTES_MAX,
            ));
        }
        *reader = Reader::new(&[]);
        Ok(Self { process_id, secret })
    }
}

impl<'a> Notification<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Violation> {
        Ok(Self {
            process_id: reader.u32("process")?,
            channel: reader.text_lossy("channel")?,
            payload: reader.text_lossy("payload")?,
        })
    }
}
