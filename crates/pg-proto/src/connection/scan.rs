//! Cutting what the socket delivered into events. Looks at heads only, but for what concerns the connection itself.
//! Rule: no byte is looked at twice, however an answer arrives; nothing is copied but what an event owns.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::messages::is_asynchronous;
use super::{Connection, CopyIn, Event, ExpectedReply, Reply, Shape};
use crate::backend::{HEAD_BYTES, Header, Message, ServerError, TransactionStatus, tag};
use crate::error::Violation;
use crate::limits::{FRAGMENT_BYTES_MAX, REPORT_BYTES_MAX};

/// How far the answer at the head of the queue has been looked at.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Bytes of the input that are known to be whole messages of this answer.
    at: usize,
    rows: usize,
    error: Option<usize>,
    /// Bytes of the current message that were taken out of the input before it was whole: the rest of it.
    left: usize,
    /// Bytes behind `at` that belong to a report which has been shortened; some of them have still to arrive.
    excess: usize,
    mode: Mode,
    pub(super) missing: usize,
}

/// What happens to the answer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Mode {
    #[default]
    Keep,
    /// It exceeded the limit.
    Discard,
}

impl<T: Copy> Connection<T> {
    /// The next event in `input`, which what the socket delivers is appended to. `None` when more is needed.
    ///
    /// # Errors
    /// A [`Violation`]: the connection is dead; close it and report it to all that wait.
    #[inline]
    pub fn poll(&mut self, input: &mut BytesMut) -> Result<Option<Event<T>>, Violation> {
        self.scan.missing = 0;
        if self.fatal.is_some() {
            input.clear();
            return Ok(None);
        }
        match self.expected.front().copied() {
            Some(head) if self.scan.mode == Mode::Discard => self.poll_discarded(head, input),
            Some(head) if head.shape == Shape::Whole => self.poll_whole(head, input),
            Some(head) => self.poll_streamed(head, input),
            None => self.poll_idle(input),
        }
    }

    /// Nothing is awaited: only what comes at any time may come.
    fn poll_idle(&mut self, input: &mut BytesMut) -> Result<Option<Event<T>>, Violation> {
        let Some(header) = self.head(input)? else {
            return Ok(None);
        };
        if !is_asynchronous(header.tag) && header.tag != tag::ERROR_RESPONSE {
            return Err(Violation::Unsolicited(header.tag));
        }
        let Some(end) = self.whole(header, input) else {
            return Ok(None);
        };
        let bytes = input.split_to(end);
        if is_asynchronous(header.tag) {
            return self.asynchronous(&bytes).map(Some);
        }
        self.fatal_in(&bytes)?
            .map(Some)
            .ok_or(Violation::Unsolicited(header.tag))
    }

    #[inline]
    fn poll_whole(
        &mut self,
        head: ExpectedReply<T>,
        input: &mut BytesMut,
    ) -> Result<Option<Event<T>>, Violation> {
        loop {
            let Some(header) = self.head(input)? else {
                return Ok(None);
            };
            if self.scan.at + header.length > self.reply_bytes_max
                && header.tag != tag::READY_FOR_QUERY
            {
                return Ok(Some(self.give_up(head, header, input)));
            }
            let Some(end) = self.whole(header, input) else {
                return Ok(None);
            };
            let start = std::mem::replace(&mut self.scan.at, end);
            match header.tag {
                tag::DATA_ROW => self.scan.rows += 1,
                tag::READY_FOR_QUERY => {
                    let bytes = input.split_to(end).freeze();
                    return self.reply(head, bytes).map(Some);
                }
                tag::ERROR_RESPONSE => {
                    if let Some(event) = self.fatal_in(message(input, start, end))? {
                        return Ok(Some(event));
                    }
                    self.scan.error.get_or_insert(start);
                }
                tag if is_asynchronous(tag) => {
                    let event = self.asynchronous(message(input, start, end))?;
                    if start == 0 {
                        // It came before the answer: no need to keep it.
                        input.advance(end);
                        self.scan.at = 0;
                    }
                    return Ok(Some(event));
                }
                tag::COPY_IN_RESPONSE => {
                    let bytes = Bytes::copy_from_slice(message(input, start, end));
                    return self.begin_copy_in(head, bytes).map(Some);
                }
                tag => answers(tag)?,
            }
        }
    }

