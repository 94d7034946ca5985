//! Changes of a store as its watcher takes them, whichever engine reports them. Carries no values.
//! Rule: a slow watcher loses changes and is told how many; it never holds up a write and never holds more than its bounds.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use tokio::sync::Notify;
use tsumugi_kv::{ChangeEvent, Error as KvError, PrefixWatch};
use tsumugi_rpc::client::Watch;

use crate::error::{Error, Result};
use crate::limits::{WATCH_BYTES_MAX, WATCH_CHANGES_MAX};

/// The changes of one prefix from now on. Ends when it is dropped.
#[derive(Debug)]
pub struct StoreWatch(Source);

#[derive(Debug)]
enum Source {
    Local(PrefixWatch),
    Service(Watch),
    Queue(Rc<Queue>),
}

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

impl StoreWatch {
    pub(crate) fn local(watch: PrefixWatch) -> StoreWatch {
        StoreWatch(Source::Local(watch))
    }

    pub(crate) fn service(watch: Watch) -> StoreWatch {
        StoreWatch(Source::Service(watch))
    }

    /// The next change. Dropping the future loses nothing.
    ///
    /// # Errors
    /// Why the watch has ended, once; [`Closed`](KvError::Closed) afterwards.
    pub async fn next(&mut self) -> Result<ChangeEvent> {
        match &mut self.0 {
            Source::Local(watch) => watch.next().await.ok_or(Error::Kv(KvError::Closed)),
            Source::Service(watch) => Ok(watch.next().await?),
            Source::Queue(queue) => loop {
                let filled = queue.filled.notified();
                if let Some(taken) = queue.state.borrow_mut().take() {
                    return taken;
                }
                filled.await;
            },
        }
    }
}

impl Drop for StoreWatch {
    fn drop(&mut self) {
        if let Source::Queue(queue) = &self.0 {
            queue.left.notify_one();
        }
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

/// Where the task of an engine puts changes. Dropping it ends the watch with [`Closed`](KvError::Closed).
#[derive(Debug)]
pub(crate) struct WatchSender {
    queue: Weak<Queue>,
    left: Rc<Notify>,
}

/// A watch and the place for its changes.
pub(crate) fn watch_queue() -> (WatchSender, StoreWatch) {
    let queue = Rc::new(Queue::default());
    let sender = WatchSender {
        queue: Rc::downgrade(&queue),
        left: Rc::clone(&queue.left),
    };
    (sender, StoreWatch(Source::Queue(queue)))
}

impl WatchSender {
    /// Reports a change.
    pub(crate) fn send(&self, change: ChangeEvent) {
        if let Some(queue) = self.queue.upgrade() {
            queue.state.borrow_mut().push(change);
            queue.filled.notify_waiters();
        }
    }

    /// Ends the watch with a reason.
    pub(crate) fn end(self, why: Error) {
        if let Some(queue) = self.queue.upgrade() {
            queue.state.borrow_mut().end = Some(Some(why));
            queue.filled.notify_waiters();
        }
    }

    /// Whether the watch was dropped.
    pub(crate) fn is_closed(&self) -> bool {
        self.queue.strong_count() == 0
    }

    /// Resolves once the watch was dropped.
    pub(crate) async fn closed(&self) {
        if !self.is_closed() {
            self.left.notified().await;
        }
    }
}

impl Drop for WatchSender {
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
            let (sender, mut watch) = watch_queue();
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
            let (sender, mut watch) = watch_queue();
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
            let (sender, mut watch) = watch_queue();
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
            let (sender, watch) = watch_queue();
            assert!(!sender.is_closed());
            drop(watch);
            sender.closed().await;
            assert!(sender.is_closed());
        });
    }
}
