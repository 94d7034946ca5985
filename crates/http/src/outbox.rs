//! Small writes of one turn of the worker's loop, sent one after another at its end. Knows no protocol.
//! Why: a send is thousands of instructions of the system, which also wakes the receiver. Between two handlers each of them finds its
//! code out of the caches; one after another they do not, and receivers on the same machine take several answers at once.
//! Rules: what one connection writes leaves in order. A write waits for the tasks that are ready already, but no longer than
//! [`OUTBOX_WAIT_MAX`] and one poll of a task.

use std::{
    cell::{Cell, RefCell},
    fmt,
    future::poll_fn,
    io::IoSlice,
    rc::{Rc, Weak},
    task::{Poll, Waker},
    time::Instant,
};

use crate::limits::{OUTBOX_BYTES_MAX, OUTBOX_WAIT_MAX};

/// Where the bytes of one connection leave.
pub(crate) trait Exit {
    /// Sends what was put into the outbox, or keeps what does not leave now. Never waits and never fails: the connection's task is
    /// woken and told.
    fn send(&self, bytes: &[u8]);
}

/// The bytes of one connection that lie in the outbox in one piece.
struct Parcel {
    exit: Rc<dyn Exit>,
    /// Where they end; they begin where the parcel before ends.
    end: usize,
}

/// What waits to be sent: the parcels, and their bytes one after another.
#[derive(Default)]
struct Waiting {
    parcels: Vec<Parcel>,
    bytes: Vec<u8>,
}

/// The outbox of a worker's connections.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: RefCell<Waiting>,
    /// A moment at which something was waiting already.
    since: Cell<Option<Instant>>,
    /// The task that empties it.
    flusher: RefCell<Option<Waker>>,
}

impl Outbox {
    /// Takes bytes, which are sent when the tasks that are ready now have run.
    pub(crate) fn put<E: Exit + 'static>(&self, exit: &Rc<E>, slices: &[IoSlice<'_>]) {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        if self.waiting.borrow().bytes.len() + total > OUTBOX_BYTES_MAX {
            self.flush();
        }
        let mut waiting = self.waiting.borrow_mut();
        let Waiting { parcels, bytes } = &mut *waiting;
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
                let exit: Rc<dyn Exit> = Rc::<E>::clone(exit);
                parcels.push(Parcel { exit, end });
                if is_first && let Some(flusher) = &*self.flusher.borrow() {
                    flusher.wake_by_ref();
                }
            }
        }
    }

    /// Sends everything now if something has waited too long. `now` is a reading of the clock that the caller has anyway.
    pub(crate) fn flush_if_late(&self, now: Instant) {
        match self.since.get() {
            Some(since) if now.saturating_duration_since(since) > OUTBOX_WAIT_MAX => {
                self.flush();
            }
            None if !self.waiting.borrow().parcels.is_empty() => self.since.set(Some(now)),
            _ => {}
        }
    }

    /// Sends everything now.
    pub(crate) fn flush(&self) {
        self.since.set(None);
        let mut taken = self.waiting.take();
        let mut from = 0;
        for Parcel { exit, end } in taken.parcels.drain(..) {
            exit.send(taken.bytes.get(from..end).unwrap_or_default());
            from = end;
        }
        taken.bytes.clear();
        // Nothing was put there in between: no exit writes to an outbox.
        self.waiting.replace(taken);
    }

    /// Whether [`flusher`] runs.
    pub(crate) fn has_flusher(&self) -> bool {
        self.flusher.borrow().is_some()
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
    let outbox: Weak<Outbox> = Rc::downgrade(outbox);
    let deliver = poll_fn(move |cx| {
        let Some(outbox) = outbox.upgrade() else {
            return Poll::Ready(());
        };
        let known = outbox
            .flusher
            .borrow()
            .as_ref()
            .is_some_and(|flusher| flusher.will_wake(cx.waker()));
        if !known {
            outbox.flusher.replace(Some(cx.waker().clone()));
        }
        outbox.flush();
        Poll::Pending
    });
    // It makes a bounded number of writes, for many tasks.
    tokio::task::unconstrained(deliver)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Remembers what was sent through it, write by write.
    #[derive(Default)]
    struct Memory(RefCell<Vec<Vec<u8>>>);

    impl Exit for Memory {
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
        let begun = Instant::now();
        let one_more = begun + OUTBOX_WAIT_MAX + Duration::from_nanos(1);
        outbox.flush_if_late(begun); // empty: nothing waits
        put(&outbox, &exit, b"x");
        outbox.flush_if_late(begun);
        outbox.flush_if_late(begun + OUTBOX_WAIT_MAX);
        assert!(exit.0.borrow().is_empty());
        outbox.flush_if_late(one_more);
        assert_eq!(*exit.0.borrow(), [b"x"]);
        put(&outbox, &exit, b"y");
        outbox.flush_if_late(one_more);
        assert_eq!(exit.0.borrow().len(), 1, "its time begins anew");
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
