//! What moves over a connection that has left HTTP: when, and how much of it is in memory. Knows messages by their bytes only.
//! Counted is what does not fit the buffers that each such connection has: unfinished messages, and what a slow client does not take.

use std::{cell::Cell, rc::Rc, sync::Arc};

use tokio::time::Instant;

use crate::{
    byte_sum::{ByteShare, ByteSum},
    error::Result,
    limits::{WEBSOCKET_CONTROL_HEAD_BYTES, WEBSOCKET_READ_BYTES},
};

#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) read_at: Cell<Instant>,
    pub(crate) written_at: Cell<Instant>,
    /// Bytes that came and are part of no message that was taken.
    unread: Cell<u64>,
    /// When the first of them came, or was listened to again.
    unread_since: Cell<Option<Instant>>,
    /// Bytes of a message that the client's side has not taken.
    unsent: Cell<u64>,
    /// Bytes of messages that wait to be sent after it.
    queued: Cell<u64>,
    /// Whether the client is slow: otherwise what waits to be sent is gone in a moment.
    is_blocked: Cell<bool>,
    /// Whether what comes is dropped.
    discards: Cell<bool>,
    share: ByteShare,
    /// What its buffers keep.
    pub(crate) kept: ByteShare,
}

impl Traffic {
    pub(crate) fn new(messages: &Arc<ByteSum>, kept: &Arc<ByteSum>) -> Rc<Traffic> {
        let now = Instant::now();
        Rc::new(Traffic {
            read_at: Cell::new(now),
            written_at: Cell::new(now),
            unread: Cell::default(),
            unread_since: Cell::default(),
            unsent: Cell::default(),
            queued: Cell::default(),
            is_blocked: Cell::default(),
            discards: Cell::default(),
            share: ByteShare::new(messages),
            kept: ByteShare::new(kept),
        })
    }

    /// Of a connection whose bytes count for no worker.
    pub(crate) fn uncounted() -> Rc<Traffic> {
        let sum = ByteSum::new("messages", "websockets_bytes_max", u64::MAX);
        Traffic::new(&sum, &sum)
    }

    /// So many bytes were read; an error when there is no room for them.
    pub(crate) fn came(&self, bytes: usize) -> Result<()> {
        let now = Instant::now();
        self.read_at.set(now);
        if self.discards.get() {
            return Ok(());
        }
        let before = self.unread.get();
        self.unread.set(before + bytes as u64);
        let settled = self.settle();
        if settled.is_err() {
            self.unread.set(before);
        } else if self.unread_since.get().is_none() {
            self.unread_since.set(Some(now));
        }
        settled
    }

    /// What comes from now on is not kept.
    pub(crate) fn discard(&self) {
        self.discards.set(true);
    }

    /// Some of them were a ping or a pong.
    pub(crate) fn control_read(&self, payload: usize) {
        let length = (WEBSOCKET_CONTROL_HEAD_BYTES + payload) as u64;
        self.free(self.unread.get().saturating_sub(length));
    }

    /// The message that they were has been taken.
    pub(crate) fn message_taken(&self) {
        self.free(0);
    }

    fn free(&self, unread: u64) {
        self.unread.set(unread);
        if unread == 0 {
            self.unread_since.set(None);
        }
        let _ = self.settle(); // it is less
    }

    /// The first byte of a message whose last one has not come: when it came.
    pub(crate) fn unfinished_since(&self) -> Option<Instant> {
        self.unread_since.get()
    }

    /// Nothing was read for a while, so the client is late from now on only.
    pub(crate) fn listen_again(&self) {
        let now = Instant::now();
        self.read_at.set(now);
        if self.unread_since.get().is_some() {
            self.unread_since.set(Some(now));
        }
    }

    /// A message waits for the connection. An error when the client is slow and there is no room for it.
    pub(crate) fn queue(self: &Rc<Self>, bytes: usize) -> Result<QueuedBytes> {
        let queued = QueuedBytes {
            traffic: Rc::clone(self),
            bytes: bytes as u64,
        };
        self.queued.set(self.queued.get() + queued.bytes);
        self.settle().map(|()| queued)
    }

