//! Dates, times, points in time and UUIDs in binary form; the values themselves are those of `tsumugi_values`, and so are their texts.
//! Rule: what no server of PostgreSQL can have is refused.

use bytes::BytesMut;
use tsumugi_values::{Date, Time, Timestamp, TimestampTz, Uuid};

use super::kind::Shape;
use super::read::Reader;
use super::scalar::{Scalar, scalar};
use super::{DecodeError, Type};

impl Scalar for Date {
    const RUST: &'static str = "Date";

    fn fits(shape: Shape<'_>) -> bool {
        matches!(shape, Shape::Date)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::in_range(reader.i32()?).ok_or(DecodeError::Invalid { what: "date" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.days().to_be_bytes());
    }
}

impl Scalar for Time {
    const RUST: &'static str = "Time";

    fn fits(shape: Shape<'_>) -> bool {
        matches!(shape, Shape::Time)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::from_micros(reader.i64()?).ok_or(DecodeError::Invalid { what: "time" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.micros().to_be_bytes());
    }
}

impl Scalar for Timestamp {
    const RUST: &'static str = "Timestamp";

    fn fits(shape: Shape<'_>) -> bool {
        matches!(shape, Shape::Timestamp)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::in_range(reader.i64()?).ok_or(DecodeError::Invalid { what: "timestamp" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.micros().to_be_bytes());
    }
}

impl Scalar for TimestampTz {
    const RUST: &'static str = "TimestampTz";

    fn fits(shape: Shape<'_>) -> bool {
        matches!(shape, Shape::TimestampTz)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::in_range(reader.i64()?).ok_or(DecodeError::Invalid { what: "timestamp" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.micros().to_be_bytes());
    }
}

impl Scalar for Uuid {
    const RUST: &'static str = "Uuid";

    fn fits(shape: Shape<'_>) -> bool {
        matches!(shape, Shape::Uuid)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.array().map(Self)
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.0);
    }
}

scalar!(
    Date => Type::DATE,
    Time => Type::TIME,
    Timestamp => Type::TIMESTAMP,
    TimestampTz => Type::TIMESTAMPTZ,
    Uuid => Type::UUID,
);
