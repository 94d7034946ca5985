//! What a caller holds while its answer is on the way: all of it at once, or part by part. Decodes nothing.
//! Rule: dropping it leaves the request to its fate and the connection clean.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tsumugi_wire::Replies;

use super::driver::{PostgresDriver, ReplyChunk, ReplyItem, ServerReply};
use crate::error::{Error, Result};

/// The answer to one or several requests that were written together.
pub struct Answer(Replies<PostgresDriver>);

impl Answer {
    pub(super) fn new(replies: Replies<PostgresDriver>) -> Self {
        Answer(replies)
    }

    /// The answers to all requests, in their order. Each may be an error of its own; the outer one is the connection's end.
    pub(crate) async fn all(mut self) -> Result<Vec<Result<ServerReply>>> {
        let mut answers = Vec::new();
        poll_fn(|cx| {
            let replies = &mut self.0;
            replies.poll_whole(cx, |items| answers.extend(items.drain(..).map(whole)))
        })
        .await?;
        Ok(answers)
    }
}

impl Future for Answer {
    type Output = Result<ServerReply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<ServerReply>> {
        let mut answer = None;
        let polled = self.0.poll_whole(cx, |items| answer = items.pop_front());
        polled.map(|ended| {
            ended?;
            whole(answer.expect("one request has one answer"))
        })
    }
}

/// One whole answer, or that it was too large.
fn whole(item: ReplyItem) -> Result<ServerReply> {
    match item {
        ReplyItem::Whole(reply) => Ok(reply),
        ReplyItem::TooLarge { reply_bytes_max } => Err(Error::TooLarge { reply_bytes_max }),
        ReplyItem::Unreplicated => Err(Error::Unreplicated),
        ReplyItem::Chunk(_) => unreachable!("what is awaited whole comes whole"),
    }
}

/// A part of an answer that is read while it comes.
#[derive(Debug)]
pub enum Part {
    /// Whole messages, all of this tag.
    Messages {
        /// One of [`tsumugi_pg_proto::backend::tag`].
        tag: u8,
        /// The messages.
        bytes: Bytes,
    },
    /// A piece of a message that is too long to keep; the first begins with the message's head of five bytes.
    Fragment {
        /// The piece.
        bytes: Bytes,
        /// Whether it is the first of its message.
        first: bool,
        /// Bytes of the message still to come.
        left: usize,
    },
    /// The server waits for COPY data.
    CopyIn(Bytes),
}

/// An answer that is read while it comes. Reading slowly makes the server wait.
pub struct Parts {
    replies: Replies<PostgresDriver>,
    /// No other request may follow meanwhile.
    reserves: bool,
    /// Pieces of a long message have come and more are to come.
    in_message: bool,
    /// What the caller gets at the end of the answer.
    failure: Option<Error>,
}

impl Parts {
    pub(super) fn new(replies: Replies<PostgresDriver>) -> Self {
        PostgresDriver::reserve(replies.pipeline());
        Parts {
            replies,
            reserves: true,
            in_message: false,
            failure: None,
        }
    }

    /// The next part; none when ReadyForQuery has come. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Part>> {
        if !self.replies.is_open() {
            return self.failure.take().map_or(Ok(None), Err);
        }
        let item = poll_fn(|cx| self.replies.poll_next(cx)).await;
        let chunk = match item {
            Ok(ReplyItem::Chunk(chunk)) => chunk,
            Ok(ReplyItem::TooLarge { reply_bytes_max }) => {
                self.end();
                return Err(Error::TooLarge { reply_bytes_max });
            }
            Ok(ReplyItem::Whole(_) | ReplyItem::Unreplicated) => {
                unreachable!("what is read in pieces comes in pieces")
            }
            Err(lost) => {
                self.end();
                return Err(lost.into());
            }
        };
        match chunk {
            ReplyChunk::Part { tag, bytes } => Ok(Some(Part::Messages { tag, bytes })),
            ReplyChunk::Fragment { bytes, left } => {
                let first = !std::mem::replace(&mut self.in_message, left > 0);
                Ok(Some(Part::Fragment { bytes, first, left }))
            }
            ReplyChunk::CopyIn(bytes) => Ok(Some(Part::CopyIn(bytes))),
            ReplyChunk::End => {
                self.end();
                self.failure.take().map_or(Ok(None), Err)
            }
            ReplyChunk::UnreplicatedEnd => {
                self.end();
                Err(self.failure.take().unwrap_or(Error::Unreplicated))
            }
        }
    }

    /// The server has refused: [`Parts::next`] fails so once ReadyForQuery has come, also when its caller leaves before and comes back.
    pub(crate) fn fail_at_end(&mut self, failure: Error) {
        self.failure.get_or_insert(failure);
    }

    /// Whether [`Parts::next`] gives no more data.
    pub(crate) fn will_fail(&self) -> bool {
        self.failure.is_some()
    }

    /// Throws away what is still to come.
    pub(crate) async fn drain(&mut self) -> Result<()> {
        while self.next().await?.is_some() {}
        Ok(())
    }

    /// Whether the caller has not seen the end.
    pub(crate) fn is_open(&self) -> bool {
        self.replies.is_open()
    }

    /// Whether ReadyForQuery is still to come.
    pub(crate) fn is_due(&self) -> bool {
        self.replies.is_due()
    }

    /// Whether there is something to be read, were it an error.
    pub(crate) fn has_news(&self) -> bool {
        self.replies.has_news()
    }

    /// From now on other requests may follow.
    pub(crate) fn release(&mut self) {
        if std::mem::take(&mut self.reserves) {
            PostgresDriver::end_reservation(self.replies.pipeline());
        }
    }

    /// Leaves the rest of the answer to itself; the server is not asked to stop.
    pub(crate) fn let_run(&mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.release();
        self.replies.close();
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        // The replies are dropped next, which has the server stop if it has not ended.
        self.release();
    }
}
