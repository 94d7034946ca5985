//! How the generated service turns bytes into messages: prost, with buffers for messages of a few bytes. Knows no message.
//! tonic's own codec takes 8 KiB twice for every call, which costs more than the calls of this service do.
//! Rule: entries are counted before they are decoded, because an empty one is two bytes here and many times that in memory.

use std::marker::PhantomData;

use bytes::{Buf as _, Bytes};
use prost::encoding::{WireType, decode_key, decode_varint};
use prost::{DecodeError, Message};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

use crate::limits::MESSAGE_ENTRIES_MAX;

/// Bytes that a buffer begins with and grows by.
const BUFFER_BYTES: usize = 512;

/// Answers are gathered up to this size before they are given to the connection.
const GATHERED_BYTES: usize = 32 * 1024;

/// Encodes `T`, decodes `U`.
#[derive(Debug)]
pub(crate) struct SmallBuffers<T, U>(PhantomData<fn(T) -> U>);

impl<T, U> Default for SmallBuffers<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for SmallBuffers<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = CountingDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstCodec::<T, U>::raw_encoder(settings())
    }

    fn decoder(&mut self) -> CountingDecoder<U> {
        CountingDecoder(ProstCodec::<T, U>::raw_decoder(settings()))
    }
}

/// Decodes messages that have no more entries than they may.
#[derive(Debug)]
pub(crate) struct CountingDecoder<U>(ProstDecoder<U>);

impl<U: Message + Default> Decoder for CountingDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // The buffer is in one piece, and ends with the message.
        counted(buffer.chunk())?;
        self.0.decode(buffer)
    }

    fn buffer_settings(&self) -> BufferSettings {
        self.0.buffer_settings()
    }
}

/// The message that some bytes are.
///
/// # Errors
/// A refusal, when they are none or have too many entries.
pub(crate) fn decoded<U: Message + Default>(message: Bytes) -> Result<U, Status> {
    counted(&message)?;
    U::decode(message).map_err(undecodable)
}

fn undecodable(error: DecodeError) -> Status {
    Status::internal(error.to_string())
}

fn counted(message: &[u8]) -> Result<(), Status> {
    if fits(message, MESSAGE_ENTRIES_MAX) {
        return Ok(());
    }
    Err(Status::resource_exhausted(format!(
        "a message of more than {MESSAGE_ENTRIES_MAX} entries (MESSAGE_ENTRIES_MAX); split it among several calls"
    )))
}

/// Counters of entries: field numbers that leave the same rest share one, and no message here has as many fields.
const COUNTED_TAGS: usize = 16;

/// Fewest bytes of an entry: its key and its length.
const ENTRY_BYTES_MIN: usize = 2;

/// Whether no field of a message is there more than `most` times. What cannot be read counts up to there: decoding tells.
fn fits(message: &[u8], most: usize) -> bool {
    if message.len() / ENTRY_BYTES_MIN <= most {
        return true;
    }
    let mut counts = [0; COUNTED_TAGS];
    let mut rest = message;
    while let Some(tag) = skip_field(&mut rest) {
        let slot = counts.get_mut(tag as usize % COUNTED_TAGS);
        let Some(count) = slot else { break };
        *count += 1;
        if *count > most {
            return false;
        }
    }
    true
}

/// Passes over one field and returns its number; `None` at the end, and at what is no field.
fn skip_field(rest: &mut &[u8]) -> Option<u32> {
    if rest.is_empty() {
        return None;
    }
    let (tag, wire_type) = decode_key(rest).ok()?;
    let length = match wire_type {
        WireType::Varint => decode_varint(rest).map(|_| 0).ok()?,
        WireType::SixtyFourBit => 8,
        WireType::ThirtyTwoBit => 4,
        WireType::LengthDelimited => usize::try_from(decode_varint(rest).ok()?).ok()?,
        // What is inside a group counts as if it were outside.
        WireType::StartGroup | WireType::EndGroup => 0,
    };
    *rest = rest.get(length..)?;
    Some(tag)
}

fn settings() -> BufferSettings {
    BufferSettings::new(BUFFER_BYTES, GATHERED_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entry: &[u8], entries: usize, expected: bool) {
        assert_eq!(fits(&entry.repeat(entries), 10), expected, "{entry:?}");
    }

    #[test]
    fn entries_are_counted_whatever_they_are() {
        for entry in [
            &b"\x12\x00"[..],
            b"\x12\x02\x0a\x00",
            b"\x08\x01",
            b"\x0d\x00\x00\x00\x00",
            b"\x09\x00\x00\x00\x00\x00\x00\x00\x00",
            b"\x92\x03\x00",
        ] {
            check(entry, 10, true);
            check(entry, 11, false);
        }
        // A group's begin and end.
        check(b"\x13\x14", 5, true);
        check(b"\x13\x14", 11, false);
    }

    #[test]
    fn each_field_is_counted_by_itself_and_what_is_no_field_ends_it() {
        check(b"\x12\x00\x1a\x00", 10, true);
        check(b"\x12\x00\xff", 20, true);
        check(b"\x12\xff\xff\xff\xff\x7f", 20, true);
    }
}
