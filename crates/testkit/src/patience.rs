//! Tests of times on machines that are crowded or stand still: the same with growing lengths until one is long enough, and work of which one piece runs at a
//! time. Knows no runtime. Rule: which length was long enough is printed, so that one shows that never is.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use crate::limits::YIELDS_MAX;

/// Whether this holds with one of these lengths. What a machine that stands still for as long does to a test is no finding, and it does not do so for each.
pub fn any_length(
    lengths: impl IntoIterator<Item = Duration>,
    mut holds: impl FnMut(Duration) -> bool,
) -> bool {
    let found = (1..).zip(lengths).find(|(_, length)| holds(*length));
    report(found)
}

/// The same with what is awaited.
pub async fn any_length_of(
    lengths: impl IntoIterator<Item = Duration>,
    mut holds: impl AsyncFnMut(Duration) -> bool,
) -> bool {
    for (number, length) in (1..).zip(lengths) {
        if holds(length).await {
            return report(Some((number, length)));
        }
    }
    report(None)
}

fn report(found: Option<(usize, Duration)>) -> bool {
    match found {
        Some((1, _)) => {}
        Some((number, length)) => {
            println!("try {number}, with {length:?}, was the first that held")
        }
        None => println!("it held with no length"),
    }
    found.is_some()
}

/// A piece of work that runs, of which there is never another one.
#[must_use = "it runs until it is dropped"]
pub struct RunningTick(Rc<Cell<usize>>);

impl RunningTick {
    /// Counts it among those that run, of which there has to be none.
    ///
    /// # Panics
    /// Where another one runs.
    pub async fn begin(running: &Rc<Cell<usize>>) -> RunningTick {
        // One that has lost its lease is dropped when it is polled, which may come after this on a machine that stood still.
        for _ in 0..YIELDS_MAX {
            if running.get() == 0 {
                break;
            }
            yield_once().await;
        }
        running.set(running.get() + 1);
        assert_eq!(running.get(), 1, "two run at once");
        RunningTick(Rc::clone(running))
    }
}

impl Drop for RunningTick {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Lets others run.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_grow_until_one_is_long_enough() {
        let lengths = [1, 4, 16].map(Duration::from_secs);
        let tried = Cell::new(0);
        let holds_from = |least: u64| {
            tried.set(0);
            any_length(lengths, |length| {
                tried.set(tried.get() + 1);
                length.as_secs() >= least
            })
        };
        assert!(holds_from(1) && tried.get() == 1);
        assert!(holds_from(5) && tried.get() == 3);
        assert!(!holds_from(17) && tried.get() == 3);
    }
}
