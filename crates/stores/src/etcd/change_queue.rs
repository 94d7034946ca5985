//! The changes of a watch of etcd that its watcher has not taken. Carries no values.
//! Rule: a slow watcher loses changes and is told how many; it never holds up a write and never holds more than its bounds.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use tokio::sync::Notify;
use tsumugi_kv::{ChangeEvent, Error as KvError};

use crate::error::{Error, Result};
use crate::limits::{WATCH_BYTES_MAX, WATCH_CHANGES_MAX};

/// Where its watcher takes them.
#[derive(Debug)]
pub(crate) struct ChangeQueue(Rc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    state: RefCell<QueueState>,
    /// Told when there is something to take.
    filled: Notify,
    /// Told when the watch is dropped.
    left: Rc<Notify>,
}

#[derive(Debug, Default)]
struct QueueState {
    changes: VecDeque<ChangeEvent>,
    key_bytes: usize,
    lost: u64,
    /// Why nothing more comes.
    end: Option<Option<Error>>,
}

impl ChangeQueue {
    /// The next change. Dropping the future loses nothing.
    pub(crate) async fn next(&self) -> Result<ChangeEvent> {
        loop {
            let filled = self.0.filled.notified();
            if let Some(taken) = self.0.state.borrow_mut().take() {
                return taken;
            }
            filled.await;
        }
    }
}

impl Drop for ChangeQueue {
    fn drop(&mut self) {
        self.0.left.notify_one();
    }
}

impl QueueState {
    fn push(&mut self, change: ChangeEvent) {
        let bytes = change.key().map_or(0, Bytes::len);
        let fits = self.changes.len() < WATCH_CHANGES_MAX
            && self.key_bytes + bytes <= WATCH_BYTES_MAX
            && self.lost == 0;
        match fits {
            true => {
                self.key_bytes += bytes;
                self.changes.push_back(change);
            }
            false => self.lost += 1,
        }
    }

    fn take(&mut self) -> Option<Result<ChangeEvent>> {
        if let Some(change) = self.changes.pop_front() {
            self.key_bytes -= change.key().map_or(0, Bytes::len);
            return Some(Ok(change));
        }
        if self.lost > 0 {
            return Some(Ok(ChangeEvent::Lagged(std::mem::take(&mut self.lost))));
        }
        let end = self.end.as_mut()?;
        Some(Err(end.take().unwrap_or(Error::Kv(KvError::Closed))))
    }
}

/// Where the task of the watch puts them. Dropping it ends the watch with [`Closed`](KvError::Closed).
#[derive(Debug)]
pub(super) struct ChangeSender {
    queue: Weak<Queue>,
    left: Rc<Notify>,
}

/// Both ends.
pub(super) fn change_queue() -> (ChangeSender, ChangeQueue) {
    let queue = Rc::new(Queue::default());
    let sender = ChangeSender {
        queue: Rc::downgrade(&queue),
        left: Rc::clone(&queue.left),
    };
    (sender, ChangeQueue(queue))
}

impl ChangeSender {
    /// Reports a change.
    pub(super) fn send(&self, change: ChangeEvent) {
        if let Some(queue) = self.queue.upgrade() {
            queue.state.borrow_mut().push(change);
            queue.filled.notify_waiters();
        }
    }

    /// Ends the watch with a reason.
    pub(super) fn end(self, why: Error) {
        if let Some(queue) = self.queue.upgrade() {
            queue.state.borrow_mut().end = Some(Some(why));
            queue.filled.notify_waiters();
        }
    }

    /// Whether the watch was dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.queue.strong_count() == 0
    }

    /// Resolves once the watch was dropped.
    pub(super) async fn closed(&self) {
        if !self.is_closed() {
            self.left.notified().await;
        }
    }
}

impl Drop for ChangeSender {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.upgrade() {
            queue.state.borrow_mut().end.get_or_insert(None);
            queue.filled.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str) -> ChangeEvent {
        ChangeEvent::Put(Bytes::copy_from_slice(key.as_bytes()))
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        runtime.block_on(future)
    }

    #[test]
    fn change_beyond_the_limit_is_lost_and_counted() {
        run(async {
            let (sender, watch) = change_queue();
            for _ in 0..=WATCH_CHANGES_MAX {
                sender.send(put("k"));
            }
            for _ in 0..WATCH_CHANGES_MAX {
                assert_eq!(watch.next().await.unwrap(), put("k"));
            }
            assert_eq!(watch.next().await.unwrap(), ChangeEvent::Lagged(1));
        });
    }

    #[test]
    fn keys_beyond_their_bytes_are_lost_and_counted() {
        run(async {
            let (sender, watch) = change_queue();
            let half = "k".repeat(WATCH_BYTES_MAX / 2);
            for key in [&half, &half, "k"] {
                sender.send(put(key));
            }
            for _ in 0..2 {
                assert_eq!(watch.next().await.unwrap(), put(&half));
            }
            assert_eq!(watch.next().await.unwrap(), ChangeEvent::Lagged(1));
        });
    }

    #[test]
    fn watch_that_was_ended_gives_its_reason_once_and_is_closed_then() {
        run(async {
            let (sender, watch) = change_queue();
            sender.send(put("a"));
            sender.end(Error::address("over"));
            assert_eq!(watch.next().await.unwrap(), put("a"));
            let why = watch.next().await.unwrap_err();
            assert_eq!(why.to_string(), "over");
            let closed = watch.next().await.unwrap_err();
            assert!(matches!(closed, Error::Kv(KvError::Closed)));
        });
    }

    #[test]
    fn sender_learns_that_the_watch_was_dropped() {
        run(async {
            let (sender, watch) = change_queue();
            assert!(!sender.is_closed());
            drop(watch);
            sender.closed().await;
            assert!(sender.is_closed());
        });
    }
}
