//! How both sides cut what comes into messages, for the fuzzer. Not for users, and nothing here is used by them.

use bytes::Bytes;

use crate::error::Result;
use crate::frame::MessageReader;
use crate::server::MessageFrames;

/// The lengths of messages, as the server learns them when the prefix of each has come.
#[must_use]
pub fn lengths<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut frames = MessageFrames::default();
    let mut lengths = Vec::new();
    for mut piece in pieces {
        while let Some(length) = frames.advance(&mut piece) {
            lengths.push(length);
        }
    }
    lengths
}

/// The messages, as a client takes them: those before the first that is refused, and the refusal.
pub fn messages<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    message_bytes_max: usize,
) -> (Vec<Bytes>, Result<()>) {
    let mut messages = MessageReader::new(message_bytes_max);
    let mut found = Vec::new();
    for piece in pieces {
        messages.push(Bytes::copy_from_slice(piece));
        loop {
            match messages.next() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(refused) => return (found, Err(refused)),
            }
        }
    }
    (found, Ok(()))
}
