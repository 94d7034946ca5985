//! Callers that wait until a key is notified. Knows no database and no time: the caller bounds the wait.
//! Rule: a caller that registers before it looks misses no notification that comes after it looked.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::error::{Result, queue_full};
use crate::limits::WAITERS_MAX;

/// Consumers of a database that is used as a queue wait for this key, and each push notifies it.
pub const QUEUE_KEY: &[u8] = b"";

/// A future that is ready once its key was notified, from when it was made.
#[derive(Debug)]
pub struct Waiter {
    key: Bytes,
    slot: Arc<Slot>,
    waiters: Arc<Waiters>,
}

#[derive(Debug, Default)]
struct Slot {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    notified: bool,
    waker: Option<Waker>,
}

/// All that wait on one database, or on what another engine keeps.
#[derive(Debug, Default)]
pub struct Waiters {
    /// Beside the table, so that a notice without waiters takes no lock.
    count: AtomicUsize,
    table: Mutex<HashMap<Bytes, VecDeque<Arc<Slot>>>>,
}

impl Waiters {
    /// A future that is ready once `key` is notified, from now on.
    ///
    /// # Errors
    /// [`QueueFull`](crate::Error::QueueFull) beyond [`WAITERS_MAX`](crate::limits::WAITERS_MAX).
    pub fn wait_for(self: &Arc<Self>, key: Bytes) -> Result<Waiter> {
        let mut table = self.lock();
        if self.count.load(SeqCst) >= WAITERS_MAX {
            return Err(queue_full("callers", "WAITERS_MAX", WAITERS_MAX));
        }
        let slot = Arc::new(Slot::default());
        table
            .entry(key.clone())
            .or_default()
            .push_back(slot.clone());
        self.count.fetch_add(1, SeqCst);
        Ok(Waiter {
            key,
            slot,
            waiters: self.clone(),
        })
    }

    /// Wakes the first `most` that wait for `key`, in the order they came; says how many.
    pub fn notify(&self, key: &[u8], most: usize) -> usize {
        if self.count.load(SeqCst) == 0 {
            return 0;
        }
        let mut table = self.lock();
        let Some(slots) = table.get_mut(key) else {
            return 0;
        };
        let woken = slots.len().min(most);
        for slot in slots.drain(..woken) {
            slot.notify();
        }
        if slots.is_empty() {
            table.remove(key);
        }
        self.count.fetch_sub(woken, SeqCst);
        woken
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Bytes, VecDeque<Arc<Slot>>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify(&self) {
        let waker = {
            let mut state = self.lock();
            state.notified = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Future for Waiter {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.slot.lock();
        if state.notified {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut table = self.waiters.lock();
        let Some(slots) = table.get_mut(&self.key) else {
            return;
        };
        let Some(at) = slots.iter().position(|slot| Arc::ptr_eq(slot, &self.slot)) else {
            return;
        };
        slots.remove(at);
        if slots.is_empty() {
            table.remove(&self.key);
        }
        self.waiters.count.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(waiters: &Arc<Waiters>, key: &'static str) -> Waiter {
        waiters
            .wait_for(Bytes::from_static(key.as_bytes()))
            .unwrap()
    }

    fn is_ready(waiter: &mut Waiter) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(waiter).poll(&mut context).is_ready()
    }

    #[test]
    fn first_waiters_are_woken_first() {
        let waiters = Arc::new(Waiters::default());
        let [mut first, mut second, mut other] = ["a", "a", "b"].map(|key| wait(&waiters, key));
        assert_eq!(waiters.notify(b"a", 1), 1);
        assert!(is_ready(&mut first) && !is_ready(&mut second) && !is_ready(&mut other));
        assert_eq!(waiters.notify(b"a", usize::MAX), 1);
        assert!(is_ready(&mut second) && !is_ready(&mut other));
        assert_eq!(waiters.notify(b"a", usize::MAX), 0);
    }

    #[test]
    fn dropped_waiter_is_passed_over() {
        let waiters = Arc::new(Waiters::default());
        let first = wait(&waiters, "a");
        let mut second = wait(&waiters, "a");
        drop(first);
        assert_eq!(waiters.notify(b"a", 1), 1);
        assert!(is_ready(&mut second));
        drop(second);
        assert!(waiters.lock().is_empty());
    }

    #[test]
    fn waiters_have_a_bound() {
        let waiters = Arc::new(Waiters::default());
        let mut held: Vec<Waiter> = (0..WAITERS_MAX)
            .map(|n| waiters.wait_for(Bytes::from(n.to_string())).unwrap())
            .collect();
        let error = waiters.wait_for(Bytes::new()).unwrap_err();
        assert!(error.to_string().contains("WAITERS_MAX"), "{error}");
        held.pop();
        assert!(waiters.wait_for(Bytes::new()).is_ok());
    }
}