    fn poll_streamed(
        &mut self,
        head: ExpectedReply<T>,
        input: &mut BytesMut,
    ) -> Result<Option<Event<T>>, Violation> {
        if self.scan.left > 0 {
            return Ok(self.fragment(head, input));
        }
        let Some(header) = self.head(input)? else {
            return Ok(None);
        };
        if is_data(header.tag)
            && head.shape == Shape::Fragments
            && header.length > FRAGMENT_BYTES_MAX
        {
            self.scan.left = header.length;
            return Ok(self.fragment(head, input));
        }
        if header.length > self.reply_bytes_max {
            return Ok(Some(self.give_up(head, header, input)));
        }
        let Some(end) = self.whole(header, input) else {
            return Ok(None);
        };
        let end = if is_data(header.tag) {
            self.run(head, header.tag, end, input)
        } else {
            end
        };
        let bytes = input.split_to(end).freeze();
        if is_asynchronous(header.tag) {
            return self.asynchronous(&bytes).map(Some);
        }
        match header.tag {
            tag::READY_FOR_QUERY => return self.end_of(head, &bytes).map(Some),
            tag::COPY_IN_RESPONSE => return self.begin_copy_in(head, bytes).map(Some),
            tag::ERROR_RESPONSE => {
                if let Some(event) = self.fatal_in(&bytes)? {
                    return Ok(Some(event));
                }
            }
            tag => answers(tag)?,
        }
        Ok(Some(Event::Part {
            token: head.token,
            tag: header.tag,
            bytes,
        }))
    }

    /// Where the run of whole messages of the same kind ends of which the first one ends at `end`.
    fn run(&self, head: ExpectedReply<T>, tag: u8, mut end: usize, input: &BytesMut) -> usize {
        let longest = match head.shape {
            Shape::Fragments => FRAGMENT_BYTES_MAX,
            Shape::Whole | Shape::Streamed => self.reply_bytes_max,
        };
        loop {
            let rest = input.get(end..).unwrap_or_default();
            // What is wrong with the next message is reported when its turn has come.
            match Header::scan(rest) {
                Ok(Some(next))
                    if next.tag == tag
                        && next.length <= longest.min(rest.len())
                        && end + next.length <= self.reply_bytes_max =>
                {
                    end += next.length;
                }
                _ => return end,
            }
        }
    }

    /// Throws away what comes up to ReadyForQuery.
    fn poll_discarded(
        &mut self,
        head: ExpectedReply<T>,
        input: &mut BytesMut,
    ) -> Result<Option<Event<T>>, Violation> {
        loop {
            let gone = self.scan.left.min(input.len());
            input.advance(gone);
            self.scan.left -= gone;
            if self.scan.left > 0 {
                self.scan.missing = 1;
                return Ok(None);
            }
            let Some(header) = self.head(input)? else {
                return Ok(None);
            };
            let matters = is_asynchronous(header.tag)
                || matches!(
                    header.tag,
                    tag::ERROR_RESPONSE | tag::READY_FOR_QUERY | tag::COPY_IN_RESPONSE
                );
            if !matters {
                answers(header.tag)?;
                self.scan.left = header.length;
                continue;
            }
            let Some(end) = self.whole(header, input) else {
                return Ok(None);
            };
            let bytes = input.split_to(end);
            match header.tag {
                tag::READY_FOR_QUERY => return self.end_of(head, &bytes).map(Some),
                tag::COPY_IN_RESPONSE => {
                    return self.begin_copy_in(head, bytes.freeze()).map(Some);
                }
                tag::ERROR_RESPONSE => {
                    if let Some(event) = self.fatal_in(&bytes)? {
                        return Ok(Some(event));
                    }
                }
                _ => return self.asynchronous(&bytes).map(Some),
            }
        }
    }

