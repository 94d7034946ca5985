//! Dates, times, points in time and UUIDs in binary form; the values themselves are those of `tsumugi_values`, and so are their texts.
//! Rule: what no server of PostgreSQL can have is refused.

use bytes::BytesMut;
use tsumugi_values::{Date, Time, Timestamp, TimestampTz, Uuid};

use super::DecodeError;
use super::read::Reader;
use super::scalar::{Scalar, scalar};

impl Scalar for Date {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::in_range(reader.i32()?).ok_or(DecodeError::Invalid { what: "date" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.days().to_be_bytes());
    }
}

impl Scalar for Time {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::from_micros(reader.i64()?).ok_or(DecodeError::Invalid { what: "time" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.micros().to_be_bytes());
    }
}

impl Scalar for Timestamp {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::in_range(reader.i64()?).ok_or(DecodeError::Invalid { what: "timestamp" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.micros().to_be_bytes());
    }
}

impl Scalar for TimestampTz {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::in_range(reader.i64()?).ok_or(DecodeError::Invalid { what: "timestamp" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.micros().to_be_bytes());
    }
}

impl Scalar for Uuid {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.array().map(Self)
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.0);
    }
}

scalar!(
    Date => DATE,
    Time => TIME,
    Timestamp => TIMESTAMP,
    TimestampTz => TIMESTAMPTZ,
    Uuid => UUID,
);
