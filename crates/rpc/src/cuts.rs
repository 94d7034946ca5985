//! How both sides cut what comes into messages, and what they read in those of our own service, for the fuzzer. Not for users, and nothing here
//! is used by them.

use bytes::Bytes;
use prost::Message;
use tsumugi_kv::ChangeEvent;

use crate::client::WatchWord;
use crate::error::Result;
use crate::frame::MessageReader;
use crate::own_proto::*;
use crate::server::{MessageFrames, decoded};

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

/// A request of our own service as the server reads it, by the number of its call: as it is written again, or nothing when it is refused.
#[must_use]
pub fn own_request(call: u8, message: &[u8]) -> Option<Vec<u8>> {
    fn again<Q: Message + Default>(message: &[u8]) -> Option<Vec<u8>> {
        let request: Q = decoded(Bytes::copy_from_slice(message)).ok()?;
        Some(request.encode_to_vec())
    }
    match call % 9 {
        0 => again::<SetWithTtlRequest>(message),
        1 => again::<SetMultiWithTtlRequest>(message),
        2 => again::<CompareExchangeWithTtlRequest>(message),
        3 => again::<CompareExchangeMultiWithTtlRequest>(message),
        4 => again::<TouchRequest>(message),
        5 => again::<LifetimeRequest>(message),
        6 => again::<PushRequest>(message),
        7 => again::<PopRequest>(message),
        _ => again::<WatchRequest>(message),
    }
}

/// What a client reads in an answer of a watch: a change, or that it goes on.
///
/// # Errors
/// When the message is none.
pub fn watch_answer(message: &[u8]) -> Result<Option<ChangeEvent>> {
    Ok(match WatchWord::of(Bytes::copy_from_slice(message))? {
        WatchWord::Alive(_) => None,
        WatchWord::Change(change) => Some(change),
    })
}
