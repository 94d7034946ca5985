//! Small writes of one turn of the worker's loop, sent one after another at its end. Knows no protocol.
//! Why: a send is thousands of instructions of the system, which also wakes the receiver. Between two handlers each of them finds its
//! code out of the caches; one after another they do not, and receivers on the same machine take several answers at once.
//! Rules: what one connection writes leaves in order. A write waits for the tasks that are ready already; while those are handlers, no
//! longer than [`OUTBOX_WAIT_MAX`] and one poll of one: before each the clock is looked at.

use std::{
    cell::{Cell, RefCell},
    fmt,
    future::poll_fn,
    io::IoSlice,
    pin::pin,
    rc::{Rc, Weak},
    task::{Context, Poll, Waker},
    time::Instant,
};

use crate::limits::{OUTBOX_BYTES_MAX, OUTBOX_WAIT_MAX};

/// Where the bytes of one connection leave.
pub(crate) trait OutboxSink {
    /// Sends what was put into the outbox, or keeps what does not leave now. Never waits and never fails: the connection's task is
    /// woken and told.
    fn send(&self, bytes: &[u8]);
}

/// The bytes of one connection that lie in the outbox in one piece.
struct OutboxEntry {
    exit: Rc<dyn OutboxSink>,
    /// Where they end; they begin where the parcel before ends.
    end: usize,
}

/// What waits to be sent: the parcels, and their bytes one after another.
#[derive(Default)]
struct UnsentBytes {
    parcels: Vec<OutboxEntry>,
    bytes: Vec<u8>,
}

/// The outbox of a worker's connections.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: RefCell<UnsentBytes>,
    /// When the first of what waits has waited long enough.
    late_at: Cell<Option<Instant>>,
    /// The task that empties it.
    flusher: RefCell<Option<Waker>>,
}

impl Outbox {
    /// Takes bytes, which are sent when the tasks that are ready now have run.
    pub(crate) fn put<E: OutboxSink + 'static>(&self, exit: &Rc<E>, slices: &[IoSlice<'_>]) {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if self.waiting.borrow().bytes.len() + total > OUTBOX_BYTES_MAX {
            self.flush();
        }
        let mut waiting = self.waiting.borrow_mut();
        let UnsentBytes { parcels, bytes } = &mut *waiting;
        for slice in slices {
            bytes.extend_from_slice(slice);
        }
        let end = bytes.len();
        match parcels.last_mut() {
            Some(last) if std::ptr::addr_eq(Rc::as_ptr(&last.exit), Rc::as_ptr(exit)) => {
                last.end = end;
            }
            last => {
                let is_first = last.is_none();
                let exit: Rc<dyn OutboxSink> = Rc::<E>::clone(exit);
                parcels.push(OutboxEntry { exit, end });
                if is_first {
                    self.wake_flusher();
                }
            }
        }
    }

    /// Takes the last bytes back that lie here, if they are this connection's and `begin` says at which of them.
    pub(crate) fn take_back<E: OutboxSink + 'static>(
        &self,
        exit: &Rc<E>,
        begin: impl FnOnce(&[u8]) -> Option<usize>,
    ) -> Option<Vec<u8>> {
        let mut waiting = self.waiting.borrow_mut();
        let UnsentBytes { parcels, bytes } = &mut *waiting;
        let start = match parcels.as_slice() {
            [.., before, _] => before.end,
            _ => 0,
        };
        let last = parcels.last_mut()?;
        if !std::ptr::addr_eq(Rc::as_ptr(&last.exit), Rc::as_ptr(exit)) {
            return None;
        }
        let taken = bytes.split_off(start + begin(bytes.get(start..)?)?);
        last.end = bytes.len();
        Some(taken)
    }

    fn wake_flusher(&self) {
        self.late_at.set(Some(Instant::now() + OUTBOX_WAIT_MAX));
        if let Some(flusher) = &*self.flusher.borrow() {
            flusher.wake_by_ref();
        }
    }

    /// Sends everything now if something has waited too long.
    pub(crate) fn flush_if_late(&self, now: Instant) {
        if self.late_at.get().is_some_and(|late_at| now > late_at) {
            self.flush();
        }
    }

    /// Sends everything now.
    pub(crate) fn flush(&self) {
        // These writes are not those of the task that happens to run, so its budget is not for them.
        let mut sending = pin!(tokio::task::unconstrained(async { self.send_each() }));
        let sent = sending
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        debug_assert!(sent.is_ready(), "nothing in it waits");
    }

    fn send_each(&self) {
        self.late_at.set(None);
        let mut sending = SendGuard {
            outbox: self,
            taken: self.waiting.take(),
            parcels: 0,
            bytes: 0,
        };
        while let Some(parcel) = sending.taken.parcels.get(sending.parcels) {
            let bytes = sending.taken.bytes.get(sending.bytes..parcel.end);
            sending.parcels += 1;
            sending.bytes = parcel.end;
            parcel.exit.send(bytes.unwrap_or_default());
        }
    }

    /// Whether [`flusher`] runs.
    pub(crate) fn has_flusher(&self) -> bool {
        self.flusher.borrow().is_some()
    }
}

/// What is being sent. A panic costs the connection that it comes from; the others' bytes go back.
struct SendGuard<'a> {
    outbox: &'a Outbox,
    taken: UnsentBytes,
    /// How many parcels and bytes have left.
    parcels: usize,
    bytes: usize,
}

