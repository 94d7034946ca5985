//! The messages of an answer, one by one. Not notices, notifications and settings: those were events already.
//! Rule: an error ends the walk.

use std::iter::FusedIterator;

use crate::backend::{HEAD_BYTES, Header, Message, tag};
use crate::error::Violation;

/// Decodes whole messages, lazily.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    bytes: &'a [u8],
    at: usize,
    last_tag: u8,
}

impl<'a> Messages<'a> {
    /// The messages in `bytes`, which [`Reply`](super::Reply) or [`Event::Part`](super::Event::Part) brought.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            last_tag: 0,
        }
    }

    /// Where in the bytes the next message begins, or one that will be skipped before it.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Goes on at `offset`, which [`Self::offset`] told.
    pub fn seek(&mut self, offset: usize) {
        self.at = offset.min(self.bytes.len());
    }

    /// The kind of the message that was read last; 0 before the first.
    pub fn last_tag(&self) -> u8 {
        self.last_tag
    }

    fn advance(&mut self) -> Result<Option<Message<'a>>, Violation> {
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                return Ok(None);
            }
            let header = Header::scan(rest)?.ok_or(Violation::Truncated("head"))?;
            let body = rest
                .get(HEAD_BYTES..header.length)
                .ok_or(Violation::Truncated("content"))?;
            self.at += header.length;
            self.last_tag = header.tag;
            if !is_asynchronous(header.tag) {
                return Message::decode_body(header.tag, body).map(Some);
            }
        }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Violation>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if matches!(next, Some(Err(_))) {
            self.at = self.bytes.len();
        }
        next
    }
}

impl FusedIterator for Messages<'_> {}

/// Whether the server may send messages of this kind between any others.
#[inline]
pub(super) fn is_asynchronous(tag: u8) -> bool {
    matches!(
        tag,
        tag::NOTICE_RESPONSE | tag::NOTIFICATION_RESPONSE | tag::PARAMETER_STATUS
    )
}
