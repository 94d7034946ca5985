//! What others see of a request while it waits, of the stream behind it and of a conversation: that it is under way, and that it can be cancelled.
//! Knows no dashboard. Rule: what is shown as cancellable looks whether it is cancelled; once it looks no more, it is not shown so either.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::activity::Activity;
use crate::local::current;

/// Something that others see, and may cancel, until this is dropped.
#[must_use = "it is shown as cancellable until it is dropped"]
#[derive(Debug)]
pub struct ShownActivity(Option<Arc<Activity>>);

impl ShownActivity {
    /// What is being polled.
    #[expect(clippy::new_without_default, reason = "it takes what is polled now")]
    pub fn new() -> ShownActivity {
        let activity = current();
        if let Some(activity) = &activity {
            activity.allow_cancel();
            activity.show();
        }
        ShownActivity(activity)
    }

    /// The same, of which a stream is what is left.
    pub fn of_stream() -> ShownActivity {
        let shown = ShownActivity::new();
        if let Some(activity) = &shown.0 {
            activity.begin_stream();
        }
        shown
    }

    /// Whether its end was asked for. The task of this is woken by that.
    pub fn is_cancelled(&self, cx: &Context<'_>) -> bool {
        let activity = self.0.as_ref();
        activity.is_some_and(|activity| activity.poll_cancelled(cx).is_ready())
    }
}

impl Drop for ShownActivity {
    fn drop(&mut self) {
        if let Some(activity) = &self.0 {
            activity.forbid_cancel();
        }
    }
}

/// Resolves when what this is polled for is cancelled by an operator.
pub async fn cancelled() {
    let activity = current();
    poll_fn(|cx| match &activity {
        Some(activity) => activity.poll_cancelled(cx),
        None => Poll::Pending,
    })
    .await;
}
