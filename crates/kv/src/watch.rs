//! Changes of a database, reported to watchers of a prefix of keys. Carries no values: the watcher reads what it wants.
//! Rule: a slow watcher loses changes and gets an error that says so; it never holds up a write and never holds more than its bounds.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::ops::Bound;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::error::{Result, queue_full};
use crate::limits::{WATCH_BYTES_MAX, WATCH_CHANGES_MAX, WATCHES_MAX};

/// What happened.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeEvent {
    /// A record was stored, new or in place of another.
    Put(Bytes),
    /// A record was removed.
    Removed(Bytes),
    /// A record's time to live was over, and it was swept away.
    Expired(Bytes),
    /// A record made room for another.
    Evicted(Bytes),
    /// All records were removed.
    Cleared,
    /// More changed than was taken in time: this many changes are lost, and anything may be different.
    Lagged(u64),
    /// The engine behind a network has lost sight of the watch, or of the changes: some are lost, their number is unknown, and anything may be
    /// different. Read again what matters. A database of this process reports none.
    Gap,
}

impl ChangeEvent {
    /// The key of the one record that changed.
    #[must_use]
    pub fn key(&self) -> Option<&Bytes> {
        match self {
            Self::Put(key) | Self::Removed(key) | Self::Expired(key) | Self::Evicted(key) => {
                Some(key)
            }
            Self::Cleared | Self::Lagged(_) | Self::Gap => None,
        }
    }

    /// The same with a key of its own: one that came in a message would keep all of that message, which no bound here counts.
    fn detached(&self) -> Self {
        let own = |key: &Bytes| Bytes::copy_from_slice(key);
        match self {
            Self::Put(key) => Self::Put(own(key)),
            Self::Removed(key) => Self::Removed(own(key)),
            Self::Expired(key) => Self::Expired(own(key)),
            Self::Evicted(key) => Self::Evicted(own(key)),
            Self::Cleared | Self::Lagged(_) | Self::Gap => self.clone(),
        }
    }
}

/// The changes of one prefix from now on. Ends with the database, or when it is dropped.
#[derive(Debug)]
pub struct PrefixWatch {
    id: usize,
    prefix: Bytes,
    queue: Arc<Mutex<Queue>>,
    watches: Arc<Watches>,
}

#[derive(Debug, Default)]
struct Queue {
    changes: VecDeque<ChangeEvent>,
    key_bytes: usize,
    lost: u64,
    waker: Option<Waker>,
    ended: bool,
}

/// All watches of one database.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    /// Beside the table, so that a write without watchers takes no lock.
    count: AtomicUsize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: usize,
    ended: bool,
    /// By their prefixes, so that a write looks at those that fit, and at few others however many there are.
    prefixes: BTreeMap<Bytes, HashMap<usize, Arc<Mutex<Queue>>>>,
}

impl Table {
    /// Those that a change concerns.
    fn each_concerned(&self, key: Option<&[u8]>, mut work: impl FnMut(&Mutex<Queue>)) {
        let mut work_on = |watches: &HashMap<usize, Arc<Mutex<Queue>>>| {
            watches.values().for_each(|queue| work(queue));
        };
        let Some(key) = key else {
            return self.prefixes.values().for_each(work_on);
        };
        // What part of the key a prefix may still be.
        let mut part = key;
        loop {
            let up_to_part = (Bound::Unbounded, Bound::Included(part));
            let Some((prefix, watches)) = self.prefixes.range::<[u8], _>(up_to_part).next_back()
            else {
                return;
            };
            if part.starts_with(prefix) {
                work_on(watches);
                let Some(shorter) = prefix.len().checked_sub(1) else {
                    return;
                };
                part = &key[..shorter];
            } else {
                // A prefix of the key between this one and the part begins both.
                let both = part
                    .iter()
                    .zip(prefix)
                    .take_while(|(one, other)| one == other);
                part = &part[..both.count()];
            }
        }
    }
}

