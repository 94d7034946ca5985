//! The answer to a write that may still be on its way. Knows no engine.
//! Rule: dropping it does not take the write back.

use std::future::{self, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::error::Result;
use crate::write::WriteResult;

/// A future of a write's answer: ready at once for databases in memory, after the commit for those on disk.
#[must_use = "the answer says whether the write took place"]
#[derive(Debug)]
pub struct Pending(State);

#[derive(Debug)]
enum State {
    Ready(future::Ready<Box<Result<WriteResult>>>),
    #[cfg(any(test, feature = "disk"))]
    Waiting(tokio::sync::oneshot::Receiver<Result<WriteResult>>),
}

impl Pending {
    pub(crate) fn ready(answer: Result<WriteResult>) -> Self {
        Self(State::Ready(future::ready(Box::new(answer))))
    }

    /// A pending answer, and where it is to be sent.
    #[cfg(any(test, feature = "disk"))]
    pub(crate) fn waiting() -> (tokio::sync::oneshot::Sender<Result<WriteResult>>, Self) {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        (sender, Self(State::Waiting(receiver)))
    }

    /// Blocks the thread until the answer is there. Not for a worker: await instead.
    pub fn wait(self) -> Result<WriteResult> {
        block_on(self)
    }
}

impl Future for Pending {
    type Output = Result<WriteResult>;

    /// # Panics
    /// When polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.get_mut().0 {
            State::Ready(answer) => Pin::new(answer).poll(context).map(|answer| *answer),
            #[cfg(any(test, feature = "disk"))]
            State::Waiting(receiver) => Pin::new(receiver)
                .poll(context)
                .map(|answer| answer.unwrap_or(Err(crate::Error::Closed))),
        }
    }
}

/// Wakes a thread that waits for a future.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread, whether it runs an event loop or not.
fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut future).poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_waits_for_an_answer_from_another() {
        let (sender, pending) = Pending::waiting();
        let answerer = thread::spawn(move || sender.send(Ok(WriteResult::Number(7))).is_ok());
        assert!(matches!(pending.wait(), Ok(WriteResult::Number(7))));
        assert!(answerer.join().unwrap());
    }

    #[test]
    fn an_answer_that_never_comes_says_closed() {
        let (sender, pending) = Pending::waiting();
        drop(sender);
        assert!(matches!(pending.wait(), Err(crate::Error::Closed)));
    }
}