    /// The head of the message that has not been looked at.
    #[inline]
    fn head(&mut self, input: &mut BytesMut) -> Result<Option<Header>, Violation> {
        if self.scan.excess > 0 && !self.remove_excess(input) {
            return Ok(None);
        }
        let rest = input.get(self.scan.at..).unwrap_or_default();
        let header = Header::scan(rest)?;
        match header {
            Some(header) if is_report(header.tag) && header.length > REPORT_BYTES_MAX => {
                Ok(self.shorten(header, input))
            }
            Some(header) => Ok(Some(header)),
            None => {
                self.scan.missing = HEAD_BYTES.saturating_sub(rest.len());
                Ok(None)
            }
        }
    }

    /// Makes a sound report of the first bytes of one that is too long, once they are there. The server orders the fields by
    /// how much they matter, so that what is cut is a value in a message, and what stands behind it.
    #[cold]
    fn shorten(&mut self, header: Header, input: &mut BytesMut) -> Option<Header> {
        let start = self.scan.at;
        let end = self.whole(
            Header {
                length: REPORT_BYTES_MAX,
                ..header
            },
            input,
        )?;
        let fields = start + HEAD_BYTES;
        // Two bytes end the last field and the fields.
        let kept = fields + whole_fields(message(input, fields, end - 2));
        let mut behind = input.split_off(kept);
        // The field that is cut: its letter and what fits of it.
        let cut = behind.split_to(end - 2 - kept);
        if cut.len() > 1 {
            input.extend_from_slice(&cut);
            input.put_u8(0);
        }
        input.put_u8(0);
        let length = input.len() - start;
        self.scan.excess = header.length - (end - 2 - start);
        if let (Some(bytes), Ok(said)) =
            (input.get_mut(start + 1..fields), u32::try_from(length - 1))
        {
            bytes.copy_from_slice(&said.to_be_bytes());
        }
        input.unsplit(behind);
        Some(Header { length, ..header })
    }

    /// Whether all of the excess has arrived and is gone.
    #[cold]
    fn remove_excess(&mut self, input: &mut BytesMut) -> bool {
        let mut behind = input.split_off(self.scan.at);
        let gone = self.scan.excess.min(behind.len());
        behind.advance(gone);
        input.unsplit(behind);
        self.scan.excess -= gone;
        self.scan.missing = self.scan.excess;
        self.scan.excess == 0
    }

    /// Where in the input the message with this head ends, if it is all there.
    #[inline]
    fn whole(&mut self, header: Header, input: &BytesMut) -> Option<usize> {
        let end = self.scan.at + header.length;
        if input.len() < end {
            self.scan.missing = end - input.len();
            return None;
        }
        Some(end)
    }

    #[inline]
    fn reply(&mut self, head: ExpectedReply<T>, bytes: Bytes) -> Result<Event<T>, Violation> {
        let status = self.ready(&bytes)?;
        let scan = std::mem::take(&mut self.scan);
        Ok(Event::Reply(Reply {
            token: head.token,
            bytes,
            status,
            rows: scan.rows,
            error: scan.error,
        }))
    }

    fn end_of(&mut self, head: ExpectedReply<T>, bytes: &[u8]) -> Result<Event<T>, Violation> {
        let status = self.ready(bytes)?;
        self.scan = Scan::default();
        Ok(Event::End {
            token: head.token,
            status,
        })
    }

    /// The oldest request is done; ReadyForQuery's last byte is the session's status.
    #[inline]
    fn ready(&mut self, bytes: &[u8]) -> Result<TransactionStatus, Violation> {
        let status = bytes.last().ok_or(Violation::Truncated("status"))?;
        self.status = TransactionStatus::new(*status)?;
        self.expected.pop_front();
        self.copy_in = CopyIn::No;
        Ok(self.status)
    }

