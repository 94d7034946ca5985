//! A connection that refuses a reply beyond its limit before the bytes of it are gathered. Parses no more than the lengths in a reply's frame.
//! Rule: a length is looked at as soon as its line ends; what is too long fails the connection, and no more of it is read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{REDIS_REPLY_ENTRIES_MAX, REDIS_REPLY_LINE_BYTES_MAX};

/// Text of the error of a reply whose string is too long; a caller tells it from others by it.
pub(super) const TOO_LONG: &str = "the server's reply is too long";

/// The connection `S` with replies of which no string has more than so many bytes.
pub(super) struct ReplyGuard<S> {
    stream: S,
    scan: FrameScan,
}

impl<S> ReplyGuard<S> {
    pub(super) fn new(stream: S, string_bytes_max: usize) -> ReplyGuard<S> {
        ReplyGuard {
            stream,
            scan: FrameScan {
                string_bytes_max,
                state: ScanState::default(),
            },
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReplyGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let new = buffer.filled().get(before..).unwrap_or_default();
        Poll::Ready(self.scan.pass(new))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReplyGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Where in a reply the next byte stands. What a reply consists of follows one after the other, so nesting needs no memory.
struct FrameScan {
    string_bytes_max: usize,
    state: ScanState,
}

#[derive(Clone, Copy, Debug, Default)]
enum ScanState {
    /// The byte that says what follows.
    #[default]
    Kind,
    /// A line without a length.
    Line { bytes: usize },
    /// The digits of a length, as far as they have come.
    Length { kind: Counted, length: usize },
    /// The bytes of a string and of the end of its line.
    String { left: usize },
}

/// What a length counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Bytes,
    Entries,
}

impl FrameScan {
    fn pass(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let [byte, rest @ ..] = bytes {
            if let ScanState::String { left } = self.state {
                let skipped = left.min(bytes.len());
                bytes = bytes.get(skipped..).unwrap_or_default();
                self.state = match left - skipped {
                    0 => ScanState::Kind,
                    left => ScanState::String { left },
                };
                continue;
            }
            self.state = self.next(*byte)?;
            bytes = rest;
        }
        Ok(())
    }

    fn next(&self, byte: u8) -> io::Result<ScanState> {
        Ok(match (self.state, byte) {
            (ScanState::Kind, b'$' | b'=' | b'!') => length_of(Counted::Bytes),
            (ScanState::Kind, b'*' | b'%' | b'~' | b'>' | b'|') => length_of(Counted::Entries),
            (ScanState::Kind, _) => ScanState::Line { bytes: 0 },
            (ScanState::Line { .. }, b'\n') => ScanState::Kind,
            (ScanState::Line { bytes }, _) if bytes < REDIS_REPLY_LINE_BYTES_MAX => {
                ScanState::Line { bytes: bytes + 1 }
            }
            (ScanState::Line { .. }, _) => return Err(invalid("a line of the reply does not end")),
            (ScanState::Length { kind, length }, b'0'..=b'9') => {
                let length = length.saturating_mul(10) + usize::from(byte - b'0');
                match kind {
                    Counted::Bytes if length > self.string_bytes_max => {
                        return Err(invalid(TOO_LONG));
                    }
                    Counted::Entries if length > REDIS_REPLY_ENTRIES_MAX => {
                        return Err(invalid("the reply has too many entries"));
                    }
                    kind => ScanState::Length { kind, length },
                }
            }
            // `$-1` is no string at all, and its digits are no length.
            (ScanState::Length { .. }, b'-') => ScanState::Line { bytes: 0 },
            (ScanState::Length { kind, length }, b'\r') => ScanState::Length { kind, length },
            (ScanState::Length { kind, length }, b'\n') => match kind {
                Counted::Bytes => ScanState::String { left: length + 2 },
                Counted::Entries => ScanState::Kind,
            },
            (ScanState::Length { .. }, _) => return Err(invalid("a length is no number")),
            // Taken by its caller.
            (ScanState::String { left }, _) => ScanState::String { left },
        })
    }
}

fn length_of(kind: Counted) -> ScanState {
    ScanState::Length { kind, length: 0 }
}

fn invalid(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole, and byte by byte.
    fn check(reply: &[u8], string_bytes_max: usize, expected: Result<(), &str>) {
        for step in [reply.len(), 1] {
            let mut scan = FrameScan {
                string_bytes_max,
                state: ScanState::default(),
            };
            let passed = reply.chunks(step).try_for_each(|piece| scan.pass(piece));
            let passed = passed.map_err(|error| error.to_string());
            let shown = String::from_utf8_lossy(reply);
            assert_eq!(passed, expected.map_err(str::to_owned), "{shown}");
        }
    }

    #[test]
    fn reply_within_its_limits_passes_whatever_its_strings_hold() {
        check(b"+OK\r\n:5\r\n$5\r\n$9\r\n*\r\n_\r\n", 5, Ok(()));
        check(b"$-1\r\n*-1\r\n$5\r\nabcde\r\n", 5, Ok(()));
        check(b"%1\r\n$1\r\na\r\n*2\r\n:1\r\n,1.5\r\n", 5, Ok(()));
        check(b">2\r\n+message\r\n=5\r\ntxt:a\r\n", 5, Ok(()));
    }

    #[test]
    fn string_is_refused_at_one_byte_more_than_the_limit() {
        check(b"$10\r\n0123456789\r\n", 10, Ok(()));
        check(b"$11\r\n", 10, Err(TOO_LONG));
        check(
            b"*2\r\n+a\r\n$99999999999999999999999\r\n",
            10,
            Err(TOO_LONG),
        );
    }

    #[test]
    fn line_and_entries_are_refused_at_one_more_than_their_limits() {
        let line = |bytes| [&b"+"[..], &vec![b'a'; bytes - 1], b"\r\n"].concat();
        check(&line(REDIS_REPLY_LINE_BYTES_MAX), 1, Ok(()));
        let refused = Err("a line of the reply does not end");
        check(&line(REDIS_REPLY_LINE_BYTES_MAX + 1), 1, refused);
        check(
            format!("*{REDIS_REPLY_ENTRIES_MAX}\r\n").as_bytes(),
            1,
            Ok(()),
        );
        let more = format!("*{}\r\n", REDIS_REPLY_ENTRIES_MAX + 1);
        check(more.as_bytes(), 1, Err("the reply has too many entries"));
        check(b"$x\r\n", 1, Err("a length is no number"));
    }
}
