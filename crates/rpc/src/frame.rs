//! Messages in a stream of bytes, as gRPC puts them there: a flag, a length of four bytes, the message. Knows no message.
//! What a peer claims to send takes memory only as it comes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;

use crate::error::{Error, Result};

/// Bytes before each message.
const PREFIX_BYTES: usize = 5;

/// Appends a message with its prefix.
pub(crate) fn put(message: &impl Message, buffer: &mut BytesMut) {
    let length = message.encoded_len();
    buffer.reserve(PREFIX_BYTES + length);
    buffer.put_u8(0);
    // A message is bounded by what its caller has in memory; the peer refuses what is beyond its limit.
    buffer.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    // There is room for it, so this cannot fail.
    let _ = message.encode(buffer);
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
        if !self.ahead.is_empty() {
            self.partial
                .extend_from_slice(&std::mem::take(&mut self.ahead));
        }
        self.partial.extend_from_slice(&piece);
    }

    /// The next message, if all of it has come.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>> {
        let known: &[u8] = if self.partial.is_empty() {
            &self.ahead
        } else {
            &self.partial
        };
        let Some([flag, length @ ..]) = known.first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        if *flag != 0 {
            return Err(Error::Protocol(
                "a message is compressed, which was not asked for".to_owned(),
            ));
        }
        let bytes = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::EchoRequest;

    fn echo(text: &str) -> EchoRequest {
        EchoRequest {
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
                found.push(EchoRequest::decode(message).unwrap().message);
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
}
