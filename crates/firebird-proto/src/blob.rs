//! What comes of reading a blob: segments, each with its length before it, and how much is left. Knows no character set.
//! Source: protocol chapter "Requests". Rule: a segment cut by the room there was goes on in the next answer.

use bytes::{Buf, Bytes};

use crate::{Response, Violation};

/// Where reading stands after an answer to get_segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The last segment is whole; there may be more.
    Whole,
    /// The last segment goes on in the next answer.
    Partial,
    /// Nothing is left.
    End,
}

impl Reading {
    /// By the answer's object.
    ///
    /// # Errors
    /// [`Violation::Value`].
    pub fn of(response: &Response) -> Result<Self, Violation> {
        match response.object {
            0 => Ok(Self::Whole),
            1 => Ok(Self::Partial),
            2 => Ok(Self::End),
            value => Err(Violation::value("the state of a blob", value)),
        }
    }
}

/// The segments in an answer's data, each a piece of it and not a copy.
pub fn segments(data: Bytes) -> impl Iterator<Item = Result<Bytes, Violation>> {
    const CUT: Violation = Violation::Truncated("segment of a blob");
    let mut rest = data;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let length = usize::from(rest.try_get_u16_le().unwrap_or(u16::MAX));
        if length > rest.len() {
            rest.clear();
            return Some(Err(CUT));
        }
        Some(Ok(rest.split_to(length)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(data: &'static [u8], expected: &[Result<&'static [u8], Violation>]) {
        let found: Vec<_> = segments(Bytes::from_static(data)).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|piece| piece.map(Bytes::from_static))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn segments_are_cut_by_their_lengths() {
        check(b"", &[]);
        check(b"\x02\0ab\0\0\x01\0c", &[Ok(b"ab"), Ok(b""), Ok(b"c")]);
    }

    #[test]
    fn segment_longer_than_the_data_is_refused() {
        let cut = Err(Violation::Truncated("segment of a blob"));
        check(b"\x01\0a\x03\0bc", &[Ok(b"a"), cut]);
        check(b"\x01", &[cut]);
    }

    #[test]
    fn blob_object_counts_the_bytes_that_remain() {
        let response = |object| Response {
            object,
            quad: 0,
            data: Bytes::new(),
            warning: None,
        };
        assert_eq!(Reading::of(&response(1)), Ok(Reading::Partial));
        assert_eq!(Reading::of(&response(2)), Ok(Reading::End));
        assert!(Reading::of(&response(3)).is_err());
    }
}
