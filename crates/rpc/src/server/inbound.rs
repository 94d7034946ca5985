//! The body of a call on its way in: sees that no message is larger than the limit and that all together are not, before any
//! memory is taken for them. Knows gRPC's five bytes before a message (compressed flag, length), not what is in it.
//! A message that stops coming, or comes too slowly, fails the call; the time between two messages is the client's.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use http_body::{Body, Frame};
use tokio::time::{Instant, Sleep};
use tonic::Status;

use super::budget::{Budget, Claim};
use crate::frame::{MessageReader, PREFIX_BYTES, announced};
use crate::limits::{MESSAGE_BYTES_PER_SECOND_MIN, SMALL_MESSAGE_BYTES};

/// What a body is held to.
#[derive(Clone, Debug)]
pub(crate) struct BodyBounds {
    pub message_bytes_max: usize,
    pub message_timeout: Duration,
    pub inbound: Arc<Budget>,
}

/// What is paid for after it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetainedBytes {
    /// A stream pays for what it has under way itself.
    Nothing,
    /// A call of one message holds the largest that came, for as long as this is there: a second that is small does not give
    /// back what the first holds.
    Largest,
}

/// A client's body within its bounds.
pub(crate) struct Inbound {
    body: RecvStream,
    bounds: BodyBounds,
    frames: MessageFrames,
    /// For the message that is coming.
    claim: Claim,
    keeps: RetainedBytes,
    /// For messages that were taken.
    retained: Claim,
    /// How much longer the rest of the message may be waited for.
    patience: Duration,
    /// Since when it is waited for.
    since: Option<Instant>,
    /// Armed only when a poll found nothing in the middle of a message.
    timer: Option<Pin<Box<Sleep>>>,
    /// What follows the messages before a refused one.
    refusal: Option<Status>,
}

impl Inbound {
    pub(crate) fn new(body: RecvStream, bounds: BodyBounds, keeps: RetainedBytes) -> Inbound {
        Inbound {
            body,
            keeps,
            retained: Claim::default(),
            patience: bounds.message_timeout,
            since: None,
            bounds,
            frames: MessageFrames::default(),
            claim: Claim::default(),
            timer: None,
            refusal: None,
        }
    }

    /// Looks at what has come. On refusal, tells how much of the piece belongs to the messages before.
    fn look_at(&mut self, piece: &[u8]) -> Result<(), (usize, Status)> {
        let mut rest = piece;
        while let Some(length) = self.frames.advance(&mut rest) {
            let before = (piece.len() - rest.len()).saturating_sub(PREFIX_BYTES);
            self.settle();
            let limit = self.bounds.message_bytes_max;
            if length > limit {
                let refusal = Status::resource_exhausted(format!(
                    "a message of {length} bytes is larger than message_bytes_max ({limit}) allows; send less or raise message_bytes_max"
                ));
                return Err((before, refusal));
            }
            let claim = self.bounds.inbound.claim(length);
            self.claim = claim.map_err(|refusal| (before, refusal))?;
            let slowest = Duration::from_secs((length / MESSAGE_BYTES_PER_SECOND_MIN) as u64);
            self.patience = self.bounds.message_timeout + slowest;
        }
        if self.frames.is_in_prefix() {
            self.patience = self.bounds.message_timeout;
        }
        Ok(())
    }

    /// All of a message has come, and it was taken.
    fn settle(&mut self) {
        let claim = std::mem::take(&mut self.claim);
        if self.keeps == RetainedBytes::Largest && claim.bytes() > self.retained.bytes() {
            self.retained = claim;
        }
    }

    /// The message of a call that has one. What comes after it is held to the same bounds and not looked at.
    pub(crate) async fn message(&mut self) -> Result<Bytes, Status> {
        let mut messages = MessageReader::new(self.bounds.message_bytes_max);
        let mut first = None;
        while let Some(frame) = poll_fn(|context| Pin::new(&mut *self).poll_frame(context)).await {
            let Ok(piece) = frame?.into_data() else {
                break;
            };
            if first.is_none() {
                messages.push(piece);
                first = messages
                    .next()
                    .map_err(|error| Status::internal(error.to_string()))?;
            }
            if self.is_end_stream() {
                break;
            }
        }
        let message = first.ok_or_else(|| Status::internal("the call holds no message"))?;
        // A small one shares its buffer with whatever came with it, which is not paid for.
        Ok(match message.len() {
            ..=SMALL_MESSAGE_BYTES => Bytes::copy_from_slice(&message),
            _ => message,
        })
    }

    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        match ready!(self.body.poll_data(context)) {
            Some(Ok(piece)) => {
                // It is counted by the budget from here on.
                let _ = self.body.flow_control().release_capacity(piece.len());
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            None => {
                let trailers = ready!(self.body.poll_trailers(context))?;
                Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))))
            }
        }
    }

    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<Status> {
        if self.frames.is_between_messages() {
            self.timer = None;
            return Poll::Pending;
        }
        let limit = self.bounds.message_timeout;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        if self.since.is_none() {
            let now = Instant::now();
            self.since = Some(now);
            timer.as_mut().reset(now + limit.min(self.patience));
        }
        ready!(timer.as_mut().poll(context));
        let limit_ms = limit.as_millis();
        Poll::Ready(Status::deadline_exceeded(if self.patience < limit {
            format!(
                "the message came in pieces too slowly: message_timeout_ms ({limit_ms} ms) and a second for each {MESSAGE_BYTES_PER_SECOND_MIN} bytes \
                 are over; send it faster or raise message_timeout_ms"
            )
        } else {
            format!(
                "no more of the message came within message_timeout_ms ({limit_ms} ms); send it faster or raise message_timeout_ms"
            )
        }))
    }
}

