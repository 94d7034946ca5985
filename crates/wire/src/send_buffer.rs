//! What callers wrote and the socket has not taken yet: the bytes, and whether they go now or wait for company. Writes nothing.
//! A request waits only while the server owes many times as many replies, so that it has work until the request arrives; each reply that
//! comes decides anew, and nothing else is needed to end the waiting.
//! Rule: a request is in it whole or not at all; bytes are sealed once, in the order of the stream, and never taken back afterwards.

use bytes::{Buf as _, BytesMut};

use crate::limits;

/// Whether a request may wait until more go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMode {
    /// It goes at the end of the turn, and what waits with it.
    Now,
    /// One of many that are under way at once.
    WithOthers,
}

#[derive(Debug)]
pub(crate) struct SendBuffer {
    bytes: BytesMut,
    /// So many of the first bytes were made ready for the socket and can no longer be changed.
    sealed: usize,
    /// Bytes that callers have written since the beginning.
    written: u64,
    /// Requests in `bytes` of which nothing was sent.
    waiting: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// All that is there may wait.
    Patient,
    /// It goes now.
    Going,
}

/// How soon the server replies, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ServerLatency {
    #[default]
    Unknown,
    /// It has replied within [`limits::SHORT_LATENCY`] at least once.
    Short,
}

impl SendBuffer {
    pub(crate) fn new() -> Self {
        SendBuffer {
            bytes: BytesMut::with_capacity(limits::BUFFER_BYTES),
            sealed: 0,
            written: 0,
            waiting: 0,
            state: State::Patient,
        }
    }

    /// Appends what `write` writes, as so many requests. If it fails nothing of it stays.
    pub(crate) fn append<T, E>(
        &mut self,
        requests: usize,
        flush: FlushMode,
        write: impl FnOnce(&mut BytesMut) -> Result<T, E>,
    ) -> Result<T, E> {
        let start = self.bytes.len();
        match write(&mut self.bytes) {
            Ok(written) => {
                self.written += (self.bytes.len() - start) as u64;
                self.waiting += requests;
                if flush == FlushMode::Now {
                    self.flush();
                }
                Ok(written)
            }
            Err(error) => {
                self.bytes.truncate(start);
                Err(error)
            }
        }
    }

    /// What is there goes now.
    pub(crate) fn flush(&mut self) {
        self.state = State::Going;
    }

    /// Decides whether what is there is sent now. Of `awaited` replies the server owes those to requests that were sent. Its
    /// `latency` is short when it has replied within a time in which a wait is not felt. What goes, goes until the socket has taken all.
    pub(crate) fn is_due(&mut self, awaited: usize, latency: ServerLatency) -> bool {
        let owed = awaited.saturating_sub(self.waiting);
        let patient = latency == ServerLatency::Short
            && self.bytes.len() < limits::WAITING_BYTES_MAX
            && self.waiting.saturating_mul(limits::WAITING_SHARE) < owed;
        if !patient {
            self.flush();
        }
        self.state == State::Going
    }

    /// What is ready for the socket. `seal` makes all bytes ready and says how many of them are sealed by that: all, or none if
    /// they pass as they are.
    pub(crate) fn ready<E>(
        &mut self,
        seal: impl FnOnce(&mut BytesMut) -> Result<usize, E>,
    ) -> Result<&[u8], E> {
        if self.sealed == 0 {
            self.sealed = seal(&mut self.bytes)?;
        }
        let ready = match self.sealed {
            0 => self.bytes.len(),
            sealed => sealed,
        };
        Ok(self.bytes.get(..ready).unwrap_or_default())
    }

    /// The socket has taken so many of the bytes that were ready.
    pub(crate) fn record_written(&mut self, count: usize) {
        self.bytes.advance(count);
        self.sealed = self.sealed.saturating_sub(count);
    }

    /// The socket has taken all.
    pub(crate) fn emptied(&mut self) {
        debug_assert!(self.bytes.is_empty());
        self.waiting = 0;
        self.state = State::Patient;
    }

