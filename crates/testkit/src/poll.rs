//! Futures that are given up at a point where they wait. Knows no runtime: the caller lets others run in between.
//! Rule: what is dropped is dropped at once, before anything else runs.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

/// Polls a future until it has been pending so many times, then once more, and drops it if it is still pending. What it came to, if it was
/// quicker.
pub async fn pend<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut future = pin!(future);
    let mut pended = 0;
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending if pended == times => Poll::Ready(None),
        Poll::Pending => {
            pended += 1;
            Poll::Pending
        }
    })
    .await
}

/// Polls once. True when it has ended.
pub async fn once<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}
