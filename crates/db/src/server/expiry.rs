//! What ends when it has not been used for `idle_timeout`, where no server sees to that. Decides nothing about what its end is.
//! Rule: the task that looks at streams runs only while one is open.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::time::Duration;

/// How often streams are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// What ends when it is idle.
pub(crate) trait Expiry {
    /// Ends it if `idle_timeout` has passed.
    fn end_if_idle(&self);
}

/// The open streams of one pool.
#[derive(Default)]
pub(crate) struct OpenStreams(Rc<RefCell<Vec<Weak<dyn Expiry>>>>);

impl OpenStreams {
    /// Has a stream looked at until it is dropped.
    pub(super) fn watch(&self, stream: Weak<dyn Expiry>) {
        let mut streams = self.0.borrow_mut();
        let is_watched = !streams.is_empty();
        streams.push(stream);
        if is_watched {
            return;
        }
        let streams = Rc::downgrade(&self.0);
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let Some(streams) = streams.upgrade() else {
                    return;
                };
                streams
                    .borrow_mut()
                    .retain(|stream| stream.strong_count() > 0);
                let open: Vec<_> = streams.borrow().iter().filter_map(Weak::upgrade).collect();
                if open.is_empty() {
                    return;
                }
                open.iter().for_each(|stream| stream.end_if_idle());
            }
        });
    }
}
