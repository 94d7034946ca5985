//! Messages in a stream of bytes, as gRPC puts them there: a flag, a length of four bytes, the message. Knows no message.
//! What a peer claims to send takes memory only as it comes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;

use crate::error::{Error, Result};
use crate::limits::{RESERVED_AHEAD_BYTES, RESERVED_AHEAD_FACTOR, SMALL_MESSAGE_BYTES};

/// Bytes before each message.
pub(crate) const PREFIX_BYTES: usize = 5;

/// Appends a message with its prefix.
pub(crate) fn put(message: &impl Message, buffer: &mut BytesMut) {
    let length = message.encoded_len();
    buffer.reserve(PREFIX_BYTES + length);
    put_prefix(length, buffer);
    // There is room for it, so this cannot fail.
    let _ = message.encode(buffer);
}

pub(crate) fn put_prefix(length: usize, buffer: &mut BytesMut) {
    buffer.put_u8(0);
    // A message is bounded by what its caller has in memory; the peer refuses what is beyond its limit.
    buffer.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
}

/// A message alone.
pub(crate) fn one(message: &impl Message) -> Bytes {
    let mut buffer = BytesMut::with_capacity(PREFIX_BYTES + message.encoded_len());
    put(message, &mut buffer);
    buffer.freeze()
}

/// Takes messages out of pieces as they come.
#[derive(Debug)]
pub(crate) struct MessageReader {
    /// What came last, or all that came, when a message spans pieces.
    ahead: Bytes,
    partial: BytesMut,
    message_bytes_max: usize,
}

impl MessageReader {
    pub(crate) fn new(message_bytes_max: usize) -> MessageReader {
        MessageReader {
            ahead: Bytes::new(),
            partial: BytesMut::new(),
            message_bytes_max,
        }
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: Bytes) {
        if self.partial.is_empty() && self.ahead.is_empty() {
            self.ahead = piece;
            return;
        }
        let first = std::mem::take(&mut self.ahead);
        self.make_room(&first, piece.len());
        self.partial.extend_from_slice(&first);
        self.partial.extend_from_slice(&piece);
    }

    /// Takes memory for what comes after `first` and for the rest of its message, but for no more of that than
    /// [`RESERVED_AHEAD_BYTES`], or as much again as has come. A large message ends up in a buffer of its size.
    fn make_room(&mut self, first: &[u8], more: usize) {
        let arrived = self.partial.len() + first.len() + more;
        if self.partial.capacity() >= arrived {
            return;
        }
        let known: &[u8] = match self.partial.is_empty() {
            true => first,
            false => &self.partial,
        };
        let announced = known.first_chunk::<PREFIX_BYTES>().map_or(0, announced);
        if announced <= SMALL_MESSAGE_BYTES {
            self.partial.reserve(first.len() + more);
            return;
        }
        let ahead = RESERVED_AHEAD_BYTES.min(arrived.saturating_mul(RESERVED_AHEAD_FACTOR));
        let most = (PREFIX_BYTES + announced.min(self.message_bytes_max)).max(arrived);
        let room = most.min(arrived + ahead.max(arrived));
        let mut grown = BytesMut::with_capacity(room);
        grown.extend_from_slice(&self.partial);
        self.partial = grown;
    }

    /// The next message, if all of it has come.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>> {
        let known: &[u8] = match self.partial.is_empty() {
            true => &self.ahead,
            false => &self.partial,
        };
        let Some(prefix) = known.first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        if prefix[0] != 0 {
            return Err(Error::Protocol(
                "a message is compressed, which was not asked for".to_owned(),
            ));
        }
        let bytes = announced(prefix);
        if bytes > self.message_bytes_max {
            return Err(Error::TooLarge {
                bytes,
                name: "message_bytes_max",
                limit: self.message_bytes_max,
            });
        }
        if known.len() - PREFIX_BYTES < bytes {
            return Ok(None);
        }
        Ok(Some(if self.partial.is_empty() {
            self.ahead.advance(PREFIX_BYTES);
            self.ahead.split_to(bytes)
        } else {
            self.partial.advance(PREFIX_BYTES);
            self.partial.split_to(bytes).freeze()
        }))
    }

    /// Whether a message has begun and not ended.
    pub(crate) fn is_broken_off(&self) -> bool {
        !self.ahead.is_empty() || !self.partial.is_empty()
    }
}