impl Drop for SendGuard<'_> {
    fn drop(&mut self) {
        let mut left = std::mem::take(&mut self.taken);
        left.parcels.drain(..self.parcels);
        left.bytes.drain(..self.bytes);
        for parcel in &mut left.parcels {
            parcel.end -= self.bytes;
        }
        if !left.parcels.is_empty() {
            self.outbox.wake_flusher();
        }
        // Nothing was put there in between: no exit writes to an outbox.
        self.outbox.waiting.replace(left);
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Outbox")
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        if let Some(flusher) = self.flusher.take() {
            flusher.wake();
        }
    }
}

/// The task that empties an outbox, until that is dropped. It is woken by the first write of a turn and so comes after the tasks that
/// were ready before.
pub(crate) fn flusher(outbox: &Rc<Outbox>) -> impl Future<Output = ()> + 'static {
    // So that a second one is not started before the first has run.
    outbox.flusher.replace(Some(Waker::noop().clone()));
    let running = Running(Rc::downgrade(outbox));
    poll_fn(move |cx| {
        let Some(outbox) = running.0.upgrade() else {
            return Poll::Ready(());
        };
        let is_known =
            matches!(&*outbox.flusher.borrow(), Some(waker) if waker.will_wake(cx.waker()));
        if !is_known {
            outbox.flusher.replace(Some(cx.waker().clone()));
        }
        outbox.flush();
        Poll::Pending
    })
}

/// However the task ends, the next connection starts another.
struct Running(Weak<Outbox>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(outbox) = self.0.upgrade() {
            outbox.flusher.replace(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Remembers what was sent through it, write by write.
    #[derive(Default)]
    struct Memory(RefCell<Vec<Vec<u8>>>);

    impl OutboxSink for Memory {
        fn send(&self, bytes: &[u8]) {
            self.0.borrow_mut().push(bytes.to_vec());
        }
    }

    fn put(outbox: &Outbox, exit: &Rc<Memory>, bytes: &[u8]) {
        outbox.put(exit, &[IoSlice::new(bytes)]);
    }

    #[test]
    fn each_connection_gets_its_own_bytes_in_order() {
        let outbox = Outbox::default();
        let (one, other) = (Rc::<Memory>::default(), Rc::<Memory>::default());
        outbox.put(&one, &[IoSlice::new(b"head "), IoSlice::new(b"body")]);
        put(&outbox, &one, b", more");
        put(&outbox, &other, b"other");
        put(&outbox, &one, b"last");
        assert!(one.0.borrow().is_empty());
        outbox.flush();
        assert_eq!(*one.0.borrow(), [&b"head body, more"[..], b"last"]);
        assert_eq!(*other.0.borrow(), [b"other"]);
        outbox.flush();
        assert_eq!(other.0.borrow().len(), 1);
    }

    #[test]
    fn one_byte_more_than_it_holds_sends_what_it_holds() {
        let outbox = Outbox::default();
        let exit = Rc::<Memory>::default();
        put(&outbox, &exit, &vec![b'x'; OUTBOX_BYTES_MAX]);
        assert!(exit.0.borrow().is_empty());
        put(&outbox, &exit, b"y");
        assert_eq!(exit.0.borrow()[0].len(), OUTBOX_BYTES_MAX);
        outbox.flush();
        assert_eq!(exit.0.borrow()[1], b"y");
    }

    #[test]
    fn nothing_waits_longer_than_the_limit() {
        let outbox = Outbox::default();
        let exit = Rc::<Memory>::default();
        put(&outbox, &exit, b"x");
        let late_at = outbox.late_at.get().expect("its time begins");
        assert!(late_at <= Instant::now() + OUTBOX_WAIT_MAX);
        outbox.flush_if_late(late_at);
        assert!(exit.0.borrow().is_empty());
        outbox.flush_if_late(late_at + Duration::from_nanos(1));
        assert_eq!(*exit.0.borrow(), [b"x"]);
        assert!(outbox.late_at.get().is_none(), "nothing waits");
    }

    /// Fails as nothing here should.
    struct FailingSink;

    impl OutboxSink for FailingSink {
        fn send(&self, _: &[u8]) {
            std::panic::resume_unwind(Box::new(()));
        }
    }

    #[test]
    fn a_panic_costs_one_connection() {
        let outbox = Outbox::default();
        let (one, other) = (Rc::<Memory>::default(), Rc::<Memory>::default());
        put(&outbox, &one, b"one");
        outbox.put(&Rc::new(FailingSink), &[IoSlice::new(b"broken")]);
        put(&outbox, &other, b"other");
        let flush = std::panic::AssertUnwindSafe(|| outbox.flush());
        assert!(std::panic::catch_unwind(flush).is_err());
        assert_eq!(*one.0.borrow(), [b"one"]);
        outbox.flush();
        assert_eq!(*one.0.borrow(), [b"one"]);
        assert_eq!(*other.0.borrow(), [b"other"]);
    }

    #[tokio::test]
    async fn the_flusher_ends_with_the_outbox() {
        let outbox = Rc::<Outbox>::default();
        let flusher = flusher(&outbox);
        assert!(outbox.has_flusher());
        let exit = Rc::<Memory>::default();
        put(&outbox, &exit, b"x");
        let drops_it = async move { drop(outbox) };
        tokio::join!(flusher, drops_it);
        assert_eq!(*exit.0.borrow(), [b"x"]);
    }
}
