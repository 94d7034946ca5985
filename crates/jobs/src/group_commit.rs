//! Group commit: what many callers submit at once is flushed by one of them for all that wait, while the next gather. Knows no database.
//! Rule: what is submitted is flushed by a run that begins afterwards, also when the caller that did it is dropped in the middle: then another does it again.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tokio::sync::Notify;

use crate::limits::GROUP_MAX;

/// What was submitted, flushed up to [`GROUP_MAX`] at a time. Holds one entry for each caller that waits, so that what bounds the callers bounds it: jobs that run,
/// and requests that push. Belongs to its thread.
#[derive(Debug)]
pub(crate) struct GroupCommit<A, R> {
    waiting: RefCell<Vec<(u64, A)>>,
    answers: RefCell<HashMap<u64, R>>,
    next: Cell<u64>,
    is_flushing: Cell<bool>,
    flushed: Notify,
}

impl<A, R> Default for GroupCommit<A, R> {
    fn default() -> GroupCommit<A, R> {
        GroupCommit {
            waiting: RefCell::default(),
            answers: RefCell::default(),
            next: Cell::new(0),
            is_flushing: Cell::new(false),
            flushed: Notify::new(),
        }
    }
}

impl<A: Clone, R> GroupCommit<A, R> {
    /// Has this flushed together with what others submit. `run` gets what waits, this included or soon, and answers each in its place.
    pub async fn submit(&self, what: A, run: impl AsyncFn(Vec<A>) -> Vec<R>) -> R {
        let number = self.next.get();
        self.next.set(number + 1);
        self.waiting.borrow_mut().push((number, what));
        let _member = Member {
            group: self,
            number,
        };
        // Others that are ready in the same moment come along.
        tokio::task::yield_now().await;
        loop {
            if let Some(answer) = self.answers.borrow_mut().remove(&number) {
                return answer;
            }
            let flushed = self.flushed.notified();
            match self.is_flushing.get() {
                false => self.flush(&run).await,
                true => flushed.await,
            }
        }
    }

    async fn flush(&self, run: impl AsyncFn(Vec<A>) -> Vec<R>) {
        let _leader = Leader::begin(self);
        let (numbers, asked): (Vec<u64>, Vec<A>) = {
            let waiting = self.waiting.borrow();
            waiting.iter().take(GROUP_MAX).cloned().unzip()
        };
        let answers = run(asked).await;
        let mut waiting = self.waiting.borrow_mut();
        for (number, answer) in numbers.into_iter().zip(answers) {
            if let Some(place) = waiting.iter().position(|(waits, _)| *waits == number) {
                waiting.remove(place);
                self.answers.borrow_mut().insert(number, answer);
            }
        }
    }
}

/// A caller that waits. Dropped, nothing is left of what it has submitted.
struct Member<'g, A, R> {
    group: &'g GroupCommit<A, R>,
    number: u64,
}

impl<A, R> Drop for Member<'_, A, R> {
    fn drop(&mut self) {
        let is_other = |(number, _): &(u64, A)| *number != self.number;
        self.group.waiting.borrow_mut().retain(is_other);
        self.group.answers.borrow_mut().remove(&self.number);
    }
}

/// The caller that flushes for all.
struct Leader<'g, A, R>(&'g GroupCommit<A, R>);

impl<'g, A, R> Leader<'g, A, R> {
    fn begin(group: &'g GroupCommit<A, R>) -> Leader<'g, A, R> {
        group.is_flushing.set(true);
        Leader(group)
    }
}

impl<A, R> Drop for Leader<'_, A, R> {
    fn drop(&mut self) {
        self.0.is_flushing.set(false);
        self.0.flushed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use futures_util::future::{join_all, select};
    use tokio::sync::Notify;

    use super::GroupCommit;
    use crate::limits::GROUP_MAX;

    fn on_a_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn callers_at_once_are_flushed_together_and_each_has_its_answer() {
        on_a_thread(async {
            let (group, sizes) = (GroupCommit::default(), RefCell::new(Vec::new()));
            let (all, seen) = (&group, &sizes);
            let ask = |n: u64| {
                all.submit(n, async move |asked: Vec<u64>| {
                    seen.borrow_mut().push(asked.len());
                    tokio::task::yield_now().await;
                    asked.into_iter().map(|n| n * 2).collect()
                })
            };
            let answers = join_all((0..50).map(ask)).await;
            assert_eq!(answers, (0..50).map(|n| n * 2).collect::<Vec<u64>>());
            assert_eq!(sizes.borrow().iter().sum::<usize>(), 50);
            assert!(sizes.borrow().len() <= 2, "{sizes:?}");
            assert!(group.waiting.borrow().is_empty() && group.answers.borrow().is_empty());
        });
    }

    #[test]
    fn callers_beyond_the_limit_are_flushed_the_next_time() {
        on_a_thread(async {
            let (group, sizes) = (GroupCommit::default(), RefCell::new(Vec::new()));
            let (all, seen) = (&group, &sizes);
            let submit = |n: usize| {
                all.submit(n, async move |asked: Vec<usize>| {
                    seen.borrow_mut().push(asked.len());
                    asked
                })
            };
            let answers = join_all((0..=GROUP_MAX).map(submit)).await;
            assert_eq!(answers, (0..=GROUP_MAX).collect::<Vec<_>>());
            assert_eq!(*sizes.borrow(), [GROUP_MAX, 1]);
        });
    }

    #[test]
    fn flush_of_a_dropped_caller_is_taken_over_by_another() {
        on_a_thread(async {
            let (group, begun) = (GroupCommit::default(), Rc::new(Notify::new()));
            let stuck = group.submit(1, async |_: Vec<u64>| {
                begun.notify_one();
                std::future::pending().await
            });
            let stuck = Box::pin(stuck);
            let second = group.submit(2, async |asked: Vec<u64>| asked);
            let mut second = Box::pin(second);
            let gone = Box::pin(async {
                select(stuck, Box::pin(begun.notified())).await;
            });
            // The first is flushing when it is dropped; both have asked before.
            select(gone, &mut second).await;
            assert_eq!(second.await, 2);
            assert!(group.waiting.borrow().is_empty() && group.answers.borrow().is_empty());
        });
    }
}
