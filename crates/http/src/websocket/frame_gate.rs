//! Cuts what the other end of a WebSocket sends into reads of whole frames, or of parts of one frame. Looks at heads alone, and changes no byte.
//! Why: the protocol's buffers keep the size of the largest frame. When they hold nothing, which is known so, they can be replaced.
//! Rule: a length that takes more bytes than it needs is an error, which the protocol does not look at.

use std::{
    cell::RefCell,
    io,
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::Error;
use crate::limits::WEBSOCKET_READ_BYTES;

/// Of a length that is not in the fewest bytes, or has more than 63 bits.
pub(crate) const FRAME_LENGTH: &str =
    "length of a frame of a WebSocket: it is not in the fewest bytes";

/// A connection that the protocol reads through the gate, and which outlives its buffers.
#[derive(Debug)]
pub(crate) struct FrameGate<I>(Rc<RefCell<Gate<I>>>);

#[derive(Debug)]
struct Gate<I> {
    io: I,
    /// What was read and not given.
    ahead: BytesMut,
    /// Bytes of the frame that was given in part.
    left: u64,
    /// Frames given that end a message or are none of one.
    ends: u64,
    /// Whether the last frame of a message that was given has others behind it.
    is_fragment: bool,
}

impl<I> Clone for FrameGate<I> {
    fn clone(&self) -> Self {
        FrameGate(Rc::clone(&self.0))
    }
}

/// What the head of a frame says (RFC 6455 section 5.2).
struct FrameHead {
    /// With the head.
    bytes: u64,
    is_last: bool,
    is_control: bool,
}

impl FrameHead {
    /// None while there is too little of it.
    ///
    /// # Errors
    /// [`FRAME_LENGTH`].
    fn of(bytes: &[u8]) -> Result<Option<FrameHead>, Error> {
        let &[first, second, ..] = bytes else {
            return Ok(None);
        };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        let number = |range: std::ops::Range<usize>| {
            let bytes = bytes.get(range)?.iter();
            Some(bytes.fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
        };
        let (head, payload, least, most) = match second & 0x7f {
            126 => (4, number(2..4), 126, u64::from(u16::MAX)),
            127 => (10, number(2..10), 1 << 16, i64::MAX as u64),
            length => (2, Some(u64::from(length)), 0, 125),
        };
        let Some(payload) = payload else {
            return Ok(None);
        };
        if payload < least || payload > most {
            return Err(Error::Malformed(FRAME_LENGTH));
        }
        Ok(Some(FrameHead {
            bytes: payload.saturating_add(head + mask),
            is_last: first & 0x80 != 0,
            is_control: first & 0x08 != 0,
        }))
    }
}

impl<I> FrameGate<I> {
    pub(crate) fn new(io: I) -> FrameGate<I> {
        FrameGate(Rc::new(RefCell::new(Gate {
            io,
            ahead: BytesMut::new(),
            left: 0,
            ends: 0,
            is_fragment: false,
        })))
    }

    /// Whether a reader that has made so many messages, pings and pongs of what it was given has nothing of it left.
    pub(crate) fn is_even(&self, read: u64) -> bool {
        let gate = self.0.borrow();
        gate.left == 0 && !gate.is_fragment && gate.ends == read
    }
}

impl<I: AsyncRead + Unpin> Gate<I> {
    fn note(&mut self, head: &FrameHead) {
        self.ends += u64::from(head.is_last);
        if !head.is_control {
            self.is_fragment = !head.is_last;
        }
    }

    /// Gives what was read ahead, up to so many bytes.
    fn give(&mut self, bytes: usize, buffer: &mut ReadBuf<'_>) {
        buffer.put_slice(self.ahead.get(..bytes).unwrap_or_default());
        self.ahead.advance(bytes);
        if self.ahead.is_empty() {
            self.ahead = BytesMut::new(); // an idle connection keeps no room
        }
    }

    /// How many bytes the whole frames have that lie ahead and fit into so many.
    fn whole_frames(&mut self, room: usize) -> usize {
        let mut end = 0;
        // One that is broken is looked at when it is the first.
        while let Ok(Some(head)) = FrameHead::of(self.ahead.get(end..).unwrap_or_default()) {
            let next = head.bytes.saturating_add(end as u64);
            if next > self.ahead.len().min(room) as u64 {
                break;
            }
            self.note(&head);
            end = next as usize;
        }
        end
    }

    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if self.left == 0 {
                let whole = self.whole_frames(buffer.remaining());
                if whole > 0 {
                    self.give(whole, buffer);
                    return Poll::Ready(Ok(()));
                }
                match FrameHead::of(&self.ahead) {
                    Ok(Some(head)) => {
                        self.note(&head);
                        self.left = head.bytes;
                    }
                    Ok(None) => {}
                    Err(error) => {
                        // What follows has no heads, and is there to be dropped.
                        self.left = u64::MAX;
                        return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
                    }
                }
            }
            if self.left > 0 && !self.ahead.is_empty() {
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                let given = left.min(self.ahead.len()).min(buffer.remaining());
                self.give(given, buffer);
                self.left -= given as u64;
                return Poll::Ready(Ok(()));
            }
            if self.left >= buffer.remaining() as u64 {
                let before = buffer.filled().len();
                ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
                self.left -= (buffer.filled().len() - before) as u64;
                return Poll::Ready(Ok(()));
            }
            let mut memory = [MaybeUninit::uninit(); WEBSOCKET_READ_BYTES];
            let mut more = ReadBuf::uninit(&mut memory);
            ready!(Pin::new(&mut self.io).poll_read(cx, &mut more))?;
            if more.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            self.ahead.extend_from_slice(more.filled());
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for FrameGate<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.borrow_mut().poll_read(cx, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for FrameGate<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0.borrow_mut().io).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn frame(first: u8, payload: usize) -> Vec<u8> {
        let length = (payload as u64).to_be_bytes();
        let head = match payload {
            0..126 => vec![first, 0x80 | payload as u8],
            126..65_536 => [&[first, 0xfe], &length[6..]].concat(),
            _ => [&[first, 0xff], &length[..]].concat(),
        };
        [head, vec![0; 4], vec![b'x'; payload]].concat()
    }

    #[test]
    fn length_of_a_frame_is_in_the_fewest_bytes_and_a_head_is_whole_with_its_last_byte() {
        let head = |second: u8, length: u64| {
            let length = length.to_be_bytes();
            match second & 0x7f {
                126 => [&[0x82, second], &length[6..]].concat(),
                127 => [&[0x82, second], &length[..]].concat(),
                _ => vec![0x82, second],
            }
        };
        let check = |second: u8, length: u64, is_valid: bool| {
            let head = head(second, length);
            for cut in 0..head.len() {
                assert!(FrameHead::of(&head[..cut]).unwrap().is_none());
            }
            let mask = if second & 0x80 == 0 { 0 } else { 4 };
            match FrameHead::of(&head) {
                Ok(Some(found)) => {
                    assert!(is_valid, "{second} {length}");
                    assert_eq!(found.bytes, length + head.len() as u64 + mask);
                }
                other => assert!(other.is_err() && !is_valid, "{second} {length}"),
            }
        };
        for masked in [0, 0x80] {
            for length in 0..=125 {
                check(masked | length as u8, length, true);
            }
            for length in 0..=65_535 {
                check(masked | 126, length, length >= 126);
                check(masked | 127, length, false);
            }
            for length in [65_536, 1 << 32, i64::MAX as u64 - 20] {
                check(masked | 127, length, true);
            }
            for length in [1 << 63, u64::MAX] {
                check(masked | 127, length, false);
            }
        }
    }

    #[tokio::test]
    async fn frames_before_a_broken_length_are_given_and_what_follows_is_dropped_unread() {
        let whole = [frame(0x81, 5), frame(0x82, 200)].concat();
        let broken = [&[0x82, 0xfe, 0, 125][..], &[0; 129]].concat();
        for pipe in [1, 3, 1 << 16] {
            let (mut client, server) = tokio::io::duplex(pipe);
            let mut gate = FrameGate::new(server);
            let sent = [&whole[..], &broken].concat();
            let sending = async move {
                client.write_all(&sent).await.unwrap();
                client.shutdown().await.unwrap();
            };
            let reading = async {
                let mut got = Vec::new();
                let mut memory = vec![0; 64];
                let error = loop {
                    match gate.read(&mut memory).await {
                        Ok(read) => got.extend_from_slice(&memory[..read]),
                        Err(error) => break error,
                    }
                };
                assert_eq!(got, whole, "{pipe}");
                assert!(error.to_string().contains(FRAME_LENGTH), "{error}");
                let mut rest = Vec::new();
                gate.read_to_end(&mut rest).await.unwrap();
                assert_eq!(rest, broken, "{pipe}");
            };
            tokio::join!(sending, reading);
        }
    }

    #[tokio::test]
    async fn reads_end_with_frames_and_change_no_byte_however_they_came() {
        let frames = [
            frame(0x81, 5),
            frame(0x02, 200),
            frame(0x89, 0),
            frame(0x80, 100_000),
            frame(0x81, 0),
            frame(0x82, 70_000),
            frame(0x8a, 125),
            frame(0x01, 30),
        ];
        let ends: Vec<usize> = frames
            .iter()
            .scan(0, |end, frame| {
                *end += frame.len();
                Some(*end)
            })
            .collect();
        let bytes = frames.concat();
        for (pipe, buffer) in [
            (1, 100),
            (7, 8192),
            (8192, 8192),
            (1 << 20, 8192),
            (1 << 20, 1),
        ] {
            let (mut client, server) = tokio::io::duplex(pipe);
            let mut gate = FrameGate::new(server);
            let sent = bytes.clone();
            let sending = async move {
                client.write_all(&sent).await.unwrap();
                client.shutdown().await.unwrap();
            };
            let reading = async {
                let mut got = Vec::new();
                let mut memory = vec![0; buffer];
                loop {
                    let before = got.len();
                    let read = gate.read(&mut memory).await.unwrap();
                    got.extend_from_slice(&memory[..read]);
                    // The end of what was given is that of a frame, or lies in the first that was not given whole.
                    let first = ends.iter().find(|end| **end > before);
                    let is_end = ends.contains(&got.len());
                    assert!(is_end || first.is_none_or(|end| got.len() < *end));
                    let whole = ends.iter().filter(|end| **end <= got.len()).count();
                    // The fragments are the second and the last.
                    let read_ends = whole - usize::from(whole >= 2) - usize::from(whole >= 8);
                    let is_open = (2..4).contains(&whole) || whole == 8;
                    assert_eq!(
                        gate.is_even(read_ends as u64),
                        !is_open && is_end || got.is_empty(),
                        "{pipe} {buffer}: {} bytes",
                        got.len()
                    );
                    if read == 0 {
                        return got;
                    }
                }
            };
            let ((), got) = tokio::join!(sending, reading);
            assert!(got == bytes, "{pipe} {buffer}: other bytes");
        }
    }
}