impl Watches {
    pub(crate) fn watch(self: &Arc<Self>, prefix: Bytes) -> Result<PrefixWatch> {
        let mut table = lock(&self.table);
        if self.count.load(SeqCst) >= WATCHES_MAX {
            return Err(queue_full("watches", "WATCHES_MAX", WATCHES_MAX));
        }
        let queue = Arc::new(Mutex::new(Queue {
            ended: table.ended,
            ..Queue::default()
        }));
        let id = table.next;
        table.next += 1;
        let watches = table.prefixes.entry(prefix.clone()).or_default();
        watches.insert(id, queue.clone());
        self.count.fetch_add(1, SeqCst);
        Ok(PrefixWatch {
            id,
            prefix,
            queue,
            watches: self.clone(),
        })
    }

    /// Whether there are watchers. Looked at before a change is made into a [`ChangeEvent`].
    pub(crate) fn any(&self) -> bool {
        self.count.load(SeqCst) != 0
    }

    /// Tells everyone whose prefix fits. Called in the order of the changes of a key.
    pub(crate) fn tell(&self, changed: &ChangeEvent) {
        let mut own = None;
        let key = changed.key().map(Bytes::as_ref);
        lock(&self.table).each_concerned(key, |queue| {
            let own = own.get_or_insert_with(|| changed.detached());
            lock(queue).push(own.clone());
        });
    }

    /// Ends every watch: the database is gone.
    pub(crate) fn end(&self) {
        let mut table = lock(&self.table);
        table.ended = true;
        table.each_concerned(None, |queue| {
            let mut queue = lock(queue);
            queue.ended = true;
            queue.wake();
        });
    }
}

impl Queue {
    fn push(&mut self, changed: ChangeEvent) {
        let bytes = changed.key().map_or(0, Bytes::len);
        let fits = self.changes.len() < WATCH_CHANGES_MAX
            && self.key_bytes + bytes <= WATCH_BYTES_MAX.max(bytes);
        if self.lost > 0 || !fits {
            // From the first lost change on, all are: what is reported stays without gaps.
            self.lost += 1;
        } else {
            self.key_bytes += bytes;
            self.changes.push_back(changed);
        }
        self.wake();
    }

    fn pop(&mut self) -> Option<ChangeEvent> {
        if let Some(changed) = self.changes.pop_front() {
            self.key_bytes -= changed.key().map_or(0, Bytes::len);
            return Some(changed);
        }
        let lost = std::mem::take(&mut self.lost);
        (lost > 0).then_some(ChangeEvent::Lagged(lost))
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl PrefixWatch {
    /// The next change; `None` when the database is gone. Dropping the future loses nothing.
    #[expect(
        clippy::should_implement_trait,
        reason = "a future, as channels have it, not an iterator"
    )]
    pub fn next(&mut self) -> NextChange<'_> {
        NextChange { watch: self }
    }

    /// The next change, if it is there already.
    pub fn try_next(&mut self) -> Option<ChangeEvent> {
        lock(&self.queue).pop()
    }
}

impl Drop for PrefixWatch {
    fn drop(&mut self) {
        let mut table = lock(&self.watches.table);
        if let Some(watches) = table.prefixes.get_mut(&self.prefix) {
            watches.remove(&self.id);
            if watches.is_empty() {
                table.prefixes.remove(&self.prefix);
            }
        }
        self.watches.count.fetch_sub(1, SeqCst);
    }
}

/// The future of [`PrefixWatch::next`].
#[derive(Debug)]
pub struct NextChange<'a> {
    watch: &'a mut PrefixWatch,
}