    /// Gives back the memory of something large, when it is empty.
    pub(crate) fn shrink(&mut self) {
        debug_assert!(self.bytes.is_empty());
        self.bytes = BytesMut::with_capacity(limits::BUFFER_BYTES);
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Where in the stream of what callers wrote the next byte is.
    pub(crate) fn end(&self) -> u64 {
        self.written
    }

    /// Up to where in that stream everything was taken by the socket, or sealed.
    pub(crate) fn sent(&self) -> u64 {
        self.written - (self.bytes.len() - self.sealed) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(out: &mut SendBuffer, bytes: &[u8], flush: FlushMode) {
        let written: Result<(), ()> = out.append(1, flush, |out| {
            out.extend_from_slice(bytes);
            Ok(())
        });
        written.unwrap();
    }

    /// Everything goes to a socket that passes bytes as they are.
    fn send(out: &mut SendBuffer) {
        let count = out.ready(|_| Ok::<_, ()>(0)).unwrap().len();
        out.record_written(count);
        out.emptied();
    }

    /// How many of `asked` requests, asked one by one while `owed` replies are awaited, wait before all that is there goes.
    #[track_caller]
    fn check(owed: usize, latency: ServerLatency, expected: usize) {
        let mut out = SendBuffer::new();
        let mut waited = 0;
        loop {
            put(&mut out, b"x", FlushMode::WithOthers);
            if out.is_due(owed + waited + 1, latency) {
                break;
            }
            waited += 1;
        }
        assert_eq!(waited, expected, "{owed}");
    }

    #[test]
    fn requests_wait_for_an_eighth_of_what_the_server_owes() {
        check(0, ServerLatency::Short, 0);
        check(1, ServerLatency::Short, 0);
        check(8, ServerLatency::Short, 0);
        check(9, ServerLatency::Short, 1);
        check(64, ServerLatency::Short, 7);
        check(640, ServerLatency::Short, 79);
        check(640, ServerLatency::Unknown, 0);
    }

    #[test]
    fn each_reply_decides_anew() {
        let mut out = SendBuffer::new();
        put(&mut out, b"x", FlushMode::WithOthers);
        assert!(!out.is_due(11, ServerLatency::Short));
        assert!(!out.is_due(10, ServerLatency::Short));
        assert!(out.is_due(9, ServerLatency::Short));
    }

    #[test]
    fn flush_that_has_begun_lasts_until_all_is_sent() {
        let mut out = SendBuffer::new();
        put(&mut out, b"x", FlushMode::Now);
        assert!(out.is_due(100, ServerLatency::Short));
        // The socket was full meanwhile, and another request comes.
        put(&mut out, b"y", FlushMode::WithOthers);
        assert!(out.is_due(101, ServerLatency::Short));
        send(&mut out);
        put(&mut out, b"z", FlushMode::WithOthers);
        assert!(!out.is_due(102, ServerLatency::Short));
    }

    #[test]
    fn waiting_bytes_at_their_limit_go() {
        for (length, goes) in [
            (limits::WAITING_BYTES_MAX - 1, false),
            (limits::WAITING_BYTES_MAX, true),
        ] {
            let mut out = SendBuffer::new();
            put(&mut out, &vec![0; length], FlushMode::WithOthers);
            assert_eq!(out.is_due(100, ServerLatency::Short), goes, "{length}");
        }
    }

    #[test]
    fn failed_request_leaves_nothing_behind() {
        let mut out = SendBuffer::new();
        put(&mut out, b"whole", FlushMode::WithOthers);
        let failed: Result<(), &str> = out.append(1, FlushMode::Now, |out| {
            out.extend_from_slice(b"half");
            Err("refused")
        });
        assert_eq!(failed, Err("refused"));
        assert_eq!((out.len(), out.end(), out.sent()), (5, 5, 0));
        assert!(
            !out.is_due(100, ServerLatency::Short),
            "its flush does not count"
        );
    }

    #[test]
    fn bytes_that_pass_as_they_are_count_as_sent_when_the_socket_has_them() {
        let mut out = SendBuffer::new();
        put(&mut out, b"abcd", FlushMode::Now);
        assert_eq!(out.ready(|_| Ok::<_, ()>(0)), Ok(&b"abcd"[..]));
        out.record_written(3);
        assert_eq!(out.sent(), 3);
        put(&mut out, b"ef", FlushMode::Now);
        assert_eq!(out.ready(|_| Ok::<_, ()>(0)), Ok(&b"def"[..]));
        assert_eq!((out.sent(), out.end()), (3, 6));
    }

    #[test]
    fn sealed_bytes_count_as_sent_and_are_sealed_once() {
        /// Twice as many bytes.
        fn seal(bytes: &mut BytesMut) -> Result<usize, ()> {
            let plain = bytes.split();
            for byte in plain {
                bytes.extend_from_slice(&[byte, b'!']);
            }
            Ok(bytes.len())
        }
        let mut out = SendBuffer::new();
        put(&mut out, b"ab", FlushMode::Now);
        assert_eq!((out.sent(), out.end()), (0, 2));
        assert_eq!(out.ready(seal), Ok(&b"a!b!"[..]));
        assert_eq!(out.sent(), 2);
        out.record_written(1);
        put(&mut out, b"c", FlushMode::Now);
        assert_eq!(
            out.ready(seal),
            Ok(&b"!b!"[..]),
            "what came later is not sealed yet"
        );
        assert_eq!((out.sent(), out.end()), (2, 3));
        out.record_written(3);
        assert_eq!(out.ready(seal), Ok(&b"c!"[..]));
        assert_eq!(out.sent(), 3);
    }
}
