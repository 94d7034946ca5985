//! Bytes that a worker holds for its clients at once, each kind up to a limit with a name. Knows what is held by its bytes alone.
//! What finds no room is refused, counted, and logged by the limit's name once a second.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use crate::{
    error::{Error, Result},
    limits::{HttpLimits, WEBSOCKETS_KEPT_BYTES_MAX},
};

/// How long a limit that refuses something is not logged again.
const LOG_REST: Duration = Duration::from_secs(1);

/// The bytes of one kind that a worker holds.
#[derive(Debug)]
pub struct ByteSum {
    /// What they belong to, for people.
    owner: &'static str,
    limit_name: &'static str,
    bytes: Cell<u64>,
    bytes_max: u64,
    refused: Cell<u64>,
    logged_at: Cell<Option<Instant>>,
}

impl ByteSum {
    pub(crate) fn new(
        owner: &'static str,
        limit_name: &'static str,
        bytes_max: u64,
    ) -> Rc<ByteSum> {
        Rc::new(ByteSum {
            owner,
            limit_name,
            bytes: Cell::new(0),
            bytes_max,
            refused: Cell::new(0),
            logged_at: Cell::new(None),
        })
    }

    /// Bytes now.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// How often something was refused because there was no room for it.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Is there room for so many bytes more of one that has `held` of them?
    fn check(&self, held: u64, more: u64) -> Result<()> {
        if self.bytes.get().saturating_add(more) <= self.bytes_max {
            return Ok(());
        }
        self.refused.set(self.refused.get() + 1);
        let (owner, name, limit) = (self.owner, self.limit_name, self.bytes_max);
        let now = Instant::now();
        if self.logged_at.get().is_none_or(|at| now - at >= LOG_REST) {
            self.logged_at.set(Some(now));
            let (bytes, refused) = (self.bytes.get(), self.refused.get());
            tracing::warn!(
                "{name} ({limit} bytes) has no room for more: {owner} have {bytes} bytes; {refused} refused so far"
            );
        }
        // What is longer than all of them may be together will never find room.
        Err(match held.saturating_add(more) > limit {
            true => Error::TooLarge { name, limit },
            false => Error::Crowded { owner, name, limit },
        })
    }
}

/// The sums of one worker.
#[derive(Debug)]
pub(crate) struct WorkerSums {
    /// Request bodies in memory. What has come of one counts until its request has been answered: a handler holds it, or what it made of
    /// it, as long.
    pub(crate) bodies: Rc<ByteSum>,
    /// Messages of WebSockets.
    pub(crate) messages: Rc<ByteSum>,
    /// Buffers that WebSockets keep for their next messages.
    pub(crate) kept: Rc<ByteSum>,
    /// Uploaded files on disk.
    pub(crate) uploads: Rc<ByteSum>,
}

impl WorkerSums {
    pub(crate) fn new(limits: &HttpLimits) -> WorkerSums {
        WorkerSums {
            bodies: ByteSum::new(
                "the bodies of the requests under way",
                "bodies_bytes_max",
                limits.bodies_bytes_max,
            ),
            messages: ByteSum::new(
                "the messages of WebSockets",
                "websockets_bytes_max",
                limits.websockets_bytes_max,
            ),
            kept: ByteSum::new(
                "the buffers of WebSockets",
                "websockets_kept_bytes_max",
                WEBSOCKETS_KEPT_BYTES_MAX,
            ),
            uploads: ByteSum::new(
                "the uploaded files of the requests under way",
                "uploads_bytes_max",
                limits.uploads_bytes_max,
            ),
        }
    }
}

/// What one of them has of the bytes. They are free when this is dropped.
#[derive(Debug)]
pub(crate) struct ByteShare {
    sum: Rc<ByteSum>,
    bytes: Cell<u64>,
}

impl ByteShare {
    pub(crate) fn new(sum: &Rc<ByteSum>) -> ByteShare {
        ByteShare {
            sum: Rc::clone(sum),
            bytes: Cell::new(0),
        }
    }

    /// Is there room for so many bytes more? Takes none: what a client says of its body costs it nothing.
    pub(crate) fn check(&self, more: u64) -> Result<()> {
        self.sum.check(self.bytes.get(), more)
    }

    /// So many bytes more are held.
    pub(crate) fn add(&self, more: usize) -> Result<()> {
        self.set(self.bytes.get() + more as u64)
    }

    /// So many fewer are.
    pub(crate) fn remove(&self, fewer: usize) {
        self.replace(self.bytes.get().saturating_sub(fewer as u64));
    }

    /// So many are held from now on. When there is no room for more, as many as before.
    pub(crate) fn set(&self, bytes: u64) -> Result<()> {
        if let Some(more @ 1..) = bytes.checked_sub(self.bytes.get()) {
            self.check(more)?;
        }
        self.replace(bytes);
        Ok(())
    }

    /// The same, for what can do without: nothing is refused. Whether there was room.
    pub(crate) fn try_set(&self, bytes: u64) -> bool {
        let fits = self.sum.bytes.get() - self.bytes.get() + bytes <= self.sum.bytes_max;
        if fits {
            self.replace(bytes);
        }
        fits
    }

    fn replace(&self, bytes: u64) {
        let others = self.sum.bytes.get() - self.bytes.replace(bytes);
        self.sum.bytes.set(others + bytes);
    }
}

impl Drop for ByteShare {
    fn drop(&mut self) {
        self.replace(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum() -> Rc<ByteSum> {
        ByteSum::new("bodies", "bodies_bytes_max", 10)
    }

    #[test]
    fn bytes_of_a_request_are_free_once_it_is_over() {
        let bodies = sum();
        let (first, second) = (ByteShare::new(&bodies), ByteShare::new(&bodies));
        first.add(6).unwrap();
        second.add(4).unwrap();
        assert!(matches!(
            second.add(1),
            Err(Error::Crowded {
                name: "bodies_bytes_max",
                limit: 10,
                ..
            })
        ));
        first.remove(1);
        second.add(1).unwrap();
        drop(first);
        assert_eq!((bodies.bytes(), bodies.refused()), (5, 1));
        drop(second);
        assert_eq!(bodies.bytes(), 0);
    }

    #[test]
    fn body_larger_than_the_whole_limit_is_too_large() {
        let load = ByteShare::new(&sum());
        assert!(load.check(10).is_ok());
        assert!(matches!(load.check(11), Err(Error::TooLarge { .. })));
        load.add(10).unwrap();
        assert!(matches!(load.add(1), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn what_can_do_without_room_is_not_refused() {
        let sum = sum();
        let (first, second) = (ByteShare::new(&sum), ByteShare::new(&sum));
        assert!(first.try_set(4) && second.try_set(6));
        assert!(!second.try_set(7));
        assert_eq!((sum.bytes(), sum.refused()), (10, 0));
        assert!(first.try_set(0) && second.try_set(10));
    }

    #[test]
    fn share_that_finds_no_room_keeps_what_it_had() {
        let sum = sum();
        let (first, second) = (ByteShare::new(&sum), ByteShare::new(&sum));
        first.set(4).unwrap();
        second.set(6).unwrap();
        assert!(second.set(7).is_err());
        assert_eq!(sum.bytes(), 10);
        second.set(3).unwrap();
        first.set(7).unwrap();
        assert_eq!((sum.bytes(), sum.refused()), (10, 1));
    }
}
