//! op_response, the answer to nearly everything. Not whose it is: that is `connection`.
//! Source: protocol chapter "Requests". Rule: its data are a piece of what came, not a copy.

use bytes::Bytes;

use crate::limits::RESPONSE_DATA_BYTES_MAX;
use crate::status::{ServerError, StatusVector};
use crate::wire::{ReadResult, Reader};

/// An answer that says yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The handle of what was created, the state of a blob's read, or nothing.
    pub object: u32,
    /// The id of a blob that was created, or nothing.
    pub quad: u64,
    /// Information, segments of a blob, keys; what was asked for.
    pub data: Bytes,
    /// What the server warns of.
    pub warning: Option<Box<ServerError>>,
}

/// What the server says to a request.
pub type Outcome = Result<Response, Box<ServerError>>;

/// An answer where it lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawResponse<'a> {
    pub(crate) object: u32,
    pub(crate) quad: u64,
    pub(crate) data: &'a [u8],
    pub(crate) status: StatusVector<'a>,
}

impl<'a> RawResponse<'a> {
    /// Reads what follows the operation's number.
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>) -> ReadResult<Self> {
        Ok(Self {
            object: reader.u32()?,
            quad: reader.u64()?,
            data: reader.cstring(RESPONSE_DATA_BYTES_MAX, "the data of a response")?,
            status: StatusVector::read(reader)?,
        })
    }

    /// With its data as `own` makes them last.
    #[inline]
    pub(crate) fn outcome(&self, own: impl FnOnce(&[u8]) -> Bytes) -> Outcome {
        match self.status.error() {
            Some(error) => Err(error),
            None => Ok(Response {
                object: self.object,
                quad: self.quad,
                data: own(self.data),
                warning: self.status.warning(),
            }),
        }
    }
}