/// The length of the message after a prefix.
pub(crate) fn announced(prefix: &[u8; PREFIX_BYTES]) -> usize {
    let [_, length @ ..] = *prefix;
    usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, PartialEq, prost::Message)]
    struct Echo {
        #[prost(string, tag = "1")]
        message: String,
    }

    fn echo(text: &str) -> Echo {
        Echo {
            message: text.to_owned(),
        }
    }

    fn check(cuts: &[usize]) {
        let mut buffer = BytesMut::new();
        for text in ["", "one", "紡ぎ"] {
            put(&echo(text), &mut buffer);
        }
        let mut messages = MessageReader::new(100);
        let (mut rest, mut found) = (buffer.freeze(), Vec::new());
        for cut in cuts.iter().copied().chain([usize::MAX]) {
            let piece = rest.split_to(cut.min(rest.len()));
            messages.push(piece);
            while let Some(message) = messages.next().unwrap() {
                found.push(Echo::decode(message).unwrap().message);
            }
        }
        assert_eq!(found, ["", "one", "紡ぎ"], "{cuts:?}");
        assert!(!messages.is_broken_off());
    }

    #[test]
    fn messages_are_found_wherever_the_pieces_are_cut() {
        check(&[]);
        for first in 0..28 {
            check(&[first]);
            check(&[first, 1, 1]);
            check(&[first, 7]);
        }
    }

    #[test]
    fn large_or_compressed_message_is_refused_at_its_prefix() {
        let mut messages = MessageReader::new(2);
        messages.push(Bytes::from_static(&[0, 0, 0, 0, 3]));
        let error = messages.next().unwrap_err().to_string();
        assert!(error.contains("message_bytes_max is 2"), "{error}");
        let mut messages = MessageReader::new(2);
        messages.push(Bytes::from_static(&[1, 0, 0, 0, 0]));
        assert!(messages.next().is_err());
    }

    /// The most memory beyond what had come, when `sent` bytes came in pieces after a prefix that announces more.
    fn memory_ahead(announced: usize, sent: usize, piece: usize) -> usize {
        let mut messages = MessageReader::new(usize::MAX);
        let mut prefix = vec![0];
        prefix.extend(u32::try_from(announced).unwrap().to_be_bytes());
        messages.push(prefix.into());
        let (mut left, mut most) = (sent, 0);
        while left > 0 {
            let bytes = piece.min(left);
            left -= bytes;
            messages.push(vec![7; bytes].into());
            most = most.max(messages.partial.capacity() - messages.partial.len());
        }
        most
    }

    #[test]
    fn announced_length_takes_no_memory_before_it_comes() {
        let announced = 64 << 20;
        assert_eq!(memory_ahead(announced, 0, 1), 0);
        for (sent, most) in [
            (1, 6 * RESERVED_AHEAD_FACTOR),
            (1_000, 2 * 1_000 * RESERVED_AHEAD_FACTOR),
            (16 * 1024, RESERVED_AHEAD_BYTES),
            (RESERVED_AHEAD_BYTES, RESERVED_AHEAD_BYTES),
            // From here on as much again as has come.
            (announced / 2, announced / 2),
            (announced, announced / 2),
        ] {
            let ahead = memory_ahead(announced, sent, 16 * 1024);
            assert!(
                ahead <= most,
                "{sent} bytes came and {ahead} more were taken"
            );
        }
    }

    #[test]
    fn large_message_has_a_buffer_of_its_size() {
        for length in [
            SMALL_MESSAGE_BYTES + 1,
            1_000_000,
            RESERVED_AHEAD_BYTES,
            3 * RESERVED_AHEAD_BYTES + 1,
        ] {
            let mut framed = BytesMut::new();
            put(&echo(&"x".repeat(length)), &mut framed);
            let mut rest = framed.freeze();
            let mut messages = MessageReader::new(usize::MAX);
            let bytes = rest.len() - PREFIX_BYTES;
            let mut largest = 0;
            while !rest.is_empty() {
                messages.push(rest.split_to(rest.len().min(16 * 1024)));
                largest = largest.max(messages.partial.capacity());
            }
            assert_eq!(largest, PREFIX_BYTES + bytes, "{length}");
            assert_eq!(messages.next().unwrap().unwrap().len(), bytes);
        }
    }
}
