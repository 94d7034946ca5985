//! What a connection hands out. Not decoded: see [`Messages`](super::Messages).
//! Rule: an event owns its data, so that the input buffer is free for the next read.

use bytes::Bytes;

use super::Messages;
use crate::backend::{ServerError, TransactionStatus};

/// What came from the server.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<T> {
    /// The whole answer to a request; the oldest one is done.
    Reply(Reply<T>),
    /// A part of a streamed answer: one message, or all the whole rows (or pieces of COPY data) there were.
    Part {
        /// Whose.
        token: T,
        /// The kind of the message or messages, one of [`crate::backend::tag`].
        tag: u8,
        /// Whole messages.
        bytes: Bytes,
    },
    /// A piece of one long row or piece of COPY data; the first begins with the message's head.
    Fragment {
        /// Whose.
        token: T,
        /// The piece.
        bytes: Bytes,
        /// Bytes of the message that are still to come; with 0 it is whole.
        left: usize,
    },
    /// The end of an answer that was streamed or given up; the oldest request is done.
    End {
        /// Whose.
        token: T,
        /// Of the session now.
        status: TransactionStatus,
    },
    /// The answer to the oldest request exceeds the limit. Its rest is thrown away as it comes; [`Event::End`] follows
    /// (for a run that ends in a Flush, when its Sync is sent).
    TooLarge {
        /// Whose.
        token: T,
        /// The limit, in bytes.
        reply_bytes_max: usize,
    },
    /// The server waits for COPY data of the oldest request: send them and call
    /// [`copy_done`](super::Connection::copy_done), or [`copy_fail`](super::Connection::copy_fail) if that was not
    /// meant. Nothing else may be sent before.
    CopyIn {
        /// Whose.
        token: T,
        /// The CopyInResponse.
        bytes: Bytes,
    },
    /// A notification of a channel that is listened to.
    Notification {
        /// The process that notified; our own included.
        process_id: u32,
        /// The channel's name.
        channel: String,
        /// What was said.
        payload: String,
    },
    /// A warning or a note.
    Notice(Box<ServerError>),
    /// A setting of the server has changed.
    Parameter {
        /// The setting's name.
        name: String,
        /// The setting's new value.
        value: String,
    },
    /// The server ends the connection and says why. The oldest request, if there is one, is what it was about; for all
    /// of them [`fatal`](super::Connection::fatal) keeps it.
    Fatal(Box<ServerError>),
}

/// The whole answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<T> {
    /// Whose.
    pub token: T,
    /// All messages up to ReadyForQuery, with notices and the like between them.
    pub bytes: Bytes,
    /// Of the session now.
    pub status: TransactionStatus,
    /// How many rows there are among the messages.
    pub rows: usize,
    /// Where in `bytes` the first ErrorResponse begins.
    pub error: Option<usize>,
}

impl<T> Reply<T> {
    /// The messages of the answer, decoded one by one.
    pub fn messages(&self) -> Messages<'_> {
        Messages::new(&self.bytes)
    }
}
