//! What many callers ask for at once is done by one of them for all that wait, while the next gather. Knows no database.
//! Rule: what is asked is done in a round that begins afterwards, also when the caller that did it is dropped in the middle: then another does it again.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tokio::sync::Notify;

/// Rounds of what was asked, one at a time. Belongs to its thread.
#[derive(Debug)]
pub(crate) struct Rounds<A, R> {
    waiting: RefCell<Vec<(u64, A)>>,
    answers: RefCell<HashMap<u64, R>>,
    tickets: Cell<u64>,
    is_under_way: Cell<bool>,
    ended: Notify,
}

impl<A, R> Default for Rounds<A, R> {
    fn default() -> Rounds<A, R> {
        Rounds {
            waiting: RefCell::default(),
            answers: RefCell::default(),
            tickets: Cell::new(0),
            is_under_way: Cell::new(false),
            ended: Notify::new(),
        }
    }
}

impl<A: Clone, R> Rounds<A, R> {
    /// Has this done together with what others ask for. `run` gets all that wait, this included, and answers each in its place.
    pub async fn ask(&self, what: A, run: impl AsyncFnOnce(Vec<A>) -> Vec<R>) -> R {
        let number = self.tickets.get();
        self.tickets.set(number + 1);
        self.waiting.borrow_mut().push((number, what));
        let _ticket = Ticket {
            rounds: self,
            number,
        };
        // Others that are ready in the same moment come along.
        tokio::task::yield_now().await;
        let mut run = Some(run);
        loop {
            if let Some(answer) = self.answers.borrow_mut().remove(&number) {
                return answer;
            }
            let ended = self.ended.notified();
            match run.take_if(|_| !self.is_under_way.get()) {
                Some(run) => self.round(run).await,
                None => ended.await,
            }
        }
    }

    async fn round(&self, run: impl AsyncFnOnce(Vec<A>) -> Vec<R>) {
        let _turn = Turn::begin(self);
        let (numbers, asked): (Vec<u64>, Vec<A>) = self.waiting.borrow().iter().cloned().unzip();
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

/// One who asks. Dropped, nothing is left of what it has asked.
struct Ticket<'r, A, R> {
    rounds: &'r Rounds<A, R>,
    number: u64,
}

impl<A, R> Drop for Ticket<'_, A, R> {
    fn drop(&mut self) {
        let is_other = |(number, _): &(u64, A)| *number != self.number;
        self.rounds.waiting.borrow_mut().retain(is_other);
        self.rounds.answers.borrow_mut().remove(&self.number);
    }
}

/// A round under way.
struct Turn<'r, A, R>(&'r Rounds<A, R>);

impl<'r, A, R> Turn<'r, A, R> {
    fn begin(rounds: &'r Rounds<A, R>) -> Turn<'r, A, R> {
        rounds.is_under_way.set(true);
        Turn(rounds)
    }
}

impl<A, R> Drop for Turn<'_, A, R> {
    fn drop(&mut self) {
        self.0.is_under_way.set(false);
        self.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use futures_util::future::{join_all, select};
    use tokio::sync::Notify;

    use super::Rounds;

    fn on_a_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(test);
    }

    #[test]
    fn callers_at_once_share_a_round_and_each_has_its_answer() {
        on_a_thread(async {
            let (rounds, sizes) = (Rounds::default(), RefCell::new(Vec::new()));
            let (all, seen) = (&rounds, &sizes);
            let ask = |n: u64| {
                all.ask(n, async move |asked: Vec<u64>| {
                    seen.borrow_mut().push(asked.len());
                    tokio::task::yield_now().await;
                    asked.into_iter().map(|n| n * 2).collect()
                })
            };
            let answers = join_all((0..50).map(ask)).await;
            assert_eq!(answers, (0..50).map(|n| n * 2).collect::<Vec<u64>>());
            assert_eq!(sizes.borrow().iter().sum::<usize>(), 50);
            assert!(sizes.borrow().len() <= 2, "{sizes:?}");
            assert!(rounds.waiting.borrow().is_empty() && rounds.answers.borrow().is_empty());
        });
    }

    #[test]
    fn round_whose_caller_is_dropped_is_done_by_another() {
        on_a_thread(async {
            let (rounds, begun) = (Rounds::default(), Rc::new(Notify::new()));
            let stuck = rounds.ask(1, async |_: Vec<u64>| {
                begun.notify_one();
                std::future::pending().await
            });
            let stuck = Box::pin(stuck);
            let second = rounds.ask(2, async |asked: Vec<u64>| asked);
            let mut second = Box::pin(second);
            let gone = Box::pin(async {
                select(stuck, Box::pin(begun.notified())).await;
            });
            // The first has a round under way when it is dropped; both have asked before.
            select(gone, &mut second).await;
            assert_eq!(second.await, 2);
            assert!(rounds.waiting.borrow().is_empty() && rounds.answers.borrow().is_empty());
        });
    }
}