impl Body for Inbound {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        if let Some(refusal) = this.refusal.take() {
            return Poll::Ready(Some(Err(refusal)));
        }
        if this.frames.is_between_messages() {
            // Who asks for more has taken what came before.
            this.settle();
        }
        match this.poll_piece(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(since) = this.since.take() {
                    this.patience = this.patience.saturating_sub(since.elapsed());
                }
                if let Some(piece) = frame.data_ref()
                    && let Err((before, refusal)) = this.look_at(piece)
                {
                    if before == 0 {
                        return Poll::Ready(Some(Err(refusal)));
                    }
                    this.refusal = Some(refusal);
                    let piece = piece.slice(..before);
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(Status::cancelled(format!(
                "the client broke off: {error}"
            ))))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => this.poll_timer(context).map(|status| Some(Err(status))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// Where the bytes of a call are: in the prefix of a message or in the message.
#[derive(Debug, Default)]
pub(crate) struct MessageFrames {
    prefix: [u8; PREFIX_BYTES],
    /// Bytes of the prefix that have come.
    known: usize,
    /// Bytes of the message that have not come.
    left: usize,
    begun: bool,
}

impl MessageFrames {
    /// Goes over what has come. Stops after each prefix, with the length of the message that follows.
    pub(crate) fn advance(&mut self, piece: &mut &[u8]) -> Option<usize> {
        self.begun |= !piece.is_empty();
        while !piece.is_empty() {
            if self.left > 0 {
                let skipped = self.left.min(piece.len());
                self.left -= skipped;
                *piece = piece.get(skipped..).unwrap_or_default();
                continue;
            }
            let taken = (PREFIX_BYTES - self.known).min(piece.len());
            let (head, tail) = piece.split_at_checked(taken)?;
            self.prefix
                .get_mut(self.known..self.known + taken)?
                .copy_from_slice(head);
            *piece = tail;
            self.known += taken;
            if self.known == PREFIX_BYTES {
                self.known = 0;
                self.left = announced(&self.prefix);
                return Some(self.left);
            }
        }
        None
    }

    /// Whether some of a prefix has come and the rest has not.
    fn is_in_prefix(&self) -> bool {
        self.left == 0 && self.known > 0
    }

    /// Whether nothing is owed: a call without its first message owes one.
    fn is_between_messages(&self) -> bool {
        self.begun && self.left == 0 && self.known == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], expected: &[usize]) {
        let mut frames = MessageFrames::default();
        let mut lengths = Vec::new();
        for piece in pieces {
            let mut piece = *piece;
            while let Some(length) = frames.advance(&mut piece) {
                lengths.push(length);
            }
            assert!(piece.is_empty());
        }
        assert_eq!(lengths, expected);
    }

    #[test]
    fn the_length_of_each_message_is_known_when_its_prefix_has_come() {
        check(&[&[0, 0, 0, 0, 2, 1, 1, 0, 0, 0, 0, 0]], &[2, 0]);
        check(&[&[0, 0], &[0, 0], &[1], &[9, 0, 0, 0, 1], &[0]], &[1, 256]);
        check(&[&[1, 255, 255, 255, 255]], &[0xffff_ffff]);
        check(&[&[]], &[]);
    }

    #[test]
    fn a_call_owes_its_first_message_and_the_rest_of_one_that_began() {
        let mut frames = MessageFrames::default();
        assert!(!frames.is_between_messages());
        frames.advance(&mut &[0, 0, 0, 0][..]);
        assert!(!frames.is_between_messages());
        frames.advance(&mut &[1][..]);
        assert!(!frames.is_between_messages());
        frames.advance(&mut &[7][..]);
        assert!(frames.is_between_messages());
    }
}
