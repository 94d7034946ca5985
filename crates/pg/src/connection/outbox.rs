//! What callers wrote and the socket has not taken yet: the bytes, and whether they go now or wait for company. Writes nothing.
//! Rule: a request waits only while the server owes many times as many answers, so that it has work until the request arrives;
//! each answer that comes decides anew, and nothing else is needed to end the waiting.

use bytes::BytesMut;

use crate::limits;

/// Whether a request may wait until more go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushMode {
    /// It goes at the end of the turn, and what waits with it.
    Now,
    /// One of many that are under way at once.
    WithOthers,
}

#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) bytes: BytesMut,
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

impl Outbox {
    pub(super) fn new() -> Self {
        Outbox {
            bytes: BytesMut::with_capacity(limits::BUFFER_BYTES),
            waiting: 0,
            state: State::Patient,
        }
    }

    /// So many requests were appended.
    pub(super) fn appended(&mut self, requests: usize, haste: FlushMode) {
        self.waiting += requests;
        if haste == FlushMode::Now {
            self.press();
        }
    }

    /// What is there goes now.
    pub(super) fn press(&mut self) {
        self.state = State::Going;
    }

    /// Decides whether what is there is sent now. Of `awaited` answers the server owes those to requests that were sent; it is
    /// `near` when it has answered within a time in which a wait is not felt. What goes, goes until the socket has taken all.
    pub(super) fn is_due(&mut self, awaited: usize, near: Near) -> bool {
        let owed = awaited.saturating_sub(self.waiting);
        let patient = near == Near::Yes
            && self.bytes.len() < limits::WAITING_BYTES_MAX
            && self.waiting.saturating_mul(limits::WAITING_SHARE) < owed;
        if !patient {
            self.press();
        }
        self.state == State::Going
    }

    /// The socket has taken all.
    pub(super) fn emptied(&mut self) {
        debug_assert!(self.bytes.is_empty());
        self.waiting = 0;
        self.state = State::Patient;
    }
}

/// Whether the server has ever answered within [`limits::NEAR`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Near {
    #[default]
    Unknown,
    Yes,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `asked` requests, asked one by one while `owed` answers are awaited, wait before all that is there goes.
    #[track_caller]
    fn check(owed: usize, near: Near, expected: usize) {
        let mut out = Outbox::new();
        let mut waited = 0;
        loop {
            out.bytes.extend_from_slice(b"x");
            out.appended(1, FlushMode::WithOthers);
            if out.is_due(owed + waited + 1, near) {
                break;
            }
            waited += 1;
        }
        assert_eq!(waited, expected, "{owed}");
    }

    #[test]
    fn requests_wait_for_an_eighth_of_what_the_server_owes() {
        check(0, Near::Yes, 0);
        check(1, Near::Yes, 0);
        check(8, Near::Yes, 0);
        check(9, Near::Yes, 1);
        check(64, Near::Yes, 7);
        check(640, Near::Yes, 79);
        check(640, Near::Unknown, 0);
    }

    #[test]
    fn each_answer_decides_anew() {
        let mut out = Outbox::new();
        out.bytes.extend_from_slice(b"x");
        out.appended(1, FlushMode::WithOthers);
        assert!(!out.is_due(11, Near::Yes));
        assert!(!out.is_due(10, Near::Yes));
        assert!(out.is_due(9, Near::Yes));
    }

    #[test]
    fn flush_that_has_begun_goes_on_until_the_buffer_is_empty() {
        let mut out = Outbox::new();
        out.bytes.extend_from_slice(b"x");
        out.appended(1, FlushMode::Now);
        assert!(out.is_due(100, Near::Yes));
        // The socket was full meanwhile, and another asks.
        out.bytes.extend_from_slice(b"y");
        out.appended(1, FlushMode::WithOthers);
        assert!(out.is_due(101, Near::Yes));
        out.bytes.clear();
        out.emptied();
        out.bytes.extend_from_slice(b"z");
        out.appended(1, FlushMode::WithOthers);
        assert!(!out.is_due(102, Near::Yes));
    }

    #[test]
    fn many_bytes_do_not_wait() {
        let mut out = Outbox::new();
        out.bytes.resize(limits::WAITING_BYTES_MAX, 0);
        out.appended(1, FlushMode::WithOthers);
        assert!(out.is_due(100, Near::Yes));
    }
}