    /// The connection has a message to write.
    pub(crate) fn begin(&self, bytes: usize) {
        self.unsent.set(self.unsent.get() + bytes as u64);
    }

    /// So many bytes were written.
    pub(crate) fn went(&self, bytes: usize) {
        self.written_at.set(Instant::now());
        self.unsent
            .set(self.unsent.get().saturating_sub(bytes as u64));
        let _ = self.settle(); // it is less
    }

    /// The client does not take at once what is sent. An error when there is no room for it.
    pub(crate) fn block(&self) -> Result<()> {
        if self.is_blocked.replace(true) {
            return Ok(());
        }
        self.settle()
    }

    /// Everything was written.
    pub(crate) fn flushed(&self) {
        self.unsent.set(0);
        self.is_blocked.set(false);
        let _ = self.settle(); // it is less
    }

    fn settle(&self) -> Result<()> {
        let counted = |bytes: u64| bytes.saturating_sub(WEBSOCKET_READ_BYTES as u64);
        let unsent = match self.is_blocked.get() {
            true => counted(self.unsent.get() + self.queued.get()),
            false => 0,
        };
        self.share.set(counted(self.unread.get()) + unsent)
    }
}

/// Bytes of a message that waits for the connection.
#[derive(Debug)]
pub(crate) struct QueuedBytes {
    traffic: Rc<Traffic>,
    bytes: u64,
}

impl Drop for QueuedBytes {
    fn drop(&mut self) {
        let queued = &self.traffic.queued;
        queued.set(queued.get() - self.bytes);
        let _ = self.traffic.settle(); // it is less
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    const BUFFER: usize = WEBSOCKET_READ_BYTES;

    fn sum() -> Arc<ByteSum> {
        ByteSum::new("messages", "websockets_bytes_max", 100)
    }

    fn traffic(sum: &Arc<ByteSum>) -> Rc<Traffic> {
        Traffic::new(sum, sum)
    }

    #[tokio::test]
    async fn unfinished_message_counts_beyond_the_buffer_and_one_byte_more_is_refused() {
        let sum = sum();
        let (first, second) = (traffic(&sum), traffic(&sum));
        first.came(BUFFER).unwrap();
        assert_eq!(sum.bytes(), 0);
        first.came(60).unwrap();
        second.came(BUFFER + 40).unwrap();
        assert_eq!(sum.bytes(), 100);
        assert!(matches!(second.came(1), Err(Error::Crowded { .. })));
        // What is no message, and what fits the buffer of another one, is free.
        traffic(&sum).came(BUFFER).unwrap();
        second.control_read(4);
        assert_eq!(sum.bytes(), 90);
        second.came(10).unwrap();
        assert!(second.unfinished_since().is_some());
        first.message_taken();
        assert!(first.unfinished_since().is_none());
        assert_eq!(sum.bytes(), 40);
        second.came(60).unwrap();
        assert!(matches!(second.came(1), Err(Error::TooLarge { .. })));
    }

    #[tokio::test]
    async fn messages_to_a_slow_client_count_beyond_the_buffer_and_one_byte_more_is_refused() {
        let sum = sum();
        let slow = traffic(&sum);
        let quick = slow.queue(10 * BUFFER).unwrap();
        slow.begin(10 * BUFFER);
        drop(quick);
        slow.went(9 * BUFFER);
        slow.block().unwrap();
        assert_eq!(sum.bytes(), 0);
        let queued = slow.queue(100).unwrap();
        assert_eq!(sum.bytes(), 100);
        assert!(slow.queue(1).is_err());
        slow.went(1);
        drop(slow.queue(1).unwrap());
        drop(queued);
        slow.flushed();
        assert_eq!(sum.bytes(), 0);
        slow.begin(BUFFER + 101);
        assert!(slow.block().is_err());
    }
}
