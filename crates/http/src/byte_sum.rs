//! Bytes that a worker holds for its clients at once, each kind up to a limit with a name. Knows what is held by its bytes alone.
//! What finds no room is refused, counted, and logged by the limit's name once a second.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;

use crate::{
    error::{Error, Result},
    limits::{HttpLimits, WEBSOCKETS_KEPT_BYTES_MAX},
};

/// How long a limit that refuses something is not logged again.
const LOG_REST: Duration = Duration::from_secs(1);

/// The bytes of one kind that a worker holds. Its thread alone takes more; what is held may be dropped on another one.
#[derive(Debug)]
pub struct ByteSum {
    /// What they belong to, for people.
    owner: &'static str,
    limit_name: &'static str,
    bytes: AtomicU64,
    bytes_max: u64,
    refused: AtomicU64,
    logged_at: Mutex<Option<Instant>>,
}

impl ByteSum {
    pub(crate) fn new(
        owner: &'static str,
        limit_name: &'static str,
        bytes_max: u64,
    ) -> Arc<ByteSum> {
        Arc::new(ByteSum {
            owner,
            limit_name,
            bytes: AtomicU64::new(0),
            bytes_max,
            refused: AtomicU64::new(0),
            logged_at: Mutex::new(None),
        })
    }

    /// Bytes now.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// How often something was refused because there was no room for it.
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Is there room for so many bytes more of one that has `held` of them?
    fn check(&self, held: u64, more: u64) -> Result<()> {
        if self.bytes.load(Relaxed).saturating_add(more) <= self.bytes_max {
            return Ok(());
        }
        self.refused.fetch_add(1, Relaxed);
        let (owner, name, limit) = (self.owner, self.limit_name, self.bytes_max);
        let now = Instant::now();
        let mut logged_at = self
            .logged_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if logged_at.is_none_or(|at| now - at >= LOG_REST) {
            *logged_at = Some(now);
            let (bytes, refused) = (self.bytes.load(Relaxed), self.refused.load(Relaxed));
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
    pub(crate) bodies: Arc<ByteSum>,
    /// Messages of WebSockets.
    pub(crate) messages: Arc<ByteSum>,
    /// Buffers that WebSockets keep for their next messages.
    pub(crate) kept: Arc<ByteSum>,
    /// Answers that wait for their clients.
    pub(crate) answers: Arc<ByteSum>,
    /// Uploaded files on disk.
    pub(crate) uploads: Arc<ByteSum>,
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
            answers: ByteSum::new(
                "the answers that wait for their clients",
                "answers_bytes_max",
                limits.answers_bytes_max,
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
    sum: Arc<ByteSum>,
    bytes: AtomicU64,
}

impl ByteShare {
    pub(crate) fn new(sum: &Arc<ByteSum>) -> ByteShare {
        ByteShare {
            sum: Arc::clone(sum),
            bytes: AtomicU64::new(0),
        }
    }

    /// Is there room for so many bytes more? Takes none: what a client says of its body costs it nothing.
    pub(crate) fn check(&self, more: u64) -> Result<()> {
        self.sum.check(self.bytes.load(Relaxed), more)
    }

    /// So many bytes more are held.
    pub(crate) fn add(&self, more: usize) -> Result<()> {
        self.set(self.bytes.load(Relaxed) + more as u64)
    }

    /// So many fewer are.
    pub(crate) fn remove(&self, fewer: usize) {
        self.replace(self.bytes.load(Relaxed).saturating_sub(fewer as u64));
    }

    /// So many are held from now on. When there is no room for more, as many as before.
    pub(crate) fn set(&self, bytes: u64) -> Result<()> {
        if let Some(more @ 1..) = bytes.checked_sub(self.bytes.load(Relaxed)) {
            self.check(more)?;
        }
        self.replace(bytes);
        Ok(())
    }

    /// The same, for what can do without: nothing is refused. Whether there was room.
    pub(crate) fn try_set(&self, bytes: u64) -> bool {
        let fits =
            self.sum.bytes.load(Relaxed) - self.bytes.load(Relaxed) + bytes <= self.sum.bytes_max;
        if fits {
            self.replace(bytes);
        }
        fits
    }

    fn replace(&self, bytes: u64) {
        let before = self.bytes.swap(bytes, Relaxed);
        // Wraps around to the difference.
        self.sum
            .bytes
            .fetch_add(bytes.wrapping_sub(before), Relaxed);
    }
}

impl Drop for ByteShare {
    fn drop(&mut self) {
        self.replace(0);
    }
}

/// Bytes that count until the last handle of them is dropped.
struct CountedBytes {
    bytes: Bytes,
    _share: ByteShare,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl ByteSum {
    /// These bytes, which count until they are dropped; an error when there is no room for them.
    pub(crate) fn count(self: &Arc<ByteSum>, bytes: Bytes) -> Result<Bytes> {
        let share = ByteShare::new(self);
        let (owner, name, limit) = (self.owner, self.limit_name, self.bytes_max);
        share
            .add(bytes.len())
            .map_err(|_| Error::Crowded { owner, name, limit })?;
        Ok(Bytes::from_owner(CountedBytes {
            bytes,
            _share: share,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum() -> Arc<ByteSum> {
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
    fn share_that_can_do_without_room_is_not_refused() {
        let sum = sum();
        let (first, second) = (ByteShare::new(&sum), ByteShare::new(&sum));
        assert!(first.try_set(4) && second.try_set(6));
        assert!(!second.try_set(7));
        assert_eq!((sum.bytes(), sum.refused()), (10, 0));
        assert!(first.try_set(0) && second.try_set(10));
    }

    #[test]
    fn counted_bytes_are_free_when_their_last_handle_is_dropped_on_any_thread() {
        let sum = sum();
        let bytes = sum.count(Bytes::from_static(b"abcdefg")).unwrap();
        assert_eq!(&bytes[..], b"abcdefg");
        assert!(sum.count(Bytes::from_static(b"hijk")).is_err());
        let end = bytes.slice(6..);
        drop(bytes);
        assert_eq!((sum.bytes(), sum.refused()), (7, 1));
        std::thread::spawn(move || drop(end)).join().unwrap();
        assert_eq!(sum.bytes(), 0);
        // Also when it will never find room: the client did nothing wrong.
        let error = sum.count(Bytes::from_static(&[0; 11])).unwrap_err();
        assert!(matches!(error, Error::Crowded { .. }));
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
