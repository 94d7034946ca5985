//! A value with the time it expires at, and how the two are stored on disk. Knows no key and no clock.
//! Rule: a stored value that does not begin with a header of ours is an error, never a value.

use bytes::{BufMut, Bytes, BytesMut};

/// A value, and when it is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// The value.
    pub value: Bytes,
    /// Milliseconds since 1970; 0 means never.
    pub expires_ms: u64,
}

/// The first byte of a stored value: what follows is the value, or eight bytes of time and then the value.
const FOREVER: u8 = 0;
const EXPIRES: u8 = 1;
/// Longest header.
pub(crate) const HEADER_BYTES_MAX: usize = 9;

impl StoredRecord {
    /// Whether the record is still there at `now_ms`.
    #[must_use]
    pub fn is_live(&self, now_ms: u64) -> bool {
        self.expires_ms == 0 || self.expires_ms > now_ms
    }

    /// With a value that takes no more memory than its bytes.
    pub(crate) fn shrunk(self) -> Self {
        let mut value = Vec::from(self.value);
        value.shrink_to_fit();
        Self {
            value: value.into(),
            ..self
        }
    }

    /// The stored form.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut stored = BytesMut::with_capacity(HEADER_BYTES_MAX + self.value.len());
        if self.expires_ms == 0 {
            stored.put_u8(FOREVER);
        } else {
            stored.put_u8(EXPIRES);
            stored.put_u64(self.expires_ms);
        }
        stored.put_slice(&self.value);
        stored.freeze()
    }

    /// Reads what [`encode`](Self::encode) wrote, without a copy; says what is wrong with anything else.
    pub fn decode(stored: Bytes) -> Result<Self, &'static str> {
        match *stored.as_ref() {
            [] => Err("a stored value has no header"),
            [FOREVER, ..] => Ok(Self {
                value: stored.slice(1..),
                expires_ms: 0,
            }),
            [EXPIRES, a, b, c, d, e, f, g, h, ..] => {
                match u64::from_be_bytes([a, b, c, d, e, f, g, h]) {
                    0 => Err("a stored value expires at no time"),
                    expires_ms => Ok(Self {
                        value: stored.slice(HEADER_BYTES_MAX..),
                        expires_ms,
                    }),
                }
            }
            [EXPIRES, ..] => Err("a stored value has half a header"),
            _ => Err("a stored value has an unknown header"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stored: &[u8], expected: Result<(&[u8], u64), &str>) {
        let decoded = StoredRecord::decode(Bytes::copy_from_slice(stored));
        match expected {
            Ok((value, expires_ms)) => {
                let record = decoded.unwrap();
                assert_eq!((&record.value[..], record.expires_ms), (value, expires_ms));
                assert_eq!(record.encode(), stored, "it encodes to what it was");
            }
            Err(reason) => assert!(decoded.unwrap_err().contains(reason)),
        }
    }

    #[test]
    fn encoded_record_is_decoded() {
        check(b"\0", Ok((b"", 0)));
        check(b"\0value", Ok((b"value", 0)));
        check(b"\x01\0\0\0\0\0\0\0\x07", Ok((b"", 7)));
        check(
            b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\0\x01",
            Ok((b"\0\x01", u64::MAX)),
        );
    }

    #[test]
    fn anything_else_is_refused() {
        check(b"", Err("no header"));
        check(b"\x01\0\0\0\0\0\0\0", Err("half a header"));
        check(b"\x01\0\0\0\0\0\0\0\0value", Err("no time"));
        check(b"\x02value", Err("unknown header"));
    }

    #[test]
    fn a_record_is_gone_from_its_time_on() {
        let record = StoredRecord {
            value: Bytes::new(),
            expires_ms: 10,
        };
        assert!(record.is_live(9) && !record.is_live(10));
    }
}
