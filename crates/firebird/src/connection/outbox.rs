//! What callers wrote and the socket has not taken yet. Writes nothing itself.
//! Rule: bytes are sealed once, in the order of the stream, and never taken back afterwards.

use bytes::{Buf as _, BytesMut};

use crate::connect::Layers;
use crate::limits;

#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) bytes: BytesMut,
    /// So many of the first bytes are ready for the socket.
    sealed: usize,
    /// Bytes that callers have written since the beginning.
    written: u64,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Outbox {
            bytes: BytesMut::with_capacity(limits::BUFFER_BYTES),
            sealed: 0,
            written: 0,
        }
    }

    /// Where in the stream of what callers wrote the next byte is.
    pub(super) fn end(&self) -> u64 {
        self.written
    }

    /// Bytes were appended.
    pub(super) fn appended(&mut self, count: usize) {
        self.written += count as u64;
    }

    /// Up to where in that stream everything has gone to the socket, at least in part.
    pub(super) fn sent(&self) -> u64 {
        let waiting = self.bytes.len() - self.sealed;
        self.written - waiting as u64
    }

    /// What is ready for the socket.
    pub(super) fn seal(&mut self, layers: &mut Layers) -> tsumugi_firebird_proto::Result<&[u8]> {
        if self.sealed == 0 {
            layers.seal(&mut self.bytes, 0)?;
            self.sealed = self.bytes.len();
        }
        Ok(self.bytes.get(..self.sealed).unwrap_or_default())
    }

    /// The socket has taken so many of the bytes that were ready.
    pub(super) fn took(&mut self, count: usize) {
        self.bytes.advance(count);
        self.sealed -= count;
    }

    /// Everything has gone.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
