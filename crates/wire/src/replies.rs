//! What a caller holds while its replies are on the way. Decodes nothing.
//! Rule: dropping it leaves the requests to their fate and the connection clean.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use crate::loss::ReplyLoss;
use crate::pipeline::{LossOf, PipelineRef, Protocol};
use crate::slots::{Delivery, Ticket};

/// The replies to one group of requests, and to those that follow it under the same ticket.
pub struct Replies<P: Protocol> {
    pipeline: PipelineRef<P>,
    /// None when all was taken or left.
    ticket: Option<Ticket>,
}

impl<P: Protocol> Replies<P> {
    /// Opens a slot, with the ticket that the request which is written next expects its replies under.
    pub fn open(pipeline: &PipelineRef<P>, delivery: Delivery) -> (Self, Ticket) {
        let offset = pipeline.out.borrow().end();
        let ticket = pipeline.slots.borrow_mut().open(delivery, offset);
        let replies = Replies {
            pipeline: pipeline.clone(),
            ticket: Some(ticket),
        };
        (replies, ticket)
    }

    /// Whether there may be something to be read.
    pub fn is_open(&self) -> bool {
        self.ticket.is_some()
    }

    /// The connection.
    pub fn pipeline(&self) -> &PipelineRef<P> {
        &self.pipeline
    }

    /// All items, when the last reply has come. There is nothing more afterwards.
    ///
    /// # Panics
    /// When they have been taken.
    pub fn poll_whole(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut VecDeque<P::Item>),
    ) -> Poll<Result<(), ReplyLoss<LossOf<P>>>> {
        let ticket = self.ticket.expect("replies are not polled once taken");
        let polled = self
            .pipeline
            .slots
            .borrow_mut()
            .poll_whole(ticket, cx, take);
        if polled.is_ready() {
            self.ticket = None;
        }
        polled
    }

    /// The next item.
    ///
    /// # Panics
    /// When they were closed.
    pub fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<P::Item, ReplyLoss<LossOf<P>>>> {
        let ticket = self.ticket.expect("replies are not polled once closed");
        let mut slots = self.pipeline.slots.borrow_mut();
        let was_choked = slots.is_choked(ticket);
        let polled = slots.poll_next(ticket, cx);
        let is_choked = slots.is_choked(ticket);
        drop(slots);
        if was_choked && !is_choked {
            // The pump may have stopped reading because this caller was slow.
            self.pipeline.ring();
        }
        polled
    }

    /// Whether replies are still to come.
    pub fn is_due(&self) -> bool {
        let slots = self.pipeline.slots.borrow();
        self.ticket.is_some_and(|ticket| slots.is_due(ticket))
    }

    /// Whether there is something to be read, were it an error.
    pub fn has_news(&self) -> bool {
        let slots = self.pipeline.slots.borrow();
        self.ticket.is_none_or(|ticket| slots.has_news(ticket))
    }

    /// Leaves what is still to come to itself; the server is not asked to stop. Whether there is anything.
    pub fn close(&mut self) -> bool {
        let Some(ticket) = self.ticket.take() else {
            return false;
        };
        let was_choked = self.pipeline.slots.borrow().is_choked(ticket);
        loop {
            let item = self.pipeline.slots.borrow_mut().take_item(ticket);
            match item {
                Some(item) => P::discard(&self.pipeline, item),
                None => break,
            }
        }
        let due = self.pipeline.slots.borrow_mut().leave(ticket);
        if was_choked {
            self.pipeline.ring();
        }
        due
    }
}

impl<P: Protocol> Drop for Replies<P> {
    fn drop(&mut self) {
        if self.close() {
            (self.pipeline.on_abandon)(&self.pipeline);
        }
    }
}
