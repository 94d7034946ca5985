//! Messages that wait for one subscriber. Knows no connection.
//! Rule: a message that finds no room is lost, and behind those that wait stands that some were lost; nothing else is ever left out.

use std::cell::RefCell;
use std::collections::VecDeque;

use bytes::Bytes;
use tokio::sync::Notify;

use crate::limits::{REDIS_MESSAGE_BYTES_MAX, REDIS_MESSAGES_MAX};
use crate::subscription::ChannelMessage;

/// The messages.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    state: RefCell<QueueState>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    messages: VecDeque<ChannelMessage>,
    bytes: usize,
}

impl MessageQueue {
    pub(super) fn push(&self, message: Bytes) {
        let mut state = self.state.borrow_mut();
        let fits = state.messages.len() < REDIS_MESSAGES_MAX
            && state.bytes + message.len() <= REDIS_MESSAGE_BYTES_MAX;
        match fits {
            true => {
                state.bytes += message.len();
                state.messages.push_back(ChannelMessage::Message(message));
            }
            false => state.miss(),
        }
        self.filled.notify_one();
    }

    /// Messages may have been lost.
    pub(super) fn miss(&self) {
        self.state.borrow_mut().miss();
        self.filled.notify_one();
    }

    /// The next one. Dropping the future loses nothing.
    pub(super) async fn next(&self) -> ChannelMessage {
        loop {
            if let Some(message) = self.state.borrow_mut().take() {
                return message;
            }
            self.filled.notified().await;
        }
    }
}

impl QueueState {
    fn miss(&mut self) {
        if self.messages.back() != Some(&ChannelMessage::Missed) {
            self.messages.push_back(ChannelMessage::Missed);
        }
    }

    fn take(&mut self) -> Option<ChannelMessage> {
        let message = self.messages.pop_front()?;
        if let ChannelMessage::Message(bytes) = &message {
            self.bytes -= bytes.len();
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &MessageQueue) -> Vec<ChannelMessage> {
        std::iter::from_fn(|| queue.state.borrow_mut().take()).collect()
    }

    #[test]
    fn message_beyond_the_limit_is_lost_and_the_subscriber_learns_where() {
        let queue = MessageQueue::default();
        for number in 0..=REDIS_MESSAGES_MAX {
            queue.push(number.to_string().into());
        }
        queue.push("lost".into());
        let taken = drain(&queue);
        assert_eq!(taken.len(), REDIS_MESSAGES_MAX + 1);
        assert_eq!(taken.last(), Some(&ChannelMessage::Missed));
        queue.push("after".into());
        assert_eq!(drain(&queue), [ChannelMessage::Message("after".into())]);
    }

    #[test]
    fn message_beyond_the_bytes_is_lost_and_room_comes_back() {
        let queue = MessageQueue::default();
        let all = Bytes::from(vec![0; REDIS_MESSAGE_BYTES_MAX]);
        queue.push(all.clone());
        queue.push("x".into());
        let expected = [ChannelMessage::Message(all), ChannelMessage::Missed];
        assert_eq!(drain(&queue), expected);
        queue.miss();
        queue.miss();
        queue.push("y".into());
        let expected = [ChannelMessage::Missed, ChannelMessage::Message("y".into())];
        assert_eq!(drain(&queue), expected);
    }
}
