//! What waits for the subscribers of one channel, each message once for all of them. Who subscribes to which channel is the matter of `hub`.
//! Rule: a message is there until all who were to get it have it, or so many came after it as may wait; a channel that is quiet takes no memory for messages.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::task::coop::cooperative;

use crate::limits::CHANNEL_MESSAGES_MAX;

/// What a subscriber receives.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum ChannelEvent {
    /// A message.
    Message(Arc<str>),
    /// Messages may have been missed: the connection that carries them was lost, or more came than may wait. Look at whatever they are about.
    Missed,
}

impl fmt::Debug for ChannelEvent {
    /// What was published does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChannelEvent::Message(message) => write!(f, "Message({} bytes)", message.len()),
            ChannelEvent::Missed => f.write_str("Missed"),
        }
    }
}

/// The messages of one channel.
#[derive(Debug, Default)]
pub(crate) struct MessageQueue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Oldest first.
    waiting: VecDeque<Waiting>,
    /// The number of the first of them: of all messages, from 0.
    first: u64,
    /// By the order in which they came.
    readers: BTreeMap<u64, Reader>,
    /// How many there have been.
    readers_ever: u64,
}

#[derive(Debug)]
struct Waiting {
    event: ChannelEvent,
    /// Readers that do not have it yet.
    unread: usize,
}

#[derive(Debug)]
struct Reader {
    /// The number of the message that it gets next.
    next: u64,
    waker: Option<Waker>,
}

impl State {
    fn end(&self) -> u64 {
        self.first + self.waiting.len() as u64
    }

    /// Where a message is that waits.
    fn place(&self, number: u64) -> usize {
        usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// Lets go of what all have read. Readers read in order, so it is in front.
    fn release(&mut self) {
        while self.waiting.front().is_some_and(|front| front.unread == 0) {
            self.waiting.pop_front();
            self.first += 1;
        }
        if self.waiting.is_empty() {
            self.waiting.shrink_to(0);
        }
    }
}

impl MessageQueue {
    /// A panic elsewhere leaves the state whole: every change of it is one step.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is delivered from now on.
    pub fn reader(self: &Arc<Self>) -> QueueReader {
        let mut state = self.state();
        let id = state.readers_ever;
        state.readers_ever += 1;
        let next = state.end();
        state.readers.insert(id, Reader { next, waker: None });
        drop(state);
        QueueReader {
            queue: Arc::clone(self),
            id,
        }
    }

    /// How many read, and how many messages there have been.
    pub fn figures(&self) -> (usize, u64) {
        let state = self.state();
        (state.readers.len(), state.end())
    }

    pub fn has_readers(&self) -> bool {
        !self.state().readers.is_empty()
    }