    fn give_up(
        &mut self,
        head: ExpectedReply<T>,
        header: Header,
        input: &mut BytesMut,
    ) -> Event<T> {
        input.advance(self.scan.at);
        let left = match self.scan.excess {
            0 => 0,
            excess => header.length + excess,
        };
        self.scan = Scan {
            left,
            mode: Mode::Discard,
            ..Scan::default()
        };
        Event::TooLarge {
            token: head.token,
            reply_bytes_max: self.reply_bytes_max,
        }
    }

    /// As much of a long message as there is.
    fn fragment(&mut self, head: ExpectedReply<T>, input: &mut BytesMut) -> Option<Event<T>> {
        let length = self.scan.left.min(input.len());
        if length == 0 {
            self.scan.missing = 1;
            return None;
        }
        self.scan.left -= length;
        Some(Event::Fragment {
            token: head.token,
            bytes: input.split_to(length).freeze(),
            left: self.scan.left,
        })
    }

    fn begin_copy_in(
        &mut self,
        head: ExpectedReply<T>,
        bytes: Bytes,
    ) -> Result<Event<T>, Violation> {
        if head.given_up {
            return Ok(Event::Part {
                token: head.token,
                tag: tag::COPY_IN_RESPONSE,
                bytes,
            });
        }
        if self.expected.len() > 1 {
            return Err(Violation::CopyInPipeline);
        }
        self.copy_in = CopyIn::Open;
        Ok(Event::CopyIn {
            token: head.token,
            bytes,
        })
    }

    /// The event of a message that may come at any time.
    fn asynchronous(&mut self, bytes: &[u8]) -> Result<Event<T>, Violation> {
        match decode(bytes)? {
            Message::NoticeResponse(report) => {
                Ok(Event::Notice(Box::new(ServerError::from(report))))
            }
            Message::NotificationResponse(notification) => Ok(Event::Notification {
                process_id: notification.process_id,
                channel: notification.channel.into_owned(),
                payload: notification.payload.into_owned(),
            }),
            Message::ParameterStatus { name, value } => {
                self.parameters.set(name, &value)?;
                Ok(Event::Parameter {
                    name: name.to_owned(),
                    value: value.into_owned(),
                })
            }
            _ => Err(Violation::Unsolicited(bytes.first().copied().unwrap_or(0))),
        }
    }

    /// The event of an ErrorResponse that ends the connection.
    #[cold]
    fn fatal_in(&mut self, bytes: &[u8]) -> Result<Option<Event<T>>, Violation> {
        let Message::ErrorResponse(report) = decode(bytes)? else {
            return Ok(None);
        };
        if !report.severity().ends_connection() {
            return Ok(None);
        }
        let error = Box::new(ServerError::from(report));
        self.fatal = Some(error.clone());
        Ok(Some(Event::Fatal(error)))
    }
}

/// Whether a message of this kind may be part of an answer.
#[inline]
fn answers(tag: u8) -> Result<(), Violation> {
    match tag {
        tag::AUTHENTICATION
        | tag::BACKEND_KEY_DATA
        | tag::NEGOTIATE_PROTOCOL_VERSION
        | tag::FUNCTION_CALL_RESPONSE
        | tag::COPY_BOTH_RESPONSE => Err(Violation::Unsolicited(tag)),
        _ => Ok(()),
    }
}

/// Bytes of those fields of a report that end in `bytes`.
fn whole_fields(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rposition(|byte| *byte == 0)
        .map_or(0, |last| last + 1)
}

fn is_report(tag: u8) -> bool {
    matches!(tag, tag::ERROR_RESPONSE | tag::NOTICE_RESPONSE)
}

fn is_data(tag: u8) -> bool {
    matches!(tag, tag::DATA_ROW | tag::COPY_DATA)
}

fn message(input: &BytesMut, start: usize, end: usize) -> &[u8] {
    input.get(start..end).unwrap_or_default()
}

fn decode(bytes: &[u8]) -> Result<Message<'_>, Violation> {
    let (message, _) = Message::decode(bytes)?.ok_or(Violation::Truncated("content"))?;
    Ok(message)
}