impl Future for NextChange<'_> {
    type Output = Option<ChangeEvent>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut queue = lock(&self.watch.queue);
        if let Some(changed) = queue.pop() {
            return Poll::Ready(Some(changed));
        }
        if queue.ended {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// A panic elsewhere leaves these tables whole: every change of them is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prefix: &'static str, changes: &[ChangeEvent], expected: &[ChangeEvent]) {
        let watches = Arc::new(Watches::default());
        let mut watch = watches
            .watch(Bytes::from_static(prefix.as_bytes()))
            .unwrap();
        for changed in changes {
            watches.tell(changed);
        }
        let mut seen = Vec::new();
        while let Some(changed) = watch.try_next() {
            seen.push(changed);
        }
        assert_eq!(seen, expected);
    }

    fn put(key: &str) -> ChangeEvent {
        ChangeEvent::Put(Bytes::copy_from_slice(key.as_bytes()))
    }

    #[test]
    fn a_watch_sees_its_prefix_and_what_concerns_all() {
        check(
            "a:",
            &[put("a:1"), put("b:1"), put("a"), ChangeEvent::Cleared],
            &[put("a:1"), ChangeEvent::Cleared],
        );
        check("", &[put(""), put("z")], &[put(""), put("z")]);
    }

    #[test]
    fn change_is_reported_to_every_watch_whose_prefix_fits_and_to_no_other() {
        let watches = Arc::new(Watches::default());
        let dice = tsumugi_testkit::Dice::new(1);
        // Few letters, so that prefixes begin each other, and the same one comes twice.
        let some = || -> Bytes {
            let length = dice.place(6);
            (0..length)
                .map(|_| dice.pick(b"ab\xff"))
                .collect::<Vec<u8>>()
                .into()
        };
        let mut held: Vec<(Bytes, PrefixWatch)> = (0..60)
            .map(|_| some())
            .map(|prefix| (prefix.clone(), watches.watch(prefix).unwrap()))
            .collect();
        for _ in 0..300 {
            let key = some();
            watches.tell(&ChangeEvent::Put(key.clone()));
            for (prefix, watch) in &mut held {
                let expected = key
                    .starts_with(prefix)
                    .then(|| ChangeEvent::Put(key.clone()));
                assert_eq!(watch.try_next(), expected, "{key:?} {prefix:?}");
                assert_eq!(watch.try_next(), None);
            }
            let at = dice.place(held.len());
            let prefix = some();
            held[at] = (prefix.clone(), watches.watch(prefix).unwrap());
        }
        drop(held);
        assert!(!watches.any() && lock(&watches.table).prefixes.is_empty());
    }

    #[test]
    fn unread_watch_beyond_its_limit_reports_lagged() {
        let many = vec![put("key"); WATCH_CHANGES_MAX + 1];
        let mut expected = many[..WATCH_CHANGES_MAX].to_vec();
        check("", &many[..WATCH_CHANGES_MAX], &expected);
        expected.push(ChangeEvent::Lagged(1));
        check("", &many, &expected);
    }

    #[test]
    fn keys_that_wait_have_a_bound_in_bytes() {
        let key = "k".repeat(WATCH_BYTES_MAX / 2);
        check(
            "",
            &[put(&key), put(&key), put("k"), put("")],
            &[put(&key), put(&key), ChangeEvent::Lagged(2)],
        );
    }

    #[test]
    fn key_that_waits_keeps_nothing_of_the_message_it_came_in() {
        let watches = Arc::new(Watches::default());
        let mut watch = watches.watch(Bytes::new()).unwrap();
        let message = Bytes::from(vec![b'm'; 1 << 20]);
        for changed in [
            ChangeEvent::Put,
            ChangeEvent::Removed,
            ChangeEvent::Expired,
            ChangeEvent::Evicted,
        ] {
            watches.tell(&changed(message.slice(..3)));
        }
        assert!(message.is_unique());
        let seen: Vec<ChangeEvent> = std::iter::from_fn(|| watch.try_next()).collect();
        let keys: Vec<&[u8]> = seen
            .iter()
            .filter_map(|one| Some(&one.key()?[..]))
            .collect();
        assert_eq!(keys, [b"mmm"; 4]);
    }

    #[test]
    fn watches_have_a_bound() {
        let watches = Arc::new(Watches::default());
        let mut held: Vec<PrefixWatch> = (0..WATCHES_MAX)
            .map(|_| watches.watch(Bytes::new()).unwrap())
            .collect();
        let error = watches.watch(Bytes::new()).unwrap_err();
        assert!(error.to_string().contains("WATCHES_MAX"), "{error}");
        held.pop();
        assert!(watches.watch(Bytes::new()).is_ok());
        drop(held);
        assert!(!watches.any());
    }
}
