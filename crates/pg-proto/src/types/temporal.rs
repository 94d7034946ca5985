//! Dates, times, points in time and UUIDs in binary form; the values themselves are those of `tsumugi_values`, and so are their texts.
//! Rule: what no server of PostgreSQL can have is refused.

use bytes::BytesMut;
use tsumugi_values::{Date, Time, Timestamp, TimestampTz, Uuid};

use super::DecodeError;
use super::read::Reader;
use super::scalar::{Scalar, scalar};

/// What counts days or microseconds from one of the server's beginnings.
macro_rules! counted {
    ($($rust:ident $read:ident $count:ident $what:literal;)*) => {
        $(
            impl Scalar for $rust {
                fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                    let count = Scalar::read(reader)?;
                    Self::$read(count).ok_or(DecodeError::Invalid { what: $what })
                }

                fn write(&self, out: &mut BytesMut) {
                    self.$count().write(out);
                }
            }
        )*
    };
}

counted! {
    Date in_range days "date";
    Time from_micros micros "time";
    Timestamp in_range micros "timestamp";
    TimestampTz in_range micros "timestamp";
}

scalar!(
    Date => DATE,
    Time => TIME,
    Timestamp => TIMESTAMP,
    TimestampTz => TIMESTAMPTZ,
    Uuid { 0 } => UUID,
);