    /// Gives all readers a message. Without readers nobody gets it.
    pub fn deliver(&self, event: ChannelEvent) {
        let mut state = self.state();
        let unread = state.readers.len();
        if unread == 0 {
            return;
        }
        state.waiting.push_back(Waiting { event, unread });
        if state.waiting.len() > CHANNEL_MESSAGES_MAX {
            state.waiting.pop_front();
            state.first += 1;
        }
        let readers = state.readers.values_mut();
        let wakers: Vec<Waker> = readers.filter_map(|reader| reader.waker.take()).collect();
        // What wakes may run anything.
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Reads the messages of one channel.
#[derive(Debug)]
pub(crate) struct QueueReader {
    queue: Arc<MessageQueue>,
    id: u64,
}

impl QueueReader {
    /// The next message, or that some were missed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> ChannelEvent {
        // A reader that is always behind lets others run nevertheless.
        cooperative(poll_fn(|cx| self.poll_next(cx))).await
    }

    fn poll_next(&self, cx: &Context<'_>) -> Poll<ChannelEvent> {
        let mut state = self.queue.state();
        let first = state.first;
        let Some(reader) = state.readers.get_mut(&self.id) else {
            return Poll::Pending;
        };
        if reader.next < first {
            reader.next = first;
            return Poll::Ready(ChannelEvent::Missed);
        }
        let next = reader.next;
        let place = state.place(next);
        let Some(waiting) = state.waiting.get_mut(place) else {
            return state.wait(self.id, cx);
        };
        waiting.unread = waiting.unread.saturating_sub(1);
        let event = waiting.event.clone();
        if let Some(reader) = state.readers.get_mut(&self.id) {
            reader.next = next + 1;
        }
        state.release();
        Poll::Ready(event)
    }
}

impl Drop for QueueReader {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let Some(reader) = state.readers.remove(&self.id) else {
            return;
        };
        let place = state.place(reader.next);
        for waiting in state.waiting.iter_mut().skip(place) {
            waiting.unread = waiting.unread.saturating_sub(1);
        }
        state.release();
        // Its waker goes after the lock.
        drop(state);
    }
}

impl State {
    fn wait(&mut self, id: u64, cx: &Context<'_>) -> Poll<ChannelEvent> {
        if let Some(reader) = self.readers.get_mut(&id)
            && !reader
                .waker
                .as_ref()
                .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            reader.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> ChannelEvent {
        ChannelEvent::Message(text.into())
    }

    fn read(reader: &QueueReader) -> Poll<ChannelEvent> {
        reader.poll_next(&Context::from_waker(Waker::noop()))
    }

    /// How many messages wait, and for how many there is memory.
    fn size(queue: &MessageQueue) -> (usize, usize) {
        let state = queue.state();
        (state.waiting.len(), state.waiting.capacity())
    }

    #[test]
    fn message_is_let_go_with_the_last_reader_that_gets_it_or_leaves() {
        let queue = Arc::new(MessageQueue::default());
        assert_eq!(size(&queue), (0, 0));
        let (one, other) = (queue.reader(), queue.reader());
        for text in ["a", "b"] {
            queue.deliver(message(text));
        }
        let late = queue.reader();
        assert_eq!(read(&one), Poll::Ready(message("a")));
        assert_eq!(read(&other), Poll::Ready(message("a")));
        assert_eq!(size(&queue).0, 1);
        assert_eq!(read(&late), Poll::Pending);
        drop(one);
        assert_eq!(size(&queue).0, 1);
        drop(other);
        assert_eq!(size(&queue), (0, 0));
        assert_eq!(read(&late), Poll::Pending);
        queue.deliver(message("c"));
        assert_eq!(read(&late), Poll::Ready(message("c")));
        drop(late);
        assert!(!queue.has_readers());
        queue.deliver(message("d"));
        assert_eq!(size(&queue), (0, 0));
    }

    #[test]
    fn reader_that_is_one_message_too_late_misses_one_and_the_others_none() {
        let queue = Arc::new(MessageQueue::default());
        let (slow, quick) = (queue.reader(), queue.reader());
        for number in 0..=CHANNEL_MESSAGES_MAX {
            queue.deliver(message(&number.to_string()));
            assert_eq!(read(&quick), Poll::Ready(message(&number.to_string())));
        }
        assert_eq!(size(&queue).0, CHANNEL_MESSAGES_MAX);
        assert_eq!(read(&slow), Poll::Ready(ChannelEvent::Missed));
        for number in 1..=CHANNEL_MESSAGES_MAX {
            assert_eq!(read(&slow), Poll::Ready(message(&number.to_string())));
        }
        assert_eq!(read(&slow), Poll::Pending);
        assert_eq!(size(&queue), (0, 0));
        // One that leaves far behind takes nothing from those who are ahead.
        let far = queue.reader();
        for number in 0..=CHANNEL_MESSAGES_MAX {
            queue.deliver(message(&number.to_string()));
        }
        drop(far);
        assert_eq!(read(&quick), Poll::Ready(ChannelEvent::Missed));
        drop((slow, quick));
        assert_eq!(size(&queue), (0, 0));
    }

    #[test]
    fn waiting_readers_are_woken_by_a_message() {
        let queue = Arc::new(MessageQueue::default());
        let mut readers = [queue.reader(), queue.reader()];
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.build().unwrap().block_on(async {
            let [one, other] = &mut readers;
            let both = async { tokio::join!(one.next(), other.next()) };
            let deliver = async {
                tokio::task::yield_now().await;
                queue.deliver(message("a"));
            };
            let (both, ()) = tokio::join!(both, deliver);
            assert_eq!(both, (message("a"), message("a")));
        });
    }
}
