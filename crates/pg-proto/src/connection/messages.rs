//! The messages of an answer, one by one. Not notices, notifications and settings: those were events already.
//! Rule: an error ends the walk.

use std::iter::FusedIterator;

use crate::backend::{CommandTag, DataRow, HEAD_BYTES, Header, Message, tag};
use crate::error::Violation;

/// Decodes whole messages, lazily.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    bytes: &'a [u8],
    at: usize,
    last_tag: u8,
    command: Option<CommandTag<'a>>,
}

impl<'a> Messages<'a> {
    /// The messages in `bytes`, which [`Reply`](super::Reply) or [`Event::Part`](super::Event::Part) brought.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            last_tag: 0,
            command: None,
        }
    }

    /// Where in the bytes the next message begins, or one that will be skipped before it.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Goes on at `offset`, which [`Self::offset`] gave.
    pub fn seek(&mut self, offset: usize) {
        self.at = offset.min(self.bytes.len());
    }

    /// The kind of the message that was read last; 0 before the first.
    pub fn last_tag(&self) -> u8 {
        self.last_tag
    }

    /// What the server called the statement behind the rows that [`Self::next_row`] has gone past.
    pub fn command(&self) -> Option<CommandTag<'a>> {
        self.command
    }

    /// The next row. Of other messages only the heads are looked at, but what says how many rows there were is decoded.
    ///
    /// # Errors
    /// A [`Violation`] for what is no message or not all there.
    #[inline]
    pub fn next_row(&mut self) -> Option<Result<DataRow<'a>, Violation>> {
        let next = self.row().transpose();
        if matches!(next, Some(Err(_))) {
            self.at = self.bytes.len();
        }
        next
    }

    #[inline]
    fn row(&mut self) -> Result<Option<DataRow<'a>>, Violation> {
        while let Some((header, body)) = self.message()? {
            match header.tag {
                tag::DATA_ROW => return DataRow::new(body).map(Some),
                tag::COMMAND_COMPLETE => {
                    if let Message::CommandComplete(command) =
                        Message::decode_body(header.tag, body)?
                    {
                        self.command = Some(command);
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Goes on to the message behind the next one; none at the end.
    #[inline]
    fn message(&mut self) -> Result<Option<(Header, &'a [u8])>, Violation> {
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
        Ok(Some((header, body)))
    }

    fn advance(&mut self) -> Result<Option<Message<'a>>, Violation> {
        while let Some((header, body)) = self.message()? {
            if !is_asynchronous(header.tag) {
                return Message::decode_body(header.tag, body).map(Some);
            }
        }
        Ok(None)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of `bytes`, which a walk over all messages must find too.
    fn rows(bytes: &[u8]) -> Vec<Result<DataRow<'_>, Violation>> {
        let mut messages = Messages::new(bytes);
        let rows: Vec<_> = std::iter::from_fn(|| messages.next_row()).collect();
        let all = Messages::new(bytes).filter_map(|message| match message {
            Ok(Message::DataRow(row)) => Some(Ok(row)),
            Ok(_) => None,
            Err(violation) => Some(Err(violation)),
        });
        assert_eq!(rows, all.collect::<Vec<_>>(), "{bytes:?}");
        rows
    }

    const BOUND: &[u8] = b"2\0\0\0\x04";
    const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x01a";
    const NOTE: &[u8] = b"S\0\0\0\x08a\0b\0";

    #[test]
    fn rows_among_other_messages_are_found() {
        let bytes = [BOUND, ROW, NOTE, ROW, b"C\0\0\0\x0dSELECT 2\0"].concat();
        assert_eq!(rows(&bytes).len(), 2);
        let mut messages = Messages::new(&bytes);
        assert_eq!(messages.command(), None);
        while messages.next_row().is_some() {}
        assert_eq!(messages.command().and_then(CommandTag::rows), Some(2));
        assert_eq!(rows(b""), []);
    }

    #[test]
    fn message_that_is_no_row_ends_the_walk() {
        for end in 1..ROW.len() {
            let found = rows(&ROW[..end]);
            assert!(
                matches!(found[..], [Err(Violation::Truncated(_))]),
                "{found:?}"
            );
        }
        for bad in [
            &b"D\0\0\0\x03"[..],
            b"D\0\0\0\x04",
            b"D\xff\xff\xff\xff",
            b"C\0\0\0\x05x",
            b"?\0\0\0\x04",
        ] {
            let bytes = [ROW, bad, ROW].concat();
            let found = rows(&bytes);
            assert!(matches!(found[..], [Ok(_), Err(_)]), "{bad:?}: {found:?}");
        }
    }
}
