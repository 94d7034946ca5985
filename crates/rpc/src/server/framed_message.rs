//! An answer in the form in which it is sent: a large value at its end stays where it is in memory. Knows no call.

use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

use crate::frame::{PREFIX_BYTES, one, put_prefix};

/// Values up to this size are copied to what comes before them: to send two pieces costs more.
const COPIED_BYTES_MAX: usize = 16 * 1024;

/// A message with its prefix. What of it is large and in memory already is apart, and not copied.
#[derive(Debug, Default)]
pub(crate) struct FramedMessage {
    pub(crate) head: Bytes,
    pub(crate) tail: Bytes,
}

/// A message whose last field is given apart: it is empty in the message itself.
pub(crate) fn with_last(message: &impl Message, tag: u32, value: Bytes) -> FramedMessage {
    if value.is_empty() {
        return FramedMessage {
            head: one(message),
            tail: value,
        };
    }
    let mut head = room_before_last(message.encoded_len(), tag, &value);
    let _ = message.encode(&mut head);
    put_last(head, tag, value)
}

/// The prefix, and room for what follows it.
fn room_before_last(length: usize, tag: u32, value: &Bytes) -> BytesMut {
    let before = length + key_len(tag) + encoded_len_varint(value.len() as u64);
    let copied = match value.len() > COPIED_BYTES_MAX {
        true => 0,
        false => value.len(),
    };
    let mut head = BytesMut::with_capacity(PREFIX_BYTES + before + copied);
    put_prefix(before + value.len(), &mut head);
    head
}

fn put_last(mut head: BytesMut, tag: u32, value: Bytes) -> FramedMessage {
    encode_key(tag, WireType::LengthDelimited, &mut head);
    encode_varint(value.len() as u64, &mut head);
    let tail = match value.len() > COPIED_BYTES_MAX {
        true => value,
        false => {
            head.put_slice(&value);
            Bytes::new()
        }
    };
    FramedMessage {
        head: head.freeze(),
        tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{GetResponse, StatusProto};

    #[test]
    fn message_with_its_last_field_apart_is_the_same_message() {
        for length in [0, 1, 127, 128, COPIED_BYTES_MAX, COPIED_BYTES_MAX + 1] {
            let value = Bytes::from(vec![7; length]);
            let mut whole = GetResponse {
                status: Some(StatusProto {
                    code: 7,
                    message: "one".to_owned(),
                }),
                value: Bytes::new(),
            };
            let FramedMessage { head, tail } = with_last(&whole, 2, value.clone());
            assert_eq!(tail.is_empty(), length <= COPIED_BYTES_MAX);
            whole.value = value;
            assert_eq!([head, tail].concat(), one(&whole), "{length}");
        }
    }
}
